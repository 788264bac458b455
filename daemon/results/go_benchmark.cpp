// The Go benchmark text format: "BenchmarkName-8  100  123 ns/op  45 B/op ...", configuration lines "key: value".
// golang.org/design/14313-benchmark-format.
#include <cctype>
#include <charconv>

#include "daemon/results/reader.h"

namespace kab::results {
namespace {

std::optional<Better> better_of(std::string_view unit) {
    if (unit.ends_with("/op")) return Better::lower;
    if (unit.ends_with("/s")) return Better::higher;
    return std::nullopt;
}

class GoBenchmark {
  public:
    GoBenchmark(std::string_view text, const std::string& name) : text_(text), name_(name) {}

    Result<Results> read() {
        for (const auto& line : lines_of(text_))
            if (const auto done = read_line(line); !done) return pass(done);
        if (found_ == 0)
            return wrong_at(
                name_, "",
                "there is no line such as 'BenchmarkName-8  100  123 ns/op': run `go test -bench . -count 10`");
        return collector_.finish();
    }

  private:
    Status read_line(const Line& line) {
        const auto words = words_of(line.text);
        if (words.empty()) return {};
        const bool benchmark = words[0].starts_with("Benchmark") &&
                               (words[0].size() == 9 || !std::islower(static_cast<unsigned char>(words[0][9])));
        if (benchmark && words.size() > 1) return read_benchmark(line, words);
        if (benchmark) {  // with -v, or when the benchmark prints something of its own
            collector_.skip("names of benchmarks without a result");
            return {};
        }
        if (words[0] == "Unit") return read_unit(words);
        if (words[0] == "pkg:" && words.size() > 1) {
            package_ = words[1];
            return {};
        }
        if (line.text.starts_with("--- FAIL") || words[0] == "FAIL") {
            collector_.note(fmt::format("line {} tells of a failure: {}", line.number, trimmed(line.text)));
            return {};
        }
        const bool expected = words[0] == "PASS" || words[0] == "ok" || words[0] == "goos:" || words[0] == "goarch:" ||
                              words[0] == "cpu:" || line.text.starts_with("--- BENCH");
        if (!expected) collector_.skip("lines that are no results");
        return {};
    }

    /// "Unit allocs better=lower"
    Status read_unit(const std::vector<std::string_view>& words) {
        for (std::size_t i = 2; i < words.size(); ++i) {
            if (words[i] == "better=higher") declared_[std::string(words[1])] = Better::higher;
            if (words[i] == "better=lower") declared_[std::string(words[1])] = Better::lower;
        }
        return {};
    }

    Status read_benchmark(const Line& line, const std::vector<std::string_view>& words) {
        std::uint64_t iterations = 0;
        const auto [end, error] = std::from_chars(words[1].data(), words[1].data() + words[1].size(), iterations);
        if (error != std::errc() || end != words[1].data() + words[1].size()) {
            collector_.skip("lines that are no results");
            return {};
        }
        if (words.size() < 4 || words.size() % 2 != 0)
            return wrong(name_, line.number,
                         "expected pairs of value and unit after the number of iterations, such as 123 ns/op");
        std::string workload(words[0].substr(9));
        if (workload.empty()) workload = words[0];
        if (first_package_.empty()) first_package_ = package_;
        if (package_ != first_package_) workload = package_ + "." + workload;
        for (std::size_t i = 2; i < words.size(); i += 2) {
            const auto value = number(words[i]);
            const std::string unit(words[i + 1]);
            if (!value) return wrong(name_, line.number, "expected a number before '{}', not '{}'", unit, words[i]);
            const auto found = declared_.find(unit);
            const auto better = found == declared_.end() ? better_of(unit) : std::optional(found->second);
            collector_.add(collector_.metric(workload, unit, unit, better), 0, std::nullopt, std::nullopt, *value);
        }
        ++found_;
        return {};
    }

    std::string_view text_;
    const std::string& name_;
    std::string package_, first_package_;
    std::map<std::string, Better> declared_;
    Collector collector_{Format::go_benchmark};
    int found_ = 0;
};

}  // namespace

Result<Results> read_go_benchmark(std::string_view text, const std::string& name) {
    return GoBenchmark(text, name).read();
}

}  // namespace kab::results
