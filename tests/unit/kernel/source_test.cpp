#include <gmock/gmock.h>
#include <sys/stat.h>

#include "common/machine_lock.h"
#include "daemon/kernel/source.h"
#include "mini_kernel.h"

namespace kab::kernel {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class SourceTest : public KernelTest {
  protected:
    Error error_of(const Request& wanted) const {
        auto result = frozen(wanted);
        EXPECT_FALSE(result);
        return result ? Error{} : result.error();
    }
    std::string tree_of(const Request& wanted) const {
        auto result = frozen(wanted);
        EXPECT_TRUE(result) << result.error().text();
        return result ? result->tree : "";
    }
};

TEST_F(SourceTest, ATarballBecomesATreeWithoutItsTopDirectory) {
    shell("ln -s ../Makefile scripts/link && chmod +x scripts/olddefconfig", tree(""));
    auto kernel = frozen(request("tarball", tarball()));
    ASSERT_TRUE(kernel) << kernel.error().text();
    EXPECT_EQ(kernel->release, "6.1.99");
    EXPECT_EQ(kernel->family, "6.1-tinyconfig");
    EXPECT_THAT(kernel->origin, StartsWith("linux-mini.tar.xz (6.1.99, sha256 "));
    EXPECT_THAT(in_tree(*kernel, "Makefile"), HasSubstr("SUBLEVEL = 99"));
    const std::string listed = stored("ls-tree " + kernel->tree + " scripts/");
    EXPECT_THAT(listed, HasSubstr("120000 blob"));
    EXPECT_THAT(listed, HasSubstr("100755 blob"));
}

TEST_F(SourceTest, AllKindsOfTheSameSourceAreTheSameKernel) {
    const std::string archive = tarball();
    const auto plain = frozen(request("dir", tree("")));
    ASSERT_TRUE(plain) << plain.error().text();
    make_repository();
    const auto from_tarball = frozen(request("tarball", archive));
    const auto from_git = frozen(request("git", tree("")));
    const auto from_directory = frozen(request("dir", tree("")));
    const auto from_url = frozen(request("git", "file://" + tree("").string()));
    for (const auto* other : {&from_tarball, &from_git, &from_directory, &from_url}) {
        ASSERT_TRUE(*other) << other->error().text();
        EXPECT_EQ((*other)->key, plain->key) << (*other)->origin;
    }
    EXPECT_EQ(from_git->base_commit, shell("git rev-parse HEAD", tree("")));
    EXPECT_EQ(from_url->base_commit, from_git->base_commit);
}

TEST_F(SourceTest, ATarballIsReadOnce) {
    const std::string archive = tarball();
    int imports = 0;
    const Progress count = [&](const std::string& step, std::int64_t, std::int64_t) { imports += step == "import"; };
    ASSERT_TRUE(freeze(request("tarball", archive), paths_, count));
    EXPECT_GT(imports, 0);
    imports = 0;
    ASSERT_TRUE(freeze(request("tarball", archive), paths_, count));
    EXPECT_EQ(imports, 0);
}

TEST_F(SourceTest, ANamedRefABranchAndACommitAreResolved) {
    make_repository();
    const std::string first = shell("git rev-parse HEAD", tree(""));
    put(tree("ipc/namespace.c"), "int put_ipc_ns(int n) { return n; }\n");
    shell("git checkout -qb topic && git commit -qam second && git tag -m annotated v2", tree(""));
    Request wanted = request("git", tree(""));
    wanted.ref = "v1";
    const std::string one = tree_of(wanted);
    wanted.ref = first;
    EXPECT_EQ(tree_of(wanted), one);
    wanted.ref = "v2";
    const std::string two = tree_of(wanted);
    EXPECT_NE(one, two);
    wanted.ref = "topic";
    EXPECT_EQ(tree_of(wanted), two);
    wanted.location = "file://" + tree("").string();
    EXPECT_EQ(tree_of(wanted), two);
    wanted.ref = "v2";
    auto fetched = frozen(wanted);
    ASSERT_TRUE(fetched) << fetched.error().text();
    EXPECT_EQ(fetched->tree, two);
    EXPECT_EQ(fetched->base_commit, shell("git rev-parse v2^{commit}", tree(""))) << "a tag object is no commit";
}

TEST_F(SourceTest, AnUnknownRefIsNamedWithASuggestion) {
    make_repository();
    Request wanted = request("git", tree(""));
    wanted.ref = "v11";
    const Error error = error_of(wanted);
    EXPECT_EQ(error.message, "has no commit 'v11'; did you mean v1?");
    EXPECT_EQ(error.where, tree(""));
    wanted.location = "file://" + tree("").string();
    EXPECT_EQ(error_of(wanted).message, "has no branch or tag 'v11'");
    wanted.ref = "--upload-pack=touch /tmp/x";
    EXPECT_EQ(error_of(wanted).fault, Fault::spec);
}

TEST_F(SourceTest, ARepositoryMayGoAfterSubmission) {
    make_repository();
    const auto kernel = frozen(request("git", tree("")));
    ASSERT_TRUE(kernel);
    fs::remove_all(tree(""));
    EXPECT_TRUE(build(*kernel, paths_, {}));
    EXPECT_EQ(error_of(request("git", tree(""))).message, "no such git repository");
}

TEST_F(SourceTest, ASnapshotHasUncommittedAndNewFilesButNotIgnoredOnes) {
    put(tree(".gitignore"), "*.o\n");
    make_repository();
    put(tree("ipc/namespace.c"), "int put_ipc_ns(int n) { return n; }\n");
    put(tree("ipc/new.c"), "int new;\n");
    put(tree("ipc/new.o"), "built");
    shell("git rm -q --cached fs/proc.c && rm fs/proc.c", tree(""));
    put(tree("fs/other.c"), "int staged;\n");
    shell("git add fs/other.c", tree(""));
    const std::string before = shell("git status --porcelain=v2 && sha256sum .git/index && find .git | sort", tree(""));
    const auto kernel = frozen(request("dir", tree("")));
    ASSERT_TRUE(kernel) << kernel.error().text();
    EXPECT_EQ(shell("git status --porcelain=v2 && sha256sum .git/index && find .git | sort", tree("")), before)
        << "the user's repository was written to";
    EXPECT_EQ(in_tree(*kernel, "ipc/namespace.c"), "int put_ipc_ns(int n) { return n; }");
    EXPECT_EQ(in_tree(*kernel, "ipc/new.c"), "int new;");
    EXPECT_EQ(in_tree(*kernel, "fs/other.c"), "int staged;");
    const std::string names = stored("ls-tree -r --name-only " + kernel->tree);
    EXPECT_THAT(names, ::testing::Not(HasSubstr("new.o")));
    EXPECT_THAT(names, ::testing::Not(HasSubstr("proc.c")));
    EXPECT_THAT(kernel->origin, HasSubstr("and uncommitted changes"));
    // What was only in the user's repository has been copied.
    fs::remove_all(tree(""));
    EXPECT_THAT(in_tree(*kernel, "Makefile"), HasSubstr("SUBLEVEL"));
}

TEST_F(SourceTest, ASnapshotOfASubdirectoryOfARepository) {
    shell("git init -q && git add linux-mini && git commit -qm all", directory_.path());
    const auto inside = frozen(request("dir", tree("")));
    ASSERT_TRUE(inside) << inside.error().text();
    fs::remove_all(path(".git"));
    const auto plain = frozen(request("dir", tree("")));
    ASSERT_TRUE(plain) << plain.error().text();
    EXPECT_EQ(inside->tree, plain->tree);
}

TEST_F(SourceTest, ASnapshotRefusesARepositoryWithinIt) {
    make_repository();
    shell("git init -q drivers && cd drivers && touch x.c && git add x.c && git commit -qm x", tree(""));
    const Error error = error_of(request("dir", tree("")));
    EXPECT_EQ(error.fault, Fault::spec);
    EXPECT_EQ(error.text(), tree("").string() +
                                ": drivers in it is a git repository of its own, whose files would be missing: "
                                "remove it, or its .git");
    shell("rm -rf drivers/.git && git init -q drivers", tree(""));  // without a commit git itself refuses it
    EXPECT_THAT(error_of(request("dir", tree(""))).message, StartsWith("git add: "));
}

TEST_F(SourceTest, ADirectoryIgnoredByTheRepositoryAroundItIsPlain) {
    const std::string plain = tree_of(request("dir", tree("")));
    shell("git init -q && echo linux-mini >.gitignore && git add .gitignore && git commit -qm all", directory_.path());
    EXPECT_EQ(tree_of(request("dir", tree(""))), plain);
}

TEST_F(SourceTest, ARepositoryOfAnotherObjectFormatIsRefusedAndHarmsNothing) {
    shell("git init -q -b main --object-format=sha256 && git add -A && git commit -qm base", tree(""));
    for (const char* kind : {"git", "dir"}) {
        const Error error = error_of(request(kind, tree("")));
        EXPECT_EQ(error.fault, Fault::spec);
        EXPECT_THAT(error.message, StartsWith("is a git repository of the object format sha256")) << kind;
    }
    EXPECT_THAT(error_of(request("git", "file://" + tree("").string())).message,
                StartsWith("is a git repository of the object format sha256"));
    fs::remove_all(tree(".git"));
    EXPECT_NE(tree_of(request("dir", tree(""))), "");
    EXPECT_EQ(stored("fsck --no-dangling"), "");
}

TEST_F(SourceTest, OfAWrongDirectoryNothingIsRead) {
    fs::remove(tree("Makefile"));
    EXPECT_THAT(error_of(request("dir", tree(""))).message, StartsWith("is no Linux kernel source"));
    make_repository();
    EXPECT_THAT(error_of(request("git", tree(""))).message, StartsWith("is no Linux kernel source"));
    EXPECT_EQ(stored("count-objects"), "0 objects, 0 kilobytes");
}

TEST_F(SourceTest, LocalImportsWaitForTheMachine) {
    make_repository();
    for (const char* kind : {"git", "dir"}) {
        auto held = MachineLock::take("booting");
        ASSERT_TRUE(held);
        std::optional<MachineLock> booting(std::move(*held));
        paths_.cache = path(std::string("cache-of-") + kind);
        bool waited = false;
        const auto result =
            freeze(request(kind, tree("")), paths_, [&](const std::string& step, std::int64_t, std::int64_t) {
                if (step.rfind("waiting for ", 0) != 0) return;
                waited = true;
                booting.reset();
            });
        ASSERT_TRUE(result) << result.error().text();
        EXPECT_TRUE(waited) << kind;
    }
}

TEST_F(SourceTest, ObjectsComeToTheDisk) {
    tree_of(request("dir", tree("")));
    EXPECT_EQ(stored("config core.fsync"), "committed,loose-object,reference");
    // A store of before, or one whose configuration was lost.
    put(paths_.cache / "sources.git/config", "");
    tree_of(request("dir", tree("")));
    EXPECT_EQ(stored("config core.fsync"), "committed,loose-object,reference");
}

TEST_F(SourceTest, WhatKilledGitCommandsLeftIsRemoved) {
    tree_of(request("dir", tree("")));
    const fs::path objects = paths_.cache / "sources.git/objects";
    put(objects / "ab/tmp_obj_x", "half");
    put(objects / "tmp_objdir-bulk-fsync-x/ab/cd", "half");
    put(objects / "pack/tmp_pack_x", "half");
    tree_of(request("dir", tree("")));
    EXPECT_EQ(shell("find . -path '*tmp_*'", objects), "");
}

TEST_F(SourceTest, ATarballThatChangesWhileItIsReadIsRefused) {
    const std::string archive = tarball("linux-mini.tar");
    bool changed = false;
    const auto result =
        freeze(request("tarball", archive), paths_, [&](const std::string& step, std::int64_t, std::int64_t) {
            if (step != "import" || changed) return;
            changed = true;
            shell("printf x >>" + archive);
        });
    ASSERT_TRUE(changed);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "changed while being read: run again when it is complete");
    EXPECT_TRUE(frozen(request("tarball", tarball("linux-mini.tar"))));
}

