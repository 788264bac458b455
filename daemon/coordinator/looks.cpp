// Looks: the analysis on its thread, and what becomes of it.
#include <boost/asio/post.hpp>

#include "daemon/coordinator/coordinator.h"
#include "daemon/fault/fault_point.h"
#include "daemon/report/gather.h"
#include "daemon/stats/analysis.h"

namespace kab {
namespace asio = boost::asio;
namespace {

/// Runs on the analysis thread, with a connection of its own.
Result<LookResult> take_look(const fs::path& database, const std::string& evaluation, int look) try {
    auto store = store::Store::open(database, store::Store::Mode::read_only);
    if (!store) return pass(store);
    auto input = report::gather_analysis(**store, evaluation, look);
    if (!input) return pass(input);
    const auto output = stats::analyse(*input);
    LookResult result;
    result.rows = report::to_comparison_rows(*input, output, look);
    result.verdict = stats::to_string(output.verdict);
    result.sentence = output.sentence;
    result.decided = output.decided;
    return result;
} catch (const std::exception& e) {
    // Boost.Math and the standard library throw; a look that fails must not take the daemon with it.
    return fail(Fault::internal, "{}", e.what());
}

}  // namespace

void Coordinator::carry_out(const core::Analyse& command) {
    asio::post(*pool_, [this, command, database = parts_.paths.database(), executor = parts_.executor,
                        alive = std::weak_ptr<bool>(alive_)] {
        auto result = std::make_shared<Result<LookResult>>(take_look(database, command.evaluation, command.look));
        asio::post(executor, [this, command, result, alive] {
            if (const auto here = alive.lock(); here && *here) analysed(command.evaluation, command.look, *result);
        });
    });
}

void Coordinator::analysed(const std::string& evaluation, int look, const Result<LookResult>& result) {
    // Cancelled meanwhile: what the look found is not written onto an evaluation that has ended.
    const auto* present = find(evaluation);
    if (present == nullptr || present->status != core::EvaluationStatus::running) return;
    fault_point("look.taken");
    // A disk that cannot be read says nothing of the evaluation: the look is taken again by the next daemon.
    if (!result && (result.error().fault == Fault::io || result.error().fault == Fault::timeout))
        return fatal(result.error(), "the samples of a look cannot be read");
    if (!result) return handle(core::LookFinished{evaluation, false, false, "analysis: " + result.error().text()});
    const auto write = [&](store::Writer& writer) -> Status {
        if (look >= 0)  // what no look was planned for is no comparison of the plan
            if (auto added = writer.add_comparisons(evaluation, look, result->rows); !added) return added;
        return writer.set_verdict(evaluation, result->verdict);
    };
    handle(core::LookFinished{evaluation, true, result->decided, result->sentence}, write);
}

}  // namespace kab
