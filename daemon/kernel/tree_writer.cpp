#include "daemon/kernel/tree_writer.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "common/process/child.h"

namespace kab::kernel {

namespace asio = boost::asio;

namespace {

constexpr const char* import_ref = "refs/kab/importing";
constexpr std::size_t buffer_size = 1U << 20;
constexpr std::size_t complaint_limit = 1U << 16;

/// In C style, as fast-import reads it.
std::string c_quoted(std::string_view path) {
    std::string result = "\"";
    for (const char c : path) {
        if (c == '"' || c == '\\') result += '\\';
        if (c == '\n') {
            result += "\\n";
        } else {
            result += c;
        }
    }
    return result + '"';
}

Result<std::string> clean_path(std::string_view path) {
    std::string result;
    while (!path.empty()) {
        const auto slash = path.find('/');
        const auto part = path.substr(0, slash);
        path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
        if (part.empty() || part == ".") continue;
        if (part == ".." || part == ".git") return fail(Fault::spec, "holds a path with '{}'", part);
        result += (result.empty() ? "" : "/") + std::string(part);
    }
    if (result.empty()) return fail(Fault::spec, "holds a file without a name");
    return result;
}

}  // namespace

struct TreeWriter::State {
    explicit State(const SourceStore& source_store) : store(source_store) {}
    const SourceStore& store;
    asio::io_context context{1};
    std::unique_ptr<ChildProcess> child;
    std::string buffer;
};

TreeWriter::TreeWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TreeWriter::TreeWriter(TreeWriter&&) noexcept = default;

TreeWriter::~TreeWriter() {
    if (!state_ || !state_->child) return;
    state_->child.reset();  // killed if it still runs: then half a pack is left
    state_->store.sweep();
}

Result<TreeWriter> TreeWriter::start(const SourceStore& store) {
    auto state = std::make_unique<State>(store);
    ProcessSpec spec = store.git().spec({"fast-import", "--quiet", "--force", "--depth=0", "--done"});
    spec.in = ProcessSpec::Input::pipe;
    spec.out = Output::null();
    auto child = ChildProcess::start(state->context.get_executor(), spec);
    if (!child) return pass(child);
    state->child = std::move(*child);
    state->buffer = std::string("commit ") + import_ref + "\ncommitter kab <kab> 0 +0000\ndata 0\n";
    return TreeWriter(std::move(state));
}

Status TreeWriter::flush() {
    boost::system::error_code error;
    asio::write(*state_->child->in(), asio::buffer(state_->buffer), error);
    state_->buffer.clear();
    if (!error) return {};
    auto ended = end();
    if (!ended) return ended;
    return fail(Fault::infra, "write to git fast-import: {}", error.message());
}

/// Waits for fast-import to end; says why if it failed.
Status TreeWriter::end() {
    ChildProcess& child = *state_->child;
    child.close_stdin();
    // It says little, far less than a pipe holds: reading it now cannot block it.
    std::string said;
    boost::system::error_code at_end;
    asio::read(*child.err(), asio::dynamic_buffer(said, complaint_limit), at_end);
    Result<ExitStatus> ended = fail(Fault::internal, "git fast-import was not waited for");
    child.async_wait([&](Result<ExitStatus> status) { ended = std::move(status); });
    state_->context.run();
    if (!ended) return pass(ended);
    if (ended->ok()) return {};
    if (tells_full_disk(said)) {
        return fail(Fault::io, "disk full while importing into {}: free some space",
                    state_->store.git().git_dir.string());
    }
    return fail(Fault::infra, "git fast-import: {}: {}", to_string(*ended), first_complaint(said));
}

Status TreeWriter::begin(std::string_view path, Mode mode, std::uint64_t size) {
    auto clean = clean_path(path);
    if (!clean) return pass(clean);
    const char* number = mode == Mode::symlink ? "120000" : mode == Mode::executable ? "100755" : "100644";
    state_->buffer += fmt::format("M {} inline {}\ndata {}\n", number, c_quoted(*clean), size);
    return {};
}

Status TreeWriter::data(std::string_view bytes) {
    state_->buffer += bytes;
    if (state_->buffer.size() < buffer_size) return {};
    return flush();
}

Status TreeWriter::add(std::string_view path, Mode mode, std::string_view bytes) {
    if (auto begun = begin(path, mode, bytes.size()); !begun) return begun;
    return data(bytes);
}

Status TreeWriter::copy(std::string_view source, std::string_view path) {
    auto from = clean_path(source);
    if (!from) return pass(from);
    auto to = clean_path(path);
    if (!to) return pass(to);
    state_->buffer += fmt::format("C {} {}\n", c_quoted(*from), c_quoted(*to));
    return {};
}

Result<std::string> TreeWriter::finish() {
    state_->buffer += "\ndone\n";
    if (auto flushed = flush(); !flushed) return pass(flushed);
    if (auto ended = end(); !ended) return pass(ended);
    const Git& git = state_->store.git();
    auto tree = git.text({"rev-parse", "--verify", std::string(import_ref) + "^{tree}"});
    if (!tree) return tree;
    auto entries = git.text({"ls-tree", *tree});
    if (!entries) return entries;
    // "040000 tree <id>\tlinux-source-6.1"
    if (entries->find('\n') == std::string::npos && entries->rfind("040000 tree ", 0) == 0) {
        *tree = entries->substr(12, entries->find('\t') - 12);
    }
    if (auto kept = state_->store.keep(*tree); !kept) return pass(kept);
    if (auto dropped = git.text({"update-ref", "-d", import_ref}); !dropped) return pass(dropped);
    return tree;
}

}  // namespace kab::kernel
