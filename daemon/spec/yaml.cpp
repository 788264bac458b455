#include "daemon/spec/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

#include "daemon/spec/text_check.h"

namespace kab::yaml {
namespace {

constexpr std::size_t max_problems = 100;

/// Ends the parse from inside a handler.
struct Refused {
    Place place;
    std::string message;
};

Place place_of(const YAML::Mark& mark) {
    return mark.is_null() ? Place{} : Place{mark.line + 1, mark.column + 1};
}

/// Builds the tree from the parser's events, so that depth, size, anchors and duplicates are seen
/// before anything grows.
class Builder final : public YAML::EventHandler {
  public:
    explicit Builder(Problems& problems) : problems_(problems) {}
    Node take_root() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
        Node node;
        // The parser gives an empty value the place of whatever comes next: the key's is better.
        node.place = in_value() ? open_.back().key.place : place_of(mark);
        attach(std::move(node), "");
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        throw Refused{place_of(mark), "aliases (*name) are not accepted: write the value out"};
    }
    void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
        throw Refused{place_of(mark), fmt::format("anchors (&{}) are not accepted: write the value out", name)};
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
        Node node;
        node.place = place_of(mark);
        node.written = value;
        const bool quoted = tag == "!";
        if (!quoted) refuse_tag(node.place, tag);
        classify(node, quoted);
        attach(std::move(node), value);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {
        open(mark, tag, Type::list);
    }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                    YAML::EmitterStyle::value) override {
        open(mark, tag, Type::map);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapEnd() override { close(); }

  private:
    struct Open {
        Node node;
        bool in_value = false;  ///< of a map: a key has been read
        Entry key;
        std::map<std::string, Place, std::less<>> seen;
    };

    bool in_value() const { return !open_.empty() && open_.back().in_value; }

    static void refuse_tag(Place place, const std::string& tag) {
        if (!tag.empty() && tag != "?" && tag != "!") {
            throw Refused{place, fmt::format("tags (!{}) are not accepted", shown(tag))};
        }
    }

    static void classify(Node& node, bool quoted) {
        node.type = Type::text;
        node.scalar = node.written;
        if (quoted) return;
        if (node.written == "true" || node.written == "false") {
            node.type = Type::boolean;
            node.scalar = node.written == "true";
        } else if (is_json_number(node.written)) {
            if (Json number = to_number(node.written); !number.is_null()) {
                node.type = Type::number;
                node.scalar = std::move(number);
            }
        }
    }

    /// Null when it is out of the range of a double.
    static Json to_number(const std::string& text) {
        const char* end = text.data() + text.size();
        std::int64_t whole = 0;
        if (auto [at, error] = std::from_chars(text.data(), end, whole); error == std::errc() && at == end)
            return whole;
        std::uint64_t big = 0;
        if (auto [at, error] = std::from_chars(text.data(), end, big); error == std::errc() && at == end) return big;
        double real = 0;
        const auto [at, error] = std::from_chars(text.data(), end, real);
        if (error != std::errc() || at != end || !std::isfinite(real)) return {};
        return real;
    }

    void count(Place place) {
        if (++nodes_ > max_nodes) throw Refused{place, fmt::format("more than {} values in one file", max_nodes)};
    }

    void open(const YAML::Mark& mark, const std::string& tag, Type type) {
        const Place place = place_of(mark);
        refuse_tag(place, tag);
        count(place);
        if (static_cast<int>(open_.size()) >= max_depth) {
            throw Refused{place, fmt::format("nested more than {} levels deep", max_depth)};
        }
        if (!open_.empty() && open_.back().node.type == Type::map && !open_.back().in_value) {
            throw Refused{place, "a key must be text, not a list or map"};
        }
        Open level;
        level.node.type = type;
        level.node.place = place;
        open_.push_back(std::move(level));
    }

    void close() {
        Node node = std::move(open_.back().node);
        open_.pop_back();
        place(std::move(node));
    }

    void attach(Node node, const std::string& written) {
        count(node.place);
        if (!open_.empty() && open_.back().node.type == Type::map && !open_.back().in_value) {
            if (node.type == Type::null) throw Refused{node.place, "a key must be text, not nothing"};
            open_.back().key = Entry{written, node.place, {}};
            open_.back().in_value = true;
            return;
        }
        place(std::move(node));
    }

    void place(Node node) {
        if (open_.empty()) {
            root_ = std::move(node);
            return;
        }
        Open& parent = open_.back();
        if (parent.node.type == Type::list) {
            parent.node.items.push_back(std::move(node));
            return;
        }
        parent.in_value = false;
        Entry entry = std::move(parent.key);
        const auto [first, is_new] = parent.seen.emplace(entry.key, entry.place);
        if (!is_new) {
            problems_.add(entry.place, "duplicate key {}: it is given before at line {}", shown(entry.key),
                          first->second.line);
            return;
        }
        entry.value = std::move(node);
        parent.node.entries.push_back(std::move(entry));
    }

    Problems& problems_;
    std::vector<Open> open_;
    Node root_;
    int nodes_ = 0;
};

/// A remark for the commonest cause of an error that YAML libraries explain badly.
std::string tab_hint(std::string_view text, int line) {
    for (; line > 1 && !text.empty(); --line) {
        const auto end = text.find('\n');
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    const auto indent = text.substr(0, text.find_first_not_of(" \t"));
    return indent.find('\t') == std::string_view::npos ? "" : " (a tab cannot indent: use spaces)";
}

}  // namespace

const Node* Node::find(std::string_view key) const {
    for (const Entry& entry : entries) {
        if (entry.key == key) return &entry.value;
    }
    return nullptr;
}

std::string Problems::where(Place place) const {
    return fmt::format("{}:{}:{}", file_, place.line, place.column);
}

void Problems::add_text(Place place, std::string message) {
    if (found_.size() >= max_problems) {
        ++left_out_;
    } else {
        found_.push_back({place, std::move(message)});
    }
}

std::vector<Error> Problems::errors() const {
    std::vector<Problem> sorted = found_;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.place < b.place; });
    std::vector<Error> errors;
    for (auto& problem : sorted) errors.push_back({Fault::spec, std::move(problem.message), where(problem.place)});
    if (left_out_ > 0) errors.push_back({Fault::spec, fmt::format("and {} more", left_out_), file_});
    return errors;
}

