// The setup, once; per arm only what differs.
#include <algorithm>
#include <map>
#include <set>

#include "common/clock.h"
#include "common/units.h"
#include "daemon/report/checks.h"
#include "daemon/report/compose.h"
#include "daemon/report/figures.h"
#include "daemon/report/workloads.h"

namespace kab::report {
namespace {

std::string short_hash(const std::string& hash) {
    return hash.substr(0, 12);
}

std::string joined(const std::vector<std::string>& texts, const char* separator) {
    std::string all;
    for (const auto& text : texts) all += (all.empty() ? "" : separator) + text;
    return all;
}

std::string utc(std::int64_t at) {
    return to_rfc3339(WallTime{Nanoseconds{at}});
}

constexpr const char* unknown = "unknown";

/// A line of the setup: a label and what each shown arm has there; "" where that is unknown.
struct Field {
    std::string label;
    std::vector<std::string> of_arm;
    /// Where it comes from: of an arm that never got that far it is not asked.
    enum class From { experiment, frozen, built, guest } from = From::experiment;
    bool optional = false;  ///< "none" of all arms is not worth a line
};

class Fields {
  public:
    explicit Fields(const ReportInput& report) : report_(report), arms_(shown_arms(report)) { read_environments(); }

    std::vector<Field> all() const {
        std::vector<Field> fields;
        const auto kernel = [&](const char* label, Field::From from, auto text) {
            Field field;
            field.label = label;
            field.from = from;
            for (const int arm : arms_) field.of_arm.push_back(text(report_.kernels[static_cast<std::size_t>(arm)]));
            fields.push_back(std::move(field));
        };
        kernel("source", Field::From::frozen, [](const store::KernelRow& k) { return k.origin; });
        kernel("base commit", Field::From::frozen, [](const store::KernelRow& k) { return k.base_commit; });
        fields.push_back(of_experiment("patches", &Fields::patches));
        fields.push_back(of_experiment("config", &Fields::config));
        fields.back().from = Field::From::frozen;
        fields.push_back(of_experiment("fragments", &Fields::fragments));
        kernel("compiler", Field::From::built, [](const store::KernelRow& k) { return k.compiler; });
        for (auto field :
             {of_experiment("modules", &Fields::modules), of_experiment("boot options", &Fields::options)}) {
            field.optional = true;
            fields.push_back(std::move(field));
        }
        fields.push_back(environment("kernel release", "release"));
        fields.push_back(environment("command line", "command_line"));
        fields.push_back(environment("CPU", "cpu_model"));
        fields.push_back(environment("microcode", "microcode"));
        fields.push_back(environment("clocksource", "clocksource"));
        fields.push_back(environment("governor", "governor"));
        fields.push_back(environment("pinning", "pinning"));
        fields.push_back(environment("lock kind", "lock_kind"));
        fields.push_back(environment("mitigations", "mitigations"));
        fields.push_back(environment("WARNING", "warnings"));
        fields.back().optional = true;
        return fields;
    }

    const std::vector<int>& arms() const { return arms_; }
    bool frozen(int arm) const { return !report_.kernels[static_cast<std::size_t>(arm)].key.empty(); }
    bool built(int arm) const {
        const auto& status = report_.tree.arms[static_cast<std::size_t>(arm)].status;
        return status == "ready" || status == "stopped";
    }
    /// Did a boot of the arm tell what it runs on?
    bool said_hello(int arm) const { return seen_.contains(name(arm)); }
    bool any_hello() const { return !seen_.empty(); }
    /// Did the arm get as far as the field needs?
    bool has(const Field& field, int arm) const {
        switch (field.from) {
            case Field::From::experiment: return true;
            case Field::From::frozen: return frozen(arm);
            case Field::From::built: return built(arm);
            case Field::From::guest: return said_hello(arm);
        }
        return false;
    }
    /// Beside the machine code: what the two kernels are booted with.
    std::string booted_with(int arm) const { return "modules: " + modules(arm) + "; boot options: " + options(arm); }

