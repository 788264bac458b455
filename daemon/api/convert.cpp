#include "daemon/api/convert.h"

namespace kab::api {

Progress convert(const ProgressEvent& event) {
    Progress progress;
    progress.evaluation = event.evaluation;
    progress.phase = event.phase;
    progress.arm = event.arm;
    progress.step = event.step;
    progress.done = event.done;
    progress.total = event.total;
    progress.block = event.block;
    progress.blocks = event.blocks;
    progress.boot = event.boot;
    progress.boots = event.boots;
    progress.left_ns = event.left_ns;
    return progress;
}

Submission convert(const Submit& body, const std::string& idempotency_key) {
    Submission submission;
    submission.spec_text = body.spec_text;
    submission.file_name = body.file_name;
    submission.experiment = body.experiment;
    for (const auto& input : body.inputs) submission.inputs.push_back({input.path, input.sha256});
    submission.idempotency_key = idempotency_key;
    return submission;
}

}  // namespace kab::api