TEST_F(SourceTest, ACommandThatWaitsForOthersHasADeadline) {
    Git git;
    git.directory = tree("");
    git.limit = std::chrono::milliseconds(200);
    const fs::path never = path("never");
    ASSERT_EQ(::mkfifo(never.c_str(), 0600), 0);  // nobody writes to it
    const auto waited = git.text({"-c", "alias.wait=!cat " + never.string(), "wait"});
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().fault, Fault::timeout);
}

TEST_F(SourceTest, APasswordIsInNoError) {
    const Request wanted = request("git", "file://me:secret@host" + path("nothing").string());
    const Error error = error_of(wanted);
    EXPECT_THAT(error.text(), ::testing::Not(HasSubstr("secret")));
    EXPECT_THAT(error.text(), HasSubstr("file://host"));
}

TEST_F(SourceTest, APlainDirectoryInWhichAKernelWasBuiltIsRefused) {
    put(tree(".config"), "CONFIG_X=y\n");
    EXPECT_THAT(error_of(request("dir", tree(""))).message, HasSubstr("make mrproper"));
}

TEST_F(SourceTest, WhatIsNotThereIsNotFound) {
    for (const char* kind : {"tarball", "git", "dir", "image"}) {
        const Error error = error_of(request(kind, path("nothing")));
        EXPECT_EQ(error.fault, Fault::not_found) << kind;
        EXPECT_EQ(error.where, path("nothing")) << kind;
    }
    EXPECT_EQ(error_of(request("floppy", path("nothing"))).fault, Fault::spec);
}

