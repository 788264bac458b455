#include "agent/guest/hung_tasks.h"

#include <fcntl.h>

#include "agent/guest/text.h"
#include "common/files.h"

namespace kab::guest {

Status set_hung_task_time(std::string_view command_line, const std::filesystem::path& file) {
    const auto seconds = parse_integer(command_line_value(command_line, "kab.hung_task"));
    const bool set = !command_line_value(command_line, "sysctl.kernel.hung_task_timeout_secs").empty();
    std::error_code ignored;
    if (!seconds || set || !std::filesystem::exists(file, ignored)) return {};
    auto opened = open_file(file, O_WRONLY);
    if (!opened) return pass(opened);
    auto written = write_all(opened->get(), std::to_string(*seconds) + "\n");
    if (!written) return fail(Fault::io, "{}: {}", file.string(), written.error().text());
    return {};
}

}  // namespace kab::guest
