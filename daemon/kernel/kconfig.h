#pragma once
// What a tree's Kconfig files know about symbols; read only to explain why something was not granted.
#include <map>
#include <string>
#include <vector>

#include "common/files.h"
#include "daemon/kernel/text/config.h"

namespace kab::kernel {

struct KconfigSymbol {
    bool prompt = false;               ///< somebody may set it; else it follows from others
    std::vector<std::string> depends;  ///< its "depends on" expressions
};

class Kconfig {
  public:
    /// Reads all Kconfig files below `source`, of this machine's architecture only.
    static Kconfig read(const fs::path& source);
    /// Adds what one Kconfig file says.
    void add(const std::string& text);

    /// "CONFIG_IPC_NSS=y does not exist in this kernel; did you mean CONFIG_IPC_NS?"
    std::string explain(const NotGranted& setting) const;

  private:
    std::map<std::string, KconfigSymbol> symbols_;
};

/// All of them in one line (the first few in full, with the places of those after the first). Fault::spec; `where` is
/// the first one's place.
Error explain_not_granted(const std::vector<NotGranted>& settings, const Kconfig& kconfig);

}  // namespace kab::kernel
