#pragma once
// The shell of guests: busybox of this machine, linked statically, as a guest has no libraries.
#include "common/files.h"

namespace kab::qemu {

/// $KAB_BUSYBOX, else /bin/busybox. Fault::infra when it is missing or needs libraries; names Debian's package.
Result<fs::path> find_busybox();

}  // namespace kab::qemu
