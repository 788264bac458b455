#pragma once
// From measured comparisons to the verdicts of an evaluation, and whether it is decided.
#include <string>
#include <vector>

#include "daemon/stats/compare.h"
#include "daemon/stats/stage.h"

namespace kab::stats {

/// Why an evaluation stops or goes on.
struct Conclusion {
    std::string cause;              ///< of everything being invalid; or empty, and the rest counts
    int primaries = 0, open = 0;    ///< open: neither shown and more blocks can come
    std::vector<std::string> lost;  ///< "b could not be built": arms whose open comparisons will stay so
    int unsettled = 0;              ///< comparisons of the lost
};

/// Judges all rows (measured, adjusted) and fills verdict, decided and blocks_needed of `out`, whose `blocks`
/// is set. The order: invalid, keeps failing, a verdict of an earlier look, then what this look shows.
class Decision {
  public:
    Decision(const Input& input, const Stage& stage, std::vector<Measured>& rows, Output& out)
        : input_(input), stage_(stage), rows_(rows), out_(out) {}
    Conclusion decide();

  private:
    bool ended(const Measured& m) const;
    bool all_ended() const;
    std::string stopped_text(const Measured& m) const;
    void judge_row(Measured& m, bool over);
    bool judge_failing(Measured& m) const;
    bool claims(bool secondaries) const;
    std::vector<std::string> causes() const;
    void void_all(const std::string& cause);
    void count(Conclusion& count) const;
    void conclude(const Conclusion& counts);

    const Input& input_;
    const Stage& stage_;
    std::vector<Measured>& rows_;
    Output& out_;
};

}  // namespace kab::stats
