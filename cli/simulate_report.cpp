#include "cli/simulate_report.h"

#include <cmath>

#include "common/json.h"
#include "common/score.h"
#include "common/units.h"
#include "daemon/report/figures.h"
#include "daemon/stats/words.h"

namespace kab::cli {
namespace {

std::string joined(const std::vector<int>& numbers) {
    std::string text;
    for (const int number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
    return text;
}

/// "8.3%", "0.00%" only where it never happened.
std::string share_text(double share) {
    if (share > 0 && share < 0.0005) return "<0.05%";
    return fmt::format("{:.1f}%", 100 * share);
}

class Composer {
  public:
    explicit Composer(const Simulation& simulation) : simulation_(simulation) {}

    report::Document compose() const {
        report::Document document;
        document.title = "simulation of " + simulation_.experiment;
        report::Section first;
        report::Items answers;
        for (const auto& one : simulation_.cases) answers.items.push_back(answer(one));
        answers.items.push_back(detectable());
        if (simulation_.boot.source == "assumed" || simulation_.run.source == "assumed")
            answers.items.emplace_back(
                "How boots and runs vary is assumed, not measured: give --sd-boot and --sd-run, or run a few blocks "
                "first");
        if (simulation_.other_iterations > 0) answers.items.push_back(other_iterations());
        if (!simulation_.time)
            answers.items.emplace_back(
                "How long that takes is unknown: no boot of this experiment, nor of such kernels in another, is in the "
                "database");
        else if (simulation_.time->without_runs)
            answers.items.emplace_back(
                "Times are those of booting alone, from another experiment: how long the runs of this one take is not "
                "known");
        first.parts.emplace_back(std::move(answers));
        for (const auto& one : simulation_.cases) first.parts.emplace_back(table(one));
        document.sections.push_back(std::move(first));
        document.sections.push_back({"what it is made from", {sources()}});
        document.sections.push_back({"how far this goes", {report::Items{limits()}}});
        return document;
    }

  private:
    std::string effect_text(double effect) const {
        if (simulation_.scale == Scale::log)
            return fmt::format("{} (ratio {})", stats::plain_percent(effect), report::ratio(1 + effect));
        return report::quantity(effect, simulation_.unit);
    }

    std::string condition(const Simulation::Case& one) const {
        return one.effect == 0 ? "Were there no difference" : "Were the difference " + effect_text(one.effect);
    }

    std::string amount(int blocks) const {
        const auto time = time_of(simulation_, blocks);
        return fmt::format(
            "{} ({}{})", stats::counted(blocks, "block"),
            stats::counted(static_cast<long long>(blocks) * simulation_.arms, "boot"),
            time ? (simulation_.time->without_runs ? ", more than " : ", about ") + format_duration(*time) : "");
    }

    std::string answer(const Simulation::Case& one) const {
        const auto& forecast = one.forecast;
        const int half = ended_by(forecast, 0.5).blocks, most = ended_by(forecast, 0.9).blocks;
        std::string text = half == most
                               ? fmt::format("{}, 90% of the evaluations would end by {}", condition(one), amount(most))
                               : fmt::format("{}, half of the evaluations would end by {}, 90% by {}", condition(one),
                                             amount(half), amount(most));
        const auto& last = forecast.looks.back();
        text += fmt::format("; verdicts: a difference {}, equivalent {}, inconclusive {}",
                            share_text(last.higher + last.lower), share_text(last.equivalent),
                            share_text(forecast.inconclusive));
        return text;
    }

    std::string detectable() const {
        const auto& forecast = simulation_.cases.front().forecast;
        const auto at = amount(forecast.looks.back().blocks);
        if (!forecast.detectable) return fmt::format("The cap of {} shows no difference, however large", at);
        return fmt::format("The least difference found with 90% probability at the cap of {}: {}", at,
                           effect_text(*forecast.detectable));
    }

    /// Boots and runs cannot be told apart in it, so that it cannot be carried over.
    std::string other_iterations() const {
        const auto measured = stats::counted(simulation_.other_iterations, "run");
        if (simulation_.quantile)
            return fmt::format(
                "How the {} of a boot's runs varies was measured with {} a boot, this has {}: it may be quite "
                "otherwise",
                score_word(simulation_.quantile), measured, simulation_.iterations);
        return fmt::format(
            "How boots vary was measured with {} a boot, that of runs included, this has {}: they vary {}", measured,
            simulation_.iterations,
            simulation_.iterations > simulation_.other_iterations ? "no more than that, and perhaps less"
                                                                  : "no less than that, and perhaps more");
    }

    report::Table table(const Simulation::Case& one) const {
        report::Table table;
        table.title = condition(one) + ": verdicts by each look";
        table.header = {"blocks", "boots", "difference", "equivalent", "still open"};
        table.align = "rrrrr";
        if (simulation_.time) {
            table.header.emplace_back(simulation_.time->without_runs ? "time, more than" : "time");
            table.align += 'r';
        }
        double wrong = 0;
        for (const auto& look : one.forecast.looks) {
            const double open = 1 - look.higher - look.lower - look.equivalent;
            std::vector<std::string> row{std::to_string(look.blocks), std::to_string(look.blocks * simulation_.arms),
                                         share_text(look.higher + look.lower), share_text(look.equivalent),
                                         share_text(open < 1e-9 ? 0 : open)};
            if (const auto time = time_of(simulation_, look.blocks))
                row.push_back(report::unbroken(format_duration(*time)));
            table.rows.push_back(std::move(row));
            wrong = look.lower;
        }
        if (one.effect > 0 && wrong > 0)
            table.notes.push_back(
                fmt::format("in {} of the evaluations a difference the wrong way", share_text(wrong)));
        if (one.effect == 0) table.notes.emplace_back("difference: a false alarm");
        return table;
    }

    std::string deviation(const Deviation& deviation) const {
        const auto value = simulation_.scale == Scale::log ? report::share(std::expm1(deviation.sd))
                                                           : report::quantity(deviation.sd, simulation_.unit);
        return fmt::format("{} ({})", value, deviation.source);
    }

    report::Part sources() const {
        const auto& design = simulation_.input.design;
        report::Pairs pairs;
        const auto add = [&](const char* name, std::string text) { pairs.rows.emplace_back(name, std::move(text)); };
        add("primary", simulation_.primary);
        add("looks", "after blocks " + joined(design.looks));
        add("margin", simulation_.scale == Scale::log ? stats::plain_percent(design.margin)
                                                      : report::quantity(design.margin, simulation_.unit));
        add("alpha", fmt::format("{:g} over {}", design.alpha,
                                 stats::counted(simulation_.input.comparisons, "primary comparison")));
        std::string boots = deviation(simulation_.boot);
        if (simulation_.together) boots += ", that of its runs included";
        if (simulation_.other_iterations > 0)
            boots += fmt::format("; measured with {} a boot, this has {}",
                                 stats::counted(simulation_.other_iterations, "run"), simulation_.iterations);
        add("sd of boots", std::move(boots));
        if (!simulation_.together) add("sd of runs", deviation(simulation_.run));
        add("a boot", fmt::format("{} of {}{}", stats::counted(simulation_.iterations, "run"),
                                  stats::counted(simulation_.points, "point"),
                                  simulation_.quantile ? ", judged by the " + score_word(simulation_.quantile) : ""));
        add("sd of a block", deviation({simulation_.input.sd, "of the difference of two boots"}));
        if (const auto& time = simulation_.time)
            add("time of a boot",
                fmt::format("{}{}, the mean of {} of evaluation {} ({}, {})", format_duration(time->mean),
                            time->without_runs ? " and its runs" : "", stats::counted(time->boots, "boot"),
                            time->evaluation, time->host, time->accel));
        add("simulated",
            fmt::format("{} evaluations each, seed {}", simulation_.input.evaluations, simulation_.input.seed));
        return pairs;
    }

    std::vector<std::string> limits() const {
        const double error = 1.96 * 0.5 / std::sqrt(std::max(1, simulation_.input.evaluations));
        std::vector<std::string> items{
            fmt::format("Shares of {} simulated evaluations: true to {} at worst, as a share of all of them.",
                        simulation_.input.evaluations, report::share(error)),
            "One arm against its baseline; block differences drawn normal. An evaluation with several arms ends when "
            "its "
            "last primary comparison has its verdict."};
        if (simulation_.points > 1)
            items.emplace_back(
                "Points of a boot are taken to share its luck, so that their number helps against the "
                "spread of runs only.");
        if (simulation_.time)
            items.emplace_back("Times are without the building of kernels, and of boots one after another.");
        return items;
    }

    const Simulation& simulation_;
};

}  // namespace

const stats::LookForecast& ended_by(const stats::Forecast& forecast, double share) {
    for (const auto& look : forecast.looks)
        if (look.decided >= share) return look;
    return forecast.looks.back();
}

std::optional<Nanoseconds> time_of(const Simulation& simulation, int blocks) {
    if (!simulation.time) return std::nullopt;
    return simulation.time->mean * simulation.arms * blocks;
}

report::Document simulate_document(const Simulation& simulation) {
    return Composer(simulation).compose();
}

std::string simulate_json(const Simulation& simulation) {
    Json cases = Json::array();
    const auto nanoseconds = [&](int blocks) {
        const auto time = time_of(simulation, blocks);
        return time ? Json(time->count()) : Json(nullptr);
    };
    for (const auto& one : simulation.cases) {
        Json looks = Json::array();
        for (const auto& look : one.forecast.looks)
            looks.push_back({{"blocks", look.blocks},
                             {"time_ns", nanoseconds(look.blocks)},
                             {"ended", look.decided},
                             {"higher", look.higher},
                             {"lower", look.lower},
                             {"equivalent", look.equivalent}});
        cases.push_back({{"effect", one.effect},
                         {"difference", one.forecast.difference},
                         {"equivalent", one.forecast.equivalent},
                         {"inconclusive", one.forecast.inconclusive},
                         {"mean_blocks", one.forecast.mean_blocks},
                         {"median_blocks", ended_by(one.forecast, 0.5).blocks},
                         {"blocks_90", ended_by(one.forecast, 0.9).blocks},
                         {"looks", looks}});
    }
    const auto& detectable = simulation.cases.front().forecast.detectable;
    const auto& input = simulation.input;
    Json time = nullptr;
    if (simulation.time)
        time = {{"evaluation", simulation.time->evaluation},
                {"host", simulation.time->host},
                {"accel", simulation.time->accel},
                {"boots", simulation.time->boots},
                {"without_runs", simulation.time->without_runs},
                {"boot_ns", simulation.time->mean.count()}};
    return dump_json(
               {{"experiment", simulation.experiment},
                {"primary", simulation.primary},
                {"unit", simulation.unit},
                {"scale", to_string(simulation.scale)},
                {"better", to_string(simulation.better)},
                {"alpha", input.design.alpha},
                {"margin", input.design.margin},
                {"comparisons", input.comparisons},
                {"arms", simulation.arms},
                {"iterations", simulation.iterations},
                {"points", simulation.points},
                {"score", score_word(simulation.quantile)},
                {"exact", simulation.exact},
                {"sd_boot",
                 {{"sd", simulation.boot.sd},
                  {"source", simulation.boot.source},
                  {"measured_with",
                   simulation.other_iterations > 0 ? Json(simulation.other_iterations) : Json(nullptr)}}},
                {"sd_run", simulation.together ? Json(nullptr)
                                               : Json({{"sd", simulation.run.sd}, {"source", simulation.run.source}})},
                {"sd_difference", input.sd},
                {"detectable", detectable ? Json(*detectable) : Json(nullptr)},
                {"boot_time", time},
                {"evaluations", input.evaluations},
                {"seed", input.seed},
                {"effects", cases}}) +
           "\n";
}

}  // namespace kab::cli
