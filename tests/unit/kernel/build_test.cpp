#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/digest/sha256.h"
#include "common/machine_lock.h"
#include "daemon/kernel/work_tree.h"
#include "mini_kernel.h"

namespace kab::kernel {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class BuildTest : public KernelTest {
  protected:
    Request source() const { return request("dir", tree("")); }
    Error build_error(const Request& wanted) const {
        auto ready = frozen(wanted);
        EXPECT_TRUE(ready) << ready.error().text();
        if (!ready) return {};
        auto result = build(*ready, paths_, {});
        EXPECT_FALSE(result);
        return result ? Error{} : result.error();
    }
    fs::path work_tree() const { return paths_.cache / "worktrees/6.1-tinyconfig"; }
    std::string cached_names() const { return shell("find . -mindepth 1 -maxdepth 1 | sort", paths_.kernels()); }
};

TEST_F(BuildTest, GivesAKernelWithAllThatBelongsToIt) {
    const Built kernel = built(source());
    EXPECT_FALSE(kernel.cached);
    EXPECT_EQ(kernel.format, "vmlinux");
    EXPECT_EQ(kernel.path, paths_.kernels() / kernel.key / "vmlinux");
    EXPECT_EQ(kernel.image_hash, *sha256_file(kernel.path));
    EXPECT_EQ(kernel.objects, 3);
    EXPECT_EQ(kernel.warnings, 0);
    EXPECT_GT(kernel.cpu_ns, 0);
    EXPECT_THAT(kernel.compiler, StartsWith("gcc"));
    EXPECT_THAT(read_file(kernel.config_path).value_or(""), HasSubstr("CONFIG_IPC_NS=y\n"));
    EXPECT_THAT(read_file(kernel.log_path).value_or(""), HasSubstr("  CC      ipc/namespace.o\n"));
    EXPECT_FALSE(fs::exists(work_tree() / "busy"));
}

TEST_F(BuildTest, WithoutPvhItIsABzImageWithItsVmlinuxBesideIt) {
    const Built elf = built(source());
    put(path("vm.config"), "CONFIG_IPC_NS=y\n");
    const Built kernel = built(source());
    EXPECT_EQ(kernel.format, "bzimage");
    EXPECT_TRUE(fs::exists(fs::path(kernel.path).parent_path() / "vmlinux"));
    EXPECT_NE(kernel.key, elf.key);
    EXPECT_EQ(kernel.code_signature, elf.code_signature) << "the mini kernel's code does not use CONFIG_PVH";
}

TEST_F(BuildTest, TheSecondTimeItIsCached) {
    const Built first = built(source());
    const Built second = built(source());
    EXPECT_TRUE(second.cached);
    EXPECT_EQ(second.wall_ns + second.cpu_ns, 0);
    EXPECT_EQ(second.path, first.path);
    EXPECT_EQ(second.code_signature, first.code_signature);
}

TEST_F(BuildTest, ADamagedCacheEntryIsBuiltAgain) {
    const Built first = built(source());
    put(first.path, "damaged");
    const Built second = built(source());
    EXPECT_FALSE(second.cached);
    EXPECT_EQ(second.image_hash, first.image_hash);
    put(paths_.kernels() / first.key / "kernel.json", "{");
    EXPECT_FALSE(built(source()).cached);
    EXPECT_EQ(cached_names(), "./" + first.key);
}

TEST_F(BuildTest, ASecondArmIsIncremental) {
    built(source());
    put(path("x.patch"), mini_patch);
    Request patched = source();
    patched.patches = {path("x.patch")};
    std::int64_t expected = -1;
    auto ready = frozen(patched);
    ASSERT_TRUE(ready);
    const auto other = build(*ready, paths_, [&](const std::string& step, std::int64_t done, std::int64_t total) {
        if (step == "compile" && done == 0) expected = total;
    });
    ASSERT_TRUE(other) << other.error().text();
    EXPECT_EQ(other->objects, 1);
    EXPECT_EQ(expected, 1) << "what progress promised from kbuild's records";
    EXPECT_TRUE(built(source()).cached);
}

TEST_F(BuildTest, APaddedKernelIsTheSameCodeElsewhere) {
    const Built first = built(source());
    Request wanted = source();
    wanted.pad_bytes = 4096;
    const Built moved = built(wanted);
    EXPECT_EQ(moved.objects, 1) << "only the pad is compiled";
    EXPECT_NE(moved.key, first.key);
    EXPECT_NE(moved.code_signature, first.code_signature);
    const auto place = [](const Built& kernel, const std::string& function) {
        const auto line = shell("nm " + kernel.path + " | grep ' T " + function + "$'");
        return std::stoull(line.substr(0, line.find(' ')), nullptr, 16);
    };
    for (const char* function : {"start", "put_ipc_ns", "proc_read"})
        EXPECT_EQ(place(moved, function) - place(first, function), 4096U) << function;
    EXPECT_EQ(built(source()).key, first.key);
}

TEST_F(BuildTest, WhatCannotBePaddedIsSaid) {
    Request wanted = source();
    wanted.pad_bytes = 4096;
    fs::remove(tree("init/Makefile"));
    const auto kernel = frozen(wanted);
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().fault, Fault::spec);
    EXPECT_EQ(kernel.error().text(), "its code cannot be moved: the source has no init/Makefile");
}

