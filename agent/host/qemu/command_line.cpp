#include "agent/host/qemu/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

namespace kab::qemu {
namespace {

constexpr std::size_t longest_command_line = 2047;  // COMMAND_LINE_SIZE of x86, without its '\0'
constexpr std::int64_t mebibyte = 1 << 20;

/// The values of all `key=value` words, in order.
std::vector<std::string> values_of(const std::string& command_line, const std::string& key) {
    std::vector<std::string> result;
    std::istringstream words(command_line);
    std::string word;
    while (words >> word) {
        if (word.starts_with(key + "=")) result.push_back(word.substr(key.size() + 1));
    }
    return result;
}

/// A word of QEMU's option syntax: ',' is doubled.
std::string escape(const std::string& value) {
    std::string result;
    for (const char c : value) {
        result += c;
        if (c == ',') result += ',';
    }
    return result;
}

std::string choose_channel(const msg::BootRequest& request, const KernelImage& image, const std::string& machine) {
    if (machine == "microvm" || !request.modules.empty()) return "virtio";
    // A bzImage does not tell what is built in, but whoever has console=ttyS0 has ttyS1 too.
    return image.virtio_console && image.virtio_pci ? "virtio" : "ttyS1";
}

/// The clock must be what measurements rely on, unless the experiment itself asks for another.
std::vector<std::string> wanted_clocksources(const std::string& accel, const std::string& addition) {
    if (const auto named = values_of(addition, "clocksource"); !named.empty()) return {named.back()};
    if (!values_of(addition, "tsc").empty()) return {};
    if (accel == "tcg") return {"tsc"};
    return {"tsc", "kvm-clock"};
}

/// The experiment has fewer CPUs brought up than the machine has.
bool limits_cpus(const std::string& addition) {
    return !values_of(addition, "maxcpus").empty() || !values_of(addition, "nr_cpus").empty() ||
           (" " + addition + " ").find(" nosmp ") != std::string::npos;
}

/// The experiment changes how time is kept: then the timers are what it asked for.
bool changes_time(const std::string& addition) {
    return !values_of(addition, "clocksource").empty() || !values_of(addition, "tsc").empty() ||
           !values_of(addition, "highres").empty();
}

/// When the kernel is to report what hangs: the most precise detector first, all of them before the limit of a run
/// if that leaves time, and later under emulation.
std::string hang_detectors(const msg::BootRequest& request, const BootPlan& plan) {
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t usual = plan.accel == "tcg" ? 40 : 20, least = usual / 4;
    const std::int64_t limit = request.run_limit_ns > 0 ? request.run_limit_ns / second : 300;
    const std::int64_t stall = std::clamp(limit / 4, least, usual);
    // A soft lockup is told after twice watchdog_thresh.
    const auto words = fmt::format(" rcupdate.rcu_cpu_stall_timeout={} watchdog_thresh={}", stall, stall * 3 / 4);
    // A hung task is told between once and twice its time, which older kernels do not take from here: the agent sets
    // it. Not in exact mode, where waiting costs the guest nothing and its instructions are what is measured.
    return request.exact ? words : words + fmt::format(" kab.hung_task={}", stall * 3 / 2);
}

/// Exact mode: an instruction is a nanosecond and a tick of the TSC. Nothing is calibrated (the local APIC's timer
/// alone would take 15 s), and nothing lies where chance puts it.
constexpr const char* exact_words =
    " nolapic_timer lpj=1000000 tsc_early_khz=1000000 tsc=reliable nokaslr norandmaps random.trust_cpu=on";

std::string channel_words(const msg::BootRequest& request, const BootPlan& plan) {
    return " kab.channel=" + plan.channel + (request.command_line.empty() ? "" : " " + request.command_line);
}

std::string kernel_command_line(const msg::BootRequest& request, const BootPlan& plan, std::int64_t tsc_khz) {
    // panic, oops: a fault ends the boot, by a reset that -no-reboot makes an exit. reboot=t: without ACPI
    // only a triple fault resets for sure. earlyprintk: what a kernel says before it has a console.
    std::string line = "console=ttyS0 earlyprintk=ttyS0,115200 panic=-1 oops=panic reboot=t";
    line += hang_detectors(request, plan);
    if (request.exact) return line + exact_words + channel_words(request, plan);
    // Under emulation the kernel cannot calibrate the TSC against the PIT; without both of these it would fall
    // back to jiffies. Under KVM it has the rate from the hypervisor.
    if (plan.accel == "tcg" && tsc_khz > 0) line += fmt::format(" tsc=reliable tsc_early_khz={}", tsc_khz);
    return line + channel_words(request, plan);
}

void add_machine(const msg::BootRequest& request, const BootPlan& plan, std::vector<std::string>& arguments) {
    const std::string machine = plan.machine == "microvm" ? "microvm,acpi=off" : "q35";
    const bool tcg = plan.accel == "tcg";
    const std::int64_t megabytes = (request.memory_bytes + mebibyte - 1) / mebibyte;
    const char* const emulation = request.exact ? "tcg,thread=single" : "tcg,thread=multi";
    arguments.insert(arguments.end(), {"-machine", machine, "-accel", tcg ? emulation : "kvm"});
    // The virtual clock counts instructions and jumps over idle time; what else a guest could see of the world is
    // fixed.
    if (request.exact)
        arguments.insert(arguments.end(),
                         {"-icount", "shift=0,sleep=off", "-seed", "0", "-rtc", "base=2026-01-01T00:00:00,clock=vm"});
    // Under emulation no hypervisor serves the guest: a guest that sees the flag would use test-and-set locks
    // where real machines queue (arch/x86/kernel/paravirt.c, native_pv_lock_init).
    arguments.insert(arguments.end(), {"-cpu", tcg ? "max,-hypervisor" : "host"});
    arguments.insert(arguments.end(), {"-smp", std::to_string(request.cpus), "-m", std::to_string(megabytes)});
}

void add_socket(const std::string& id, const fs::path& path, std::vector<std::string>& arguments) {
    arguments.push_back("-chardev");
    arguments.push_back(fmt::format("socket,id={},path={}", id, escape(path.string())));
}

}  // namespace

Result<BootPlan> plan_boot(const msg::BootRequest& request, const KernelImage& image, const Accelerators& accelerators,
                           const BootFiles& files) {
    BootPlan plan;
    auto accel = accelerators.choose(request.accel);
    if (!accel) return pass(accel);
    auto machine = machine_for(image, request.machine);
    if (!machine) return pass(machine);
    if (request.cpus < 1 || request.memory_bytes < mebibyte) {
        return fail(Fault::spec, "a boot needs at least one CPU and 1 MiB of memory, not {} and {} bytes", request.cpus,
                    request.memory_bytes);
    }
    if (request.exact && (*accel != "tcg" || request.cpus != 1)) {
        return fail(Fault::spec, "exact mode needs one emulated CPU (tcg), not {} under {}", request.cpus, *accel);
    }
    plan.accel = *accel;
    plan.machine = *machine;
    plan.channel = choose_channel(request, image, plan.machine);
    plan.kernel_command_line = kernel_command_line(request, plan, accelerators.tsc_khz);
    if (plan.kernel_command_line.size() > longest_command_line) {
        return fail(Fault::spec, "the kernel's command line is {} bytes long; {} is the most",
                    plan.kernel_command_line.size(), longest_command_line);
    }
    plan.clocksources = wanted_clocksources(plan.accel, request.command_line);
    plan.timers = !changes_time(request.command_line);
    plan.cpus = limits_cpus(request.command_line) ? 0 : request.cpus;

    auto& arguments = plan.arguments;
    // -S: the guest's first instruction waits for us to be ready, so that not even its reset at once goes unseen.
    arguments = {"-nodefaults", "-no-user-config", "-no-reboot", "-S", "-display", "none"};
    arguments.insert(arguments.end(),
                     {"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"});
    arguments.insert(arguments.end(), {"-name", "kab-" + escape(request.attempt) + ",debug-threads=on"});
    add_machine(request, plan, arguments);
    arguments.insert(arguments.end(), {"-chardev", "file,id=console,path=" + escape(files.console.string())});
    arguments.insert(arguments.end(), {"-serial", "chardev:console"});
    if (plan.machine == "q35") {
        add_socket("second", files.serial_socket, arguments);
        arguments.insert(arguments.end(), {"-serial", "chardev:second"});
    }
    add_socket("agent", files.port_socket, arguments);
    const bool pci = plan.machine == "q35";
    arguments.insert(arguments.end(), {"-device", pci ? "virtio-serial-pci" : "virtio-serial-device"});
    arguments.insert(arguments.end(), {"-device", "virtserialport,chardev=agent,name=kab.agent"});
    add_socket("control", files.control_socket, arguments);
    arguments.insert(arguments.end(), {"-mon", "chardev=control,mode=control"});
    arguments.insert(arguments.end(), {"-kernel", files.kernel.string(), "-initrd", files.initramfs.string()});
    arguments.insert(arguments.end(), {"-append", plan.kernel_command_line});
    return plan;
}

}  // namespace kab::qemu
