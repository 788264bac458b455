#include "common/json.h"

#include <cassert>
#include <cmath>
#include <set>

namespace kab {
namespace {

/// Builds the value through nlohmann's DOM callback; refuses what the callback can see.
class Guard {
  public:
    explicit Guard(int max_depth) : max_depth_(max_depth) {}

    bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
        if (!problem_.empty()) return true;
        if (depth > max_depth_) problem_ = fmt::format("more than {} levels", max_depth_);
        switch (event) {
            case Json::parse_event_t::object_start: keys_.emplace_back(); break;
            case Json::parse_event_t::object_end:
                if (!keys_.empty()) keys_.pop_back();
                break;
            case Json::parse_event_t::key: {
                const auto& key = parsed.get_ref<const std::string&>();
                if (!keys_.back().insert(key).second) problem_ = fmt::format("duplicate key '{}'", key);
                break;
            }
            case Json::parse_event_t::value:
                if (parsed.is_number_float() && !std::isfinite(parsed.get<double>())) problem_ = "number out of range";
                break;
            default: break;
        }
        return true;
    }

    const std::string& problem() const { return problem_; }

  private:
    int max_depth_;
    std::vector<std::set<std::string>> keys_;
    std::string problem_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, int max_depth) {
    // The parser recurses for nothing, but a value is destroyed level by level: refuse deep input first.
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > max_depth) return fail(Fault::protocol, "JSON has more than {} levels", max_depth);
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    Guard guard(max_depth);
    try {
        Json value = Json::parse(text, std::ref(guard));
        if (!guard.problem().empty()) return fail(Fault::protocol, "JSON: {}", guard.problem());
        return value;
    } catch (const Json::exception& e) {
        return fail(Fault::protocol, "JSON: {}", e.what());
    }
}

namespace {

bool all_finite(const Json& value) {
    if (value.is_number_float()) return std::isfinite(value.get<double>());
    if (value.is_structured())
        for (const auto& child : value)
            if (!all_finite(child)) return false;
    return true;
}

}  // namespace

std::string dump_json(const Json& value) {
    assert(all_finite(value));
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kab
