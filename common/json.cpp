#include "common/json.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <set>

namespace kab {
namespace {

/// "line 3, column 5" of a byte, counted as the parser does in its own messages.
std::string place(std::string_view text, std::size_t at) {
    const auto before = text.substr(0, at);
    const auto line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1, at - line_start + 1);
}

/// Gives the bytes of a text, and counts for its owner how many the parser has taken.
class CountingIterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, std::size_t* taken) : at_(at), taken_(taken) {}
    reference operator*() const { return *at_; }
    CountingIterator& operator++() {
        ++at_;
        ++*taken_;
        return *this;
    }
    CountingIterator operator++(int) {
        const auto before = *this;
        ++*this;
        return before;
    }
    bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

  private:
    const char* at_;
    std::size_t* taken_;
};

/// Where the string that ends just before `end` begins.
std::size_t string_start(std::string_view text, std::size_t end) {
    for (auto at = end - 1; at-- > 0;) {
        if (text[at] != '"') continue;
        std::size_t backslashes = 0;
        while (backslashes < at && text[at - 1 - backslashes] == '\\') ++backslashes;
        if (backslashes % 2 == 0) return at;
    }
    return 0;
}

/// Where the number begins that the parser has just read, with at most one byte after it.
std::size_t number_start(std::string_view text, std::size_t taken) {
    constexpr std::string_view digits = "0123456789+-.eE";
    auto at = std::min(taken, text.size());
    if (at > 0 && digits.find(text[at - 1]) == std::string_view::npos) --at;
    while (at > 0 && digits.find(text[at - 1]) != std::string_view::npos) --at;
    return at;
}

/// Sees every key through nlohmann's DOM callback, which knows no position: that comes from the count of bytes.
class Guard {
  public:
    Guard(std::string_view text, const std::size_t& taken) : text_(text), taken_(taken) {}

    bool operator()(int, Json::parse_event_t event, Json& parsed) {
        if (!problem_.empty()) return true;
        switch (event) {
            case Json::parse_event_t::object_start: keys_.emplace_back(); break;
            case Json::parse_event_t::object_end:
                if (!keys_.empty()) keys_.pop_back();
                break;
            case Json::parse_event_t::key: {
                const auto& key = parsed.get_ref<const std::string&>();
                if (!keys_.back().insert(key).second)
                    problem_ = fmt::format("{}: duplicate key '{}'", place(text_, string_start(text_, taken_)), key);
                break;
            }
            default: break;
        }
        return true;
    }

    const std::string& problem() const { return problem_; }

  private:
    std::string_view text_;
    const std::size_t& taken_;
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
            if (++depth > max_depth)
                return fail(Fault::protocol, "JSON: {}: more than {} levels", place(text, i), max_depth);
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    std::size_t taken = 0;
    Guard guard(text, taken);
    try {
        const CountingIterator begin(text.data(), &taken), end(text.data() + text.size(), &taken);
        Json value = Json::parse(begin, end, std::ref(guard));
        if (!guard.problem().empty()) return fail(Fault::protocol, "JSON: {}", guard.problem());
        return value;
    } catch (const Json::out_of_range&) {
        return fail(Fault::protocol, "JSON: {}: number out of range", place(text, number_start(text, taken)));
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
