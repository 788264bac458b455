#pragma once
// Taking a look again: the stored samples must give the stored verdicts, bit for bit, with the build that took it.
#include <string>
#include <vector>

#include "daemon/store/store.h"

namespace kab::report {

struct Replay {
    int look = -1;                         ///< from 0; -1: none was taken, or it ended out of turn
    int compared = 0;                      ///< rows
    std::string stored, computed;          ///< verdict of the evaluation
    std::vector<std::string> differences;  ///< one line each; empty: the same
    int reworded = 0;                      ///< rows whose sentence is another: see reworded_rows
};

/// Recomputes the last look of an evaluation (exact uid) and compares every figure with what is stored.
/// Fault::not_found for an unknown uid, Fault::conflict when there is no verdict yet to compare with.
Result<Replay> replay(const store::Store& store, const std::string& evaluation_uid);

/// What differs between the rows of one look; both in the order of the analysis.
std::vector<std::string> row_differences(const std::vector<store::ComparisonRow>& stored,
                                         const std::vector<store::ComparisonRow>& computed);

/// Rows whose sentence differs. It is made of the figures: where these are the same only its words are others.
int reworded_rows(const std::vector<store::ComparisonRow>& stored, const std::vector<store::ComparisonRow>& computed);

}  // namespace kab::report
