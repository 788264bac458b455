#pragma once
// Reads checked values out of a YAML tree. What is wrong goes to Problems with its place, the key
// and what would be accepted; the reader then goes on, so that all problems are found in one pass.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "daemon/spec/yaml.h"

namespace kab::yaml {

/// Whether the least value that bounds a number is itself accepted.
enum class Least { excluded, included };

/// A value with the path to it ("host.cpus") and where problems go. Returns nullopt after a problem.
class Value {
  public:
    Value(Problems& problems, const Node& node, std::string path)
        : problems_(&problems), node_(&node), path_(std::move(path)) {}

    const Node& node() const { return *node_; }
    const std::string& path() const { return path_; }
    Problems& problems() const { return *problems_; }

    /// One line of text, not empty, at most `longest` bytes, no control characters.
    std::optional<std::string> text(std::size_t longest = 4096) const;
    /// As text; another word is answered with a suggestion.
    std::optional<std::string> one_of(const std::vector<std::string>& words) const;
    std::optional<bool> boolean() const;
    /// 5 and 5.0, not "5", 010 or 5.5.
    std::optional<std::int64_t> integer(std::int64_t least, std::int64_t most) const;
    /// 0 to 2^64-1.
    std::optional<std::uint64_t> unsigned_integer() const;
    /// 0.02 or 2%; above `least`, up to `most`.
    std::optional<double> share(double least, double most, Least itself = Least::excluded) const;
    /// A plain number above `least`, up to `most`.
    std::optional<double> number(double least, double most, Least itself = Least::excluded) const;
    /// 60s, 5m, ...
    std::optional<Nanoseconds> duration(Nanoseconds least, Nanoseconds most) const;
    /// 512M, 2G, ...
    std::optional<std::int64_t> bytes(std::int64_t least, std::int64_t most) const;
    /// The items of a list of `least` to `most`; scalars in it must differ from each other.
    std::vector<Value> list(std::size_t least, std::size_t most) const;
    /// A list of texts.
    std::vector<std::string> texts(std::size_t most) const;

    /// Adds "'path' MESSAGE" at this value's place.
    template <class... Args>
    void problem(fmt::format_string<Args...> format, Args&&... args) const {
        problems_->add(node_->place, "'{}' {}", path_, fmt::format(format, std::forward<Args>(args)...));
    }

  private:
    std::nullopt_t wrong(const std::string& expected) const;
    std::nullopt_t outside(const std::string& expected) const;

    Problems* problems_;
    const Node* node_;
    std::string path_;
};

/// A map with a known set of keys; others are problems with a suggestion.
class Map {
  public:
    /// `path` is empty for the document itself. Anything but a map is a problem and reads as an empty one.
    Map(const Value& value, const std::vector<std::string>& keys);

    /// Calls `read` with the value if the key is there.
    void with(std::string_view key, const std::function<void(const Value&)>& read) const;
    bool has(std::string_view key) const { return node_->find(key) != nullptr; }
    std::optional<Value> get(std::string_view key) const;
    /// Adds "'path.key' is missing: HINT" if the key is not there.
    void require(std::string_view key, std::string_view hint) const;
    bool is_map() const { return node_->type == Type::map; }
    Value value() const { return {*problems_, *node_, path_}; }

    // Each sets `out` if the key is there and its value is right.
    void text(std::string_view key, std::string& out, std::size_t longest = 4096) const;
    void integer(std::string_view key, int& out, int least, int most) const;
    void boolean(std::string_view key, bool& out) const;
    void duration(std::string_view key, Nanoseconds& out, Nanoseconds least, Nanoseconds most) const;

    std::string path_of(std::string_view key) const;

  private:
    Problems* problems_;
    const Node* node_;
    std::string path_;
};

/// Where the key of an entry stands; the map's own place if it has no such key.
Place key_place(const Node& map, std::string_view key);

/// "did you mean 'x'? " or nothing, then "accepted: a, b, c".
std::string advice(std::string_view word, const std::vector<std::string>& accepted);

}  // namespace kab::yaml
