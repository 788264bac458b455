#include "agent/guest/modules.h"

#include <fcntl.h>
#include <linux/module.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "agent/guest/text.h"
#include "common/files.h"

namespace kab::guest {
namespace {

Status load_module(const fs::path& path) {
    auto fd = open_file(path, O_RDONLY);
    if (!fd) return pass(fd);
    // Compressed modules are the exception: kab-host unpacks them, as not every kernel can.
    const int flags = path.extension() == ".ko" ? 0 : MODULE_INIT_COMPRESSED_FILE;
    if (::syscall(SYS_finit_module, fd->get(), "", flags) == 0 || errno == EEXIST) return {};
    if (errno == ENOENT)  // the kernel's way to say so
        return fail(Fault::io, "load module {}: needs a symbol of a module that is not loaded before it",
                    path.string());
    return fail_errno(errno, "load module " + path.string());
}

}  // namespace

std::vector<std::string> load_modules(const fs::path& list) {
    std::error_code ignored;
    if (!fs::exists(list, ignored)) return {};
    std::vector<std::string> problems;
    const auto text = read_file(list);
    if (!text) return {text.error().text()};
    std::string_view rest = *text;
    while (!rest.empty()) {
        const std::string_view line = trim(next_line(rest));
        if (line.empty()) continue;
        if (auto loaded = load_module(list.parent_path() / line); !loaded) problems.push_back(loaded.error().text());
    }
    return problems;
}

}  // namespace kab::guest
