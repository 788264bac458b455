#include "daemon/kernel/source_store.h"

namespace kab::kernel {
namespace {

/// Speed over size: a kernel tree takes 300 MB at level 1, 1.3 GB at level 0 (and is written no faster).
/// By default git leaves loose objects and refs to the kernel's write-back: a power failure would empty them.
constexpr const char* configuration =
    "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tcompression = 1\n\tautocrlf = false\n"
    "\tfsync = committed,loose-object,reference\n\tfsyncMethod = batch\n"
    "[pack]\n\tcompression = 1\n\tthreads = 1\n[gc]\n\tauto = 0\n";

fs::path store_path(const Paths& paths) {
    return paths.cache / "sources.git";
}

void remove_matching(const fs::path& directory, bool (*matches)(const std::string& name)) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
        if (matches(entry.path().filename().string())) fs::remove_all(entry.path(), ignored);
    }
}

bool is_temporary(const std::string& name) {
    return name.rfind("tmp_", 0) == 0;
}

Status make_repository(const fs::path& path) {
    if (auto made = make_directories(path / "objects/pack"); !made) return made;
    if (auto made = make_directories(path / "refs/heads"); !made) return made;
    if (auto written = write_file(path / "config", configuration); !written) return written;
    return write_file(path / "HEAD", "ref: refs/heads/none\n");  // last: its presence says that all is there
}

}  // namespace

Result<FileLock> take_lock(const fs::path& path, const Progress& progress) {
    auto lock = FileLock::try_take(path);
    if (lock || lock.error().fault != Fault::conflict) return lock;
    if (progress) progress("waiting", 0, 0);
    return FileLock::take(path);
}

Result<MachineLock> take_machine(const std::string& purpose, const Progress& progress) {
    return MachineLock::take(purpose, [&](const std::string& holder) {
        if (progress) progress("waiting for " + holder, 0, 0);
    });
}

Git SourceStore::reader(const Paths& paths) {
    Git git;
    git.git_dir = store_path(paths);
    return git;
}

Result<SourceStore> SourceStore::open(const Paths& paths, const Progress& progress) {
    const fs::path path = store_path(paths);
    if (auto made = make_directories(paths.cache); !made) return pass(made);
    auto lock = take_lock(paths.cache / "sources.lock", progress);
    if (!lock) return pass(lock);
    std::error_code ignored;
    if (!fs::exists(path / "HEAD", ignored)) {
        if (auto made = make_repository(path); !made) return pass(made);
    } else if (read_file(path / "config").value_or("") != configuration) {  // of an earlier version, or damaged
        if (auto written = write_file(path / "config", configuration); !written) return pass(written);
    }
    SourceStore store(std::move(*lock), reader(paths), path / "kab-scratch");
    store.sweep();
    if (auto made = make_directories(store.scratch_); !made) return pass(made);
    return store;
}

void SourceStore::sweep() const {
    std::error_code ignored;
    const fs::path objects = git_.git_dir / "objects";
    remove_matching(objects, is_temporary);  // directories of what was written in one go
    for (const auto& entry : fs::directory_iterator(objects, ignored)) remove_matching(entry.path(), is_temporary);
    const auto left = [](const std::string& name) {
        return name.ends_with(".lock") || name.rfind("fast_import_crash_", 0) == 0;
    };
    for (const char* directory : {"", "refs/kab", "refs/kab/tarball", "refs/kab/tree", "refs/kab/commit"}) {
        remove_matching(git_.git_dir / directory, left);
    }
    for (const auto& entry : fs::directory_iterator(scratch_, ignored)) fs::remove_all(entry.path(), ignored);
}

bool SourceStore::damaged() const {
    const auto checked = git_.run({"fsck", "--no-dangling", "--no-progress"});
    return checked && !checked->status.ok();
}

Status SourceStore::drop() const {
    std::error_code error;
    fs::remove_all(git_.git_dir, error);
    if (error) return fail(Fault::io, "remove the damaged {}: {}", git_.git_dir.string(), error.message());
    return {};
}

Result<std::optional<std::string>> SourceStore::find(const std::string& ref) const {
    auto found = git_.run({"rev-parse", "--verify", "--quiet", ref + "^{tree}"});
    if (!found) return pass(found);
    if (!found->status.ok()) return std::nullopt;
    return split_lines(found->out).front();
}

Status SourceStore::set(const std::string& ref, const std::string& object) const {
    auto done = git_.text({"update-ref", ref, object});
    if (!done) return pass(done);
    return {};
}

Status SourceStore::keep(const std::string& tree) const {
    return set("refs/kab/tree/" + tree, tree);
}

Status SourceStore::import(const Git& from, const std::string& tree, const std::string& what,
                           const Progress& progress) const {
    auto known = find("refs/kab/tree/" + tree);
    if (!known) return pass(known);
    if (*known) return {};
    auto machine = take_machine("importing " + what, progress);
    if (!machine) return pass(machine);
    auto needed = from.text({"rev-list", "--objects", "--no-object-names", tree});
    if (!needed) return pass(needed);
    auto looked_up = git_.text({"cat-file", "--batch-check=%(objectname)", "--buffer"}, *needed + "\n");
    if (!looked_up) return pass(looked_up);
    std::string missing;
    for (const auto& line : split_lines(*looked_up)) {
        const auto space = line.find(' ');
        if (space != std::string::npos) missing += line.substr(0, space) + "\n";  // "<id> missing"
    }
    if (!missing.empty()) {
        // Deltas are taken as they are, none are looked for: this copies about as fast as the disk reads.
        auto packed = from.text({"-c", "pack.packSizeLimit=0", "pack-objects", "-q", "--window=0",
                                 "--delta-base-offset", (scratch_ / "pack").string()},
                                missing);
        if (!packed) return pass(packed);
        for (const char* suffix : {".pack", ".idx"}) {  // git looks for the index, so it comes last
            const std::string name = "pack-" + *packed + suffix;
            std::error_code error;
            fs::rename(scratch_ / name, git_.git_dir / "objects/pack" / name, error);
            if (error) return fail(Fault::io, "move {} into {}: {}", name, git_.git_dir.string(), error.message());
            if (auto synced = sync_file(git_.git_dir / "objects/pack" / name); !synced) return synced;
        }
    }
    return keep(tree);
}

Result<std::string> read_blob(const Git& git, const std::string& tree, const std::string& path) {
    auto shown = git.run({"cat-file", "blob", tree + ":" + path});
    if (!shown) return pass(shown);
    if (shown->status.ok()) return std::move(shown->out);
    if (tells_damage(shown->err)) return fail(Fault::infra, "git cat-file: {}", first_complaint(shown->err));
    return fail(Fault::not_found, "no {} in this tree", path);
}

}  // namespace kab::kernel
