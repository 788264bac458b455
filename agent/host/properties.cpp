#include <sys/utsname.h>
#include <unistd.h>

#include "agent/host/host.h"
#include "agent/host/qemu/busybox.h"
#include "agent/host/qemu/pinning.h"
#include "common/digest/sha256.h"

namespace kab::host {
namespace {

/// The value of the first "key : value" line.
std::string value_of(const std::string& text, std::string_view key) {
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto end = rest.find('\n');
        const auto line = rest.substr(0, end);
        const auto colon = line.find(": ");
        if (line.starts_with(key) && colon != std::string_view::npos) return std::string(line.substr(colon + 2));
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    return {};
}

std::string first_line(const fs::path& path) {
    const auto text = read_file(path);
    return text ? text->substr(0, text->find('\n')) : std::string();
}

/// "vulnerable: a, b; mitigated: c; not affected: 12", as reports put it; empty when the kernel does not tell.
std::string mitigations() {
    std::map<std::string, std::string> all;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/sys/devices/system/cpu/vulnerabilities", ignored)) {
        all[entry.path().filename().string()] = first_line(entry.path());
    }
    std::string vulnerable, mitigated;
    int unaffected = 0;
    for (const auto& [name, state] : all) {
        if (state.starts_with("Not affected")) {
            ++unaffected;
            continue;
        }
        auto& list = state.starts_with("Mitigation") ? mitigated : vulnerable;
        list += (list.empty() ? "" : ", ") + name;
    }
    std::string text;
    if (!vulnerable.empty()) text += "vulnerable: " + vulnerable + "; ";
    if (!mitigated.empty()) text += "mitigated: " + mitigated + "; ";
    return all.empty() ? text : text + fmt::format("not affected: {}", unaffected);
}

/// The guests' shell: its path and what it is, or why there is none.
void add_shell(std::map<std::string, std::string>& properties) {
    const auto shell = qemu::find_busybox();
    const auto hash = shell ? sha256_file(*shell) : Result<std::string>(pass(shell));
    if (!hash) {
        properties["no_shell"] = hash.error().text();
        return;
    }
    properties["shell"] = shell->string();
    properties["shell_sha256"] = *hash;
}

}  // namespace

std::map<std::string, std::string> host_properties(const qemu::Accelerators& accelerators) {
    std::map<std::string, std::string> properties;
    const auto cpuinfo = read_file("/proc/cpuinfo");
    if (cpuinfo) {
        properties["cpu"] = value_of(*cpuinfo, "model name");
        properties["microcode"] = value_of(*cpuinfo, "microcode");
        const bool guest = value_of(*cpuinfo, "flags").find(" hypervisor") != std::string::npos;
        properties["hypervisor"] = guest ? "yes" : "no";
    }
    const auto governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    properties["governor"] = governor.empty() ? "none" : governor;
    properties["mitigations"] = mitigations();
    properties["cores"] = std::to_string(qemu::usable_cpus().size());
    const auto bytes = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGE_SIZE);
    properties["memory"] = std::to_string(bytes);
    utsname names{};
    if (::uname(&names) == 0) {
        properties["name"] = names.nodename;
        properties["kernel"] = names.release;
    }
    properties["qemu"] = accelerators.emulator.version;
    properties["kvm"] = accelerators.kvm.usable ? "yes" : accelerators.kvm.reason;
    properties["accel"] = accelerators.kvm.usable ? "kvm" : "tcg";
    add_shell(properties);
    properties["tsc_khz"] = std::to_string(accelerators.tsc_khz);
    return properties;
}

}  // namespace kab::host
