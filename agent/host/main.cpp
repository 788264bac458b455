// kab-host: the host side of kab's agents. Started by kabd (or a launcher that joins stdin and stdout).
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "agent/host/host.h"

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == "--version") {
        std::puts("kab-host " KAB_VERSION);
        return 0;
    }
    if (argc != 1 || ::isatty(STDIN_FILENO) == 1) {
        std::fputs("usage: kab-host\nBoots kernels for kabd, which starts it and speaks over its stdin and stdout.\n",
                   stderr);
        return 2;
    }
    try {
        spdlog::set_default_logger(spdlog::stderr_logger_st("kab-host"));
        spdlog::set_pattern("kab-host: %l: %v");
        boost::asio::io_context context(1);
        return kab::host::Host(context).run(STDIN_FILENO, STDOUT_FILENO);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "kab-host: %s\n", e.what());
        return 3;
    }
}
