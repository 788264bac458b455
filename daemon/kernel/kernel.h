#pragma once
// Kernels: freeze what an arm asks for, build it, cache it by content. Synchronous; runs inside the
// child process kab-build, never in kabd's own process (see daemon/builder).
//
// Every source becomes a git tree in <cache>/sources.git, patches are applied to the tree, and the
// kernel's key is the hash of (tree, configuration, toolchain, recipe): a tag, a dirty working tree and a
// patch series that come to the same source are the same kernel.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/json.h"
#include "common/paths.h"
#include "common/result.h"

namespace kab::kernel {

/// What an arm asks for; all paths absolute. Same words as the spec.
struct Request {
    std::string kind;      ///< tarball, git, dir, image
    std::string location;  ///< path or URL
    std::string ref;       ///< git
    std::string modules;   ///< image: directory of modules; may be empty
    std::string base = "tinyconfig";
    std::vector<std::string> config;   ///< fragment files
    std::vector<std::string> patches;  ///< files, mailboxes, directories with a series
    /// The directory in which base, config and patches lie as copies of files elsewhere, each under its own absolute
    /// path; people are shown that path. Empty: they are the files themselves.
    std::string root;
    /// Fragments on top of `config` that make another kind of kernel, such as one that finds bugs: it is built in a
    /// work tree of its own, so that going back and forth between the kinds does not compile everything each time.
    std::vector<std::string> extra_config;
    /// Not 0: the same source with its code moved up by so many bytes, which should make no difference.
    std::int64_t pad_bytes = 0;
};

/// How far a relinked kernel's code is moved: half a page, so that most functions come to lie in other pages and other
/// sets of a cache, and three quarters of a cache line where functions are not aligned to lines.
inline constexpr std::int64_t relink_pad_bytes = 2048 + 48;

struct PatchInfo {
    std::string file, subject, patch_id;  ///< patch_id: `git patch-id --stable`
};

/// Everything that decides the code, resolved. Survives the loss of fragments and patches (their text is in it).
struct Frozen {
    std::string key;  ///< 64 hex digits
    std::string kind;
    std::string
        origin;  ///< for people: "linux-source-6.1.tar.xz (6.1.192, sha256 12ab...)", "git /src v6.1 (commit ...)"
    std::string base_commit;  ///< git commit where there is one
    std::string tree;         ///< git tree with patches; empty for image
    std::string release;      ///< `make kernelversion`; empty for image
    std::string base;         ///< tinyconfig, defconfig, or the file's text after a comment that names it
    std::string fragments;    ///< concatenated fragments, each with a comment naming its file and line 1
    std::vector<PatchInfo> patches;
    std::string toolchain;     ///< first lines of the compiler's and linker's --version
    std::string image;         ///< image only: the absolute path it was copied from
    std::string modules;       ///< image only: the copy of its modules in <cache>/modules; equal if they are
    std::string modules_from;  ///< where they were copied from
    std::string family;        ///< names the work tree: sources of one family build incrementally
};

struct Built {
    std::string key;
    std::string path;            ///< vmlinux or bzImage in the cache (or the image itself)
    std::string format;          ///< "vmlinux" or "bzimage"
    std::string image_hash;      ///< SHA-256 of the file
    std::string code_signature;  ///< SHA-256 of the loadable sections without build-id, banner, ikconfig
    std::string config_path, log_path;
    std::string compiler;
    bool cached = false;
    std::int64_t wall_ns = 0, cpu_ns = 0;  ///< of make; 0 when cached
    std::int64_t objects = 0;              ///< objects compiled
    std::int64_t warnings = 0;             ///< of the compiler
};

/// step: "waiting" or "waiting for 4711 booting ..." (for another build or a boot), "import", "patch", "checkout",
/// "configure", "compile", "link"; total 0 when unknown.
using Progress = std::function<void(const std::string& step, std::int64_t done, std::int64_t total)>;

/// Resolves everything; imports sources that are not in the cache yet. Fault::spec or not_found for what is
/// wrong with the request (missing file, patch that does not apply, no kernel), Fault::build for a missing tool.
Result<Frozen> freeze(const Request& request, const Paths& paths, const Progress& progress);

/// Gives the cached kernel or builds it, alone on the machine (common/machine_lock.h). Fault::spec for a
/// configuration that Kconfig does not grant, Fault::build with the first error of a failed build (its log
/// is failed_log()), Fault::io for a full disk. Nothing half-written is left in the cache.
Result<Built> build(const Frozen& frozen, const Paths& paths, const Progress& progress);

/// Where the log of a failed build of this kernel is kept.
fs::path failed_log(const Paths& paths, const std::string& key);

/// True for a base that the kernel's makefiles make: tinyconfig, defconfig.
bool is_named_base(const std::string& base);

Json to_json(const Request& request);
Json to_json(const Frozen& frozen);
Json to_json(const Built& built);
Result<Request> request_from_json(const Json& json);
Result<Frozen> frozen_from_json(const Json& json);
Result<Built> built_from_json(const Json& json);

}  // namespace kab::kernel
