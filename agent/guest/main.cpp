// kab-agent: PID 1 of the guest, or a program that a booted system starts.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string_view>

#include "agent/guest/audit.h"
#include "agent/guest/console.h"
#include "agent/guest/environment.h"
#include "agent/guest/exact.h"
#include "agent/guest/find_channel.h"
#include "agent/guest/hung_tasks.h"
#include "agent/guest/init.h"
#include "agent/guest/modules.h"
#include "agent/guest/run_loop.h"
#include "agent/guest/text.h"
#include "agent/guest/workloads/execl.h"

namespace kab::guest {
namespace {

/// The host limits the boot as a whole.
constexpr Nanoseconds channel_limit = std::chrono::seconds(20);
/// For a last message after the agent's death: the port exists, if it ever did.
constexpr Nanoseconds last_words_limit = std::chrono::seconds(2);
/// Before the machine goes down: for the host to confirm that it heard how it went.
constexpr Nanoseconds confirmation_limit = std::chrono::seconds(1);

/// The same in exact mode, where an idle guest's clock runs as fast as it can and the host answers late.
constexpr Nanoseconds exact_confirmation_limit = std::chrono::minutes(10);

constexpr const char* usage =
    "usage: kab-agent --channel PLACE\n"
    "Runs the plan it is sent over PLACE: fd:N, a unix socket that listens, or a character device.\n"
    "As PID 1 it takes no arguments, but kab.channel=virtio|ttyS1 and kab.off=reboot|poweroff from the\n"
    "kernel command line.\n";

std::string wanted_channel() {
    return std::string(command_line_value(read_text("/proc/cmdline").value_or(""), "kab.channel"));
}

Nanoseconds patience_for_confirmation() {
    std::error_code ignored;
    return fs::exists(packed_plan, ignored) ? exact_confirmation_limit : confirmation_limit;
}

/// Of a machine that is the experiment's alone.
Status get_machine_ready() {
    const std::string command_line = read_text("/proc/cmdline").value_or("");
    // Only tells more of what hangs: no reason to give up.
    if (auto set = set_hung_task_time(command_line); !set) say(set.error().text());
    return wants_audit(command_line) ? load_audit_rule() : Status{};
}

Ending converse(Channel& channel, const std::vector<std::string>& problems, const fs::path& packed,
                const std::function<Status()>& get_ready) {
    const msg::AgentHello hello = describe_environment(problems);
    if (auto sent = channel.send(hello); !sent) {
        say(sent.error().text());
        return Ending::unheard;
    }
    const RunLoopResult result = run_loop(
        channel, all_workloads(), [&hello] { return check_clocksource(hello.clocksource); }, packed, get_ready);
    if (!result.message.empty()) say(result.message);
    channel.flush();
    return result.ending;
}

Ending work_in_guest(std::vector<std::string> problems) {
    for (auto& problem : load_modules(module_list)) {
        say(problem);
        problems.push_back(std::move(problem));
    }
    auto channel = find_channel(wanted_channel(), channel_limit);
    if (!channel) {
        say(channel.error().text());
        return Ending::unheard;
    }
    const Ending ending = converse(*channel, problems, packed_plan, get_machine_ready);
    // A reset throws away what the emulator has not passed on yet.
    if (ending != Ending::unheard) channel->await_answer(patience_for_confirmation());
    return ending;
}

void tell_host(const std::string& text) {
    auto channel = find_channel(wanted_channel(), last_words_limit);
    if (!channel) return;  // was said on the console by whoever died
    auto sent = channel->send(msg::AgentError{0, text});
    if (!sent) return say(sent.error().text());
    channel->flush();
    channel->await_answer(patience_for_confirmation());
}

int main_of_program(int count, char** arguments) {
    const std::string_view option = count > 1 ? arguments[1] : "";
    if (option == "--help") {
        std::fputs(usage, stdout);
        return 0;
    }
    if (count != 3 || option != "--channel") {
        std::fputs(usage, stderr);
        return 2;
    }
    auto channel = open_channel(arguments[2]);
    if (!channel) {
        say(channel.error().text());
        return static_cast<int>(Ending::unheard);
    }
    return static_cast<int>(converse(*channel, {}, {}, [] { return Status{}; }));
}

}  // namespace
}  // namespace kab::guest

int main(int count, char** arguments) {
    using namespace kab::guest;
    if (is_execl(count, arguments)) return execl_main(count, arguments);
    std::signal(SIGPIPE, SIG_IGN);
    if (::getpid() != 1) return main_of_program(count, arguments);
    // Unknown words of the kernel command line arrive here as arguments: they are not for us.
    run_as_init(work_in_guest, tell_host);
}
