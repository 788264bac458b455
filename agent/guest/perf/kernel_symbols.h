#pragma once
// Names for addresses of kernel code, from /proc/kallsyms.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace kab::guest {

/// A name with shell wildcards: `*` any text, all else as it stands.
bool matches(std::string_view name, std::string_view pattern);

/// Functions are told apart by name alone: the copies and cold parts that the compiler splits off ("f.constprop.0",
/// "f.cold") are the function itself, and static functions of one name are one. Of several names for one address
/// that of the strongest symbol counts, with the fewest underscores in front; the others are known as well.
class KernelSymbols {
  public:
    using Function = std::uint32_t;  ///< from 0, below count()

    /// The text of /proc/kallsyms. Fault::not_found when it hides the addresses, or has none.
    static Result<KernelSymbols> parse(std::string kallsyms);
    /// Of the kernel that runs.
    static Result<KernelSymbols> load();

    /// nullopt: no function of the kernel is known to be there.
    std::optional<Function> find(std::uint64_t address) const;
    std::size_t count() const { return names_.size(); }
    const std::string_view& name(Function function) const { return names_[function]; }

    /// For each function whether one of its names matches one of the patterns.
    std::vector<bool> called(const std::vector<std::string>& patterns) const;

    /// Whether this kernel walks its stack by frame pointers or unwinding tables. A guessing kernel takes whatever
    /// looks like a return address for a caller.
    bool has_callers() const { return has_callers_; }

  private:
    struct Start {
        std::uint64_t address;
        std::optional<Function> function;  ///< none: data, or the end
    };
    struct Name {
        std::string_view text;
        Function function;
    };

    std::unique_ptr<const std::string> text_;  ///< which the views point into
    std::vector<Start> starts_;                ///< ascending
    std::vector<std::string_view> names_;      ///< by function
    std::vector<Name> all_names_;
    bool has_callers_ = false;
};

}  // namespace kab::guest