  private:
    const std::string& name(int arm) const { return report_.tree.arms[static_cast<std::size_t>(arm)].name; }

    /// The arm as the experiment has it.
    Json declared(int arm) const {
        for (const auto& json : report_.experiment.value("arms", Json::array()))
            if (json.value("name", "") == name(arm)) return json;
        return Json::object();
    }

    bool prebuilt(int arm) const { return declared(arm).value("source", Json::object()).contains("image"); }

    Field of_experiment(const char* label, std::string (Fields::*text)(int) const) const {
        Field field;
        field.label = label;
        for (const int arm : arms_) field.of_arm.push_back((this->*text)(arm));
        return field;
    }

    std::string patches(int arm) const {
        if (prebuilt(arm)) return "";
        const auto& kernel = report_.kernels[static_cast<std::size_t>(arm)];
        const auto list = parse_json(kernel.patches.empty() ? "[]" : kernel.patches);
        std::vector<std::string> texts;
        if (kernel.key.empty() || !list || !list->is_array()) {
            // It was never frozen: only the names are known.
            texts = base_names(declared(arm), "patches");
        } else {
            for (const auto& patch : *list)
                texts.push_back(fmt::format("\"{}\" (patch-id {})", patch.value("subject", patch.value("file", "")),
                                            short_hash(patch.value("patch_id", ""))));
        }
        return texts.empty() ? "none" : joined(texts, ", ");
    }

    std::string config(int arm) const {
        if (prebuilt(arm)) return "prebuilt, unknown";
        const auto& hash = report_.kernels[static_cast<std::size_t>(arm)].config_hash;
        return hash.empty() ? "" : "sha256 " + short_hash(hash);
    }

    std::string fragments(int arm) const {
        if (prebuilt(arm)) return "";
        const auto names = base_names(declared(arm), "config");
        return names.empty() ? "none" : joined(names, ", ");
    }

    std::string modules(int arm) const {
        const auto folder = declared(arm).value("source", Json::object()).value("modules", "");
        return folder.empty() ? "none" : folder;
    }

    std::string options(int arm) const {
        const auto text = declared(arm).value("command_line", "");
        return text.empty() ? "none" : text;
    }

    static std::vector<std::string> base_names(const Json& arm, const char* key) {
        std::vector<std::string> names;
        for (const auto& file : arm.value(key, std::vector<std::string>{}))
            names.push_back(file.substr(file.rfind('/') + 1));
        return names;
    }

    static std::string mitigations(const Json& map) {
        std::vector<std::string> vulnerable, mitigated;
        int unaffected = 0;
        for (const auto& [name, state] : map.items()) {
            const auto text = state.is_string() ? state.get<std::string>() : "";
            if (text == "Not affected")
                ++unaffected;
            else if (text.rfind("Mitigation", 0) == 0)
                mitigated.push_back(name);
            else
                vulnerable.push_back(name);
        }
        std::vector<std::string> parts;
        if (!vulnerable.empty()) parts.push_back("vulnerable: " + joined(vulnerable, ", "));
        if (!mitigated.empty()) parts.push_back("mitigated: " + joined(mitigated, ", "));
        if (unaffected > 0) parts.push_back(fmt::format("not affected: {}", unaffected));
        return joined(parts, "; ");
    }

    static std::string text_of(const std::string& key, const Json& value) {
        if (key == "mitigations") return value.is_object() ? mitigations(value) : "";
        if (value.is_array()) {
            std::vector<std::string> texts;
            for (const auto& one : value)
                if (one.is_string()) texts.push_back(one.get<std::string>());
            return texts.empty() ? "none" : joined(texts, "; ");
        }
        if (key == "governor" && value == "") return "none";
        return value.is_string() ? value.get<std::string>() : dump_json(value);
    }