TEST_F(SourceTest, WhatIsNoArchiveIsRefused) {
    put(path("x.tar.xz"), "this is no archive, though it is long enough to look at");
    const Error error = error_of(request("tarball", path("x.tar.xz")));
    EXPECT_EQ(error.fault, Fault::spec);
    EXPECT_THAT(error.message, StartsWith("is no tar archive"));
    put(path("empty.tar"), "");
    EXPECT_EQ(error_of(request("tarball", path("empty.tar"))).fault, Fault::spec);
    EXPECT_EQ(error_of(request("tarball", tree(""))).message, "is no file (for a directory use dir:)");
}

TEST_F(SourceTest, ACutOffArchiveLeavesNothingBehind) {
    shell(
        "head -c 300000 /dev/urandom >linux-mini/fs/big && tar -czf whole.tgz linux-mini && "
        "head -c 200000 whole.tgz >cut.tgz",
        directory_.path());
    const Error error = error_of(request("tarball", path("cut.tgz")));
    EXPECT_EQ(error.fault, Fault::spec);
    EXPECT_THAT(error.message, StartsWith("is damaged or cut off"));
    const fs::path store = paths_.cache / "sources.git";
    EXPECT_EQ(shell("find . -name 'tmp_*' -o -name 'fast_import_crash*' -o -name '*.pack'", store), "");
    EXPECT_TRUE(frozen(request("tarball", path("whole.tgz"))));
}

