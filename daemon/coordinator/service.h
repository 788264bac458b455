#pragma once
// What the API asks of the coordinator. Everything is called on the daemon's one io_context thread and
// answers there; nothing here blocks for long.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/json.h"
#include "common/result.h"

namespace kab {

/// A file the experiment names (patch, config fragment, base config), handed over by content.
struct InputFile {
    std::string path;    ///< absolute, as it stands in the resolved experiment; also names it in errors
    std::string sha256;  ///< of a blob uploaded before
};

struct Submission {
    std::string spec_text;          ///< the file as written
    std::string file_name;          ///< for errors and the report's reproduce line
    Json experiment;                ///< the resolved spec (daemon/spec/experiment_json.h), paths absolute
    std::vector<InputFile> inputs;  ///< every file named by patches, config and base
    std::string idempotency_key;
};

/// Something that moves but is not kept: for progress bars.
struct ProgressEvent {
    std::string evaluation;  ///< uid
    std::string phase;       ///< "freeze", "build", "boot"
    std::string arm;         ///< may be empty
    std::string step;  ///< build: import, patch, configure, compile, link, waiting; boot: starting, booting, running
    std::int64_t done = 0, total = 0;    ///< of the step; total 0 when unknown
    std::int64_t block = 0, blocks = 0;  ///< boot: present block, blocks at the next look
    std::int64_t boot = 0, boots = 0;    ///< boots finished and to come until the next look, over all blocks
    std::int64_t left_ns = 0;            ///< estimated time left until the next look; 0 when unknown
};

/// Told of every committed transition (only that there are new ones: read them from the store after the
/// last seq you have) and of progress.
class Listener {
  public:
    virtual ~Listener() = default;
    virtual void transitions_committed() = 0;
    virtual void progress(const ProgressEvent& event) = 0;
};

class Service {
  public:
    virtual ~Service() = default;
    /// Stores the evaluation and starts it as soon as it is its turn; answers its uid. The same idempotency
    /// key answers the same uid. Fault::spec when the experiment is wrong, Fault::conflict for a missing blob.
    virtual Result<std::string> submit(const Submission& submission) = 0;
    /// Fault::not_found, or Fault::conflict when it has already ended.
    virtual Status cancel(const std::string& uid) = 0;
    /// Stores bytes under their SHA-256; Fault::usage when they do not match.
    virtual Status put_blob(const std::string& sha256, const std::string& bytes) = 0;
    virtual bool has_blob(const std::string& sha256) const = 0;
    /// Last progress of each running evaluation.
    virtual std::vector<ProgressEvent> progress() const = 0;
    /// Something of this evaluation is still to be done or cleaned up: true until its end, and after it as long as
    /// a boot or build of it is being ended.
    virtual bool busy(const std::string& uid) const = 0;
    /// Nothing is queued or running.
    virtual bool idle() const = 0;
    virtual void add_listener(Listener* listener) = 0;
    virtual void remove_listener(Listener* listener) = 0;
};

}  // namespace kab
