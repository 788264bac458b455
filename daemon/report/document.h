#pragma once
// A report before it has a form: headings, paragraphs, tables. Text and markdown are two ways to print it.
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kab::report {

struct Paragraph {
    std::string text;
};

/// "label   text", the text wrapped beside its label.
struct Pairs {
    std::vector<std::pair<std::string, std::string>> rows;
};

struct Items {
    std::vector<std::string> items;
};

struct Table {
    std::string title;
    std::string caution;  ///< a line under the title; may be empty
    std::string align;    ///< a letter a column: l or r
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows;  ///< each as long as the header
    std::vector<std::string> notes;              ///< below the table
};

/// Shell commands to copy: each a list of arguments, which are quoted when printed.
struct Commands {
    std::vector<std::vector<std::string>> lines;
};

/// Lines as they are, such as a kernel printed them; what is beyond the width is cut.
struct Verbatim {
    std::vector<std::string> lines;
};

using Part = std::variant<Paragraph, Pairs, Items, Table, Commands, Verbatim>;

struct Section {
    std::string heading;  ///< empty for the first
    std::vector<Part> parts;
};

struct Document {
    std::string title;
    std::vector<Section> sections;
};

inline constexpr std::size_t text_width = 78;

/// No line is longer than text_width.
std::string to_text(const Document& document);
std::string to_markdown(const Document& document);

/// Columns a terminal needs for UTF-8 without combining or wide characters.
std::size_t display_width(const std::string& text);

/// Spaces that no line is broken at, and back.
std::string unbroken(std::string text);
std::string plain(std::string text);

/// As a POSIX shell reads it: in quotes where it needs them.
std::string shell_quoted(const std::string& word);

/// Leading spaces are kept on every line. Lines of at most `width` columns; words longer than that are cut.
std::vector<std::string> wrap(const std::string& text, std::size_t width);

}  // namespace kab::report
