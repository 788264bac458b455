#pragma once
// What the samples of a run say: how many fell on which function, and which share on each declared group. Pure.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/guest/perf/kernel_symbols.h"
#include "agent/guest/perf/sample_buffer.h"
#include "protocol/messages.h"

namespace kab::guest {

class Profile {
  public:
    /// `symbols` outlives this. Where they have no callers, none are told.
    Profile(const KernelSymbols& symbols, const std::vector<msg::ProfileGroup>& groups);

    /// Counts a sample for the function it fell on; for one in a group also by its caller: the nearest in the chain
    /// that no group has together with it. (What takes a spinlock, not which part of it; a function of another group
    /// is who takes it.)
    void add(const StackSample& sample);

    std::int64_t samples() const { return samples_; }

    /// Most samples first. All but the most frequent of very many are one, "[rest]".
    std::vector<msg::ProfileSymbol> by_symbol() const;

    /// "share:NAME" of each group, of all samples or of those in the kernel, and "profile-samples". Absent with the
    /// reason: without any sample of these, where nothing in this kernel is called so (it may have become part of its
    /// callers), and callers where they cannot be told.
    std::vector<msg::Sample> metrics() const;
    /// The same, all absent for `reason`.
    static std::vector<msg::Sample> no_metrics(const std::vector<msg::ProfileGroup>& groups, const std::string& reason);

  private:
    using Place = std::int64_t;  ///< a function, or one of the places below
    struct Group {
        msg::ProfileGroup order;
        std::vector<bool> symbols, callers;  ///< by function
        bool has(Place place) const;         ///< among its symbols
    };
    Place place_of(std::uint64_t address) const;
    bool in_a_group(Place place) const;
    bool in_one_group(Place one, Place other) const;
    Place caller_of(const StackSample& sample, Place sampled) const;
    std::string name_of(Place place) const;
    msg::Sample share(const Group& group) const;

    const KernelSymbols& symbols_;
    std::vector<Group> groups_;
    std::map<std::pair<Place, Place>, std::int64_t> counts_;
    std::int64_t samples_ = 0, kernel_samples_ = 0;
};

}  // namespace kab::guest