TEST_F(SourceTest, AnArchiveThatReachesOutsideIsRefused) {
    put(path("evil"), "x");
    shell("tar -cPf evil.tar linux-mini ../" + directory_.path().filename().string() + "/evil", directory_.path());
    EXPECT_THAT(error_of(request("tarball", path("evil.tar"))).message, HasSubstr("holds a path with '..'"));
}

TEST_F(SourceTest, WhatIsNoKernelIsRefused) {
    put(path("project/Makefile"), "all:\n");
    for (const char* kind : {"dir", "git"}) {
        shell("git init -q project && git -C project add -A && git -C project commit -q --allow-empty -m x",
              directory_.path());
        const Error error = error_of(request(kind, path("project")));
        EXPECT_EQ(error.fault, Fault::spec);
        EXPECT_THAT(error.message, StartsWith("is no Linux kernel source")) << kind;
    }
    EXPECT_THAT(error_of(request("git", path("cache"))).message, StartsWith("is no git repository"));
}

TEST_F(SourceTest, ConfigurationFilesAreCheckedAtOnce) {
    Request wanted = request("dir", tree(""));
    wanted.config.push_back(path("missing.config"));
    EXPECT_EQ(error_of(wanted).where, path("missing.config"));
    put(path("bad.config"), "CONFIG_A=y\nnonsense\n");
    wanted.config.back() = path("bad.config");
    EXPECT_EQ(error_of(wanted).where, path("bad.config").string() + ":2");
    wanted.config.pop_back();
    wanted.base = path("missing-base");
    EXPECT_EQ(error_of(wanted).fault, Fault::not_found);
    wanted.base = "/bin/true";
    EXPECT_THAT(error_of(wanted).where, StartsWith("/bin/true:"));
    put(path("base"), "tinyconfig");
    wanted.base = path("base");
    EXPECT_EQ(error_of(wanted).where, path("base").string() + ":1") << "text is no name";
}

