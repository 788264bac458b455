#pragma once
// A small client of the QEMU Machine Protocol. Pure: bytes in, bytes out.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/json.h"
#include "common/process/capture.h"

namespace kab::qemu {

/// What goes wrong here is not reported: without control a boot still ends by the emulator's exit or by
/// SIGKILL.
class Qmp {
  public:
    using Send = std::function<void(std::string bytes)>;
    using EventHandler = std::function<void(const std::string& event, const Json& data)>;
    using ThreadsHandler = std::function<void(const std::vector<int>& thread_ids)>;

    Qmp(Send send, EventHandler on_event);

    void receive(std::string_view bytes);

    /// Thread ids of the vCPUs in order; none when QEMU does not tell.
    void query_vcpu_threads(ThreadsHandler handler);
    /// Lets a machine run that was started stopped.
    void resume();
    /// Asks QEMU to end.
    void quit();

  private:
    using Reply = std::function<void(const Json& value)>;
    void receive_line(std::string_view line);
    void execute(const std::string& command, Reply reply);

    Send send_;
    EventHandler on_event_;
    LineSplitter lines_;
    std::map<std::int64_t, Reply> pending_;
    std::int64_t last_id_ = 0;
};

}  // namespace kab::qemu
