#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace kab::cli {

std::optional<std::size_t> terminal_width(int fd) {
    if (::isatty(fd) == 0) return std::nullopt;
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

std::size_t output_width() {
    constexpr std::size_t least = 40, without_terminal = 78;
    return std::max(least, terminal_width(STDOUT_FILENO).value_or(without_terminal));
}

}  // namespace kab::cli
