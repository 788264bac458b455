#include "agent/guest/audit.h"

#include <fmt/format.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "agent/guest/text.h"
#include "common/files.h"

namespace kab::guest {
namespace {

/// Not -1, which is no user id and is refused.
constexpr std::uint32_t nobody_at_all = 0xfffffffe;

struct Answer {
    nlmsghdr header;
    nlmsgerr error;
};

Status lacking(int error, const char* call) {
    return fail(Fault::io,
                "auditing is on (audit=1), but system calls are not audited: {}; the kernel needs CONFIG_AUDIT and "
                "CONFIG_AUDITSYSCALL, as in ipc-sem.config, and the agent root",
                fail_errno(error, call).value().text());
}

}  // namespace

bool wants_audit(std::string_view command_line) {
    const auto value = command_line_value(command_line, "audit");
    return value == "1" || value == "on";
}

audit_rule_data rule_that_never_matches() {
    audit_rule_data rule{};
    rule.flags = AUDIT_FILTER_EXIT;
    rule.action = AUDIT_ALWAYS;
    std::fill(std::begin(rule.mask), std::end(rule.mask), ~0U);
    rule.field_count = 1;
    rule.fields[0] = AUDIT_UID;
    rule.fieldflags[0] = AUDIT_EQUAL;
    rule.values[0] = nobody_at_all;
    return rule;
}

Status load_audit_rule() {
    const UniqueFd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT));
    if (!netlink) return lacking(errno, "socket of NETLINK_AUDIT");
    const timeval patience{10, 0};
    if (::setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
        return lacking(errno, "setsockopt of NETLINK_AUDIT");
    const audit_rule_data rule = rule_that_never_matches();
    std::array<char, NLMSG_SPACE(sizeof rule)> message{};
    nlmsghdr header{};
    header.nlmsg_len = NLMSG_LENGTH(sizeof rule);
    header.nlmsg_type = AUDIT_ADD_RULE;
    header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    std::memcpy(message.data(), &header, sizeof header);
    std::memcpy(message.data() + NLMSG_HDRLEN, &rule, sizeof rule);
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    if (::sendto(netlink.get(), message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&kernel),
                 sizeof kernel) < 0)
        return lacking(errno, "AUDIT_ADD_RULE");
    // A refusal quotes the whole message after what is read here.
    Answer answer{};
    const auto size = ::recv(netlink.get(), &answer, sizeof answer, 0);
    if (size < 0) return lacking(errno, "answer to AUDIT_ADD_RULE");
    if (static_cast<std::size_t>(size) < sizeof answer || answer.header.nlmsg_type != NLMSG_ERROR)
        return lacking(EPROTO, "answer to AUDIT_ADD_RULE");
    // Of this boot another one may have loaded it.
    if (answer.error.error == 0 || answer.error.error == -EEXIST) return {};
    return lacking(-answer.error.error, "AUDIT_ADD_RULE");
}

}  // namespace kab::guest
