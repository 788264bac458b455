#include "daemon/kernel/kernel.h"

namespace kab::kernel {
namespace {

/// Reads members one after the other and remembers the first error.
class Reader {
  public:
    explicit Reader(const Json& object) : object_(object) {}
    template <class T>
    Reader& need(const char* key, T& member) {
        return take(json_get<T>(object_, key), member);
    }
    template <class T>
    Reader& may(const char* key, T& member) {
        return take(json_get_or<T>(object_, key, std::move(member)), member);
    }
    const Status& status() const { return status_; }

  private:
    template <class T>
    Reader& take(Result<T> value, T& member) {
        if (value) {
            member = std::move(*value);
        } else if (status_) {
            status_ = pass(value);
        }
        return *this;
    }
    const Json& object_;
    Status status_;
};

}  // namespace

Json to_json(const Request& request) {
    return {{"kind", request.kind},          {"location", request.location}, {"ref", request.ref},
            {"modules", request.modules},    {"base", request.base},         {"config", request.config},
            {"patches", request.patches},    {"root", request.root},         {"extra_config", request.extra_config},
            {"pad_bytes", request.pad_bytes}};
}

Json to_json(const Frozen& frozen) {
    Json patches = Json::array();
    for (const auto& patch : frozen.patches) {
        patches.push_back({{"file", patch.file}, {"subject", patch.subject}, {"patch_id", patch.patch_id}});
    }
    return {{"key", frozen.key},       {"kind", frozen.kind},
            {"origin", frozen.origin}, {"base_commit", frozen.base_commit},
            {"tree", frozen.tree},     {"release", frozen.release},
            {"base", frozen.base},     {"fragments", frozen.fragments},
            {"patches", patches},      {"toolchain", frozen.toolchain},
            {"image", frozen.image},   {"modules", frozen.modules},
            {"family", frozen.family}, {"modules_from", frozen.modules_from}};
}

Json to_json(const Built& built) {
    return {{"key", built.key},
            {"path", built.path},
            {"format", built.format},
            {"image_hash", built.image_hash},
            {"code_signature", built.code_signature},
            {"config_path", built.config_path},
            {"log_path", built.log_path},
            {"compiler", built.compiler},
            {"cached", built.cached},
            {"wall_ns", built.wall_ns},
            {"cpu_ns", built.cpu_ns},
            {"objects", built.objects},
            {"warnings", built.warnings}};
}

Result<Request> request_from_json(const Json& json) {
    Request request;
    Reader reader(json);
    reader.need("kind", request.kind).need("location", request.location).may("ref", request.ref);
    reader.may("modules", request.modules).may("base", request.base);
    reader.may("config", request.config).may("patches", request.patches).may("root", request.root);
    reader.may("extra_config", request.extra_config).may("pad_bytes", request.pad_bytes);
    if (!reader.status()) return pass(reader.status());
    return request;
}

Result<Frozen> frozen_from_json(const Json& json) {
    Frozen frozen;
    Json patches = Json::array();
    Reader reader(json);
    reader.need("key", frozen.key).need("kind", frozen.kind).need("origin", frozen.origin);
    reader.may("base_commit", frozen.base_commit).may("tree", frozen.tree).may("release", frozen.release);
    reader.may("base", frozen.base).may("fragments", frozen.fragments).may("patches", patches);
    reader.may("toolchain", frozen.toolchain).may("image", frozen.image).may("modules", frozen.modules);
    reader.may("family", frozen.family).may("modules_from", frozen.modules_from);
    for (const auto& entry : patches) {
        PatchInfo patch;
        Reader inner(entry);
        inner.need("file", patch.file).may("subject", patch.subject).may("patch_id", patch.patch_id);
        if (!inner.status()) return pass(inner.status());
        frozen.patches.push_back(std::move(patch));
    }
    if (!reader.status()) return pass(reader.status());
    return frozen;
}

Result<Built> built_from_json(const Json& json) {
    Built built;
    Reader reader(json);
    reader.need("key", built.key).need("path", built.path).need("format", built.format);
    reader.need("image_hash", built.image_hash).need("code_signature", built.code_signature);
    reader.may("config_path", built.config_path).may("log_path", built.log_path).may("compiler", built.compiler);
    reader.may("cached", built.cached).may("wall_ns", built.wall_ns).may("cpu_ns", built.cpu_ns);
    reader.may("objects", built.objects).may("warnings", built.warnings);
    if (!reader.status()) return pass(reader.status());
    return built;
}

}  // namespace kab::kernel
