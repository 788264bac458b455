#include "daemon/stats/spending.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <tuple>

#include "daemon/stats/distributions.h"
#include "daemon/stats/vector_math.h"
#include "daemon/stats/wide.h"

namespace kab::stats {
namespace {

constexpr double hsd_gamma = -4;

struct Quadrature {
    std::vector<double> nodes, weights;  ///< Gauss-Legendre on [-1, 1]
};

Quadrature make_gauss_legendre(int n) {
    Quadrature rule;
    rule.nodes.resize(static_cast<std::size_t>(n));
    rule.weights.resize(static_cast<std::size_t>(n));
    // Legendre's recurrence p(k) = up(k) x p(k-1) - down(k) p(k-2), without a division in the loop.
    std::vector<double> up(static_cast<std::size_t>(n) + 1), down(up.size());
    for (int k = 2; k <= n; ++k) {
        up[static_cast<std::size_t>(k)] = (2.0 * k - 1) / k;
        down[static_cast<std::size_t>(k)] = (k - 1.0) / k;
    }
    for (int i = 0; i < (n + 1) / 2; ++i) {  // symmetric
        double x = -std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5));
        double slope = 1;
        for (int step = 0; step < 100; ++step) {
            double before = 1, now = x;
            for (std::size_t k = 2; k < up.size(); ++k) {
                const double next = up[k] * x * now - down[k] * before;
                before = now;
                now = next;
            }
            slope = n * (x * now - before) / (x * x - 1);
            const double move = now / slope;
            x -= move;
            if (std::abs(move) < 1e-15) break;
        }
        const auto at = static_cast<std::size_t>(i), mirror = static_cast<std::size_t>(n - 1 - i);
        rule.nodes[at] = x;
        rule.nodes[mirror] = -x;
        rule.weights[at] = rule.weights[mirror] = 2 / ((1 - x * x) * slope * slope);
    }
    return rule;
}

/// `n` is a multiple of node_step: few rules are ever made.
constexpr int node_step = 8, most_nodes = 400;

const Quadrature& gauss_legendre(int n) {
    thread_local std::array<Quadrature, most_nodes / node_step + 1> memo;
    Quadrature& rule = memo[static_cast<std::size_t>(n / node_step)];
    if (rule.nodes.empty()) rule = make_gauss_legendre(n);
    return rule;
}

/// The process so far: density of the score at nodes, given that no bound was crossed. In units in which
/// the whole information is 1, the score at share t is normal with variance t.
struct Density {
    std::vector<double> at, mass;  ///< mass: quadrature weight times density
    std::vector<double> kernel;    ///< working space
};

/// In a fixed order that leaves the processor four sums to work on.
KAB_WIDE double dot(std::span<const double> a, std::span<const double> b) {
    Lanes part{};
    std::size_t i = 0;
    for (; i + lanes <= a.size(); i += lanes)
        part += Lanes{a[i], a[i + 1], a[i + 2], a[i + 3]} * Lanes{b[i], b[i + 1], b[i + 2], b[i + 3]};
    for (; i < a.size(); ++i) part[0] += a[i] * b[i];
    return (part[0] + part[1]) + (part[2] + part[3]);
}

/// kernel: of each score a row with the normal density of the step to it from each node, without its constant factor.
KAB_WIDE void fill_kernel(Density& density, std::span<const double> scores, double root) {
    const double scale = -0.5 / (root * root);
    const std::size_t nodes = density.at.size();
    density.kernel.resize(scores.size() * nodes);
    const double* const at = density.at.data();
    for (std::size_t s = 0; s < scores.size(); ++s) {
        double* const to = density.kernel.data() + s * nodes;
        for (std::size_t i = 0; i < nodes; ++i) {
            const double off = scores[s] - at[i];
            to[i] = scale * (off * off);
        }
    }
    exp_all(density.kernel);
}

/// `to`: one place a score.
void crossing_densities(Density& density, std::span<const double> scores, double root, std::span<double> to) {
    constexpr std::size_t at_once = 8;  // one exponential waits for its own parts only, so that many take less time
    for (std::size_t begin = 0; begin < scores.size(); begin += at_once) {
        const auto some = scores.subspan(begin, std::min(at_once, scores.size() - begin));
        fill_kernel(density, some, root);
        for (std::size_t i = 0; i < some.size(); ++i) {
            const auto row = std::span(density.kernel).subspan(i * density.at.size(), density.at.size());
            to[begin + i] = dot(density.mass, row) * normal_density(0) / root;
        }
    }
}

/// Probability to be above a score, and its first two derivatives by the score.
struct Crossing {
    double p = 0, slope = 0, bend = 0;
};

