#pragma once
// Runs the kernel library on linux-mini, a source tree of a few files: real git, real make, real compiler, in
// seconds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "common/process/run.h"
#include "daemon/kernel/kernel.h"

namespace kab::kernel {

/// Runs a shell command that must succeed; its stdout without the last newline.
inline std::string shell(const std::string& command, const fs::path& directory = "/") {
    auto done = run_checked({.program = "/bin/sh",
                             .args = {"-ec", command},
                             .environment = {{"GIT_CONFIG_GLOBAL", "/dev/null"},
                                             {"GIT_AUTHOR_NAME", "A"},
                                             {"GIT_AUTHOR_EMAIL", "a@example.org"},
                                             {"GIT_COMMITTER_NAME", "A"},
                                             {"GIT_COMMITTER_EMAIL", "a@example.org"}},
                             .working_directory = directory});
    EXPECT_TRUE(done) << command << "\n" << (done ? "" : done.error().text());
    if (!done) return {};
    std::string out = done->out;
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

inline void put(const fs::path& path, const std::string& text) {
    ASSERT_TRUE(make_directories(path.parent_path()));
    ASSERT_TRUE(write_file(path, text));
}

/// A change of ipc/namespace.c as a diff.
inline const char* const mini_patch = R"(diff --git a/ipc/namespace.c b/ipc/namespace.c
--- a/ipc/namespace.c
+++ b/ipc/namespace.c
@@ -4,6 +4,6 @@
 /* drop a reference */
 int put_ipc_ns(int ns)
 {
-	users -= ns;
+	users -= 2 * ns;
 	return users;
 }
)";

/// A cache of its own, a source tree and a configuration fragment.
class KernelTest : public ::testing::Test {
  protected:
    KernelTest() : directory_(*TempDir::make("kab-kernel-")) {
        ::setenv("KAB_LIBEXEC_DIR", KAB_BINARY_DIR "/bin", 1);
        ::setenv("KAB_MACHINE_LOCK", path("machine.lock").c_str(), 1);
        paths_.cache = path("cache");
        paths_.state = path("state");
        fs::copy(KAB_SOURCE_DIR "/tests/unit/kernel/linux-mini", tree(""), fs::copy_options::recursive);
        put(path("vm.config"), "# for tests\nCONFIG_PVH=y\nCONFIG_IPC_NS=y\n");
    }
    ~KernelTest() override { ::unsetenv("KAB_MACHINE_LOCK"); }

    fs::path path(const std::string& name) const { return directory_.path() / name; }
    fs::path tree(const std::string& name) const {
        return name.empty() ? path("linux-mini") : path("linux-mini") / name;
    }

    /// The tree as a tarball, as it is now.
    std::string tarball(const std::string& name = "linux-mini.tar.xz") const {
        shell("tar -caf " + path(name).string() + " linux-mini", directory_.path());
        return path(name);
    }
    /// The tree as a git repository with a branch main and a tag v1.
    void make_repository() const {
        shell("git init -q -b main && git add -A && git commit -qm base && git tag v1", tree(""));
    }

    Request request(const std::string& kind, const std::string& location) const {
        Request result;
        result.kind = kind;
        result.location = location;
        if (kind != "image") result.config = {path("vm.config")};
        return result;
    }
    Result<Frozen> frozen(const Request& wanted) const { return freeze(wanted, paths_, {}); }
    /// freeze, then build, which must both succeed.
    Built built(const Request& wanted) const {
        auto ready = frozen(wanted);
        EXPECT_TRUE(ready) << ready.error().text();
        if (!ready) return {};
        auto result = build(*ready, paths_, {});
        EXPECT_TRUE(result) << result.error().text();
        return result ? *result : Built{};
    }
    std::string stored(const std::string& git_command) const {
        return shell("git --git-dir=" + (paths_.cache / "sources.git").string() + " " + git_command);
    }
    /// What the cache has of a file in a frozen tree.
    std::string in_tree(const Frozen& kernel, const std::string& file) const {
        return stored("cat-file blob " + kernel.tree + ":" + file);
    }

    TempDir directory_;
    Paths paths_;
};

}  // namespace kab::kernel
