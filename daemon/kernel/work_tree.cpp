#include "daemon/kernel/work_tree.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "daemon/kernel/source_store.h"

namespace kab::kernel {
namespace {

constexpr std::uintmax_t full_below = 8U << 20;

Status remove_all(const std::vector<fs::path>& paths) {
    for (const auto& path : paths) {
        std::error_code error;
        fs::remove_all(path, error);
        if (error) return fail(Fault::io, "remove {}: {}", path.string(), error.message());
    }
    return {};
}

/// Changes with every start of the machine.
std::string boot_id() {
    return read_file("/proc/sys/kernel/random/boot_id").value_or("unknown");
}

}  // namespace

Status check_place(const Paths& paths) {
    std::error_code error;
    const fs::path place = fs::weakly_canonical(paths.cache, error);  // as make and the compiler name it
    if (error) return fail(Fault::io, "{}: {}", paths.cache.string(), error.message());
    if (place.string().find_first_of(" \t\n:") == std::string::npos) return {};
    return fail(Fault::build,
                "kernels cannot be built in {}: their makefiles refuse a path with a space or colon; set KAB_CACHE_DIR",
                place.string());
}

Result<WorkTree> WorkTree::open(const Paths& paths, const std::string& family, const Progress& progress) {
    if (auto checked = check_place(paths); !checked) return pass(checked);
    const fs::path directory = paths.cache / "worktrees" / family;
    if (auto made = make_directories(directory); !made) return pass(made);
    auto lock = take_lock(directory / "lock", progress);
    if (!lock) return pass(lock);
    std::error_code error;
    const fs::path real = fs::canonical(directory, error);  // as make and the compiler name it
    if (error) return fail(Fault::io, "{}: {}", directory.string(), error.message());
    return WorkTree(std::move(*lock), real);
}

std::string WorkTree::note(const std::string& name) const {
    return read_file(file(name)).value_or("");
}

Status WorkTree::set_note(const std::string& name, const std::string& text) const {
    return write_file(file(name), text);
}

Status WorkTree::begin() {
    auto running = open_file(file("running"), O_RDWR | O_CREAT);
    if (!running) return pass(running);
    while (::flock(running->get(), LOCK_EX) != 0) {
        if (errno != EINTR) return fail_errno(errno, "lock " + file("running").string());
    }
    running_ = std::move(*running);
    std::error_code error;
    if (fs::exists(file("busy"), error)) {
        if (auto repaired = repair(); !repaired) return repaired;
    }
    if (auto noted = set_note("busy", boot_id()); !noted) return noted;
    if (auto removed = remove_all({temporary()}); !removed) return removed;
    for (const auto& directory : {temporary(), output()}) {
        if (auto made = make_directories(directory); !made) return made;
    }
    return make_directories(configure_output());
}

Status WorkTree::repair() {
    repaired_ = true;
    // After a power failure any file may be empty or stale, whatever its times say.
    if (note("busy") != boot_id()) return remove_all({source(), file("index"), output(), configure_output()});
    if (auto removed = remove_all({file("index.lock"), configure_output()}); !removed) return removed;
    return heal_output(output());
}

Status WorkTree::use_toolchain(const std::string& toolchain) {
    const std::string before = note("toolchain");
    if (before == toolchain) return {};
    if (!before.empty()) {
        if (auto dropped = drop(false); !dropped) return dropped;
        for (const auto& directory : {output(), configure_output()}) {
            if (auto made = make_directories(directory); !made) return made;
        }
    }
    return set_note("toolchain", toolchain);
}

Status WorkTree::finish() {
    return remove_all({temporary(), file("busy")});
}

Status WorkTree::check_out(const Git& store, const std::string& tree) {
    Git git = store;
    git.index = file("index");
    git.work_tree = source();
    std::error_code error;
    const bool anew = !fs::exists(git.index, error) || !fs::is_directory(source(), error);
    if (anew) {
        if (auto removed = remove_all({source(), git.index}); !removed) return removed;
        if (auto made = make_directories(source()); !made) return made;
    }
    git.directory = source();
    changed_files_.reset();
    previous_tree_ = note("tree");
    tree_ = tree;
    if (!anew && !previous_tree_.empty() && !repaired_) {
        auto changed = git.text({"diff-tree", "-r", "--no-renames", "--name-only", previous_tree_, tree});
        if (changed) changed_files_ = split_lines(*changed);  // else the tree before is gone: not needed
    }
    if (auto read = git.text({"read-tree", "--reset", "-u", tree}); !read) {
        // Git says which file it could not write, but not why.
        if (fs::space(directory_, error).available < full_below && !error) {
            return fail(Fault::io, "disk full while checking out into {}: free some space", directory_.string());
        }
        return pass(read);
    }
    if (repaired_) {
        if (auto cleaned = git.text({"clean", "-ffdxq"}); !cleaned) return pass(cleaned);
    }
    return set_note("tree", tree);
}

Status WorkTree::drop(bool sources) const {
    if (sources) {
        if (auto removed = remove_all({source(), file("index"), file("index.lock"), file("tree")}); !removed)
            return removed;
    }
    return remove_all({output(), configure_output(), file("configured")});
}

}  // namespace kab::kernel
