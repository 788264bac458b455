// The setup, once; per arm only what differs.
#include <algorithm>
#include <map>
#include <set>

#include "common/clock.h"
#include "common/units.h"
#include "daemon/report/compose.h"
#include "daemon/report/figures.h"

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

/// A line of the setup: a label and what each shown arm has there; "" where nothing is known.
struct Field {
    std::string label;
    std::vector<std::string> of_arm;
};

class Fields {
  public:
    explicit Fields(const ReportInput& report) : report_(report), arms_(shown_arms(report)) { read_environments(); }

    std::vector<Field> all() const {
        std::vector<Field> fields;
        const auto kernel = [&](const char* label, auto text) {
            Field field{label, {}};
            for (const int arm : arms_) field.of_arm.push_back(text(report_.kernels[static_cast<std::size_t>(arm)]));
            fields.push_back(std::move(field));
        };
        kernel("source", [](const store::KernelRow& k) { return k.origin; });
        kernel("base commit", [](const store::KernelRow& k) { return k.base_commit; });
        kernel("patches", patches);
        kernel("config", [](const store::KernelRow& k) {
            return k.config_hash.empty() ? "" : "sha256 " + short_hash(k.config_hash);
        });
        fields.push_back(fragments());
        kernel("compiler", [](const store::KernelRow& k) { return k.compiler; });
        fields.push_back(environment("kernel release", "release"));
        fields.push_back(environment("command line", "command_line"));
        fields.push_back(environment("CPU", "cpu_model"));
        fields.push_back(environment("microcode", "microcode"));
        fields.push_back(environment("clocksource", "clocksource"));
        fields.push_back(environment("governor", "governor"));
        fields.push_back(environment("lock kind", "lock_kind"));
        fields.push_back(environment("mitigations", "mitigations"));
        fields.push_back(environment("WARNING", "warnings"));
        return fields;
    }

    const std::vector<int>& arms() const { return arms_; }

  private:
    static std::string patches(const store::KernelRow& kernel) {
        const auto list = parse_json(kernel.patches.empty() ? "[]" : kernel.patches);
        if (kernel.key.empty() || !list || !list->is_array()) return "";
        std::vector<std::string> texts;
        for (const auto& patch : *list)
            texts.push_back(fmt::format("\"{}\" (patch-id {})", patch.value("subject", patch.value("file", "")),
                                        short_hash(patch.value("patch_id", ""))));
        return texts.empty() ? "none" : joined(texts, ", ");
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
            return joined(texts, "; ");
        }
        if (key == "governor" && value == "") return "none";
        return value.is_string() ? value.get<std::string>() : dump_json(value);
    }

    /// The names of an arm's configuration fragments, from the experiment.
    Field fragments() const {
        Field field{"fragments", {}};
        for (const int arm : arms_) {
            const auto& name = report_.tree.arms[static_cast<std::size_t>(arm)].name;
            std::vector<std::string> names;
            for (const auto& json : report_.experiment.value("arms", Json::array()))
                if (json.value("name", "") == name)
                    for (const auto& file : json.value("config", std::vector<std::string>{}))
                        names.push_back(file.substr(file.rfind('/') + 1));
            field.of_arm.push_back(joined(names, ", "));
        }
        return field;
    }

    void read_environments() {
        for (const auto& boot : report_.boots) {
            const auto json = parse_json(boot.environment.empty() ? "{}" : boot.environment);
            if (!json || !json->is_object()) continue;
            for (const auto& [key, value] : json->items()) {
                const auto text = text_of(key, value);
                if (!text.empty()) seen_[boot.arm][key].insert(text);
            }
        }
    }

    Field environment(const char* label, const std::string& key) const {
        Field field{label, {}};
        for (const int arm : arms_) {
            const auto of_arm = seen_.find(report_.tree.arms[static_cast<std::size_t>(arm)].name);
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
    for (const auto& boot : report.boots)
        if (!(boot.*member).empty()) values.insert(boot.*member);
    return joined({values.begin(), values.end()}, " / ");
}

std::string machine(const ReportInput& report) {
    std::string text = of_boots(report, &store::BootReport::machine);
    if (report.experiment.contains("host")) {
        const auto& host = report.experiment.at("host");
        text += fmt::format("{}{} CPUs, {}", text.empty() ? "" : ", ", host.value("cpus", 0),
                            format_bytes(host.value("memory_bytes", std::int64_t{0})));
    }
    const std::string accel = of_boots(report, &store::BootReport::accel);
    if (accel == "kvm") text += ", KVM";
    if (accel == "tcg") text += ", emulated (TCG): " + of_boots(report, &store::BootReport::accel_reason);
    if (accel.find('/') != std::string::npos) text += ", MIXED: " + accel;
    return text;
}

std::string design(const ReportInput& report) {
    const auto& design = report.input.design;
    std::vector<std::string> looks;
    for (const int look : design.looks) looks.push_back(std::to_string(look));
    std::string primary;
    bool log = true;
    for (const auto& series : report.input.series)
        if (series.primary) {
            primary = series.workload + "/" + series.metric;
            log = series.scale == Scale::log;
        }
    const std::string margin = log ? fmt::format("{:.4g}%", 100 * design.margin) : fmt::format("{:.4g}", design.margin);
    return fmt::format("primary {}, margin {}, alpha {:.4g}, {} {} blocks; boots in random order, paired by block",
                       primary, margin, design.alpha, design.fixed ? "fixed at" : "looks after", joined(looks, ", "));
}

/// "deferred-free and per-ns-work are the same machine code"
std::vector<std::string> same_code(const ReportInput& report, const std::vector<int>& arms) {
    std::map<std::string, std::vector<std::string>> by_code;
    for (const int arm : arms) {
        const auto& signature = report.kernels[static_cast<std::size_t>(arm)].code_signature;
        if (!signature.empty()) by_code[signature].push_back(report.tree.arms[static_cast<std::size_t>(arm)].name);
    }
    std::vector<std::string> texts;
    for (const auto& [signature, names] : by_code)
        if (names.size() > 1)
            texts.push_back(fmt::format("{} are the same machine code ({}): any difference between them is noise",
                                        joined(names, " and "), short_hash(signature)));
    return texts;
}

}  // namespace

