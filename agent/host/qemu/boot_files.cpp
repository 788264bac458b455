#include "agent/host/qemu/boot_files.h"

#include <algorithm>

#include "agent/host/qemu/busybox.h"
#include "common/paths.h"
#include "common/workload_catalog.h"

namespace kab::qemu {
namespace {

bool needs_shell(const msg::AgentPlan& plan) {
    return std::any_of(plan.runs.begin(), plan.runs.end(), [](const msg::RunOrder& run) {
        const auto* info = find_workload(run.workload);
        return info != nullptr && info->needs_shell;
    });
}

}  // namespace

Result<PreparedBoot> prepare_boot(const msg::BootRequest& request, const Accelerators& accelerators) {
    auto image = inspect_kernel(request.kernel);
    if (!image) return pass(image);
    auto agent = find_program("kab-agent");
    if (!agent) return pass(agent);
    auto directory = Scratch::make();
    if (!directory) return pass(directory);
    const fs::path& place = directory->path();
    BootFiles files;
    files.kernel = request.kernel;
    files.initramfs = place / "initramfs";
    files.console = request.console_path;
    files.port_socket = place / "port";
    files.serial_socket = place / "serial";
    files.control_socket = place / "control";
    std::vector<ModuleFile> modules;
    if (!request.modules.empty()) {
        auto found = virtio_modules(request.modules);
        if (!found) return pass(found);
        modules = std::move(*found);
    }
    const std::string plan_file = request.exact ? msg::encode(request.plan) : std::string();
    fs::path busybox;
    if (needs_shell(request.plan)) {
        auto found = find_busybox();
        if (!found) return pass(found);
        busybox = std::move(*found);
    }
    auto programs = write_initramfs(files.initramfs, *agent, modules, plan_file, busybox);
    if (!programs) return pass(programs);
    auto plan = plan_boot(request, *image, accelerators, files);
    if (!plan) return pass(plan);
    return PreparedBoot{std::move(*directory), std::move(files), std::move(*plan), std::move(*programs)};
}

}  // namespace kab::qemu
