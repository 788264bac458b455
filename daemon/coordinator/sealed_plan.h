#pragma once
#include <string>

#include "protocol/messages.h"

namespace kab {

/// What an evaluation was sealed with; every boot is held to it.
struct SealedPlan {
    std::string hash;          ///< the plan hash as it is stored
    std::string agent, shell;  ///< SHA-256 of kab-agent and the guests' shell in it; empty: sealed by an earlier kabd
    bool booted = false;       ///< a guest of it has said hello
};

/// Why a boot is not one of that plan: one line for people; empty when it is one. `hash`: the plan hash with the
/// programs that the boot was packed with. The first boot decides which those are, as they may have been replaced since
/// kabd and kab-host looked at them: `sealed` becomes what it booted, and its new hash is to be stored.
std::string hold_to(SealedPlan& sealed, const std::string& hash, const msg::BootHello& hello);

}  // namespace kab
