#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "cli/table.h"
#include "cli/terminal.h"
#include "common/units.h"

namespace kab::cli {
namespace {

constexpr auto line_interval = std::chrono::seconds(5);
constexpr auto estimate_after = std::chrono::seconds(5);
constexpr int bar_width = 16;

std::string counted(const std::string& what, std::int64_t done, std::int64_t total) {
    if (total > 0) return fmt::format("{} {}/{}", what, done, total);
    return done > 0 ? fmt::format("{} {}", what, done) : what;
}

/// Of a build's step, kabd sends the number done as the total when it does not know better.
bool knows_total(const api::Progress& progress) {
    return progress.total > 0 && progress.done < progress.total;
}

std::string step_text(const api::Progress& progress) {
    if (progress.step == "waiting") return "waiting for another build or measurement on this machine";
    if (progress.phase == "boot" || progress.phase == "check")
        return progress.step == "running" ? counted("run", progress.done, progress.total) : progress.step;
    return counted(progress.step, progress.done, knows_total(progress) ? progress.total : 0);
}

/// A change of it is worth a line: the step of a build, the block of the boots.
std::string key_of(const api::Progress& progress) {
    if (progress.phase == "boot") return fmt::format("boot {}", progress.block);
    if (progress.phase == "check") return "check";
    return fmt::format("{} {} {}", progress.phase, progress.arm, progress.step);
}

}  // namespace

std::string describe(const api::Progress& progress, std::chrono::nanoseconds age) {
    std::string text;
    if (progress.phase == "boot") {
        text = fmt::format("block {}/{}, boot {}/{}", progress.block, progress.blocks,
                           std::min(progress.boot + 1, progress.boots), progress.boots);
    } else if (progress.phase == "check") {
        text = fmt::format("checking, boot {}/{}", std::min(progress.boot + 1, progress.boots), progress.boots);
    } else {
        text = progress.phase;
    }
    const bool booting = progress.phase == "boot" || progress.phase == "check";
    if (!progress.arm.empty()) text += (booting ? ": " : " ") + progress.arm;
    if (!progress.step.empty()) text += (booting ? " " : ": ") + step_text(progress);
    if (progress.left_ns > 0) {
        const auto left = std::chrono::nanoseconds(progress.left_ns) - age;
        // Whole seconds: what is left is an estimate.
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
        text += seconds.count() > 0 ? fmt::format(", about {} left", format_duration(seconds)) : ", nearly there";
    }
    return text;
}

std::optional<double> share_done(const api::Progress& progress) {
    const bool boots = (progress.phase == "boot" || progress.phase == "check") && progress.boots > 0;
    const auto total = boots ? progress.boots : progress.total;
    const auto done = boots ? progress.boot : progress.done;
    if (total <= 0 || (!boots && !knows_total(progress))) return std::nullopt;
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
    if (transition.object == "host" && transition.to == "down")
        return fmt::format("host {}: down{}", transition.name, detail);
    if (transition.object == "host" && transition.from == "down")
        return fmt::format("host {}: {} again", transition.name, transition.to);
    if (transition.object == "arm" && (transition.to == "failed" || transition.to == "stopped"))
        return fmt::format("arm {} {}{}", transition.name, transition.to, detail);
    // "0" or "0.2": the block of the checks.
    const bool check = transition.name.substr(0, transition.name.find('.')) == "0";
    if (transition.object == "block" && transition.to == "complete")
        return check ? "checks done" : fmt::format("block {} done", transition.name);
    if (transition.object == "block" && transition.to == "excluded")
        return fmt::format("{} excluded{}", check ? "checks" : "block " + transition.name, detail);
    return {};
}

std::string describe(const api::Failure& failure) {
    return fmt::format("{} {}: {}{}{}", failure.block == 0 ? "check of" : "boot of",
                       failure.block == 0 ? failure.arm : fmt::format("{} in block {}", failure.arm, failure.block),
                       failure.outcome, failure.detail.empty() ? "" : ": ", failure.detail);
}

ProgressView::Style ProgressView::style_of(FILE* file) {
    const char* term = std::getenv("TERM");
    const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
    return ::isatty(fileno(file)) != 0 && !dumb ? Style::terminal : Style::lines;
}

void ProgressView::estimate(api::Progress& progress, SteadyPoint now) {
    if (progress.phase == "boot" || progress.phase == "check" || progress.left_ns > 0 || !knows_total(progress)) return;
    if (const auto key = key_of(progress); key != step_key_ || progress.done < step_from_) {
        step_key_ = key;
        step_since_ = now;
        step_from_ = progress.done;
    }
    const auto elapsed = now - step_since_;
    const auto made = progress.done - step_from_;
    if (made <= 0 || elapsed < estimate_after) return;
    const auto left = std::chrono::duration<double, std::nano>(elapsed).count() *
                      static_cast<double>(progress.total - progress.done) / static_cast<double>(made);
    progress.left_ns = static_cast<std::int64_t>(left);
}

void ProgressView::wait(const std::string& text, SteadyPoint now) {
    const bool news = text != waiting_;
    waiting_ = text;
    progress_.reset();
    if (style_ == Style::terminal) return draw(now);
    if (news) note(text);
}

void ProgressView::show(const api::Progress& given, SteadyPoint now) {
    auto progress = given;
    estimate(progress, now);
    progress_ = progress;
    waiting_.clear();
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
    const bool something = progress_ || !waiting_.empty();
    if (style_ == Style::terminal && something && now - drawn_at_ >= std::chrono::seconds(1)) draw(now);
}

void ProgressView::draw(SteadyPoint now) {
    std::string line = waiting_;
    if (progress_) {
        const auto share = share_done(*progress_);
        line = (share ? bar(*share, bar_width) + " " : "") + describe(*progress_, now - came_);
    }
    // One column is left free: in the last one many terminals wrap.
    const auto width = std::max<std::size_t>(terminal_width(fileno(file_)).value_or(80), 11) - 1;
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
