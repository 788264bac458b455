#pragma once
// The types of the HTTP API, version 1 (docs/api.md). Within v1 fields are only added: readers ignore
// what they do not know and take the default for what is missing, except where a field says "required".
// Times `*_at` are UTC nanoseconds, durations `*_ns` nanoseconds; absent where there is none yet.
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/json.h"
#include "common/result.h"

namespace kab::api {

inline constexpr int api_version = 1;

/// GET /v1/version
struct Version {
    std::string version;   ///< of kabd; required
    int api = 0;           ///< required
    std::string protocol;  ///< "1.0": of the messages to hosts
    std::int64_t pid = 0;
    std::string state_dir;
    bool is_private = false;  ///< "private": started by kab, ends when idle
    bool idle = false;        ///< nothing is queued or running
};

/// A file the experiment names, handed over by content.
struct Input {
    std::string path;    ///< absolute; required
    std::string sha256;  ///< of a blob uploaded before; required
};

/// POST /v1/evaluations
struct Submit {
    std::string spec_text, file_name;  ///< required
    Json experiment;                   ///< the resolved spec; required
    std::vector<Input> inputs;
};

/// Its answer.
struct Submitted {
    std::string uid;  ///< required
};

/// Something that moves but is not kept.
struct Progress {
    std::string evaluation, phase, arm, step;
    std::int64_t done = 0, total = 0;
    std::int64_t block = 0, blocks = 0;
    std::int64_t boot = 0, boots = 0;
    std::int64_t left_ns = 0;  ///< 0: unknown
};

/// A status change that was committed.
struct Transition {
    std::int64_t seq = 0;  ///< required
    std::int64_t at = 0;
    std::string evaluation, object, name, from, to, detail;
};

/// A line of GET /v1/events; a line without content (heartbeat) is no event.
using Event = std::variant<Transition, Progress>;

struct Evaluation {
    std::string uid;  ///< required
    std::string experiment, question, status, detail;
    std::string fault;    ///< why it failed, as the `code` of errors; empty when it did not or that is not known
    std::string verdict;  ///< empty until there is one
    std::int64_t looks_done = 0, created_at = 0;
    std::optional<std::int64_t> started_at, finished_at;
    std::optional<Progress> progress;
    bool ended() const { return finished_at.has_value(); }
};

struct Arm {
    std::string name, against, status, detail;
    bool control = false;
    std::string kernel_key, kernel_release, code_signature;  ///< empty until known
    std::int64_t boots_ok = 0, boots_failed = 0;
};

struct Block {
    std::int64_t number = 0, repetition = 1;
    std::string status, detail;
    std::int64_t boots = 0, boots_done = 0;
};

/// A boot that did not end well.
struct Failure {
    std::string boot;  ///< uid
    std::int64_t block = 0;
    std::string arm, outcome, detail;
    std::string console_path;  ///< relative to the artifacts directory
};

/// GET /v1/evaluations/{id}
struct EvaluationDetail {
    Evaluation evaluation;
    std::vector<Arm> arms;
    std::vector<Block> blocks;
    std::vector<Failure> failures;
    std::vector<Failure> retries;         ///< attempts that failed for want of infrastructure; the boot is tried again
    std::int64_t blocks_done = 0;         ///< complete ones
    std::vector<Transition> transitions;  ///< the last ones, oldest first
    bool busy = false;                    ///< not ended, or a boot or build of it is still being ended
    std::int64_t last_seq = 0;            ///< events after this one are news to who has read this
};

struct Kernel {
    std::string key;  ///< required
    std::string origin, release, base_commit, code_signature, format, path, compiler;
    std::int64_t wall_ns = 0, cpu_ns = 0, objects = 0;
    std::optional<std::int64_t> built_at;
};

struct Host {
    std::string name;  ///< required
    std::string uid, kind, status;
    Json properties = Json::object();
    std::int64_t last_seen_at = 0;
};

}  // namespace kab::api
