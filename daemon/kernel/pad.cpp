#include "daemon/kernel/pad.h"

namespace kab::kernel {
namespace {

constexpr const char* makefile = "init/Makefile";
constexpr const char* object = "kab_pad";

/// .text.hot comes before .text in every kernel's link order, and init/ before all directories but the entry code.
std::string assembly(std::int64_t bytes) {
    return fmt::format("\t.section .text.hot, \"ax\"\n\t.skip {}, 0xcc\n", bytes);
}

/// Puts a file into the index.
Status add(const Git& git, const std::string& path, const std::string& text) {
    auto blob = git.text({"hash-object", "-w", "--stdin"}, text);
    if (!blob) return pass(blob);
    auto done = git.text({"update-index", "--add", "--cacheinfo", "100644," + *blob + "," + path});
    if (!done) return pass(done);
    return {};
}

}  // namespace

Result<std::string> pad_code(const std::string& tree, std::int64_t bytes, const SourceStore& store) {
    if (bytes == 0) return tree;
    auto rules = read_blob(store.git(), tree, makefile);
    if (!rules && rules.error().fault == Fault::not_found)
        return fail(Fault::spec, "its code cannot be moved: the source has no {}", makefile);
    if (!rules) return rules;
    Git git = store.git();
    git.index = store.scratch() / "pad-index";
    if (auto read = git.text({"read-tree", tree}); !read) return read;
    if (!rules->ends_with('\n')) *rules += '\n';
    *rules += fmt::format("obj-y += {}.o\n", object);
    if (auto added = add(git, makefile, *rules); !added) return pass(added);
    if (auto added = add(git, fmt::format("init/{}.S", object), assembly(bytes)); !added) return pass(added);
    auto padded = git.text({"write-tree"});
    if (!padded) return padded;
    if (auto kept = store.keep(*padded); !kept) return pass(kept);
    return padded;
}

}  // namespace kab::kernel
