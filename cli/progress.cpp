#include "cli/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "cli/table.h"
#include "common/units.h"

namespace kab::cli {
namespace {

constexpr auto line_interval = std::chrono::seconds(5);
constexpr int bar_width = 16;

std::string counted(const std::string& what, std::int64_t done, std::int64_t total) {
    if (total > 0) return fmt::format("{} {}/{}", what, done, total);
    return done > 0 ? fmt::format("{} {}", what, done) : what;
}

int terminal_width(FILE* file) {
    winsize size{};
    if (::ioctl(fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

/// A change of it is worth a line: the step of a build, the block of the boots.
std::string key_of(const api::Progress& progress) {
    if (progress.phase == "boot") return fmt::format("boot {}", progress.block);
    return fmt::format("{} {} {}", progress.phase, progress.arm, progress.step);
}

}  // namespace

std::string describe(const api::Progress& progress, std::chrono::nanoseconds age) {
    std::string text;
    if (progress.phase == "boot") {
        text = fmt::format("block {}/{}, boot {}/{}", progress.block, progress.blocks,
                           std::min(progress.boot + 1, progress.boots), progress.boots);
    } else {
        text = progress.phase;
    }
    if (!progress.arm.empty()) text += (progress.phase == "boot" ? ": " : " ") + progress.arm;
    if (progress.phase == "boot" && !progress.step.empty())
        text += " " + (progress.step == "running" ? counted("run", progress.done, progress.total) : progress.step);
    if (progress.phase != "boot" && !progress.step.empty())
        text += ": " + counted(progress.step, progress.done, progress.total);
    if (progress.left_ns > 0) {
        const auto left = std::chrono::nanoseconds(progress.left_ns) - age;
        // Whole seconds: what is left is an estimate.
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
        text += seconds.count() > 0 ? fmt::format(", about {} left", format_duration(seconds)) : ", nearly there";
    }
    return text;
}

std::optional<double> share_done(const api::Progress& progress) {
    const bool boots = progress.phase == "boot" && progress.boots > 0;
    const auto total = boots ? progress.boots : progress.total;
    const auto done = boots ? progress.boot : progress.done;
    if (total <= 0) return std::nullopt;
    return std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
}

std::string bar(double share, int width) {
    const auto filled = static_cast<std::size_t>(std::lround(share * width));
    return "[" + std::string(filled, '#') + std::string(static_cast<std::size_t>(width) - filled, '.') + "]";
}

std::string describe(const api::Transition& transition) {
    const auto detail = transition.detail.empty() ? std::string() : ": " + transition.detail;
    // How it ended is said at the end, with more.
    const bool under_way = transition.to == "freezing" || transition.to == "building" || transition.to == "running";
    if (transition.object == "evaluation" && under_way) return transition.to + detail;
    if (transition.object == "arm" && (transition.to == "failed" || transition.to == "stopped"))
        return fmt::format("arm {} {}{}", transition.name, transition.to, detail);
    if (transition.object == "block" && transition.to == "complete")
        return fmt::format("block {} done", transition.name);
    if (transition.object == "block" && transition.to == "excluded")
        return fmt::format("block {} excluded{}", transition.name, detail);
    return {};
}

std::string describe(const api::Failure& failure) {
    return fmt::format("boot of {} in block {}: {}{}{}", failure.arm, failure.block, failure.outcome,
                       failure.detail.empty() ? "" : ": ", failure.detail);
}

ProgressView::Style ProgressView::style_of(FILE* file) {
    const char* term = std::getenv("TERM");
    const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
    return ::isatty(fileno(file)) != 0 && !dumb ? Style::terminal : Style::lines;
}

void ProgressView::show(const api::Progress& progress, SteadyPoint now) {
    progress_ = progress;
    came_ = now;
    if (style_ == Style::terminal) return draw(now);
    if (style_ == Style::silent) return;
    const auto key = key_of(progress);
    if (key == last_key_ && now - drawn_at_ < line_interval) return;
    const auto line = describe(progress);
    if (line == last_line_) return;
    last_key_ = key;
    last_line_ = line;
    drawn_at_ = now;
    note(line);
}

void ProgressView::show(const api::Transition& transition) {
    // On a terminal the bar shows what goes well.
    const bool good = transition.object == "block" && transition.to == "complete";
    if (const auto line = describe(transition); !line.empty() && !(good && style_ == Style::terminal)) note(line);
}

void ProgressView::note(const std::string& line) {
    if (style_ == Style::silent) return;
    clear();
    fmt::print(file_, "kab: {}\n", line);
    std::fflush(file_);
}

void ProgressView::tick(SteadyPoint now) {
    if (style_ == Style::terminal && progress_ && now - drawn_at_ >= std::chrono::seconds(1)) draw(now);
}

void ProgressView::draw(SteadyPoint now) {
    std::string line;
    if (const auto share = share_done(*progress_)) line = bar(*share, bar_width) + " ";
    line += describe(*progress_, now - came_);
    // One column is left free: in the last one many terminals wrap.
    const auto width = static_cast<std::size_t>(std::max(terminal_width(file_) - 1, 10));
    fmt::print(file_, "\r{}\x1b[K", shorten(line, width));
    std::fflush(file_);
    drawn_ = true;
    drawn_at_ = now;
}

void ProgressView::clear() {
    if (!drawn_) return;
    fmt::print(file_, "\r\x1b[K");
    std::fflush(file_);
    drawn_ = false;
}

}  // namespace kab::cli
