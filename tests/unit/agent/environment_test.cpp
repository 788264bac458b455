#include "agent/guest/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

namespace kab::guest {
namespace {

constexpr const char* virtual_cpu = "model name\t: x\nflags\t\t: fpu vme hypervisor lahf_lm\n";
constexpr const char* real_cpu = "model name\t: x\nflags\t\t: fpu vme hypervisorless\n";
constexpr const char* smp = "#1 SMP PREEMPT_DYNAMIC";
const std::string banner = "<5>[    0.000000] Linux version 6.1.0 (gcc)\n";
const std::string paravirt = banner + "<6>[    0.1] Booting paravirtualized kernel on bare hardware\n";

TEST(LockKind, IsQueuedWithoutParavirt) {
    EXPECT_EQ(lock_kind(banner, virtual_cpu, smp), "queued");
}

TEST(LockKind, IsTestAndSetInAGuestWithoutPvSpinlocks) {
    EXPECT_EQ(lock_kind(paravirt, virtual_cpu, smp), "test-and-set");
}

TEST(LockKind, IsQueuedWithParavirtOnBareHardware) {
    EXPECT_EQ(lock_kind(paravirt, real_cpu, smp), "queued");
}

TEST(LockKind, FollowsWhatTheKernelSaysOfPvSpinlocks) {
    const auto kind = [](const char* line) { return lock_kind(paravirt + line, virtual_cpu, smp); };
    EXPECT_EQ(kind("kvm-guest: PV spinlocks enabled\n"), "pv");
    EXPECT_EQ(kind("kvm-guest: PV spinlocks disabled, no host support\n"), "test-and-set");
    EXPECT_EQ(kind("kvm-guest: PV spinlocks disabled, forced by \"nopvspin\" parameter\n"), "queued");
    EXPECT_EQ(kind("kvm-guest: PV spinlocks disabled with KVM_HINTS_REALTIME hints\n"), "queued");
}

TEST(LockKind, IsUnknownWhereItCannotBeTold) {
    EXPECT_EQ(lock_kind("", virtual_cpu, smp), "unknown");                  // no log
    EXPECT_EQ(lock_kind(paravirt, virtual_cpu, "#1 PREEMPT"), "unknown");   // no SMP, no spinlocks
    EXPECT_EQ(lock_kind(paravirt, "CPU part\t: 0xd0c\n", smp), "unknown");  // not x86
}

TEST(DebugWarnings, NameTheOptionsThatTheLogShows) {
    EXPECT_THAT(debug_warnings(banner), testing::IsEmpty());
    EXPECT_THAT(
        debug_warnings(banner + "Lock dependency validator: Copyright\nkasan: KernelAddressSanitizer initialized"),
        testing::ElementsAre("debug option in the kernel: PROVE_LOCKING", "debug option in the kernel: KASAN"));
}

TEST(HighResolution, MustHoldForEveryCpu) {
    EXPECT_TRUE(high_resolution("cpu: 0\n  .hres_active    : 1\ncpu: 1\n  .hres_active    : 1\n"));
    EXPECT_FALSE(high_resolution("cpu: 0\n  .hres_active    : 1\ncpu: 1\n  .hres_active    : 0\n"));
    EXPECT_FALSE(high_resolution("cpu: 0\n"));
}

TEST(HighResolution, AbsentIsNotInactive) {
    EXPECT_FALSE(high_resolution_inactive("cpu: 0\n  .hres_active    : 1\ncpu: 1\n  .hres_active    : 1\n"));
    EXPECT_TRUE(high_resolution_inactive("cpu: 0\n  .hres_active    : 1\ncpu: 1\n  .hres_active    : 0\n"));
    EXPECT_FALSE(high_resolution_inactive("cpu: 0\n  .nohz_mode      : 0\n")) << "built without them";
    EXPECT_FALSE(high_resolution_inactive("")) << "not known";
}

TEST(Environment, DescribesThisMachine) {
    const auto hello = describe_environment({"mount tmpfs on /tmp: No such device"});
    utsname name{};
    ASSERT_EQ(::uname(&name), 0);
    EXPECT_EQ(hello.release, name.release);
    EXPECT_GE(hello.cpus, 1);
    EXPECT_GT(hello.memory_bytes, 64 << 20);
    EXPECT_FALSE(hello.cpu_model.empty());
    EXPECT_FALSE(hello.command_line.empty());
    EXPECT_EQ(hello.command_line.find('\n'), std::string::npos);
    ASSERT_FALSE(hello.warnings.empty());
    EXPECT_EQ(hello.warnings.front(), "mount tmpfs on /tmp: No such device");
    EXPECT_EQ(hello.clocksource, current_clocksource());
}

TEST(Clocksource, AChangeIsAFault) {
    EXPECT_TRUE(check_clocksource(current_clocksource()));
    const auto changed = check_clocksource("refined-jiffies");
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().fault, Fault::infra);
    EXPECT_THAT(changed.error().text(), testing::HasSubstr("from refined-jiffies to "));
}

TEST(LockValidation, MustStillBeOnWhereThereIsOne) {
    const std::string lines = " lock-classes:                         1024 [max: 8192]\n max lock depth:  14\n";
    EXPECT_TRUE(check_lock_validation(""));
    EXPECT_TRUE(check_lock_validation(lines + " debug_locks:                             1\n\n zapped classes: 0\n"));
    const auto off = check_lock_validation(lines + " debug_locks:                             0\n");
    ASSERT_FALSE(off);
    EXPECT_THAT(off.error().text(), testing::HasSubstr("lock validation is off"));
    EXPECT_FALSE(check_lock_validation(lines)) << "a kernel that does not say is not trusted";
}

}  // namespace
}  // namespace kab::guest
