#include <algorithm>

#include "daemon/report/document.h"

namespace kab::report {

std::size_t display_width(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

namespace {

constexpr const char* no_break_space = "\xC2\xA0";

/// Bytes of the first `columns` characters.
std::size_t bytes_of(const std::string& text, std::size_t columns) {
    std::size_t at = 0;
    for (std::size_t seen = 0; at < text.size(); ++at) {
        const bool starts = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
        if (starts && seen++ == columns) break;
    }
    return at;
}

/// Where a word that is too long may be cut: after a hyphen, slash or underscore if there is one, else at the width.
std::size_t cut_of(const std::string& word, std::size_t width) {
    const std::size_t most = bytes_of(word, width);
    const auto mark = word.find_last_of("-/,_", most - 1);
    return mark == std::string::npos || mark + 1 < most / 2 ? most : mark + 1;
}

}  // namespace

std::string unbroken(std::string text) {
    for (auto at = text.find(' '); at != std::string::npos; at = text.find(' ', at))
        text.replace(at, 1, no_break_space);
    return text;
}

std::string plain(std::string text) {
    for (auto at = text.find(no_break_space); at != std::string::npos; at = text.find(no_break_space, at))
        text.replace(at, 2, " ");
    return text;
}

std::string shell_quoted(const std::string& word) {
    constexpr const char* plain_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (!word.empty() && word.find_first_not_of(plain_characters) == std::string::npos) return word;
    if (word.find('\'') != std::string::npos && word.find_first_of("\"$`\\!") == std::string::npos)
        return "\"" + word + "\"";
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::vector<std::string> wrap(const std::string& text, std::size_t full_width) {
    std::vector<std::string> lines;
    std::string line;
    std::size_t at = std::min(text.find_first_not_of(' '), text.size());
    const std::string indent(std::min(at, full_width / 2), ' ');
    const std::size_t width = full_width - indent.size();
    const auto flush = [&] {
        if (!line.empty()) lines.push_back(indent + line);
        line.clear();
    };
    while (at < text.size()) {
        const auto end = std::min(text.find_first_of(" \n", at), text.size());
        std::string word = text.substr(at, end - at);
        at = end + 1;
        if (!line.empty() && display_width(line) + 1 + display_width(word) > width) flush();
        while (display_width(word) > width) {
            const auto cut = cut_of(word, width);
            lines.push_back(indent + word.substr(0, cut));
            word.erase(0, cut);
        }
        if (!word.empty()) line += (line.empty() ? "" : " ") + word;
    }
    flush();
    if (lines.empty()) lines.emplace_back();
    return lines;
}

namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t widest_label = 26, narrowest_label = 14;

/// The first part of a word that fits into `width` columns once quoted; the rest stays in `word`.
std::string cut_quoted(std::string& word, std::size_t width) {
    std::size_t columns = width;
    std::string part;
    do {
        part = shell_quoted(word.substr(0, bytes_of(word, columns)));
    } while (display_width(part) > width && --columns > 1);
    word.erase(0, bytes_of(word, columns));
    return part;
}

std::string padded(const std::string& text, std::size_t width, char align) {
    const auto own = display_width(text);
    const std::string space(width > own ? width - own : 0, ' ');
    return align == 'r' ? space + text : text + space;
}

std::string without_trailing_space(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

class Text {
  public:
    std::string render(const Document& document) {
        lines(wrap(document.title, text_width), "");
        out_ += std::string(display_width(out_.substr(0, out_.find('\n'))), '=') + "\n";
        for (const auto& section : document.sections) {
            if (!section.heading.empty())
                out_ += "\n" + section.heading + "\n" + std::string(display_width(section.heading), '-') + "\n";
            bool first = section.heading.empty() ? (out_ += "\n", true) : true;
            for (const auto& part : section.parts) {
                if (!first) out_ += "\n";
                first = false;
                std::visit([this](const auto& one) { print(one); }, part);
            }
        }
        return std::move(out_);
    }

  private:
    /// The first line after `lead`, the others below it.
    void lines(const std::vector<std::string>& all, const std::string& lead) {
        std::string indent = lead;
        for (const auto& line : all) {
            out_ += without_trailing_space(indent + line) + "\n";
            indent.assign(display_width(lead), ' ');
        }
    }
    void print(const Paragraph& paragraph) { lines(wrap(paragraph.text, text_width), ""); }
    void print(const Pairs& pairs) {
        std::size_t label = 0;
        for (const auto& [name, text] : pairs.rows) label = std::max(label, display_width(name));
        label = std::min(label, widest_label);
        for (const auto& [name, text] : pairs.rows) {
            if (display_width(name) > label) lines(wrap(name, text_width), "");
            const std::string lead =
                display_width(name) > label ? std::string(label + gap, ' ') : padded(name, label + gap, 'l');
            lines(wrap(text, text_width - label - gap), lead);
        }
    }
    void print(const Items& items) {
        for (const auto& item : items.items) lines(wrap(item, text_width - 2), "- ");
    }
    void print(const Commands& commands) {
        for (const auto& words : commands.lines) print_command(words);
    }
    void print(const Verbatim& verbatim) {
        for (const auto& line : verbatim.lines)
            out_ += without_trailing_space("    " + line.substr(0, bytes_of(line, text_width - 4))) + "\n";
    }
    void print_command(const std::vector<std::string>& words);
    void print(const Table& table);
    void print_columns(const Table& table, std::size_t label, const std::vector<std::size_t>& columns,
                       const std::vector<std::size_t>& widths);

    std::string out_;
};

/// Broken between arguments only. One too long for a line goes on at the margin of the next: a shell joins the two.
void Text::print_command(const std::vector<std::string>& words) {
    std::string line = "   ";
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string tail = i + 1 < words.size() ? " \\" : "";
        std::string rest = words[i];
        if (display_width(line + " " + shell_quoted(rest) + tail) > text_width) {
            out_ += line + " \\\n";
            line = "     ";
        }
        line += " ";
        while (display_width(line + shell_quoted(rest) + tail) > text_width) {
            out_ += line + cut_quoted(rest, text_width - display_width(line) - 1) + "\\\n";
            line.clear();
        }
        line += shell_quoted(rest);
    }
    out_ += line + "\n";
}

void Text::print(const Table& table) {
    if (!table.title.empty()) lines(wrap(table.title, text_width), "");
    if (!table.caution.empty()) lines(wrap(table.caution, text_width), "");
    std::vector<std::size_t> widths(table.header.size(), 0);
    const auto measure = [&](const std::vector<std::string>& row) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
    };
    measure(table.header);
    for (const auto& row : table.rows) measure(row);
    std::size_t label = std::min(widths[0], widest_label), all = label;
    for (std::size_t i = 1; i < widths.size(); ++i) all += gap + widths[i];
    // Long labels are folded where that keeps the table in one piece.
    if (all > text_width && all - text_width + narrowest_label <= label) label -= all - text_width;
    // Columns that do not fit beside each other go into another table below, with the labels again.
    std::vector<std::size_t> columns;
    std::size_t used = label;
    for (std::size_t i = 1; i < widths.size(); ++i) {
        widths[i] = std::min(widths[i], text_width - label - gap);
        if (!columns.empty() && used + gap + widths[i] > text_width) {
            print_columns(table, label, columns, widths);
            out_ += "\n";
            if (!table.caution.empty()) lines(wrap(table.caution, text_width), "");
            columns.clear();
            used = label;
        }
        columns.push_back(i);
        used += gap + widths[i];
    }
    print_columns(table, label, columns, widths);
    for (const auto& note : table.notes) lines(wrap(note, text_width - 2), "  ");
}

void Text::print_columns(const Table& table, std::size_t label, const std::vector<std::size_t>& columns,
                         const std::vector<std::size_t>& widths) {
    std::size_t total = label;
    for (const auto column : columns) total += gap + widths[column];
    const auto row_out = [&](const std::vector<std::string>& row) {
        std::vector<std::vector<std::string>> cells{wrap(row[0], label)};
        for (const auto column : columns) cells.push_back(wrap(row[column], widths[column]));
        std::size_t height = 0;
        for (const auto& cell : cells) height = std::max(height, cell.size());
        for (std::size_t h = 0; h < height; ++h) {
            const auto part = [&](std::size_t i) { return h < cells[i].size() ? cells[i][h] : std::string(); };
            std::string line = padded(part(0), label, table.align[0]);
            for (std::size_t i = 0; i < columns.size(); ++i)
                line += std::string(gap, ' ') + padded(part(i + 1), widths[columns[i]], table.align[columns[i]]);
            out_ += without_trailing_space(line) + "\n";
        }
    };
    row_out(table.header);
    out_ += std::string(total, '-') + "\n";
    for (const auto& row : table.rows) row_out(row);
}

}  // namespace

std::string to_text(const Document& document) {
    return plain(Text().render(document));
}

}  // namespace kab::report
