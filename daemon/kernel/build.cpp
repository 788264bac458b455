#include "daemon/kernel/compile.h"
#include "daemon/kernel/image.h"
#include "daemon/kernel/kernel_cache.h"
#include "daemon/kernel/source_store.h"
#include "daemon/kernel/toolchain.h"

namespace kab::kernel {
namespace {

Status check_toolchain(const Frozen& frozen) {
    auto now = find_toolchain();
    if (!now) return pass(now);
    if (*now == frozen.toolchain) return {};
    const auto first = [](const std::string& text) { return text.substr(0, text.find('\n')); };
    return fail(Fault::build, "the toolchain changed since submission (was {}, is {}): submit again",
                first(frozen.toolchain), first(*now));
}

Status check_source(const Frozen& frozen, const Git& store) {
    auto kept = store.run({"rev-parse", "--verify", "--quiet", "refs/kab/tree/" + frozen.tree});
    if (!kept) return pass(kept);
    if (kept->status.ok()) return {};
    return fail(Fault::build, "source gone: the snapshot of {} is no longer in {}: submit again", frozen.origin,
                store.git_dir.string());
}

/// For people; a log that cannot be kept (a full disk) must not hide why the build failed.
void keep_log(const WorkTree& work_tree, const fs::path& log) {
    if (!make_directories(log.parent_path())) return;
    std::error_code ignored;
    fs::copy_file(work_tree.file("build.log"), log, fs::copy_options::overwrite_existing, ignored);
}

Status check_out(WorkTree& work_tree, const Frozen& frozen, const Git& store, const Progress& progress) {
    if (progress) progress("checkout", 0, 0);
    auto checked_out = work_tree.check_out(store, frozen.tree);
    if (!checked_out && checked_out.error().fault == Fault::io) (void)work_tree.drop(true);
    return checked_out;
}

Result<Built> compile_and_publish(const WorkTree& work_tree, const Frozen& frozen, const Paths& paths,
                                  const Progress& progress) {
    auto compiled = compile(frozen, work_tree, progress);
    if (compiled) return publish(paths, frozen, *compiled, work_tree);
    keep_log(work_tree, failed_log(paths, frozen.key));
    if (compiled.error().fault == Fault::io) (void)work_tree.drop(false);  // a full disk: give back what we can
    return pass(compiled);
}

Result<Built> build_in_work_tree(const Frozen& frozen, const Git& store, const Paths& paths, const Progress& progress) {
    auto work_tree = WorkTree::open(paths, frozen.family, progress);
    if (!work_tree) return pass(work_tree);
    auto cached = find_built(paths, frozen.key);  // by whom we waited for
    if (!cached) return pass(cached);
    if (*cached) return std::move(**cached);
    auto machine = take_machine("building kernel " + frozen.key.substr(0, 12), progress);
    if (!machine) return pass(machine);
    if (auto begun = work_tree->begin(); !begun) return pass(begun);
    if (auto cleared = work_tree->use_toolchain(frozen.toolchain); !cleared) return pass(cleared);
    // Where it fails, the work tree stays marked as busy and is repaired by who comes next.
    if (auto checked_out = check_out(*work_tree, frozen, store, progress); !checked_out) return pass(checked_out);
    auto built = compile_and_publish(*work_tree, frozen, paths, progress);
    if (auto finished = work_tree->finish(); !finished && built) return pass(finished);
    return built;
}

/// Of a damaged store nothing can be built any more: it goes, and the next submission makes it anew. To be called
/// without locks: whoever has the store's may be waiting for the machine.
Error after_damage(const Error& error, const Frozen& frozen, const Paths& paths, const Progress& progress) {
    auto store = SourceStore::open(paths, progress);
    if (!store || !store->damaged()) return error;
    if (auto dropped = store->drop(); !dropped) return dropped.error();
    return Error{Fault::build,
                 fmt::format("source gone: the snapshot of {} was damaged ({}) and has been removed: submit again",
                             frozen.origin, error.message),
                 {}};
}

}  // namespace

fs::path failed_log(const Paths& paths, const std::string& key) {
    return paths.kernels() / "failed" / (key + ".log");
}

Result<Built> build(const Frozen& frozen, const Paths& paths, const Progress& progress) {
    if (frozen.kind == "image") return build_image(frozen, paths);
    auto cached = find_built(paths, frozen.key);
    if (!cached) return pass(cached);
    if (*cached) return std::move(**cached);
    if (auto checked = check_toolchain(frozen); !checked) return pass(checked);
    const Git store = SourceStore::reader(paths);
    if (auto checked = check_source(frozen, store); !checked) return pass(checked);
    auto built = build_in_work_tree(frozen, store, paths, progress);
    if (!built) {
        if (built.error().fault != Fault::infra || !tells_damage(built.error().message)) return built;
        return tl::unexpected(after_damage(built.error(), frozen, paths, progress));
    }
    std::error_code ignored;
    fs::remove(failed_log(paths, frozen.key), ignored);
    return built;
}

}  // namespace kab::kernel
