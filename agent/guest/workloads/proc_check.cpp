#include "agent/guest/workloads/proc_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "agent/guest/text.h"
#include "agent/guest/workloads/checked_child.h"
#include "common/files.h"

namespace kab::guest {
namespace {

constexpr const char* file = "/proc/cpuinfo";

/// One paragraph a CPU, each ended by an empty line.
Status read_the_whole(std::int64_t cpus) {
    const auto text = read_file(file);
    if (!text) return pass(text);
    std::int64_t paragraphs = 0;
    for (std::string_view left = *text; !left.empty();)
        if (next_line(left).starts_with("processor")) ++paragraphs;
    if (paragraphs == cpus && text->ends_with("\n\n")) return {};
    return fail(Fault::io, "{} was read as {} bytes about {} CPUs, expected {} CPUs and an empty line at the end", file,
                text->size(), paragraphs, cpus);
}

class ProcCheck final : public Workload {
  public:
    Status prepare(const RunContext&) override {
        cpus_ = ::sysconf(_SC_NPROCESSORS_ONLN);
        if (cpus_ < 1) return fail_errno(errno, "count the CPUs");
        return {};
    }

    Result<std::vector<msg::Sample>> run(const RunContext& context, Meter& meter) override {
        if (auto started = meter.start(); !started) return pass(started);
        std::vector<CheckedChild> readers;
        const std::int64_t tasks = context.parameter("tasks"), loops = context.parameter("loops");
        for (std::int64_t i = 0; i < tasks; ++i) {
            auto reader = CheckedChild::start(fmt::format("reader {} of {}", i + 1, tasks), [this, loops]() -> Status {
                for (std::int64_t loop = 0; loop < loops; ++loop)
                    if (auto read = read_the_whole(cpus_); !read) return read;
                return {};
            });
            if (!reader) return pass(reader);
            readers.push_back(std::move(*reader));
        }
        for (auto& reader : readers)
            if (auto ended = reader.wait(); !ended) return pass(ended);
        if (auto stopped = meter.stop(); !stopped) return pass(stopped);
        return std::vector<msg::Sample>();
    }

    Result<std::vector<msg::Sample>> drain(const RunContext&, const Meter&) override {
        return std::vector<msg::Sample>();
    }

  private:
    std::int64_t cpus_ = 0;
};

}  // namespace

std::unique_ptr<Workload> make_proc_check() {
    return std::make_unique<ProcCheck>();
}

}  // namespace kab::guest