Crossing crossing(Density& density, double score, double root) {
    Crossing result;
    crossing_densities(density, std::span(&score, 1), root, std::span(&result.slope, 1));
    result.slope = -result.slope;
    for (std::size_t i = 0; i < density.at.size(); ++i) {
        const double z = (score - density.at[i]) / root;
        result.p += density.mass[i] * normal_upper(z);
        result.bend += density.mass[i] * density.kernel[i] * z;
    }
    result.bend *= normal_density(0) / (root * root);
    return result;
}

/// The score whose crossing probability is `p`: Halley's steps on the logarithm, kept inside a bracket.
double solve_crossing(Density& density, double root, double p, double t) {
    double low = -9 * std::sqrt(t), high = 40 * std::sqrt(t);
    double score = normal_upper_quantile(std::clamp(p, 1e-300, 0.5)) * std::sqrt(t);
    for (int step = 0; step < 200; ++step) {
        const Crossing at = crossing(density, score, root);
        (at.p > p ? low : high) = score;
        const double off = std::log(at.p / p), slope = at.slope / at.p, bend = at.bend / at.p - slope * slope;
        double next = score - 2 * off * slope / (2 * slope * slope - off * bend);
        // The error of the next step is below a tenth of this one's cube.
        if (std::abs(next - score) <= 2e-5) return next;
        if (!(next > low && next < high)) next = (low + high) / 2;
        score = next;
    }
    return score;
}

/// Nodes over what continues below `score` at share t. `detail` is the smaller of the standard deviations
/// of the steps before and after: the integrand has no finer detail than that.
Density continuation(Density& before, double score, double t, double step_root, double detail) {
    const double low = -7.5 * std::sqrt(t);
    const double length = score - low;
    const int least = std::clamp(static_cast<int>(std::ceil(1.8 * length / detail)) + 8, 32, most_nodes);
    const Quadrature& rule = gauss_legendre((least + node_step - 1) / node_step * node_step);
    Density result;
    result.at.resize(rule.nodes.size());
    result.mass.resize(rule.nodes.size());
    for (std::size_t i = 0; i < result.at.size(); ++i) result.at[i] = low + (rule.nodes[i] + 1) / 2 * length;
    if (before.at.empty())
        for (std::size_t i = 0; i < result.at.size(); ++i)
            result.mass[i] = normal_density(result.at[i] / step_root) / step_root;
    else
        crossing_densities(before, result.at, step_root, result.mass);
    for (std::size_t i = 0; i < result.at.size(); ++i) result.mass[i] = rule.weights[i] * length / 2 * result.mass[i];
    return result;
}

std::vector<Bound> integrate(Spending rule, double alpha, std::span<const double> information) {
    std::vector<Bound> result;
    Density density;
    double t_before = 0, spent_before = 0;
    for (std::size_t k = 0; k < information.size(); ++k) {
        const double t = information[k];
        Bound bound;
        bound.spent = std::min(alpha, spent(rule, alpha, t));
        const double now = std::max(bound.spent - spent_before, 1e-300);
        const double root = std::sqrt(t - t_before);
        double score = 0;
        if (k == 0) {
            bound.z = normal_upper_quantile(now);
            score = bound.z * std::sqrt(t);
        } else {
            score = solve_crossing(density, root, now, t);
            bound.z = score / std::sqrt(t);
        }
        bound.nominal_p = k == 0 ? now : normal_upper(bound.z);
        result.push_back(bound);
        if (k + 1 < information.size()) {
            const double detail = std::min(root, std::sqrt(information[k + 1] - t));
            density = continuation(density, score, t, root, detail);
        }
        t_before = t;
        spent_before = bound.spent;
    }
    return result;
}

}  // namespace

double spent(Spending rule, double alpha, double t) {
    t = std::clamp(t, 0.0, 1.0);
    if (t == 0) return 0;
    if (t == 1) return alpha;
    if (rule == Spending::hwang_shih_decani) return alpha * std::expm1(-hsd_gamma * t) / std::expm1(-hsd_gamma);
    return std::min(alpha, 2 * normal_upper(normal_upper_quantile(alpha / 2) / std::sqrt(t)));
}

std::vector<Bound> bounds(Spending rule, double alpha, std::span<const double> information) {
    // A memo of a pure function: every look of every evaluation of a daemon asks for the same few designs.
    using Key = std::tuple<Spending, double, std::vector<double>>;
    thread_local std::map<Key, std::vector<Bound>> memo;
    Key key{rule, alpha, std::vector<double>(information.begin(), information.end())};
    if (const auto found = memo.find(key); found != memo.end()) return found->second;
    if (memo.size() >= 256) memo.clear();
    auto result = integrate(rule, alpha, information);
    memo.emplace(std::move(key), result);
    return result;
}

