// CSV: rows with a header that has at least `value`, or one column of numbers. `kab report --format csv` is read too.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "common/suggest.h"
#include "daemon/results/csv_table.h"
#include "daemon/results/reader.h"

namespace kab::results {
namespace {

const std::vector<std::string> known_columns{"arm",  "block",  "iteration", "metric", "value",  "workload", "point",
                                             "unit", "better", "scale",     "warmup", "reason", "control",  "role"};

class Rows {
  public:
    Rows(const std::vector<CsvRow>& rows, const std::string& name) : rows_(rows), name_(name) {}

    Result<Results> read() {
        if (const auto done = read_header(); !done) return pass(done);
        for (std::size_t i = 1; i < rows_.size(); ++i)
            if (const auto done = read_row(rows_[i]); !done) return pass(done);
        return collector_.finish();
    }

  private:
    Status read_header() {
        const auto& header = rows_.front();
        std::string ignored;
        for (std::size_t i = 0; i < header.fields.size(); ++i) {
            const std::string column(trimmed(header.fields[i]));
            const auto known = std::find(known_columns.begin(), known_columns.end(), column);
            if (known == known_columns.end()) {
                if (number(column))
                    return wrong(name_, header.line,
                                 "'{}' stands where the names of the columns should: the first line is a header, such "
                                 "as arm,block,iteration,metric,value",
                                 column);
                ignored += (ignored.empty() ? "" : ", ") + column;
            } else if (!columns_.emplace(column, i).second) {
                return wrong(name_, header.line, "column '{}' appears twice", column);
            }
        }
        if (!columns_.contains("value")) return no_value(header);
        if (!ignored.empty()) collector_.note("columns not used: " + ignored);
        return {};
    }

    Status no_value(const CsvRow& header) const {
        std::string near;
        for (const auto& field : header.fields)
            if (suggest(field, {"value"}) == "value") near = fmt::format(" (is it '{}'?)", field);
        return wrong(name_, header.line,
                     "there is no column 'value'{}: the columns are arm, block, iteration, metric, value in any order "
                     "(only value is needed), or the file is one column of numbers",
                     near);
    }

    std::string text(const CsvRow& row, const char* column) const {
        const auto found = columns_.find(column);
        return found == columns_.end() ? std::string() : std::string(trimmed(row.fields[found->second]));
    }

    Result<std::optional<int>> whole(const CsvRow& row, const char* column) const {
        if (!columns_.contains(column)) return std::nullopt;
        const auto field = text(row, column);
        int value = 0;
        const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
        if (error != std::errc() || end != field.data() + field.size() || value < 0)
            return wrong(name_, row.line, "{}: expected a whole number from 0, not '{}'", column, field);
        return value;
    }

    Status read_row(const CsvRow& row) {
        if (row.fields.size() != rows_.front().fields.size())
            return wrong(name_, row.line, "{} fields, but the header has {}", row.fields.size(),
                         rows_.front().fields.size());
        if (const auto warmup = text(row, "warmup"); !warmup.empty() && warmup != "0") {
            collector_.skip("values of warm-ups");
            return {};
        }
        if (const auto control = text(row, "control"); !control.empty() && control != "0") {
            collector_.skip("values of the control arm");
            return {};
        }
        if (text(row, "role") == "relinked") {
            collector_.skip("values of the relinked arm");
            return {};
        }
        if (columns_.contains("arm") && text(row, "arm").empty())
            return wrong(name_, row.line, "arm is empty: name it, or leave the column out");
        const auto block = whole(row, "block");
        if (!block) return pass(block);
        const auto iteration = whole(row, "iteration");
        if (!iteration) return pass(iteration);
        const auto series = metric_of(row);
        if (!series) return pass(series);
        const int arm = columns_.contains("arm") ? collector_.arm(text(row, "arm")) : 0;
        return add(row, *series, arm, *block, *iteration);
    }

    Result<std::size_t> metric_of(const CsvRow& row) {
        std::string metric = text(row, "metric");
        if (metric.empty()) {
            if (columns_.contains("metric"))
                return wrong(name_, row.line, "metric is empty: name it, or leave the column out");
            metric = "value";
        }
        std::string workload = text(row, "workload");
        if (const auto point = text(row, "point"); !point.empty()) workload += " (" + point + ")";
        const auto unit = text(row, "unit"), better = text(row, "better"), scale = text(row, "scale");
        const auto index = collector_.metric(workload, metric, unit);
        auto& series = collector_.at(index);
        if (series.unit != unit)
            return wrong(name_, row.line, "metric {} is in '{}' here, but in '{}' further up", metric, unit,
                         series.unit);
        if (!better.empty()) {
            if (better != "lower" && better != "higher" && better != "neither")
                return wrong(name_, row.line, "better: expected lower, higher or neither, not '{}'", better);
            series.better = better == "lower" ? Better::lower : better == "higher" ? Better::higher : Better::neither;
        }
        if (!scale.empty()) {
            if (scale != "log" && scale != "linear")
                return wrong(name_, row.line, "scale: expected log or linear, not '{}'", scale);
            series.scale = scale == "log" ? Scale::log : Scale::linear;
        }
        return index;
    }

    Status add(const CsvRow& row, std::size_t series, int arm, std::optional<int> block, std::optional<int> iteration) {
        const auto field = text(row, "value"), reason = text(row, "reason");
        if (field.empty()) {
            collector_.absent(full_name(collector_.at(series)), arm, reason.empty() ? "no value in the file" : reason);
            return {};
        }
        const auto value = number(field);
        if (!value)
            return wrong(name_, row.line,
                         "value: expected a number such as 12.5, or nothing where there is none, not '{}'", field);
        if (iteration && !seen_.insert({series, arm, block, *iteration}).second)
            return wrong(name_, row.line, "a second value of {} in the same iteration{}{}",
                         full_name(collector_.at(series)), block ? " of the same block" : "",
                         columns_.contains("arm") ? " and arm" : "");
        collector_.add(series, arm, block, iteration, *value);
        return {};
    }

    const std::vector<CsvRow>& rows_;
    const std::string& name_;
    std::map<std::string, std::size_t> columns_;
    std::set<std::tuple<std::size_t, int, std::optional<int>, int>> seen_;
    Collector collector_{Format::csv};
};

Result<Results> read_column(const std::vector<CsvRow>& rows, const std::string& name) {
    Collector collector(Format::csv);
    const bool named = !number(rows.front().fields.front());
    const auto metric =
        collector.metric("", named ? std::string(trimmed(rows.front().fields.front())) : std::string("value"), "");
    for (std::size_t i = named ? 1 : 0; i < rows.size(); ++i) {
        const auto& field = rows[i].fields.front();
        const auto value = number(field);
        if (!value)
            return wrong(name, rows[i].line, "expected a number such as 12.5, one a line, not '{}'{}", field,
                         field.find_first_of(";\t") == std::string::npos ? "" : "; columns are separated by commas");
        collector.add(metric, 0, std::nullopt, std::nullopt, *value);
    }
    return collector.finish();
}

}  // namespace

Result<Results> read_csv(std::string_view text, const std::string& name) {
    const auto rows = parse_csv(text, name);
    if (!rows) return pass(rows);
    if (rows->empty()) return wrong_at(name, "", "the file is empty");
    const auto one = [](const CsvRow& row) { return row.fields.size() == 1; };
    if (std::all_of(rows->begin(), rows->end(), one)) return read_column(*rows, name);
    return Rows(*rows, name).read();
}

}  // namespace kab::results
