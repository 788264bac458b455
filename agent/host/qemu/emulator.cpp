#include "agent/host/qemu/emulator.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/host/qemu/probe_guest.h"
#include "agent/host/qemu/scratch.h"
#include "agent/host/qemu/tsc.h"
#include "common/process/run.h"

namespace kab::qemu {
namespace {

constexpr const char* default_program = "qemu-system-x86_64";

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

/// QEMU's own words are the best reason; without the program's name and place in its sources.
std::string reason_from(const RunOutput& output) {
    std::string line = first_line(output.err);
    const auto colon = line.find(": ");
    if (line.starts_with("qemu-system") && colon != std::string::npos) line.erase(0, colon + 2);
    if (line.empty()) line = "QEMU ended with " + to_string(output.status);
    return line;
}

}  // namespace

Result<Emulator> find_emulator() {
    const char* configured = std::getenv("KAB_QEMU");
    const std::string name = configured != nullptr && *configured != '\0' ? configured : default_program;
    auto program = find_executable(name);
    if (!program) {
        return fail(Fault::infra, "{}; install the Debian package qemu-system-x86 (or set KAB_QEMU)",
                    program.error().message);
    }
    ProcessSpec spec;
    spec.program = program->string();
    spec.args = {"--version"};
    RunOptions options;
    options.limit = std::chrono::seconds(10);
    auto output = run_checked(spec, options);
    if (!output) return fail(Fault::infra, "{}", output.error().message);
    return Emulator{*program, first_line(output->out)};
}

KvmVerdict probe_kvm(const Emulator& emulator, Nanoseconds limit) {
    const UniqueFd device(::open("/dev/kvm", O_RDWR | O_CLOEXEC));
    if (!device) return {false, std::string("/dev/kvm: ") + std::strerror(errno)};
    auto directory = Scratch::make();
    if (!directory) return {false, directory.error().text()};
    const fs::path kernel = directory->path() / "probe.elf";
    if (auto written = write_file(kernel, probe_guest()); !written) return {false, written.error().text()};

    ProcessSpec spec;
    spec.program = emulator.program.string();
    spec.args = {"-M",          "microvm,acpi=off",
                 "-accel",      "kvm",
                 "-cpu",        "host",
                 "-m",          "16",
                 "-display",    "none",
                 "-kernel",     kernel.string(),
                 "-device",     "isa-debug-exit,iobase=0xf4,iosize=4",
                 "-nodefaults", "-no-user-config",
                 "-no-reboot"};
    RunOptions options;
    options.limit = limit;
    auto output = run_process(spec, options);
    if (!output) {
        if (output.error().fault == Fault::timeout) return {false, "a guest hangs at its first instructions under KVM"};
        return {false, output.error().text()};
    }
    if (output->status == ExitStatus{probe_exit_code, 0}) return {true, {}};
    return {false, "a guest cannot run under KVM: " + reason_from(*output)};
}

Result<std::string> Accelerators::choose(const std::string& wanted) const {
    if (wanted == "tcg") return std::string("tcg");
    if (wanted == "kvm" && !kvm.usable) return fail(Fault::infra, "KVM is asked for, but {}", kvm.reason);
    if (wanted == "kvm" || wanted == "auto" || wanted.empty()) return std::string(kvm.usable ? "kvm" : "tcg");
    return fail(Fault::spec, "unknown accelerator '{}' (auto, kvm, tcg)", wanted);
}

Result<Accelerators> find_accelerators() {
    auto emulator = find_emulator();
    if (!emulator) return pass(emulator);
    Accelerators found;
    found.emulator = std::move(*emulator);
    found.kvm = probe_kvm(found.emulator);
    found.tsc_khz = measure_tsc_khz();
    return found;
}

}  // namespace kab::qemu
