#include "daemon/kernel/build_log.h"

#include <gtest/gtest.h>

namespace kab::kernel {
namespace {

BuildLog read(std::initializer_list<const char*> lines) {
    BuildLog log("/cache/src");
    for (const char* line : lines) log.add(line);
    return log;
}

TEST(BuildLogTest, CountsObjectsAndWarnings) {
    const auto log = read({"  CC      init/main.o", "  HOSTCC  scripts/x", "  AS      entry.o", "  CC [M]  y.o",
                           "/cache/src/a.c:3:1: warning: unused variable 'x'", "  AR      built-in.a"});
    EXPECT_EQ(log.objects(), 3);
    EXPECT_EQ(log.warnings(), 1);
    EXPECT_FALSE(log.linking());
    EXPECT_EQ(log.first_error(), "");
}

TEST(BuildLogTest, SeesTheLinkingStep) {
    EXPECT_TRUE(read({"  LD      vmlinux.o"}).linking());
    EXPECT_FALSE(read({"  LD      arch/x86/entry/vdso/vdso64.so.dbg"}).linking());
}

TEST(BuildLogTest, ShowsTheFirstErrorOfTheCompiler) {
    const auto log = read({"/bin/sh: 1: something: not found", "make[2]: *** [Makefile:1: x] Error 1",
                           "/cache/src/ipc/namespace.c:157:9: error: 'users' undeclared",
                           "/cache/src/ipc/shm.c:1:1: error: later", "make: *** [Makefile:2] Error 2"});
    EXPECT_EQ(log.first_error(), "ipc/namespace.c:157:9: error: 'users' undeclared");
}

TEST(BuildLogTest, FallsBackToOtherToolsThenToMake) {
    EXPECT_EQ(read({"make: *** [Makefile:2] Error 2", "/bin/sh: 1: flex: not found"}).first_error(),
              "/bin/sh: 1: flex: not found");
    EXPECT_EQ(read({"ld: ipc/namespace.o: in function `put_ipc_ns':",
                    "/cache/src/ipc/namespace.c:8: undefined reference to `free_it'"})
                  .first_error(),
              "ipc/namespace.c:8: undefined reference to `free_it'");
    EXPECT_EQ(read({"make[1]: *** No rule to make target 'vmlinux'.  Stop."}).first_error(),
              "make[1]: *** No rule to make target 'vmlinux'.  Stop.");
}

TEST(BuildLogTest, SeesWhatMakefilesAndKconfigSay) {
    EXPECT_EQ(read({"Makefile:112: *** source directory cannot contain spaces or colons.  Stop.",
                    "make: *** [Makefile:2] Error 2"})
                  .first_error(),
              "Makefile:112: *** source directory cannot contain spaces or colons.  Stop.");
    EXPECT_EQ(read({"***", "*** The source tree is not clean, please run 'make mrproper'", "*** in /cache/src", "***",
                    "make[1]: *** [/cache/src/Makefile:571: outputmakefile] Error 1"})
                  .first_error(),
              "*** The source tree is not clean, please run 'make mrproper'");
    EXPECT_EQ(read({"*** Default configuration is based on 'x86_64_defconfig'", "make: *** [Makefile:2] Error 2"})
                  .first_error(),
              "make: *** [Makefile:2] Error 2");
}

TEST(BuildLogTest, SourceThatTheCompilerQuotesSaysNothing) {
    const auto log = read({"   12 |         return say(\"No space left on device: error: x\");",
                           "      |                ^~~", "/cache/src/a.c:12:9: warning: unused"});
    EXPECT_FALSE(log.full_disk());
    EXPECT_EQ(log.first_error(), "");
    EXPECT_EQ(log.warnings(), 1);
}

TEST(BuildLogTest, KnowsAFullDisk) {
    EXPECT_TRUE(read({"/tmp/cc1.s: fatal error: error writing to x.o: No space left on device"}).full_disk());
}

}  // namespace
}  // namespace kab::kernel
