#pragma once
// The tools a kernel is built with, and the settings that make equal inputs give equal code.
#include <string>

#include "common/process/run.h"
#include "common/result.h"

namespace kab::kernel {

/// Part of every kernel's key: to be raised when the recipe (flags, environment, steps) changes the code.
inline constexpr const char* recipe = "kab-kernel-1";

/// First lines of the compiler's, assembler's and linker's --version, one a line, and pahole's if there is one (whether
/// a configuration will want BTF is not known before it is made). Fault::build names what is
/// missing and the Debian package that has it.
Result<std::string> find_toolchain();

/// uname's machine; Fault::build if kab cannot build kernels for it.
Result<std::string> find_architecture();

/// Jobs for make -j.
unsigned parallel_jobs();

/// make in `source` with `output` as its O= and `temporary` as its TMPDIR and HOME, in an environment of its own:
/// nothing the caller has set (ARCH, KCFLAGS, MAKEFLAGS, ...) reaches the kernel's Makefile.
ProcessSpec make_command(const fs::path& source, const fs::path& output, const fs::path& temporary,
                         std::vector<std::string> args);

}  // namespace kab::kernel
