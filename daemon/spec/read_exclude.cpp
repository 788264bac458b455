// exclude: for what a block is booted again, declared before anything is measured.
#include "daemon/spec/limits.h"
#include "daemon/spec/sections.h"

namespace kab {

using namespace spec_limits;
using yaml::Map;
using yaml::Value;

void read_exclude(const yaml::Map& document, const HostSpec& host, Exclude& exclude) {
    document.with("exclude", [&](const Value& section) {
        const Map map(section, {"host-load", "steal", "run-delay", "canary", "throttled"});
        map.with("host-load", [&](const Value& value) { exclude.host_load = value.number(0, most_host_load); });
        map.with("steal", [&](const Value& value) { exclude.steal = value.share(0, most_share); });
        map.with("run-delay", [&](const Value& value) { exclude.run_delay = value.share(0, most_share); });
        map.with("canary", [&](const Value& value) {
            exclude.canary = value.share(0, most_canary);
            if (host.exact) value.problem("has no meaning with host.exact, where a canary would cost instructions");
        });
        map.boolean("throttled", exclude.throttled);
    });
}

}  // namespace kab
