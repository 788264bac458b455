#pragma once
// What is seen while an evaluation runs: on a terminal one line that is redrawn, else lines now and then.
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "protocol/api/types.h"

namespace kab::cli {

using SteadyPoint = std::chrono::steady_clock::time_point;

/// "build deferred-free: compile 412/760, about 3m 20s left", "block 2/6, boot 5/18: inline-free run 3/4, about 1m 00s
/// left". `age`: how long ago the event came; the time left is counted down by it.
std::string describe(const api::Progress& progress, std::chrono::nanoseconds age = {});
/// Share done, in 0..1, of what the bar shows; nothing when unknown.
std::optional<double> share_done(const api::Progress& progress);
/// "[#####.....]", `width` columns inside the brackets.
std::string bar(double share, int width);
/// The transitions worth a line of their own; empty for the others.
std::string describe(const api::Transition& transition);
/// "boot of inline-free in block 3: hang: ..." (one line).
std::string describe(const api::Failure& failure);

class ProgressView {
  public:
    enum class Style { terminal, lines, silent };
    /// terminal if `file` is one (and not dumb), else lines.
    static Style style_of(FILE* file);

    ProgressView(FILE* file, Style style) : file_(file), style_(style) {}
    ~ProgressView() { clear(); }
    ProgressView(const ProgressView&) = delete;
    ProgressView& operator=(const ProgressView&) = delete;

    /// Adds the time left of a build's step, which kabd does not know.
    void show(const api::Progress& progress, SteadyPoint now);
    /// What it waits for, before there is any progress.
    void wait(const std::string& text, SteadyPoint now);
    void show(const api::Transition& transition);
    /// A line that stays, above the redrawn one.
    void note(const std::string& line);
    /// On a terminal: redraws when a second has passed, for the time left.
    void tick(SteadyPoint now);
    /// Takes the redrawn line away.
    void clear();

  private:
    void draw(SteadyPoint now);
    void estimate(api::Progress& progress, SteadyPoint now);

    FILE* file_;
    Style style_;
    std::optional<api::Progress> progress_;
    SteadyPoint came_, drawn_at_;
    bool drawn_ = false;
    std::string last_key_, last_line_, waiting_;
    // The step that is under way, as of when it was first seen.
    std::string step_key_;
    SteadyPoint step_since_;
    std::int64_t step_from_ = 0;
};

}  // namespace kab::cli
