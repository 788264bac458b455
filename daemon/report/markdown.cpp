#include "daemon/report/document.h"

#include <algorithm>

namespace kab::report {
namespace {

/// Text that markdown would take for its own marks.
std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '|' || c == '*' || c == '_' || c == '<' || c == '`' || c == '[' || c == '\\') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result;
}

/// What none of the lines can end.
std::string fence(const std::vector<std::string>& lines) {
    std::size_t longest = 2;
    for (const auto& line : lines) {
        std::size_t run = 0;
        for (const char c : line) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
    }
    return std::string(longest + 1, '`');
}

class Markdown {
  public:
    std::string render(const Document& document) {
        out_ = "# " + escaped(document.title) + "\n";
        for (const auto& section : document.sections) {
            if (!section.heading.empty()) out_ += "\n## " + escaped(section.heading) + "\n";
            for (const auto& part : section.parts) {
                out_ += "\n";
                std::visit([this](const auto& one) { print(one); }, part);
            }
        }
        return std::move(out_);
    }

  private:
    void print(const Paragraph& paragraph) { out_ += escaped(paragraph.text) + "\n"; }
    void print(const Pairs& pairs) {
        out_ += "| | |\n|---|---|\n";
        for (const auto& [name, text] : pairs.rows) out_ += "| " + escaped(name) + " | " + escaped(text) + " |\n";
    }
    void print(const Items& items) {
        for (const auto& item : items.items) out_ += "- " + escaped(item) + "\n";
    }
    void print(const Commands& commands) {
        out_ += "```sh\n";
        for (const auto& words : commands.lines) {
            for (std::size_t i = 0; i < words.size(); ++i) out_ += (i == 0 ? "" : " ") + shell_quoted(words[i]);
            out_ += "\n";
        }
        out_ += "```\n";
    }
    void print(const Verbatim& verbatim) {
        const auto marks = fence(verbatim.lines) + "\n";
        out_ += marks;
        for (const auto& line : verbatim.lines) out_ += line + "\n";
        out_ += marks;
    }
    void print(const Table& table) {
        if (!table.title.empty()) out_ += "**" + escaped(table.title) + "**\n";
        if (!table.caution.empty()) out_ += "*" + escaped(table.caution) + "*\n";
        if (!table.title.empty() || !table.caution.empty()) out_ += "\n";
        row(table.header);
        out_ += "|";
        for (const char align : table.align) out_ += align == 'r' ? "---:|" : "---|";
        out_ += "\n";
        for (const auto& cells : table.rows) row(cells);
        if (!table.notes.empty()) out_ += "\n";
        for (const auto& note : table.notes) out_ += "- " + escaped(note) + "\n";
    }
    void row(const std::vector<std::string>& cells) {
        out_ += "|";
        for (const auto& cell : cells) out_ += " " + escaped(cell) + " |";
        out_ += "\n";
    }

    std::string out_;
};

}  // namespace

std::string to_markdown(const Document& document) {
    return plain(Markdown().render(document));
}

}  // namespace kab::report