    void read_environments() {
        read_environments(report_.boots);
        read_environments(report_.check_boots);
    }

    void read_environments(const std::vector<store::BootReport>& boots) {
        for (const auto& boot : boots) {
            const auto json = parse_json(boot.environment.empty() ? "{}" : boot.environment);
            if (!json || !json->is_object() || json->empty()) continue;
            auto& of_arm = seen_[boot.arm];
            for (const auto& [key, value] : json->items()) {
                const auto text = text_of(key, value);
                of_arm[key].insert(text.empty() ? unknown : text);
            }
        }
    }

    Field environment(const char* label, const std::string& key) const {
        Field field;
        field.label = label;
        field.from = Field::From::guest;
        for (const int arm : arms_) {
            const auto of_arm = seen_.find(name(arm));
            std::vector<std::string> values;
            if (of_arm != seen_.end())
                if (const auto found = of_arm->second.find(key); found != of_arm->second.end())
                    values.assign(found->second.begin(), found->second.end());
            field.of_arm.push_back(joined(values, " / "));
        }
        return field;
    }

    const ReportInput& report_;
    std::vector<int> arms_;
    std::map<std::string, std::map<std::string, std::set<std::string>>> seen_;  ///< arm -> key -> values
};

/// The distinct values of a member of the boots.
std::string of_boots(const ReportInput& report, std::string store::BootReport::*member) {
    std::set<std::string> values;
    for (const auto* boots : {&report.boots, &report.check_boots})
        for (const auto& boot : *boots)
            if (!(boot.*member).empty()) values.insert(boot.*member);
    return joined({values.begin(), values.end()}, " / ");
}

/// ", exact mode (from block to block differs the timer's phase)"; empty without it.
std::string exact_words(const ReportInput& report) {
    if (!report.input.design.exact) return "";
    const auto& host = report.experiment.at("host");
    std::vector<std::string> varied;
    if (host.value("vary_timer", false)) varied.emplace_back("the timer's phase");
    if (host.value("vary_layout", false)) varied.emplace_back("the layout of memory");
    return fmt::format(
        ", exact mode ({} from block to block)",
        varied.empty() ? "nothing differs" : joined(varied, " and ") + (varied.size() > 1 ? " differ" : " differs"));
}

std::string machine(const ReportInput& report) {
    std::string text = of_boots(report, &store::BootReport::machine);
    if (report.experiment.contains("host")) {
        const auto& host = report.experiment.at("host");
        const int cpus = host.value("cpus", 0);
        text += fmt::format("{}{} CPU{}, {}", text.empty() ? "" : ", ", cpus, cpus == 1 ? "" : "s",
                            format_bytes(host.value("memory_bytes", std::int64_t{0})));
    }
    const std::string accel = of_boots(report, &store::BootReport::accel);
    if (accel == "kvm") text += ", KVM";
    if (accel == "tcg") text += ", emulated (TCG): " + of_boots(report, &store::BootReport::accel_reason);
    if (accel.find('/') != std::string::npos) text += ", MIXED: " + accel;
    return text + exact_words(report);
}

std::string design(const ReportInput& report) {
    const auto& design = report.input.design;
    std::vector<std::string> looks;
    for (const int look : design.looks) looks.push_back(std::to_string(look));
    std::string primary;
    bool log = true;
    for (const auto& series : report.input.series)
        if (series.primary) {
            primary = series.workload + "/" + series.metric + (series.apart ? " at " + series.point : "");
            log = series.scale == Scale::log;
        }
    const std::string margin = log ? fmt::format("{:.4g}%", 100 * design.margin) : fmt::format("{:.4g}", design.margin);
    return fmt::format("primary {}, margin {}, alpha {:.4g}, {} {} blocks; boots in random order, paired by block",
                       primary, margin, design.alpha, design.fixed ? "fixed at" : "looks after", joined(looks, ", "));
}

/// "b and c are the same machine code"
std::vector<std::string> same_code(const ReportInput& report, const Fields& fields) {
    std::map<std::string, std::vector<int>> by_code;
    for (const int arm : fields.arms()) {
        const auto& signature = report.kernels[static_cast<std::size_t>(arm)].code_signature;
        if (!signature.empty()) by_code[signature].push_back(arm);
    }
    std::vector<std::string> texts;
    for (const auto& [signature, arms] : by_code) {
        if (arms.size() < 2) continue;
        std::vector<std::string> names;
        std::set<std::string> ways;
        for (const int arm : arms) {
            names.push_back(report.tree.arms[static_cast<std::size_t>(arm)].name);
            ways.insert(fields.booted_with(arm));
        }
        texts.push_back(fmt::format("{} are the same machine code ({}){}", joined(names, " and "),
                                    short_hash(signature),
                                    ways.size() == 1 ? ", booted in the same way: whatever they differ by is noise"
                                                     : "; they differ in what they are booted with"));
    }
    return texts;
}

using ArmTexts = std::map<int, std::vector<std::string>>;

/// What all arms share goes to `common`, once; the rest to each arm.
void sort_fields(const Fields& fields, Pairs& common, ArmTexts& per_arm) {
    const auto& arms = fields.arms();
    for (const auto& field : fields.all()) {
        std::map<int, std::string> texts;
        std::set<std::string> values;
        for (std::size_t i = 0; i < arms.size(); ++i) {
            if (!fields.has(field, arms[i])) continue;
            texts[arms[i]] = field.of_arm[i].empty() ? unknown : field.of_arm[i];
            values.insert(texts[arms[i]]);
        }
        if (values.empty() || values == std::set<std::string>{unknown}) continue;
        if (field.optional && values == std::set<std::string>{"none"}) continue;
        if (values.size() == 1)
            common.rows.emplace_back(field.label, *values.begin());
        else
            for (const auto& [arm, text] : texts) per_arm[arm].push_back(field.label + ": " + text);
    }
    for (const int arm : arms) {
        if (!fields.frozen(arm))
            per_arm[arm].push_back("its source and configuration were not looked up");
        else if (!fields.built(arm))
            per_arm[arm].push_back("not built");
        else if (fields.any_hello() && !fields.said_hello(arm))
            per_arm[arm].push_back("no boot of it said hello: what it ran on is unknown");
    }
}

}  // namespace

Section setup_section(const ReportInput& report) {
    const auto& evaluation = report.tree.evaluation;
    const Fields fields(report);
    Section section{"Setup", {}};
    Pairs common, differing;
    ArmTexts per_arm;
    common.rows.emplace_back("evaluation", fmt::format("{}, {}", evaluation.uid, evaluation.status));
    common.rows.emplace_back("date", utc(evaluation.started_at.value_or(evaluation.created_at)));
    sort_fields(fields, common, per_arm);
    common.rows.emplace_back("machine", machine(report));
    if (const auto emulator = of_boots(report, &store::BootReport::emulator); !emulator.empty())
        common.rows.emplace_back("emulator", emulator);
    for (auto& text : workload_texts(report)) common.rows.emplace_back("workload", std::move(text));
    common.rows.emplace_back("design", design(report));
    if (const auto checks = check_summary(report); !checks.empty()) common.rows.emplace_back("checks", checks);
    for (const auto& text : same_code(report, fields)) common.rows.emplace_back("code", text);
    section.parts.emplace_back(std::move(common));
    section.parts.emplace_back(Paragraph{"The arms, and what differs between them:"});
    for (const int arm : fields.arms()) {
        const auto& row = report.tree.arms[static_cast<std::size_t>(arm)];
        auto& texts = per_arm[arm];
        texts.push_back(row.against.empty() ? "baseline" : "against " + row.against);
        differing.rows.emplace_back(row.name, joined(texts, "; "));
    }
    section.parts.emplace_back(std::move(differing));
    return section;
}

}  // namespace kab::report
