#pragma once
// YAML as kab reads it: strict, bounded, with the place of everything. For specs and for kabd.yaml.
//
// A plain scalar that is a JSON number is a number; true and false are booleans; nothing, null and ~
// are null; all else is text as written (so 010, 0x10, On and 1_000 are text, never a surprise).
// Anchors, aliases, tags and further documents are refused, and files that are big or deep before
// they cost time or memory.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/json.h"

namespace kab::yaml {

inline constexpr std::size_t max_bytes = 1U << 20;
inline constexpr int max_depth = 16;
inline constexpr int max_nodes = 20000;

/// From 1, as editors count.
struct Place {
    int line = 1, column = 1;
    auto operator<=>(const Place&) const = default;
};

enum class Type { null, boolean, number, text, list, map };

struct Entry;

struct Node {
    Type type = Type::null;
    Place place;
    Json scalar;                 ///< value of null, boolean, number and text
    std::string written;         ///< the scalar as it stands in the file
    std::vector<Node> items;     ///< of a list
    std::vector<Entry> entries;  ///< of a map, in the order of the file, without duplicates

    /// The value under `key`; nullptr when there is none or this is no map.
    const Node* find(std::string_view key) const;
};

struct Entry {
    std::string key;
    Place place;  ///< of the key
    Node value;
};

/// Collects what is wrong with one file, so that all of it can be told at once.
class Problems {
  public:
    explicit Problems(std::string_view file_name) : file_(file_name) {}

    template <class... Args>
    void add(Place place, fmt::format_string<Args...> format, Args&&... args) {
        add_text(place, fmt::format(format, std::forward<Args>(args)...));
    }
    bool empty() const { return found_.empty(); }
    /// "file:line:column".
    std::string where(Place place) const;
    /// In the order of the file; Fault::spec; `where` is file:line:column. The list is bounded:
    /// a last error tells how many more there are.
    std::vector<Error> errors() const;

  private:
    struct Problem {
        Place place;
        std::string message;
    };
    void add_text(Place place, std::string message);

    std::string file_;
    std::vector<Problem> found_;
    std::size_t left_out_ = 0;
};

/// Reads one document. Duplicate keys go to `problems` and the first value stays; false when the
/// text cannot be used at all (the reason is in `problems`). Never throws.
bool load(std::string_view text, Problems& problems, Node& root);

/// A map without entries, for a section that is not there.
Node empty_map(Place place);

/// Plain JSON. The order of keys is lost.
Json to_json(const Node& node);

/// User text for a message: quoted, cut when long, control characters made visible.
std::string shown(std::string_view text);

/// "text 'two'", "the number 5", "a list": for "must be ..., not ...".
std::string describe(const Node& node);

}  // namespace kab::yaml
