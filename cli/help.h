#pragma once
// The texts of --help.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

namespace kab::cli {

/// CLI11's layout, wrapped at 79 columns. Descriptions and footers are written as one line a paragraph.
class HelpFormatter final : public CLI::Formatter {
  public:
    HelpFormatter();

    std::string make_option_opts(const CLI::Option* option) const override;
    std::string make_option_desc(const CLI::Option* option) const override;
    std::string make_subcommand(const CLI::App* command) const override;
    std::string make_description(const CLI::App* command) const override;
    std::string make_footer(const CLI::App* command) const override;
};

/// What the exit codes of `run` and `watch` say.
inline constexpr const char* verdict_exit_codes =
    "Exit codes: 0 done and nothing regressed, 1 a regression, 2 wrong usage or experiment, 3 a fault of kab's own "
    "(build, host, daemon), 4 inconclusive or invalid, 130 cancelled.";
/// Of the commands that only show what is known.
inline constexpr const char* reading_exit_codes =
    "Exit codes: 0 printed, whatever the verdict is; 2 there is no such evaluation; 3 a fault of kab's own.";

}  // namespace kab::cli
