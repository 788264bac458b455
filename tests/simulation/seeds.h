#pragma once
// Evaluations in which anything may go wrong, all of it decided by a seed. The end must be that of the same evaluation
// undisturbed. To replay one: KAB_SIM_SEED=N; with some kinds of trouble only: KAB_SIM_FAULTS=kill,disk-full.
#include <cstdlib>
#include <set>

#include "tests/simulation/disk_faults.h"

namespace kab::sim {

inline const std::set<std::string>& fault_names() {
    static const std::set<std::string> names{"host-lost", "infra-error", "kill", "disk-full"};
    return names;
}

/// How often each happened.
using FaultCounts = std::map<std::string, std::int64_t>;

/// Two to four arms, one to three iterations, one or two looks; one in four has a kernel that crashes now and then.
struct SeededCase {
    explicit SeededCase(std::uint64_t chosen) : seed(chosen) {
        std::mt19937_64 engine(seed);
        spec = experiment();
        const auto arms = 2 + engine() % 3;
        for (std::size_t i = 2; i < arms; ++i) {
            spec.arms.push_back(spec.arms[1]);
            spec.arms.back().name = "patched-" + std::to_string(i);
            spec.arms.back().kernel.source.location = "/images/" + spec.arms.back().name;
        }
        spec.workloads[0].iterations = static_cast<int>(1 + engine() % 3);
        spec.decide.looks = engine() % 2 == 0 ? std::vector<int>{3, 5} : std::vector<int>{4};
        spec.decide.seed = engine();
        if (engine() % 4 == 0) crash_one_in = 2 + engine() % 3;
    }
    std::uint64_t seed;
    Experiment spec;
    std::uint64_t crash_one_in = 0;  ///< boots of the last arm; 0: none crashes
};

/// Faults of kernels come from the place in the plan, faults of the machine from the seed and the try.
class SeededScript final : public Steady {
  public:
    SeededScript(const SeededCase& what, std::set<std::string> faults, FaultCounts& counts)
        : what_(what), faults_(std::move(faults)), counts_(counts) {}

    msg::Outcome outcome(const Place& place) override {
        const bool may = what_.crash_one_in > 0 && place.arm == what_.spec.arms.back().name;
        return may && drawn("crash", place, 0) % what_.crash_one_in == 0 ? msg::Outcome::kernel_crash
                                                                         : msg::Outcome::ok;
    }
    bool host_dies(const Place& place, int) override { return strikes("host-lost", place); }
    bool infra_error(const Place& place, int) override { return strikes("infra-error", place); }

  private:
    std::uint64_t drawn(const std::string& what, const Place& place, int again) const {
        const auto text = fmt::format("{}/{}/{}/{}/{}", what_.seed, what, place.block, place.arm, again);
        return std::mt19937_64(std::hash<std::string>{}(text))();
    }

    /// At most three times a boot: six are too many, whoever's fault.
    bool strikes(const std::string& fault, const Place& place) {
        if (!faults_.contains(fault)) return false;
        auto& tries = tries_[fmt::format("{}/{}/{}", fault, place.block, place.arm)];
        auto& struck = struck_[fmt::format("{}/{}", place.block, place.arm)];
        if (drawn(fault, place, ++tries) % 6 != 0 || struck >= 3) return false;
        ++struck;
        ++counts_[fault];
        return true;
    }

    const SeededCase& what_;
    const std::set<std::string> faults_;
    FaultCounts& counts_;
    std::map<std::string, int> tries_, struck_;
};

/// The evaluation with its machine's faults; what its result is.
class SeededRun {
  public:
    SeededRun(const SeededCase& what, std::set<std::string> faults, FaultCounts& counts)
        : what_(what),
          faults_(std::move(faults)),
          counts_(counts),
          script_(what, faults_, counts),
          world_(script_, &disk_),
          engine_(what.seed ^ 0x6b61623a66617573ULL) {}

    std::string result() {
        constexpr int many = 1000;
        for (int starts = 0; starts < many; ++starts) {
            if (faults_.contains("disk-full")) fill_or_free_disk();
            if (live()) break;
            world_.die();
            if (starts + 1 == many) ADD_FAILURE() << "it does not end";
        }
        disk_.heal();
        const auto text = uid_.empty() ? "never submitted" : result_of(world_, uid_);
        world_.die();
        expect_sound(world_.paths().database(), &disk_);
        return text;
    }

  private:
    /// The disk fills up at some call to come, or has been freed: never for longer than two starts.
    void fill_or_free_disk() {
        if (armed_ && disk_.failed() > 0) ++counts_["disk-full"];
        armed_ = false;
        disk_.heal();
        if (full_ < 3 && engine_() % 3 == 0) {
            ++full_;
            armed_ = true;
            const auto fault =
                engine_() % 2 == 0 ? test::FaultyDisk::Fault::no_space : test::FaultyDisk::Fault::short_write;
            disk_.fail(fault, static_cast<std::int64_t>(1 + engine_() % 400), true);
        }
    }

    /// Until it is killed, gives up, or is done (true).
    bool live() {
        if (!world_.try_to_live()) return false;
        if (uid_.empty()) {
            auto submitted = world_.try_to_submit(what_.spec);
            if (!submitted) return false;
            uid_ = *submitted;
        }
        const bool kill = faults_.contains("kill") && kills_ < 20;
        if (!kill) {
            while (world_.run(1000)) {
            }
            return !world_.fatal();
        }
        if (!world_.run(static_cast<int>(1 + engine_() % 120))) return !world_.fatal();
        ++kills_;
        ++counts_["kill"];
        return false;
    }

    const SeededCase& what_;
    const std::set<std::string> faults_;
    FaultCounts& counts_;
    test::FaultyDisk disk_;
    SeededScript script_;
    World world_;
    std::mt19937_64 engine_;
    std::string uid_;
    int kills_ = 0, full_ = 0;
    bool armed_ = false;
};

inline std::set<std::string> chosen_faults() {
    const char* text = std::getenv("KAB_SIM_FAULTS");
    if (text == nullptr) return fault_names();
    std::set<std::string> chosen;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        EXPECT_TRUE(fault_names().contains(word)) << "KAB_SIM_FAULTS: no such fault: " << word;
        chosen.insert(word);
    }
    return chosen;
}

/// KAB_SIM_SEED alone, else `count` seeds from 1 (KAB_SIM_SEEDS, KAB_SIM_FIRST). What was done is printed.
inline void try_seeds(std::uint64_t count) {
    const auto number = [](const char* name, std::uint64_t otherwise) {
        const char* text = std::getenv(name);
        return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
    };
    const auto one = number("KAB_SIM_SEED", 0);
    const auto first = one != 0 ? one : number("KAB_SIM_FIRST", 1);
    count = one != 0 ? 1 : number("KAB_SIM_SEEDS", count);
    const auto faults = chosen_faults();
    FaultCounts counts, none;
    for (auto seed = first; seed < first + count; ++seed) {
        SCOPED_TRACE(fmt::format("to repeat it: KAB_SIM_SEED={}", seed));
        const SeededCase what(seed);
        const auto expected = SeededRun(what, {}, none).result();
        EXPECT_EQ(SeededRun(what, faults, counts).result(), expected);
        if (testing::Test::HasFailure()) return;
    }
    std::string told;
    for (const auto& [name, times] : counts) told += fmt::format(", {} {}", name, times);
    fmt::print("seeds {} to {}{}\n", first, first + count - 1, told);
}

}  // namespace kab::sim
