#pragma once
// The core driven event by event, without a store, a host or a clock.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/coordinator/core/step.h"
#include "tests/unit/coordinator/two_arms.h"

namespace kab::core {

class CoreTest : public testing::Test {
  protected:
    Evaluation make(const std::string& uid, const Experiment& experiment = two_arms()) {
        Evaluation evaluation;
        evaluation.uid = uid;
        evaluation.plan = make_plan(experiment, 7);
        evaluation.arms.resize(evaluation.plan.arms.size());
        return evaluation;
    }

    Step send(const Event& event) {
        auto out = step(state_, event, clock_.wall(), [this] { return "uid" + std::to_string(++names_); });
        for (const auto& t : out.transitions) transitions_.push_back(t);
        return out;
    }

    template <class T>
    static const T* only(const Step& out) {
        const T* found = nullptr;
        for (const auto& command : out.commands)
            if (const auto* one = std::get_if<T>(&command)) {
                EXPECT_EQ(found, nullptr) << "more than one such command";
                found = one;
            }
        return found;
    }

    template <class T>
    std::vector<T> all() const {
        std::vector<T> found;
        for (const auto& t : transitions_)
            if (const auto* one = std::get_if<T>(&t)) found.push_back(*one);
        return found;
    }

    EvaluationStatus last_status(const std::string& uid) const {
        auto status = EvaluationStatus::queued;
        for (const auto& t : all<SetEvaluation>())
            if (t.evaluation == uid) status = t.to;
        return status;
    }

    /// Submits, freezes, builds: the evaluation runs and its first boot is dispatched.
    Step start(const std::string& uid, const Experiment& experiment = two_arms()) {
        send(HostUp{});
        send(Submitted{make(uid, experiment)});
        auto out = send(FreezeFinished{uid, {}});
        for (const auto* build = only<Build>(out); build != nullptr; build = only<Build>(out))
            out = send(BuildFinished{uid, build->arm, {}});
        return out;
    }

    State state_;
    ManualClock clock_;
    std::vector<Transition> transitions_;
    int names_ = 0;
};

}  // namespace kab::core
