// Directories: a snapshot of what is there now. In a git working tree that is what `git add -A` would record
// (tracked and untracked, not ignored); elsewhere every file.
#include <algorithm>

#include "daemon/kernel/source.h"
#include "daemon/kernel/tree_writer.h"

namespace kab::kernel {
namespace {

/// True if the repository around `prefix` leaves it out: then it is no part of that project.
Result<bool> is_ignored(const Git& git, const fs::path& top, const std::string& prefix) {
    if (prefix.empty()) return false;
    Git at_top = git;
    at_top.directory = top;
    auto ignored = at_top.run({"check-ignore", "-q", "--", prefix});
    if (!ignored) return pass(ignored);
    if (!ignored->status.ok()) return false;
    auto tracked = at_top.text({"ls-files", "--", prefix});
    if (!tracked) return pass(tracked);
    return tracked->empty();
}

/// The tree of what is there, its new objects on the disk. Looks at 80000 files, so alone on the machine.
Result<std::string> write_snapshot(const Git& snapshot, const std::string& prefix, const Progress& progress) {
    auto machine = take_machine("importing " + (snapshot.work_tree / prefix).string(), progress);
    if (!machine) return pass(machine);
    auto added = snapshot.text({"-c", "core.compression=1", "-c", "core.fsmonitor=false", "-c",
                                "core.fsync=committed,loose-object", "-c", "core.fsyncMethod=batch", "-c",
                                "advice.addEmbeddedRepo=false", "add", "-A", "--", prefix.empty() ? "." : prefix});
    if (!added) return added;
    std::vector<std::string> write = {"-c", "core.fsync=committed,loose-object", "write-tree"};
    if (!prefix.empty()) write.push_back("--prefix=" + prefix);
    return snapshot.text(write);
}

/// The user's index is copied (it knows which files are unchanged) and new objects go to our store: nothing
/// of the user's is written to.
Result<BaseSource> snapshot_work_tree(Git git, const fs::path& top, const std::string& prefix, const SourceStore& store,
                                      const Progress& progress) {
    git.directory = top;
    if (auto checked = check_object_format(git); !checked) return pass(checked);
    auto own_index = git.text({"rev-parse", "--path-format=absolute", "--git-path", "index"});
    if (!own_index) return pass(own_index);
    auto own_objects = git.text({"rev-parse", "--path-format=absolute", "--git-path", "objects"});
    if (!own_objects) return pass(own_objects);
    auto own_directory = git.text({"rev-parse", "--absolute-git-dir"});
    if (!own_directory) return pass(own_directory);

    Git snapshot = git;
    snapshot.git_dir = *own_directory;
    snapshot.work_tree = top;
    snapshot.index = store.scratch() / "index";
    snapshot.objects = store.git().git_dir / "objects";
    snapshot.borrowed_objects = *own_objects;
    std::error_code error;
    fs::remove(snapshot.index, error);
    if (fs::exists(*own_index, error) && !fs::copy_file(*own_index, snapshot.index, error)) {
        return fail(Fault::io, "copy {}: {}", *own_index, error.message());
    }
    auto tree = write_snapshot(snapshot, prefix, progress);
    if (!tree) return pass(tree);
    if (auto imported = store.import(snapshot, *tree, top / prefix, progress); !imported) return pass(imported);

    BaseSource source;
    source.tree = *tree;
    auto head = snapshot.run({"rev-parse", "--verify", "--quiet", "HEAD"});
    if (!head) return pass(head);
    if (head->status.ok()) source.commit = split_lines(head->out).front();
    auto committed = snapshot.run({"rev-parse", "--verify", "--quiet", "HEAD:" + prefix});
    if (!committed) return pass(committed);
    const bool clean = committed->status.ok() && split_lines(committed->out).front() == *tree;
    source.origin = source.commit.empty() ? "nothing committed"
                                          : "commit " + source.commit + (clean ? "" : " and uncommitted changes");
    return source;
}

Status add_file(const fs::directory_entry& entry, const std::string& name, TreeWriter& writer) {
    std::error_code error;
    if (entry.is_symlink(error)) {
        const auto target = fs::read_symlink(entry.path(), error);
        if (error) return fail(Fault::io, "read {}: {}", name, error.message());
        return writer.add(name, TreeWriter::Mode::symlink, target.string());
    }
    if (!entry.is_regular_file(error)) return fail(Fault::spec, "holds a device or socket: {}", name);
    auto bytes = read_file(entry.path(), 1U << 30);
    if (!bytes) return pass(bytes);
    const bool executable = (entry.status(error).permissions() & fs::perms::owner_exec) != fs::perms::none;
    return writer.add(name, executable ? TreeWriter::Mode::executable : TreeWriter::Mode::file, *bytes);
}

Result<BaseSource> snapshot_plain(const fs::path& top, const SourceStore& store, const Progress& progress) {
    std::error_code error;
    if (fs::exists(top / ".config", error) || fs::exists(top / "include/config", error)) {
        return fail(Fault::spec,
                    "a kernel was built in this directory: run `make mrproper` there, or make it a git "
                    "working tree so that built files are told from sources");
    }
    auto machine = take_machine("importing " + top.string(), progress);
    if (!machine) return pass(machine);
    auto writer = TreeWriter::start(store);
    if (!writer) return pass(writer);
    std::int64_t files = 0;
    fs::recursive_directory_iterator walk(top, error);
    for (const fs::recursive_directory_iterator end; !error && walk != end; walk.increment(error)) {
        if (walk->path().filename() == ".git") {
            walk.disable_recursion_pending();
            continue;
        }
        if (!walk->is_symlink(error) && walk->is_directory(error)) continue;
        const std::string name = walk->path().lexically_relative(top).string();
        if (auto added = add_file(*walk, name, *writer); !added) return pass(added);
        if (++files % 1000 == 0 && progress) progress("import", files, 0);
    }
    if (error) return fail(Fault::io, "read directory: {}", error.message());
    if (files == 0) return fail(Fault::spec, "is an empty directory");
    auto tree = writer->finish();
    if (!tree) return pass(tree);
    BaseSource source;
    source.tree = *tree;
    source.origin = "no git repository";
    return source;
}

}  // namespace

Result<BaseSource> resolve_directory(const std::string& path, const SourceStore& store, const Progress& progress) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return fail(Fault::not_found, "no such directory");
    const fs::path directory = fs::canonical(path, error);
    if (error) return fail(Fault::io, "{}", error.message());
    if (progress) progress("import", 0, 0);
    // First of all: of a wrong directory, such as /, nothing is read.
    if (auto release = check_makefile(read_file(directory / "Makefile").value_or("")); !release) return pass(release);
    Git git;
    git.directory = directory;
    git.user_configuration = true;
    auto found = git.run({"rev-parse", "--show-toplevel", "--show-prefix"});
    if (!found) return pass(found);
    Result<BaseSource> source;
    if (found->status.ok()) {
        const auto lines = split_lines(found->out);
        const std::string top = lines.at(0), prefix = lines.size() > 1 ? lines[1] : "";
        auto ignored = is_ignored(git, top, prefix);
        if (!ignored) return pass(ignored);
        source = *ignored ? snapshot_plain(directory, store, progress)
                          : snapshot_work_tree(git, top, prefix, store, progress);
    } else if (first_complaint(found->err).find("not a git repository") != std::string::npos) {
        source = snapshot_plain(directory, store, progress);
    } else {
        return fail(Fault::spec, "{}", first_complaint(found->err));
    }
    if (!source) return source;
    source->name = directory.filename().string();
    source->origin = fmt::format("dir {} ({})", path, source->origin);
    return source;
}

}  // namespace kab::kernel
