#include "cli/submit.h"

#include "cli/client.h"
#include "cli/daemon_start.h"
#include "common/ids.h"
#include "daemon/spec/experiment_json.h"

namespace kab::cli {
namespace {

constexpr int tries = 3;

Status upload(const Client& client, const std::vector<LocalFile>& files) {
    for (const auto& file : files) {
        const auto there = client.has_blob(file.sha256);
        if (!there) return pass(there);
        if (*there) continue;
        if (auto stored = client.put_blob(file.sha256, file.bytes); !stored) {
            auto error = stored.error();
            if (error.where.empty()) error.where = file.path;
            return tl::unexpected(error);
        }
    }
    return {};
}

Result<std::string> hand_over(const Client& client, const api::Submit& submission, const std::vector<LocalFile>& files,
                              const std::string& key) {
    if (auto uploaded = upload(client, files); !uploaded) return pass(uploaded);
    return client.submit(submission, key);
}

}  // namespace

Result<std::string> submit_spec(const Paths& paths, const SpecFile& spec) {
    const auto files = collect_inputs(spec.experiment);
    if (!files) return pass(files);
    api::Submit submission;
    submission.spec_text = spec.text;
    submission.file_name = spec.name;
    submission.experiment = to_json(spec.experiment);
    for (const auto& file : *files) submission.inputs.push_back({file.path, file.sha256});
    const SystemClock clock;
    const auto key = UlidSource(clock).next();
    for (int number = 1;; ++number) {
        if (auto daemon = ensure_daemon(paths); !daemon) return pass(daemon);
        auto uid = hand_over(Client(paths.socket()), submission, *files, key);
        if (uid || number == tries || uid.error().fault != Fault::infra) return uid;
    }
}

}  // namespace kab::cli
