#include "daemon/results/csv_table.h"

#include "daemon/results/reader.h"

namespace kab::results {
namespace {

class Parser {
  public:
    Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {
        if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
    }

    Result<std::vector<CsvRow>> parse() {
        std::vector<CsvRow> rows;
        while (at_ < text_.size()) {
            CsvRow row;
            row.line = line_;
            if (const auto done = parse_row(row); !done) return pass(done);
            const bool blank = row.fields.size() == 1 && trimmed(row.fields.front()).empty();
            if (!blank) rows.push_back(std::move(row));
        }
        return rows;
    }

  private:
    /// At a line end (which it then passes) or at the end of the text.
    bool end_of_row() {
        if (at_ >= text_.size()) return true;
        if (text_.substr(at_).starts_with("\r\n")) ++at_;
        if (text_[at_] != '\n') return false;
        ++at_;
        ++line_;
        return true;
    }

    Status parse_row(CsvRow& row) {
        for (;;) {
            row.fields.emplace_back();
            if (at_ < text_.size() && text_[at_] == '"') {
                if (const auto done = parse_quoted(row.fields.back()); !done) return done;
            } else {
                const auto end = std::min(text_.find_first_of(",\n", at_), text_.size());
                row.fields.back() = text_.substr(at_, end - at_);
                if (end < text_.size() && text_[end] == '\n' && row.fields.back().ends_with('\r'))
                    row.fields.back().pop_back();
                at_ = end;
            }
            if (end_of_row()) return {};
            if (text_[at_] != ',')
                return wrong(name_, line_,
                             "text after the closing quote of a field; a quote inside a field is written twice (\"\")");
            ++at_;
        }
    }

    Status parse_quoted(std::string& field) {
        const int begin = line_;
        for (++at_; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '"') {
                if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') {
                    ++at_;
                    return {};
                }
                ++at_;
            }
            line_ += c == '\n' ? 1 : 0;
            field += c;
        }
        return wrong(name_, begin, "a quoted field without its closing quote");
    }

    std::string_view text_;
    const std::string& name_;
    std::size_t at_ = 0;
    int line_ = 1;
};

}  // namespace

Result<std::vector<CsvRow>> parse_csv(std::string_view text, const std::string& name) {
    return Parser(text, name).parse();
}

}  // namespace kab::results
