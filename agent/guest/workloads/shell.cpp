#include "agent/guest/workloads/shell.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "agent/guest/workloads/unixbench.h"

namespace kab::guest {
namespace {

constexpr std::int64_t lines_of_text = 400;
/// Every so many lines have the word that the script looks for.
constexpr std::int64_t lines_a_match = 4;

/// One script: TEXT MATCHES TOOLS. $$ is the number of its shell. A pipeline's status is that of its last command, so
/// what came out of the others is looked at. The tools are called by their paths: by its name alone busybox's shell may
/// run one of its own (FEATURE_SH_STANDALONE, on in Debian's) without the execve() that is part of what is measured.
constexpr const char* one_script = R"(set -e
"$3/sort" <"$1" >sorted.$$
"$3/od" sorted.$$ | "$3/sort" -n -k 1 >dump.$$
test -s dump.$$
"$3/grep" the sorted.$$ | "$3/tee" found.$$ | "$3/wc" >count.$$
read lines rest <count.$$
test "$lines" -eq "$2"
"$3/rm" sorted.$$ dump.$$ found.$$ count.$$
)";

/// A round: TEXT MATCHES CONCURRENCY SHELL TOOLS.
constexpr const char* round_script = R"(children=
i=0
while test $i -lt "$3"; do
    "$4" one "$1" "$2" "$5" &
    children="$children $!"
    i=$((i + 1))
done
for child in $children; do
    wait $child || exit 1
done
)";

/// The same text in every run, in an order that has to be sorted.
std::string make_text() {
    constexpr std::array words{"over", "under", "quick", "sleepy", "stone", "river", "cloud", "paper", "lamp"};
    std::string text;
    std::uint32_t state = 1;
    for (std::int64_t line = 0; line < lines_of_text; ++line) {
        for (int word = 0; word < 8; ++word) {
            state = state * 1664525U + 1013904223U;
            text += words[(state >> 16U) % words.size()];
            text += ' ';
        }
        text += line % lines_a_match == 0 ? "the end\n" : "an end\n";
    }
    return text;
}

class Shell final : public Workload {
  public:
    Shell(std::string shell, std::string tools) : shell_(std::move(shell)), tools_(std::move(tools)) {}

    Status prepare(const RunContext&) override {
        if (::access(shell_.c_str(), X_OK) != 0)
            return fail_errno(errno, fmt::format("{} (an initramfs that kab-host packs has it)", shell_));
        auto directory = TempDir::make("kab-shell-");
        if (!directory) return pass(directory);
        for (const auto& [name, text] :
             {std::pair<const char*, std::string>{"one", one_script}, {"round", round_script}, {"text", make_text()}})
            if (auto written = write_file(directory->path() / name, text); !written) return written;
        directory_.emplace(std::move(*directory));
        return {};
    }

    Result<std::vector<msg::Sample>> run(const RunContext& context, Meter& meter) override {
        const auto loops = context.parameter("loops"), concurrency = context.parameter("concurrency");
        Work work;
        work.get_ready = [this]() -> Status {
            if (::chdir(directory_->path().c_str()) != 0) return fail_errno(errno, "enter the scripts' directory");
            return {};
        };
        work.work = [=, this] { return run_rounds(loops, concurrency); };
        const auto times = run_in_worker(work, context.parameter("nested") == 1, meter);
        if (!times) return pass(times);
        return unixbench_samples(loops, *times, shell_baseline(concurrency));
    }

    Result<std::vector<msg::Sample>> drain(const RunContext&, const Meter&) override {
        directory_.reset();
        return std::vector<msg::Sample>{};
    }

  private:
    Result<WorkTimes> run_rounds(std::int64_t loops, std::int64_t concurrency) {
        const auto matches = std::to_string((lines_of_text + lines_a_match - 1) / lines_a_match);
        const auto together = std::to_string(concurrency);
        const char* const arguments[] = {shell_.c_str(),   "round",        "text",         matches.c_str(),
                                         together.c_str(), shell_.c_str(), tools_.c_str(), nullptr};
        const char* const environment[] = {nullptr};
        WorkTimes times;
        times.started_ns = raw_clock_ns();
        for (std::int64_t i = 1; i <= loops; ++i) {
            const auto shell = fork_child("a shell", [&] {
                ::execve(shell_.c_str(), const_cast<char**>(arguments), const_cast<char**>(environment));
                return 127;
            });
            if (!shell) return pass(shell);
            if (auto ended = reap(*shell, fmt::format("the shell of round {} of {}", i, loops)); !ended)
                return pass(ended);
        }
        times.stopped_ns = raw_clock_ns();
        return times;
    }

    std::string shell_, tools_;
    std::optional<TempDir> directory_;
};

}  // namespace

std::unique_ptr<Workload> make_shell_of(std::string shell, std::string tools) {
    return std::make_unique<Shell>(std::move(shell), std::move(tools));
}

std::unique_ptr<Workload> make_shell() {
    return make_shell_of("/bin/sh", "/bin");
}

}  // namespace kab::guest
