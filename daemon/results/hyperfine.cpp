// hyperfine --export-json: {"results": [{"command": ..., "times": [...], "exit_codes": [...], ...}]}, times in seconds.
// Several commands are arms.
#include "daemon/results/reader.h"

namespace kab::results {
namespace {

class Hyperfine {
  public:
    explicit Hyperfine(const std::string& name) : name_(name) {}

    Result<Results> read(const Json& document) {
        const auto& results = document.at("results");
        if (!results.is_array() || results.empty())
            return wrong_at(name_, "results", "expected a list with an entry for each command");
        for (std::size_t i = 0; i < results.size(); ++i)
            if (const auto done = read_command(results[i], fmt::format("results[{}]", i)); !done) return pass(done);
        collector_.note("hyperfine keeps user and system time as means only: not used");
        return collector_.finish();
    }

  private:
    Status read_command(const Json& one, const std::string& path) {
        const auto command = json_get<std::string>(one, "command");
        if (!command) return wrong_at(name_, path, "{}: expected a text", command.error().message);
        const auto times = one.find("times");
        if (times == one.end() || !times->is_array())
            return wrong_at(name_, path + ".times", "expected the list of times that `hyperfine --export-json` writes");
        const int arms = commands_;
        const int arm = collector_.arm(*command);
        if (arm < arms)
            return wrong_at(name_, path + ".command",
                            "'{}' is here twice: give each command a name of its own (hyperfine --command-name)",
                            *command);
        ++commands_;
        const auto codes = one.find("exit_codes");
        const bool has_codes = codes != one.end() && codes->is_array() && codes->size() == times->size();
        const auto failed = [&](std::size_t i) { return has_codes && !(*codes)[i].is_null() && (*codes)[i] != 0; };
        const auto killed = [&](std::size_t i) { return has_codes && (*codes)[i].is_null(); };
        for (std::size_t i = 0; i < times->size(); ++i) collector_.run(arm, failed(i) || killed(i));
        const auto usable = [&](std::size_t i) { return !failed(i) && !killed(i); };
        if (const auto done = read_list(*times, arm, "time", "s", path + ".times", usable); !done) return done;
        if (const auto memory = one.find("memory_usage_byte"); memory != one.end() && memory->is_array())
            return read_list(*memory, arm, "memory", "B", path + ".memory_usage_byte", usable);
        return {};
    }

    template <class Usable>
    Status read_list(const Json& list, int arm, const char* metric, const char* unit, const std::string& path,
                     Usable usable) {
        const auto index = collector_.metric("", metric, unit, Better::lower);
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (!list[i].is_number())
                return wrong_at(name_, fmt::format("{}[{}]", path, i), "expected a number, not {}", list[i].dump());
            if (!usable(i)) {
                collector_.absent(metric, arm, "the command failed");
                continue;
            }
            collector_.add(index, arm, std::nullopt, static_cast<int>(i), list[i].get<double>());
        }
        return {};
    }

    const std::string& name_;
    Collector collector_{Format::hyperfine};
    int commands_ = 0;
};

}  // namespace

Result<Results> read_hyperfine(const Json& document, const std::string& name) {
    if (!document.is_object() || !document.contains("results"))
        return wrong_at(name, "", "there is no 'results': this is not what `hyperfine --export-json` writes");
    return Hyperfine(name).read(document);
}

}  // namespace kab::results
