#include "daemon/coordinator/sealed_plan.h"

namespace kab {
namespace {

/// Enough of a SHA-256 to tell two apart.
std::string short_form(const std::string& hash) {
    return hash.substr(0, 12) + "...";
}

std::string replaced(const char* program, const std::string& packed, const std::string& planned) {
    return fmt::format(
        "{} was replaced after the evaluation began (its SHA-256 was {} then and is {} now); run the evaluation anew",
        program, short_form(planned), short_form(packed));
}

}  // namespace

std::string hold_to(SealedPlan& sealed, const std::string& hash, const msg::BootHello& hello) {
    if (hello.agent_sha256.empty())
        return "kab-host does not tell which kab-agent it booted; install the same version of kabd and kab-host";
    if (!sealed.booted) {
        sealed.hash = hash;
        sealed.agent = hello.agent_sha256;
        if (!hello.shell_sha256.empty()) sealed.shell = hello.shell_sha256;
        sealed.booted = true;
    }
    if (hash == sealed.hash) return {};
    if (!sealed.agent.empty() && sealed.agent != hello.agent_sha256)
        return replaced("kab-agent", hello.agent_sha256, sealed.agent);
    if (!sealed.shell.empty() && !hello.shell_sha256.empty() && sealed.shell != hello.shell_sha256)
        return replaced("the guests' shell (busybox)", hello.shell_sha256, sealed.shell);
    return fmt::format(
        "kab-agent, the guests' shell, QEMU or kab was replaced after the evaluation began (its plan hash was {} then "
        "and is {} now); run the evaluation anew",
        short_form(sealed.hash), short_form(hash));
}

}  // namespace kab
