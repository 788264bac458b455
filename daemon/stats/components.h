#pragma once
// Where the noise comes from: variances between blocks, between boots of a block, between iterations of a
// boot. Method of moments, which for balanced data is REML wherever no estimate is negative.
#include <optional>
#include <span>
#include <vector>

namespace kab::stats {

/// The iterations of one boot of one arm, on the scale of the metric (logarithms or plain).
struct BootValues {
    int block = 0, arm = 0;
    std::span<const double> values;
    std::span<const int> iterations;  ///< index of each value within the boot
    std::optional<double> mean{};     ///< of the values, where it is known already
};

struct Components {
    std::optional<double> block, boot, iteration;  ///< variances, at least 0; absent where the data cannot tell
    double iterations_per_boot = 0;                ///< harmonic mean
    std::optional<double> trend;                   ///< mean slope per iteration index within a boot
};

enum class IndexMeans { keep, remove };

/// `boots` ascending by block and arm. Arms are fixed effects; only blocks in which every arm has a boot count towards
/// block and boot. `remove` takes the mean of each iteration index out before the iteration variance is estimated: the
/// first runs of a boot differ from later ones, and that is no noise. With one iteration a boot its variance cannot be
/// told from that of the boots: `boot` is then both together.
Components variance_components(std::span<const BootValues> boots, IndexMeans index_means = IndexMeans::remove);

/// Within boots, over blocks.
struct Trend {
    std::optional<double> slope;  ///< as in Components
    std::optional<double> p;      ///< t test over blocks that it is 0
};
Trend trend_of(std::span<const BootValues> boots);

/// t test over blocks that two arms have the same slope over iterations; nullopt below two blocks.
std::optional<double> slope_interaction_p(std::span<const BootValues> boots, int arm, int against);

/// Least-variance number of iterations a boot for a given total time: sqrt((cost boot / cost iteration) x
/// (variance iteration / variance boot)), from 1 to most_best_iterations; absent when a cost or variance is not known
/// or 0.
std::optional<int> best_iterations(const Components& components, double cost_boot, double cost_iteration);

}  // namespace kab::stats