bool load(std::string_view text, Problems& problems, Node& root) {
    if (text.size() > max_bytes) {
        problems.add({}, "the file has {} bytes, at most {} are accepted", text.size(), max_bytes);
        return false;
    }
    if (const auto refusal = check_text(text)) {
        problems.add({refusal->line, refusal->column}, "{}", refusal->message);
        return false;
    }
    // With a line end after it, the library takes a quote that is never closed for one closed by the file's end.
    const auto last = text.find_last_not_of(" \t\r\n");
    const std::string body(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
    try {
        std::istringstream in(body);
        YAML::Parser parser(in);
        Builder builder(problems);
        if (!parser.HandleNextDocument(builder)) {
            problems.add({}, "the file is empty");
            return false;
        }
        root = builder.take_root();
        Problems ignored("");
        Builder second(ignored);
        if (parser.HandleNextDocument(second)) {
            problems.add(second.take_root().place, "a second document in the file; one is accepted");
            return false;
        }
        return true;
    } catch (const Refused& refused) {
        problems.add(refused.place, "{}", refused.message);
    } catch (const YAML::Exception& e) {
        const Place place = place_of(e.mark);
        problems.add(place, "not valid YAML: {}{}", e.msg, tab_hint(text, place.line));
    } catch (const std::exception& e) {
        problems.add({}, "not valid YAML: {}", e.what());
    }
    return false;
}

Node empty_map(Place place) {
    Node node;
    node.type = Type::map;
    node.place = place;
    return node;
}

Json to_json(const Node& node) {
    if (node.type == Type::list) {
        Json array = Json::array();
        for (const Node& item : node.items) array.push_back(to_json(item));
        return array;
    }
    if (node.type == Type::map) {
        Json object = Json::object();
        for (const Entry& entry : node.entries) object[entry.key] = to_json(entry.value);
        return object;
    }
    return node.scalar;
}

}  // namespace kab::yaml