TEST_F(SourceTest, TheKeyDependsOnWhatMattersOnly) {
    const Request wanted = request("dir", tree(""));
    const auto first = frozen(wanted);
    ASSERT_TRUE(first);
    put(path("vm.config"), "CONFIG_IPC_NS=n\n# the same in other words\nCONFIG_PVH=y\nCONFIG_IPC_NS=y\n");
    const auto same = frozen(wanted);
    ASSERT_TRUE(same);
    EXPECT_EQ(same->key, first->key);
    put(path("vm.config"), "CONFIG_PVH=y\n");
    const auto other_config = frozen(wanted);
    ASSERT_TRUE(other_config);
    EXPECT_NE(other_config->key, first->key);
    put(path("vm.config"), "CONFIG_PVH=y\nCONFIG_IPC_NS=y\n");
    put(tree("fs/proc.c"), "int proc_read(int s) { return s; }\n");
    const auto other_source = frozen(wanted);
    ASSERT_TRUE(other_source);
    EXPECT_NE(other_source->key, first->key);
}

TEST(LocationTest, PasswordsAreNotShown) {
    EXPECT_EQ(without_credentials("https://me:secret@host/linux.git"), "https://host/linux.git");
    EXPECT_EQ(without_credentials("https://host/a@b"), "https://host/a@b");
    EXPECT_EQ(without_credentials("https://token@host"), "https://host");
    EXPECT_EQ(without_credentials("git@host:linux"), "git@host:linux");
    EXPECT_EQ(without_credentials("/src/linux"), "/src/linux");
}

TEST(LocationTest, KernelVersionIsReadFromTheMakefile) {
    EXPECT_EQ(kernel_version("# x\nVERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 192\nEXTRAVERSION =\n"), "6.1.192");
    EXPECT_EQ(kernel_version("VERSION = 6\nPATCHLEVEL = 2\nSUBLEVEL = 0\nEXTRAVERSION = -rc1\n"), "6.2.0-rc1");
    EXPECT_EQ(kernel_version("VERSIONS = 6\nall:\n"), "");
}

TEST_F(SourceTest, WorksFromWithinAGitHook) {
    make_repository();
    ::setenv("GIT_DIR", "/nonexistent", 1);
    ::setenv("GIT_INDEX_FILE", "/nonexistent", 1);
    const auto kernel = frozen(request("git", tree("")));
    ::unsetenv("GIT_DIR");
    ::unsetenv("GIT_INDEX_FILE");
    EXPECT_TRUE(kernel) << kernel.error().text();
}

}  // namespace
}  // namespace kab::kernel
