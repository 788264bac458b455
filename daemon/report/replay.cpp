#include "daemon/report/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "daemon/report/gather.h"

namespace kab::report {
namespace {

using Row = store::ComparisonRow;

std::string shown(const std::string& value) {
    return value.empty() ? "nothing" : "\"" + value + "\"";
}
std::string shown(std::int64_t value) {
    return std::to_string(value);
}
std::string shown(bool value) {
    return value ? "yes" : "no";
}
template <class T>
std::string shown(const std::optional<T>& value) {
    // All digits: what differs may differ in the last.
    return value ? fmt::format("{}", *value) : "nothing";
}

std::string name_of(const Row& row) {
    return fmt::format("{} against {}, {}/{}{}", row.arm, row.against, row.workload, row.metric,
                       row.point.empty() ? "" : " (" + row.point + ")");
}

class RowDifferences {
  public:
    RowDifferences(const Row& stored, const Row& computed, std::vector<std::string>& lines)
        : stored_(stored), computed_(computed), lines_(lines) {}

    template <class T>
    RowDifferences& check(const char* what, T Row::*member) {
        if (stored_.*member == computed_.*member) return *this;
        lines_.push_back(fmt::format("{}: {} is stored as {}, computed as {}", name_of(stored_), what,
                                     shown(stored_.*member), shown(computed_.*member)));
        return *this;
    }

  private:
    const Row& stored_;
    const Row& computed_;
    std::vector<std::string>& lines_;
};

void check_row(const Row& stored, const Row& computed, std::vector<std::string>& lines) {
    RowDifferences row(stored, computed, lines);
    row.check("n", &Row::n).check("is_primary", &Row::primary).check("material", &Row::material);
    row.check("fragile", &Row::fragile).check("estimate", &Row::estimate).check("low", &Row::low);
    row.check("high", &Row::high).check("level", &Row::level).check("sd", &Row::sd).check("t", &Row::t);
    row.check("df", &Row::df).check("p", &Row::p).check("p_sequential", &Row::p_sequential);
    row.check("p_adjusted", &Row::p_adjusted).check("p_rank", &Row::p_rank);
    row.check("rank_estimate", &Row::rank_estimate).check("rank_low", &Row::rank_low);
    row.check("rank_high", &Row::rank_high).check("rank_level", &Row::rank_level);
    row.check("p_equivalence", &Row::p_equivalence).check("detectable", &Row::detectable);
    // A margin of 0 was once stored as none.
    if (stored.margin || computed.margin != 0) row.check("margin", &Row::margin);
    row.check("spent", &Row::spent).check("decided_at", &Row::decided_at);
    row.check("verdict", &Row::verdict).check("reason", &Row::reason);
}

using Rows = std::vector<Row>;

Rows::const_iterator find_row(const Rows& rows, const Row& row) {
    return std::find_if(rows.begin(), rows.end(), [&](const Row& other) {
        return other.arm == row.arm && other.against == row.against && other.workload == row.workload &&
               other.point == row.point && other.metric == row.metric;
    });
}

}  // namespace

std::vector<std::string> row_differences(const std::vector<Row>& stored, const std::vector<Row>& computed) {
    std::vector<std::string> lines;
    for (const auto& row : stored) {
        const auto found = find_row(computed, row);
        if (found == computed.end())
            lines.push_back(name_of(row) + ": is stored, but not computed");
        else
            check_row(row, *found, lines);
    }
    for (const auto& row : computed)
        if (find_row(stored, row) == stored.end()) lines.push_back(name_of(row) + ": is computed, but not stored");
    return lines;
}

int reworded_rows(const std::vector<Row>& stored, const std::vector<Row>& computed) {
    return static_cast<int>(std::count_if(stored.begin(), stored.end(), [&](const Row& row) {
        const auto found = find_row(computed, row);
        return found != computed.end() && found->sentence != row.sentence;
    }));
}

Result<Replay> replay(const store::Store& store, const std::string& evaluation_uid) {
    const auto tree = store.tree(evaluation_uid);
    if (!tree) return pass(tree);
    const auto& evaluation = tree->evaluation;
    if (evaluation.verdict.empty())
        return fail(Fault::conflict, "evaluation {} has no verdict yet: no look has been taken", evaluation.uid);
    const auto look = shown_look(*tree);
    if (!look) return pass(look);
    const auto input = gather_analysis(store, evaluation_uid, *look);
    if (!input) return pass(input);
    const auto output = stats::analyse(*input);
    Replay result;
    result.look = *look;
    result.stored = evaluation.verdict;
    result.computed = stats::to_string(output.verdict);
    if (result.stored != result.computed)
        result.differences.push_back(
            fmt::format("the verdict is stored as {}, computed as {}", result.stored, result.computed));
    if (*look < 0) return result;  // what ends out of turn has no rows
    const auto stored = store.comparisons(evaluation_uid);
    if (!stored) return pass(stored);
    const auto computed = to_comparison_rows(*input, output, *look);
    for (auto& line : row_differences(*stored, computed)) result.differences.push_back(std::move(line));
    result.reworded = reworded_rows(*stored, computed);
    result.compared = static_cast<int>(stored->size());
    return result;
}

}  // namespace kab::report
