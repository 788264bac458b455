#include "daemon/coordinator/inputs.h"

#include <algorithm>

#include "common/digest/sha256.h"

namespace kab {
namespace {

bool is_sha256(const std::string& text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

const char* kind_name(Source::Kind kind) {
    switch (kind) {
        case Source::Kind::tarball: return "tarball";
        case Source::Kind::git: return "git";
        case Source::Kind::dir: return "dir";
        case Source::Kind::image: return "image";
    }
    return "tarball";
}

}  // namespace

Status Inputs::put(const std::string& sha256, const std::string& bytes) const {
    if (!is_sha256(sha256)) return fail(Fault::usage, "'{}' is not a SHA-256 in lower-case hex", sha256);
    if (const auto real = sha256_hex(bytes); real != sha256)
        return fail(Fault::usage, "the bytes sent have SHA-256 {}, not {}", real, sha256);
    if (auto made = make_directories(blobs_); !made) return made;
    return write_file(blobs_ / sha256, bytes);
}

bool Inputs::has(const std::string& sha256) const {
    std::error_code ignored;
    return is_sha256(sha256) && fs::exists(blobs_ / sha256, ignored);
}

fs::path Inputs::place(const std::string& evaluation, const fs::path& original) const {
    return frozen_ / evaluation / (fs::path("/") / original).lexically_normal().relative_path();
}

Status Inputs::materialise(const std::string& evaluation, const std::vector<InputFile>& files) const {
    for (const auto& file : files) {
        const fs::path original = file.path;
        if (!original.is_absolute() || original != original.lexically_normal())
            return fail(Fault::usage, "input '{}' is not an absolute path without '.' and '..'", file.path);
        std::error_code ignored;
        if (!is_sha256(file.sha256) || !fs::exists(blobs_ / file.sha256, ignored))
            return fail(Fault::conflict, "no blob {} for {}: upload it first", file.sha256, file.path);
        auto bytes = read_file(blobs_ / file.sha256);
        if (!bytes) return pass(bytes);
        const auto target = place(evaluation, original);
        if (auto made = make_directories(target.parent_path()); !made) return made;
        if (auto written = write_file(target, *bytes); !written) return written;
    }
    return {};
}

kernel::Request Inputs::request(const std::string& evaluation, const Experiment& experiment,
                                const PlannedArm& arm) const {
    const auto& spec = experiment.arms[static_cast<std::size_t>(arm.kernel_of)].kernel;
    kernel::Request request;
    request.kind = kind_name(spec.source.kind);
    request.location = spec.source.location;
    request.ref = spec.source.ref;
    request.modules = spec.source.modules.value_or("");
    request.root = (frozen_ / evaluation).string();
    const bool file_base = fs::path(spec.base).is_absolute();
    request.base = file_base ? place(evaluation, spec.base).string() : spec.base;
    for (const auto& path : spec.config) request.config.push_back(place(evaluation, path).string());
    for (const auto& path : spec.patches) request.patches.push_back(place(evaluation, path).string());
    if (arm.role == Role::relinked) request.pad_bytes = kernel::relink_pad_bytes;
    if (arm.role != Role::debug) return request;
    const auto& debug = experiment.debug;
    for (const auto& path : debug.config) request.extra_config.push_back(place(evaluation, path).string());
    for (const auto& path : debug.patches) request.patches.push_back(place(evaluation, path).string());
    return request;
}

void Inputs::sweep(const std::vector<std::string>& evaluations) const {
    std::error_code ignored;  // what cannot be removed now is tried again at the next start
    fs::remove_all(blobs_, ignored);
    for (const auto& entry : fs::directory_iterator(frozen_, ignored)) {
        const auto uid = entry.path().filename().string();
        if (std::find(evaluations.begin(), evaluations.end(), uid) == evaluations.end())
            fs::remove_all(entry.path(), ignored);
    }
}

void Inputs::remove(const std::string& evaluation) const {
    std::error_code ignored;  // leftovers are swept with the evaluation
    fs::remove_all(frozen_ / evaluation, ignored);
}

}  // namespace kab
