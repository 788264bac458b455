#include "agent/host/qemu/qmp.h"

namespace kab::qemu {

Qmp::Qmp(Send send, EventHandler on_event) : send_(std::move(send)), on_event_(std::move(on_event)) {
    execute("qmp_capabilities", {});
}

void Qmp::query_vcpu_threads(ThreadsHandler handler) {
    execute("query-cpus-fast", [handler = std::move(handler)](const Json& value) {
        std::vector<int> threads;
        for (const auto& cpu : value.is_array() ? value : Json::array()) {
            auto thread = json_get<int>(cpu, "thread-id");
            if (!thread) return handler({});
            threads.push_back(*thread);
        }
        handler(threads);
    });
}

void Qmp::resume() {
    execute("cont", {});
}

void Qmp::quit() {
    execute("quit", {});
}

void Qmp::receive(std::string_view bytes) {
    lines_.push(bytes, [this](std::string_view line) { receive_line(line); });
}

void Qmp::receive_line(std::string_view line) {
    const auto message = parse_json(line);
    if (!message) return;
    if (const auto event = json_get<std::string>(*message, "event")) {
        const auto data = message->find("data");
        on_event_(*event, data == message->end() ? Json() : *data);
        return;
    }
    const auto id = json_get<std::int64_t>(*message, "id");
    if (!id) return;  // the greeting
    const auto entry = pending_.extract(*id);
    if (entry.empty() || !entry.mapped()) return;
    const auto value = message->find("return");
    entry.mapped()(value == message->end() ? Json() : *value);  // nothing: an error
}

void Qmp::execute(const std::string& command, Reply reply) {
    pending_[++last_id_] = std::move(reply);
    send_(dump_json(Json{{"execute", command}, {"id", last_id_}}) + "\n");
}

}  // namespace kab::qemu
