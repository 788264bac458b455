#include "agent/host/qemu/command_line.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace kab::qemu {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

Accelerators machine(bool kvm) {
    Accelerators found;
    found.emulator = {"/usr/bin/qemu-system-x86_64", "QEMU emulator version 7.2.22"};
    found.kvm = {kvm, kvm ? "" : "/dev/kvm: No such file or directory"};
    found.tsc_khz = 2596152;
    return found;
}

KernelImage lean_vmlinux() {
    return {KernelImage::Kind::vmlinux, "6.1.192", true, true};
}
KernelImage bzimage() {
    return {KernelImage::Kind::bzimage, "6.1.0-57-amd64", false, false};
}

msg::BootRequest request() {
    msg::BootRequest made;
    made.attempt = "01ABC";
    made.kernel = "/k/vmlinux";
    made.cpus = 2;
    made.memory_bytes = 512LL << 20;
    return made;
}

BootFiles files() {
    return {"/k/vmlinux", "/t/initramfs", "/a,b/console", "/t/port", "/t/serial", "/t/control"};
}

/// The argument behind `option`; the n-th of them.
std::string argument(const BootPlan& plan, const std::string& option, int n = 0) {
    auto at = plan.arguments.begin();
    for (;; ++at) {
        at = std::find(at, plan.arguments.end(), option);
        if (at == plan.arguments.end()) return "(absent)";
        if (n-- == 0) return *(at + 1);
    }
}

TEST(CommandLine, exact_mode_leaves_nothing_to_chance) {
    auto asked = request();
    asked.exact = true;
    asked.cpus = 1;
    asked.accel = "tcg";
    asked.command_line = "quiet";
    const auto plan = plan_boot(asked, lean_vmlinux(), machine(true), files());
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_EQ(argument(*plan, "-accel"), "tcg,thread=single");
    EXPECT_EQ(argument(*plan, "-icount"), "shift=0,sleep=off");
    EXPECT_EQ(argument(*plan, "-seed"), "0");
    EXPECT_EQ(argument(*plan, "-rtc"), "base=2026-01-01T00:00:00,clock=vm");
    EXPECT_THAT(plan->kernel_command_line,
                HasSubstr(" nolapic_timer lpj=1000000 tsc_early_khz=1000000 tsc=reliable nokaslr norandmaps "));
    EXPECT_TRUE(plan->kernel_command_line.ends_with(" quiet"));
    EXPECT_THAT(plan->kernel_command_line, Not(HasSubstr("2596152"))) << "the host's rate is none of its business";
    EXPECT_EQ(plan_boot(asked, lean_vmlinux(), machine(false), files()).value().arguments, plan->arguments);
    EXPECT_EQ(argument(plan_boot(request(), lean_vmlinux(), machine(false), files()).value(), "-icount"), "(absent)");

    asked.accel = "auto";
    const auto kvm = plan_boot(asked, lean_vmlinux(), machine(true), files());
    ASSERT_FALSE(kvm);
    EXPECT_EQ(kvm.error().fault, Fault::spec);
    asked.accel = "tcg";
    asked.cpus = 2;
    EXPECT_FALSE(plan_boot(asked, lean_vmlinux(), machine(false), files()));
}

TEST(CommandLine, a_lean_vmlinux_under_emulation) {
    const auto plan = plan_boot(request(), lean_vmlinux(), machine(false), files());
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_EQ(plan->accel, "tcg");
    EXPECT_EQ(plan->machine, "microvm");
    EXPECT_EQ(plan->channel, "virtio");
    EXPECT_EQ(argument(*plan, "-machine"), "microvm,acpi=off");
    EXPECT_EQ(argument(*plan, "-accel"), "tcg,thread=multi");
    EXPECT_EQ(argument(*plan, "-cpu"), "max,-hypervisor");
    EXPECT_EQ(argument(*plan, "-smp"), "2");
    EXPECT_EQ(argument(*plan, "-m"), "512");
    EXPECT_EQ(argument(*plan, "-chardev"), "file,id=console,path=/a,,b/console") << "commas are doubled";
    EXPECT_EQ(argument(*plan, "-device"), "virtio-serial-device");
    EXPECT_EQ(argument(*plan, "-device", 1), "virtserialport,chardev=agent,name=kab.agent");
    EXPECT_THAT(argument(*plan, "-sandbox"), HasSubstr("spawn=deny"));
    EXPECT_THAT(plan->arguments, IsSupersetOf({"-nodefaults", "-no-user-config", "-no-reboot", "-S"}));
    EXPECT_EQ(plan->kernel_command_line,
              "console=ttyS0 earlyprintk=ttyS0,115200 panic=-1 oops=panic reboot=t "
              "rcupdate.rcu_cpu_stall_timeout=40 watchdog_thresh=30 kab.hung_task=60 tsc=reliable "
              "tsc_early_khz=2596152 kab.channel=virtio");
    EXPECT_EQ(plan->clocksources, std::vector<std::string>{"tsc"});
    EXPECT_EQ(plan->cpus, 2);
    EXPECT_TRUE(plan->timers);
}