std::vector<double> information_shares(std::span<const int> looks) {
    std::vector<double> shares;
    int before = 0;
    if (looks.empty()) return shares;
    const int cap = *std::max_element(looks.begin(), looks.end());
    for (const int look : looks) {
        if (look <= before) continue;
        shares.push_back(static_cast<double>(look) / cap);
        before = look;
    }
    return shares;
}

namespace {

constexpr int chebyshev_nodes = 21;
const double least_log_alpha = std::log(1e-10);
const double most_log_alpha = std::log(0.5);

struct Table {
    std::vector<double> nodes, values, weights;
};

Table make_table(std::span<const double> information) {
    Table table;
    const double middle = (most_log_alpha + least_log_alpha) / 2, half = (most_log_alpha - least_log_alpha) / 2;
    for (int i = 0; i < chebyshev_nodes; ++i) {  // second kind: the ends are nodes
        const double x = middle - half * std::cos(std::numbers::pi * i / (chebyshev_nodes - 1));
        const auto design = integrate(Spending::hwang_shih_decani, std::exp(x), information);
        const bool end = i == 0 || i == chebyshev_nodes - 1;
        table.nodes.push_back(x);
        table.values.push_back(std::log(design.back().nominal_p));
        table.weights.push_back((i % 2 == 0 ? 1.0 : -1.0) * (end ? 0.5 : 1.0));
    }
    return table;
}

const Table& table_for(const std::vector<double>& information) {
    thread_local std::map<std::vector<double>, Table> memo;
    const auto found = memo.find(information);
    if (found != memo.end()) return found->second;
    if (memo.size() >= 64) memo.clear();
    return memo.emplace(information, make_table(information)).first->second;
}

}  // namespace

RepeatedP::RepeatedP(std::vector<double> information) : information_(std::move(information)) {
    if (information_.size() < 2) return;  // one look: closed form
    const Table& table = table_for(information_);
    nodes_ = table.nodes;
    values_ = table.values;
    weights_ = table.weights;
}

double RepeatedP::log_nominal(double log_alpha) const {
    const auto node = std::find(nodes_.begin(), nodes_.end(), log_alpha);
    if (node != nodes_.end()) return values_[static_cast<std::size_t>(node - nodes_.begin())];
    // Apart from the sums, in which each addition waits for the one before.
    std::array<double, chebyshev_nodes> shares;
    for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = weights_[i] / (log_alpha - nodes_[i]);
    double top = 0, bottom = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        top += shares[i] * values_[i];
        bottom += shares[i];
    }
    return top / bottom;
}

double RepeatedP::one_sided(double nominal_p) const {
    if (!(nominal_p > 0)) return 0;
    if (nominal_p >= 0.5) return 0.5;
    if (information_.empty()) return nominal_p;
    if (information_.size() == 1)
        return std::min(0.5, nominal_p / spent(Spending::hwang_shih_decani, 1, information_[0]));
    const double wanted = std::log(nominal_p);
    if (wanted >= values_.back()) return 0.5;
    // Far out only one look can have been crossed: proportional.
    if (wanted <= values_.front()) return std::exp(nodes_.front() + (wanted - values_.front()));
    return std::min(0.5, std::exp(log_alpha_of(wanted)));
}

/// Where log_nominal, which rises, takes the value: false position (Illinois) between the two nodes around it.
double RepeatedP::log_alpha_of(double wanted) const {
    const auto above = std::upper_bound(values_.begin(), values_.end(), wanted) - values_.begin();
    const auto i = static_cast<std::size_t>(above);
    double low = nodes_[i - 1], high = nodes_[i], off_low = values_[i - 1] - wanted, off_high = values_[i] - wanted;
    double x = low;
    int side = 0;
    for (int step = 0; step < 100; ++step) {
        const double next = low - off_low * (high - low) / (off_high - off_low);
        const double moved = std::abs(next - x);
        x = next;
        const double off = log_nominal(x) - wanted;
        if (off == 0 || moved <= 1e-13) break;
        if (off < 0) {
            low = x;
            off_low = off;
            if (side < 0) off_high /= 2;
            side = -1;
        } else {
            high = x;
            off_high = off;
            if (side > 0) off_low /= 2;
            side = 1;
        }
    }
    return x;
}

double RepeatedP::two_sided(double p) const {
    return std::min(1.0, 2 * one_sided(p / 2));
}

}  // namespace kab::stats