Section setup_section(const ReportInput& report) {
    const auto& evaluation = report.tree.evaluation;
    const Fields fields(report);
    Section section{"Setup", {}};
    Pairs common;
    common.rows.emplace_back("evaluation", fmt::format("{}, {}", evaluation.uid, evaluation.status));
    common.rows.emplace_back("date", utc(evaluation.started_at.value_or(evaluation.created_at)));
    Pairs differing;
    std::map<std::string, std::vector<std::string>> per_arm;
    const auto& arms = fields.arms();
    for (const auto& field : fields.all()) {
        std::set<std::string> values(field.of_arm.begin(), field.of_arm.end());
        values.erase("");
        if (values.empty()) continue;
        const bool everywhere = std::count(field.of_arm.begin(), field.of_arm.end(), "") == 0;
        if (values.size() == 1 && (everywhere || field.label != "patches")) {
            common.rows.emplace_back(field.label, *values.begin());
            continue;
        }
        for (std::size_t i = 0; i < arms.size(); ++i)
            if (!field.of_arm[i].empty())
                per_arm[report.tree.arms[static_cast<std::size_t>(arms[i])].name].push_back(field.label + ": " +
                                                                                            field.of_arm[i]);
    }
    common.rows.emplace_back("machine", machine(report));
    if (const auto emulator = of_boots(report, &store::BootReport::emulator); !emulator.empty())
        common.rows.emplace_back("emulator", emulator);
    common.rows.emplace_back("design", design(report));
    for (const auto& text : same_code(report, arms)) common.rows.emplace_back("code", text);
    section.parts.emplace_back(std::move(common));
    section.parts.emplace_back(Paragraph{"The arms, and what differs between them:"});
    for (const int arm : arms) {
        const auto& row = report.tree.arms[static_cast<std::size_t>(arm)];
        std::string text = joined(per_arm[row.name], "; ");
        if (!row.against.empty()) text += fmt::format("{}against {}", text.empty() ? "" : "; ", row.against);
        differing.rows.emplace_back(row.name, text.empty()          ? "baseline"
                                              : row.against.empty() ? text + "; baseline"
                                                                    : text);
    }
    section.parts.emplace_back(std::move(differing));
    return section;
}

}  // namespace kab::report
