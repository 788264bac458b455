#include "daemon/spec/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "common/suggest.h"
#include "common/units.h"
#include "daemon/spec/text_check.h"

namespace kab::yaml {
namespace {

constexpr double exact_integers = 9007199254740992.0;  // 2^53: above, a double no longer says which integer

/// A number without a fraction, as JSON Schema understands "integer".
std::optional<std::int64_t> whole(const Node& node) {
    if (node.type != Type::number) return std::nullopt;
    if (node.scalar.is_number_unsigned()) {
        const auto value = node.scalar.get<std::uint64_t>();
        if (value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
        return static_cast<std::int64_t>(value);
    }
    if (node.scalar.is_number_integer()) return node.scalar.get<std::int64_t>();
    const double value = node.scalar.get<double>();
    if (std::abs(value) > exact_integers || value != std::trunc(value)) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

std::string leading_zero_hint(const Node& node) {
    const bool zero = node.type == Type::text && node.written.size() > 1 && node.written[0] == '0' &&
                      node.written.find_first_not_of("0123456789") == std::string::npos;
    return zero ? " (write numbers without leading zeros)" : "";
}

std::string range_text(double least, double most, Least itself) {
    return itself == Least::included ? fmt::format("from {} to {}", least, most)
                                     : fmt::format("above {} and at most {}", least, most);
}

bool in_range(double value, double least, double most, Least itself) {
    return (value > least || (itself == Least::included && value == least)) && value <= most;
}

}  // namespace

std::string advice(std::string_view word, const std::vector<std::string>& accepted) {
    const std::string near = suggest(word, accepted);
    return fmt::format("{}accepted: {}", near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                       fmt::join(accepted, ", "));
}

Place key_place(const Node& map, std::string_view key) {
    for (const Entry& entry : map.entries) {
        if (entry.key == key) return entry.place;
    }
    return map.place;
}

std::nullopt_t Value::wrong(const std::string& expected) const {
    problem("must be {}, not {}{}", expected, describe(*node_), leading_zero_hint(*node_));
    return std::nullopt;
}

std::nullopt_t Value::outside(const std::string& expected) const {
    problem("must be {}, not {}", expected, node_->written.substr(0, 40));
    return std::nullopt;
}

std::optional<std::string> Value::text(std::size_t longest) const {
    if (node_->type == Type::number || node_->type == Type::boolean) {
        problem("must be text, not {}: put it in quotes", describe(*node_));
        return std::nullopt;
    }
    if (node_->type != Type::text) return wrong("text");
    if (node_->written.empty()) {
        problem("must not be empty");
        return std::nullopt;
    }
    if (node_->written.size() > longest) {
        problem("has {} bytes, at most {} are accepted", node_->written.size(), longest);
        return std::nullopt;
    }
    if (!is_plain_line(node_->written)) {
        problem("must be one line without control characters");
        return std::nullopt;
    }
    return node_->written;
}

std::optional<std::string> Value::one_of(const std::vector<std::string>& words) const {
    if (node_->type != Type::text) return wrong(fmt::format("one of {}", fmt::join(words, ", ")));
    if (std::find(words.begin(), words.end(), node_->written) != words.end()) return node_->written;
    problem("is {}: {}", shown(node_->written), advice(node_->written, words));
    return std::nullopt;
}

std::optional<bool> Value::boolean() const {
    if (node_->type != Type::boolean) return wrong("true or false");
    return node_->scalar.get<bool>();
}

std::optional<std::int64_t> Value::integer(std::int64_t least, std::int64_t most) const {
    const std::string expected = fmt::format("a whole number from {} to {}", least, most);
    const auto value = whole(*node_);
    if (!value) return wrong(expected);
    if (*value < least || *value > most) return outside(expected);
    return value;
}

std::optional<std::uint64_t> Value::unsigned_integer() const {
    if (node_->type == Type::number && node_->scalar.is_number_unsigned()) return node_->scalar.get<std::uint64_t>();
    const auto value = whole(*node_);
    if (!value || *value < 0) return wrong("a whole number from 0 to 18446744073709551615");
    return static_cast<std::uint64_t>(*value);
}

std::optional<double> Value::share(double least, double most, Least itself) const {
    const std::string expected = fmt::format("a share {}, such as 2% or 0.02", range_text(least, most, itself));
    double value = 0;
    if (node_->type == Type::number) {
        value = node_->scalar.get<double>();
    } else {
        // "0.02" in quotes is text, and text is a share only with its percent sign.
        if (node_->type != Type::text || !node_->written.ends_with('%')) return wrong(expected);
        const auto parsed = parse_share(node_->written);
        if (!parsed) return wrong(expected);
        value = *parsed;
    }
    if (!in_range(value, least, most, itself)) return outside(expected);
    return value;
}

std::optional<double> Value::number(double least, double most, Least itself) const {
    const std::string expected = "a number " + range_text(least, most, itself);
    if (node_->type != Type::number) return wrong(expected);
    const double value = node_->scalar.get<double>();
    if (!in_range(value, least, most, itself)) return outside(expected);
    return value;
}

std::optional<Nanoseconds> Value::duration(Nanoseconds least, Nanoseconds most) const {
    const std::string expected =
        fmt::format("a duration from {} to {}, such as 90s, 5m or 2h", format_duration(least), format_duration(most));
    if (node_->type != Type::text) return wrong(expected);
    const auto value = parse_duration(node_->written);
    if (!value) return wrong(expected);
    if (*value < least || *value > most) return outside(expected);
    return *value;
}

std::optional<std::int64_t> Value::bytes(std::int64_t least, std::int64_t most) const {
    const std::string expected =
        fmt::format("a size from {} to {}, such as 512M or 2G", format_bytes(least), format_bytes(most));
    if (node_->type != Type::text) return wrong(expected);
    const auto value = parse_bytes(node_->written);
    if (!value) return wrong(expected);
    if (*value < least || *value > most) return outside(expected);
    return *value;
}

std::vector<Value> Value::list(std::size_t least, std::size_t most) const {
    if (node_->type != Type::list) {
        wrong("a list");
        return {};
    }
    const std::size_t count = node_->items.size();
    if (count < least || count > most) {
        problem("must have {} to {} items, not {}", least, most, count);
        return {};
    }
    std::vector<Value> values;
    std::set<Json> seen;
    for (std::size_t i = 0; i < count; ++i) {
        const Node& item = node_->items[i];
        values.emplace_back(*problems_, item, fmt::format("{}[{}]", path_, i));
        const bool is_scalar = item.type != Type::list && item.type != Type::map;
        if (is_scalar && !seen.insert(item.scalar).second) {
            values.back().problem("repeats {}", describe(item));
        }
    }
    return values;
}

std::vector<std::string> Value::texts(std::size_t most) const {
    std::vector<std::string> out;
    for (const Value& item : list(0, most)) {
        if (auto one = item.text()) out.push_back(std::move(*one));
    }
    return out;
}

Map::Map(const Value& value, const std::vector<std::string>& keys)
    : problems_(&value.problems()), node_(&value.node()), path_(value.path()) {
    const std::string name = path_.empty() ? "the file" : fmt::format("'{}'", path_);
    if (node_->type != Type::map) {
        problems_->add(node_->place, "{} must be a map of keys ({}), not {}", name, fmt::join(keys, ", "),
                       describe(*node_));
        return;
    }
    for (const Entry& entry : node_->entries) {
        if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) {
            problems_->add(entry.place, "unknown key {}{}: {}", shown(entry.key), path_.empty() ? "" : " in " + name,
                           advice(entry.key, keys));
        }
    }
}

std::string Map::path_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

std::optional<Value> Map::get(std::string_view key) const {
    const Node* found = node_->find(key);
    if (found == nullptr) return std::nullopt;
    return Value(*problems_, *found, path_of(key));
}

void Map::with(std::string_view key, const std::function<void(const Value&)>& read) const {
    if (const auto value = get(key)) read(*value);
}

void Map::require(std::string_view key, std::string_view hint) const {
    if (is_map() && !has(key)) problems_->add(node_->place, "'{}' is missing: {}", path_of(key), hint);
}

void Map::text(std::string_view key, std::string& out, std::size_t longest) const {
    with(key, [&](const Value& value) {
        if (auto read = value.text(longest)) out = std::move(*read);
    });
}

void Map::integer(std::string_view key, int& out, int least, int most) const {
    with(key, [&](const Value& value) {
        if (const auto read = value.integer(least, most)) out = static_cast<int>(*read);
    });
}

void Map::boolean(std::string_view key, bool& out) const {
    with(key, [&](const Value& value) {
        if (const auto read = value.boolean()) out = *read;
    });
}

void Map::duration(std::string_view key, Nanoseconds& out, Nanoseconds least, Nanoseconds most) const {
    with(key, [&](const Value& value) {
        if (const auto read = value.duration(least, most)) out = *read;
    });
}

}  // namespace kab::yaml
