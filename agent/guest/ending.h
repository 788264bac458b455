#pragma once

namespace kab::guest {

/// How the agent's work ended; also its exit status.
enum class Ending {
    done = 0,      ///< every run was carried out, AgentDone sent
    reported = 1,  ///< stopped early, AgentError sent
    unheard = 2,   ///< stopped early, and the host could not be told
};

}  // namespace kab::guest