TEST_F(BuildTest, KernelsOfAnotherKindDoNotDisturbTheOrdinaryOnes) {
    built(source());
    put(path("debug.config"), "# CONFIG_IPC_NS is not set\n");
    Request debug = source();
    debug.extra_config = {path("debug.config")};
    const Built other = built(debug);
    EXPECT_THAT(read_file(other.config_path).value_or(""), HasSubstr("# CONFIG_IPC_NS is not set\n"));
    EXPECT_EQ(other.objects, 3) << "in a work tree of its own";
    put(tree("fs/proc.c"), read_file(tree("fs/proc.c")).value_or("") + "int more;\n");
    EXPECT_EQ(built(source()).objects, 1) << "on top of the first kernel";
    EXPECT_EQ(built(debug).objects, 1) << "on top of the other";
}

TEST_F(BuildTest, AHeaderRebuildsWhatDependsOnIt) {
    const Built first = built(source());
    put(tree("include/ipc.h"), "#define IPC_LIMIT 7\nint put_ipc_ns(int);\nint proc_read(int);\n");
    const Built second = built(source());
    EXPECT_EQ(second.objects, 3);
    EXPECT_NE(second.code_signature, first.code_signature);
}

TEST_F(BuildTest, IncrementalAndColdBuildsInOtherPlacesGiveTheSameCode) {
    built(source());
    put(path("x.patch"), mini_patch);
    Request patched = source();
    patched.patches = {path("x.patch")};
    const Built incremental = built(patched);
    paths_.cache = path("another/cache/in/a/longer/place");
    const Built cold = built(patched);
    EXPECT_EQ(cold.objects, 3);
    EXPECT_EQ(cold.key, incremental.key);
    EXPECT_EQ(cold.code_signature, incremental.code_signature);
    EXPECT_NE(cold.image_hash, incremental.image_hash) << "the mini kernel's banner names its place";
}

TEST_F(BuildTest, AFailedBuildShowsTheFirstErrorOfTheCompilerAndKeepsItsLog) {
    shell("sed -i 's/return users;/return user;/' ipc/namespace.c", tree(""));
    const Error error = build_error(source());
    EXPECT_EQ(error.fault, Fault::build);
    EXPECT_THAT(error.message, StartsWith("build failed: ipc/namespace.c:8:16: error: "));
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
    const auto ready = frozen(source());
    ASSERT_TRUE(ready);
    EXPECT_THAT(read_file(failed_log(paths_, ready->key)).value_or(""), HasSubstr("error: "));
    EXPECT_EQ(cached_names(), "./failed");
    // It is not stuck: the next arm is built as ever.
    shell("sed -i 's/return user;/return users;/' ipc/namespace.c", tree(""));
    built(source());
}

