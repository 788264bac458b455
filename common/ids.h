#pragma once
// Names of things: strong row ids and ULIDs.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/clock.h"

namespace kab {

/// A row id that cannot be mixed up with another table's. 0 means "none".
template <class Tag>
struct Id {
    std::int64_t value = 0;
    explicit operator bool() const { return value != 0; }
    auto operator<=>(const Id&) const = default;
};

using ExperimentId = Id<struct ExperimentTag>;
using EvaluationId = Id<struct EvaluationTag>;
using ArmId = Id<struct ArmTag>;
using KernelId = Id<struct KernelTag>;
using HostId = Id<struct HostTag>;
using BlockId = Id<struct BlockTag>;
using BootId = Id<struct BootTag>;
using AttemptId = Id<struct AttemptTag>;
using RunId = Id<struct RunTag>;

/// Makes ULIDs (https://github.com/ulid/spec): 26 characters of Crockford base32,
/// 48 bits of milliseconds and 80 random bits; they sort by time of creation.
/// Random bits come from getrandom(2). Not thread-safe; one per owner.
class UlidSource {
  public:
    explicit UlidSource(const Clock& clock) : clock_(clock) {}
    std::string next();

  private:
    const Clock& clock_;
    std::uint64_t last_milliseconds_ = 0;
    std::uint8_t last_random_[10] = {};
};

/// True for 26 characters of Crockford base32 in upper case.
bool is_ulid(std::string_view text);

/// 64 random bits from getrandom(2), for seeds.
std::uint64_t random_seed();

}  // namespace kab

template <class Tag>
struct std::hash<kab::Id<Tag>> {
    std::size_t operator()(kab::Id<Tag> id) const noexcept { return std::hash<std::int64_t>{}(id.value); }
};