TEST(CommandLine, hangs_are_told_before_the_limit_of_a_run) {
    const auto line_for = [](bool kvm, std::int64_t seconds) {
        auto asked = request();
        asked.run_limit_ns = seconds * 1'000'000'000;
        return plan_boot(asked, lean_vmlinux(), machine(kvm), files()).value().kernel_command_line;
    };
    EXPECT_THAT(line_for(true, 300),
                HasSubstr(" rcupdate.rcu_cpu_stall_timeout=20 watchdog_thresh=15 kab.hung_task=30 "));
    EXPECT_THAT(line_for(true, 40),
                HasSubstr(" rcupdate.rcu_cpu_stall_timeout=10 watchdog_thresh=7 kab.hung_task=15 "));
    EXPECT_THAT(line_for(true, 1), HasSubstr(" rcupdate.rcu_cpu_stall_timeout=5 watchdog_thresh=3 kab.hung_task=7 "));
    EXPECT_THAT(line_for(false, 1),
                HasSubstr(" rcupdate.rcu_cpu_stall_timeout=10 watchdog_thresh=7 kab.hung_task=15 "));
}

TEST(CommandLine, kvm_needs_no_help_with_the_clock) {
    const auto plan = plan_boot(request(), lean_vmlinux(), machine(true), files());
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->accel, "kvm");
    EXPECT_EQ(argument(*plan, "-cpu"), "host");
    EXPECT_THAT(plan->kernel_command_line, Not(HasSubstr("tsc_early_khz")));
    EXPECT_EQ(plan->clocksources, (std::vector<std::string>{"tsc", "kvm-clock"}));
}

TEST(CommandLine, a_bzimage_gets_a_q35_and_a_second_serial_line) {
    auto plan = plan_boot(request(), bzimage(), machine(false), files());
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->machine, "q35");
    EXPECT_EQ(plan->channel, "ttyS1");
    EXPECT_EQ(argument(*plan, "-serial", 0), "chardev:console");
    EXPECT_EQ(argument(*plan, "-serial", 1), "chardev:second");
    EXPECT_EQ(argument(*plan, "-device"), "virtio-serial-pci");
    EXPECT_THAT(plan->kernel_command_line, HasSubstr("kab.channel=ttyS1"));
    auto with_modules = request();
    with_modules.modules = "/lib/modules/6.1.0-57-amd64";
    plan = plan_boot(with_modules, bzimage(), machine(false), files());
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->channel, "virtio");
}

TEST(CommandLine, a_virtio_port_on_a_q35_needs_a_driver_for_pci) {
    auto asked = request();
    asked.machine = "q35";
    auto image = lean_vmlinux();
    EXPECT_EQ(plan_boot(asked, image, machine(false), files()).value().channel, "ttyS1");
    image.virtio_pci = true;
    EXPECT_EQ(plan_boot(asked, image, machine(false), files()).value().channel, "virtio");
}

TEST(CommandLine, a_microvm_without_drivers_is_refused_by_name) {
    auto asked = request();
    asked.machine = "microvm";
    auto image = lean_vmlinux();
    image.virtio_console = false;
    auto plan = plan_boot(asked, image, machine(false), files());
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().fault, Fault::spec);
    EXPECT_THAT(plan.error().message, HasSubstr("lacks (built in) CONFIG_VIRTIO_CONSOLE: "));
    image.virtio_mmio = false;
    plan = plan_boot(asked, image, machine(false), files());
    EXPECT_THAT(plan.error().message, HasSubstr(" CONFIG_VIRTIO_MMIO CONFIG_VIRTIO_MMIO_CMDLINE_DEVICES "));
}

TEST(CommandLine, the_experiments_words_come_last_and_decide) {
    auto asked = request();
    asked.command_line = "nokaslr clocksource=hpet clocksource=jiffies nr_cpus=1";
    auto plan = plan_boot(asked, lean_vmlinux(), machine(false), files());
    ASSERT_TRUE(plan);
    EXPECT_TRUE(plan->kernel_command_line.ends_with(" nokaslr clocksource=hpet clocksource=jiffies nr_cpus=1"));
    EXPECT_EQ(plan->clocksources, std::vector<std::string>{"jiffies"});
    EXPECT_EQ(plan->cpus, 0);
    asked.command_line = "tsc=unstable";
    plan = plan_boot(asked, lean_vmlinux(), machine(false), files());
    ASSERT_TRUE(plan);
    EXPECT_TRUE(plan->clocksources.empty());
    for (const auto* words : {"tsc=unstable", "clocksource=jiffies", "highres=off"}) {
        asked.command_line = words;
        EXPECT_FALSE(plan_boot(asked, lean_vmlinux(), machine(false), files()).value().timers) << words;
    }
}

TEST(CommandLine, what_cannot_be_is_refused) {
    auto asked = request();
    asked.accel = "kvm";
    auto plan = plan_boot(asked, lean_vmlinux(), machine(false), files());
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().fault, Fault::infra);
    EXPECT_EQ(plan.error().message, "KVM is asked for, but /dev/kvm: No such file or directory");
    asked = request();
    asked.machine = "microvm";
    plan = plan_boot(asked, bzimage(), machine(false), files());
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().fault, Fault::spec);
    asked = request();
    asked.command_line = std::string(2000, 'x');
    plan = plan_boot(asked, lean_vmlinux(), machine(false), files());
    ASSERT_FALSE(plan);
    EXPECT_THAT(plan.error().message, HasSubstr("2047"));
    asked = request();
    asked.cpus = 0;
    EXPECT_FALSE(plan_boot(asked, lean_vmlinux(), machine(false), files()));
    asked = request();
    asked.accel = "hvf";
    EXPECT_FALSE(plan_boot(asked, lean_vmlinux(), machine(false), files()));
}

}  // namespace
}  // namespace kab::qemu