TEST_F(BuildTest, ASymbolThatIsNotGrantedIsNamedWithItsPlace) {
    put(path("vm.config"), "CONFIG_PVH=y\n\nCONFIG_KEXEC_FILE=y\n");
    const Error error = build_error(source());
    EXPECT_EQ(error.fault, Fault::spec);
    EXPECT_EQ(error.message, "CONFIG_KEXEC_FILE=y was not granted: Kconfig made it n; it depends on CRYPTO_SHA256");
    EXPECT_EQ(error.where, path("vm.config").string() + ":3");
    put(path("vm.config"), "CONFIG_KEXEC_FILE=y\nCONFIG_NOT=y\n");
    EXPECT_THAT(build_error(source()).message,
                HasSubstr("; " + path("vm.config").string() + ":2: CONFIG_NOT=y does not exist in this kernel"));
    put(path("vm.config"), "CONFIG_PVH=y\nCONFIG_IPC_NSS=y\n");
    EXPECT_THAT(build_error(source()).message, HasSubstr("does not exist in this kernel; did you mean CONFIG_IPC_NS?"));
}

TEST_F(BuildTest, ALaterFragmentOverridesAnEarlierOne) {
    put(path("off.config"), "CONFIG_IPC_NS=n\nCONFIG_HZ=250\n");
    Request wanted = source();
    wanted.config.push_back(path("off.config"));
    const std::string config = read_file(built(wanted).config_path).value_or("");
    EXPECT_THAT(config, HasSubstr("# CONFIG_IPC_NS is not set\n"));
    EXPECT_THAT(config, HasSubstr("CONFIG_HZ=250\n"));
}

TEST_F(BuildTest, ABaseFileTakesTheBasesPlace) {
    put(path("base"), "CONFIG_64BIT=y\nCONFIG_HZ=1000\n");
    Request wanted = source();
    wanted.base = path("base");
    EXPECT_THAT(read_file(built(wanted).config_path).value_or(""), HasSubstr("CONFIG_HZ=1000\n"));
}

TEST_F(BuildTest, AChangedConfigurationRebuildsAndAnOldOneIsNeverReused) {
    built(source());
    // The tree changes what is granted, and an arm in between fails.
    put(tree("Kconfig"), "config PVH\n\tbool \"PVH\"\nconfig HZ\n\tint \"Ticks\"\n");
    EXPECT_THAT(build_error(source()).message, HasSubstr("CONFIG_IPC_NS"));
    put(tree("fs/proc.c"), "int proc_read(int s) { return s; }\n");
    EXPECT_THAT(build_error(source()).message, HasSubstr("CONFIG_IPC_NS"));
}

TEST_F(BuildTest, AFullDiskIsSaidPlainly) {
    shell("sed -i 's,^\\t$(HOOK) gcc,\\tdd if=/dev/zero of=/dev/full bs=4k count=1\\n\\tgcc,' Makefile", tree(""));
    const Error error = build_error(source());
    EXPECT_EQ(error.fault, Fault::io);
    EXPECT_THAT(error.message, StartsWith("disk full while building in "));
    EXPECT_FALSE(fs::exists(work_tree() / "out")) << "what can be given back";
    EXPECT_EQ(cached_names(), "./failed");
}

TEST_F(BuildTest, WordsOfAFullDiskInABuildThatSucceedsAreNoFullDisk) {
    shell("sed -i 's,^\t$(HOOK) gcc,\techo No space left on device\\n\tgcc,' Makefile", tree(""));
    EXPECT_EQ(built(source()).objects, 3);
}

