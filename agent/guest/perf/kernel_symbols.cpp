#include "agent/guest/perf/kernel_symbols.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <unordered_map>

#include "agent/guest/text.h"
#include "common/files.h"

namespace kab::guest {
namespace {

constexpr const char* kallsyms_path = "/proc/kallsyms";
constexpr std::uint64_t kallsyms_most = 64U << 20;

struct Symbol {
    std::uint64_t address = 0;
    char type = '?';
    std::string_view name;

    bool is_code() const { return std::string_view("tTwW").find(type) != std::string_view::npos; }
};

/// "ffffffff81000000 T name" or "... t name\t[module]".
std::optional<Symbol> parse_line(std::string_view line) {
    Symbol symbol;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), symbol.address, 16);
    const auto used = static_cast<std::size_t>(parsed.ptr - line.data());
    if (parsed.ec != std::errc{} || line.size() < used + 4 || line[used] != ' ' || line[used + 2] != ' ')
        return std::nullopt;
    symbol.type = line[used + 1];
    symbol.name = line.substr(used + 3);
    symbol.name = symbol.name.substr(0, symbol.name.find('\t'));
    if (symbol.name.empty()) return std::nullopt;
    return symbol;
}

/// Without what the compiler appends to the copies and parts that it makes of a function.
std::string_view base_name(std::string_view name) {
    for (const char* suffix : {".constprop.", ".isra.", ".part.", ".cold", ".llvm."})
        name = name.substr(0, name.find(suffix));
    return name;
}

/// The better name of an address has the lower rank.
auto rank(const Symbol& symbol) {
    const auto strength = std::string_view("TWtw").find(symbol.type);
    const auto underscores = std::min(symbol.name.find_first_not_of('_'), symbol.name.size());
    return std::tuple(strength, underscores, symbol.name);
}

}  // namespace

bool matches(std::string_view name, std::string_view pattern) {
    // After a mismatch the last star takes one character more: no recursion, no backtracking beyond it.
    std::size_t n = 0, p = 0, star = std::string_view::npos, resume = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = n;
        } else if (p < pattern.size() && pattern[p] == name[n]) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Result<KernelSymbols> KernelSymbols::parse(std::string kallsyms) {
    KernelSymbols known;
    known.text_ = std::make_unique<const std::string>(std::move(kallsyms));
    std::vector<Symbol> symbols;
    std::string_view rest = *known.text_;
    while (!rest.empty())
        if (const auto symbol = parse_line(next_line(rest))) symbols.push_back(*symbol);
    std::erase_if(symbols, [](const Symbol& s) { return s.address == 0; });  // hidden, or the start of the per-CPU area
    if (std::none_of(symbols.begin(), symbols.end(), [](const Symbol& s) { return s.is_code(); }))
        return fail(Fault::not_found, "{} has no addresses (needs CONFIG_KALLSYMS, and kernel.kptr_restrict 0 or 1)",
                    kallsyms_path);
    std::sort(symbols.begin(), symbols.end(), [](const Symbol& a, const Symbol& b) {
        return std::tuple(a.address, rank(a)) < std::tuple(b.address, rank(b));
    });

    std::unordered_map<std::string_view, Function> functions;
    bool frames = false, tables = false;
    for (std::size_t first = 0; first < symbols.size();) {
        std::size_t end = first;
        const Symbol* best = nullptr;  // data and code at one address: the end of one section, the start of another
        for (; end < symbols.size() && symbols[end].address == symbols[first].address; ++end)
            if (best == nullptr && symbols[end].is_code()) best = &symbols[end];
        Start start{symbols[first].address, {}};
        if (best != nullptr) {
            const auto [found, fresh] =
                functions.try_emplace(base_name(best->name), static_cast<Function>(known.names_.size()));
            if (fresh) known.names_.push_back(found->first);
            start.function = found->second;
            for (std::size_t i = first; i < end; ++i) {
                if (!symbols[i].is_code()) continue;
                known.all_names_.push_back({symbols[i].name, found->second});
                if (base_name(symbols[i].name) != symbols[i].name)
                    known.all_names_.push_back({base_name(symbols[i].name), found->second});
                // From arch/x86/kernel/unwind_frame.c and unwind_orc.c; arm64 has frame pointers always.
                frames |= symbols[i].name == "update_stack_state" || symbols[i].name == "cpu_switch_to";
                tables |= base_name(symbols[i].name) == "orc_find" || symbols[i].name == "unwind_module_init";
            }
        }
        known.starts_.push_back(start);
        first = end;
    }
    known.starts_.back().function.reset();  // where it ends is not known
    known.has_callers_ = frames || tables;
    return known;
}

Result<KernelSymbols> KernelSymbols::load() {
    auto text = read_file(kallsyms_path, kallsyms_most);
    if (!text) return fail(Fault::not_found, "{} (needs CONFIG_KALLSYMS)", text.error().text());
    return parse(std::move(*text));
}

std::optional<KernelSymbols::Function> KernelSymbols::find(std::uint64_t address) const {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), address,
                                        [](std::uint64_t a, const Start& start) { return a < start.address; });
    if (after == starts_.begin()) return std::nullopt;
    return std::prev(after)->function;
}

std::vector<bool> KernelSymbols::called(const std::vector<std::string>& patterns) const {
    std::vector<bool> is(count(), false);
    for (const auto& name : all_names_)
        for (const auto& pattern : patterns)
            if (matches(name.text, pattern)) is[name.function] = true;
    return is;
}

}  // namespace kab::guest