TEST_F(BuildTest, ABuildThatExceedsWhatWasExpectedHasNoTotal) {
    built(source());
    put(tree("include/ipc.h"), "#define IPC_LIMIT 7\nint put_ipc_ns(int);\nint proc_read(int);\n");
    // kbuild's records tell of one object less than make will compile.
    fs::remove(work_tree() / "out/fs/.proc.o.cmd");
    const auto ready = frozen(source());
    ASSERT_TRUE(ready);
    std::vector<std::pair<std::int64_t, std::int64_t>> shown;
    ASSERT_TRUE(build(*ready, paths_, [&](const std::string& step, std::int64_t done, std::int64_t total) {
        if (step == "compile") shown.emplace_back(done, total);
    }));
    using Shown = std::pair<std::int64_t, std::int64_t>;
    EXPECT_THAT(shown, ::testing::ElementsAre(Shown(0, 2), Shown(1, 2), Shown(2, 0), Shown(3, 0)));
}

TEST_F(BuildTest, AnotherToolchainBuildsEverythingAnew) {
    built(source());
    put(work_tree() / "toolchain", "gcc 1.0\nGNU assembler 1.0");
    put(path("x.patch"), mini_patch);
    Request patched = source();
    patched.patches = {path("x.patch")};
    EXPECT_EQ(built(patched).objects, 3);
}

TEST_F(BuildTest, APathThatKernelMakefilesRefuseIsSaidAtOnce) {
    for (const char* name : {"a cache", "a:cache"}) {
        paths_.cache = path(name);
        const auto result = frozen(source());
        ASSERT_FALSE(result);
        EXPECT_THAT(result.error().message, HasSubstr("refuse a path with a space or colon; set KAB_CACHE_DIR"));
    }
}

TEST_F(BuildTest, ADamagedStoreIsMadeAnewAndSaysWhatIsLost) {
    auto ready = frozen(source());
    ASSERT_TRUE(ready);
    const fs::path store = paths_.cache / "sources.git";
    const auto damage = [&] { shell("find objects -type f | while read f; do chmod u+w $f; : >$f; done", store); };
    damage();
    auto result = build(*ready, paths_, {});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().fault, Fault::build);
    EXPECT_THAT(result.error().message, StartsWith("source gone: the snapshot of dir "));
    EXPECT_THAT(result.error().message, HasSubstr("was damaged"));
    built(source());
    fs::remove_all(paths_.kernels() / ready->key);
    damage();
    built(source());
}

TEST_F(BuildTest, SourceGoneIsSaidPlainly) {
    const auto ready = frozen(source());
    ASSERT_TRUE(ready);
    fs::remove_all(paths_.cache / "sources.git");
    const auto result = build(*ready, paths_, {});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().fault, Fault::build);
    EXPECT_THAT(result.error().message, StartsWith("source gone: the snapshot of dir "));
}

TEST_F(BuildTest, AnotherToolchainThanAtSubmissionIsRefused) {
    auto ready = frozen(source());
    ASSERT_TRUE(ready);
    ready->toolchain = "gcc 1.0";
    const auto result = build(*ready, paths_, {});
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, StartsWith("the toolchain changed since submission (was gcc 1.0, is gcc"));
}

TEST_F(BuildTest, NothingOfTheCallersEnvironmentReachesMake) {
    shell("sed -i 's,^tinyconfig defconfig:,&\\n\\ttouch $$HOME/written,' Makefile", tree(""));
    const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
    ASSERT_TRUE(make_directories(path("home")));
    ::setenv("HOME", path("home").c_str(), 1);
    ::setenv("MAKEFLAGS", "-n", 1);
    ::setenv("HOOK", "false", 1);
    const Built kernel = built(source());
    ::unsetenv("MAKEFLAGS");
    ::unsetenv("HOOK");
    ::setenv("HOME", home.c_str(), 1);
    EXPECT_FALSE(fs::exists(path("home") / "written"));
    EXPECT_EQ(kernel.objects, 3);
}

TEST_F(BuildTest, WaitsForTheMachineAndSaysForWhom) {
    const auto ready = frozen(source());
    ASSERT_TRUE(ready);
    auto held = MachineLock::take("booting");
    ASSERT_TRUE(held);
    std::optional<MachineLock> booting(std::move(*held));
    std::string waited;
    const auto result = build(*ready, paths_, [&](const std::string& step, std::int64_t, std::int64_t) {
        if (step.rfind("waiting for ", 0) != 0) return;
        waited = step;
        booting.reset();
    });
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(waited, "waiting for " + std::to_string(::getpid()) + " booting");
}

/// Killed with a half-written object: the next build must not take it for a whole one, and what a compiler
/// has left in its temporary directory goes.
TEST_F(BuildTest, HealsAfterKillInTheMiddleOfACompilation) {
    const fs::path reached = path("reached"), gate = path("gate"), never = path("never");
    ASSERT_EQ(::mkfifo(reached.c_str(), 0600), 0);
    ASSERT_EQ(::mkfifo(never.c_str(), 0600), 0);  // nobody writes to it: who reads it is there until it is killed
    // The second build stops with an object half-written, its record from before still there.
    put(path("x.patch"), mini_patch);
    Request patched = source();
    patched.patches = {path("x.patch")};
    const std::string hook = "\\tif [ $* = ipc/namespace -a -e " + gate.string() + " ]; then rm " + gate.string() +
                             "; printf half >$@; printf half >$$TMPDIR/cc1.s; echo here >" + reached.string() +
                             "; exec cat " + never.string() + "; fi\\n";
    shell("sed -i 's,^\\t$(HOOK) gcc," + hook + "\\tgcc,' Makefile", tree(""));
    built(source());
    put(gate, "");
    const auto ready = frozen(patched);
    ASSERT_TRUE(ready);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const auto result = build(*ready, paths_, {});  // never returns, if all goes as planned
        (void)write_file(path("came-through"), result ? "built" : result.error().text());
        (void)open_file(reached, O_WRONLY);
        ::_exit(0);
    }
    ASSERT_TRUE(open_file(reached, O_RDONLY));  // opens when make is there
    ASSERT_EQ(read_file(path("came-through")).value_or(""), "");
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_TRUE(fs::exists(work_tree() / "busy"));
    EXPECT_TRUE(fs::exists(work_tree() / "tmp" / "cc1.s"));
    const Built healed = built(patched);
    EXPECT_FALSE(fs::exists(work_tree() / "tmp"));
    paths_.cache = path("fresh");
    EXPECT_EQ(healed.code_signature, built(patched).code_signature);
}

TEST(HealTest, RemovesWhatMayBeHalfMadeAndNothingElse) {
    auto directory = TempDir::make("kab-heal-");
    ASSERT_TRUE(directory);
    const fs::path out = directory->path();
    const auto now = fs::file_time_type::clock::now();
    const auto add = [&](const std::string& name, int seconds_ago) {
        put(out / name, "x");
        fs::last_write_time(out / name, now - std::chrono::seconds(seconds_ago));
    };
    add("whole.o", 100);
    add(".whole.o.cmd", 99);
    add("half.o", 50);  // newer than the record of the build before
    add(".half.o.cmd", 300);
    add("generated.h", 100);  // without a record
    add("sub/last.h", 0);
    add("sub/.last.o.cmd", 2);
    ASSERT_TRUE(heal_output(out));
    EXPECT_TRUE(fs::exists(out / "whole.o") && fs::exists(out / ".whole.o.cmd") && fs::exists(out / "generated.h"));
    EXPECT_TRUE(fs::exists(out / ".half.o.cmd"));
    EXPECT_FALSE(fs::exists(out / "half.o"));
    EXPECT_FALSE(fs::exists(out / "sub/last.h"));
    EXPECT_FALSE(fs::exists(out / "sub/.last.o.cmd"));
}

}  // namespace
}  // namespace kab::kernel
