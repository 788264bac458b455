#pragma once
#include <cstdint>

namespace kab::qemu {

/// The rate of this machine's time stamp counter in kHz; guests are told it because they cannot
/// calibrate it under emulation. From CPUID (leaf 0x15, or the hypervisor's 0x40000010), else measured
/// against CLOCK_MONOTONIC_RAW, which takes 50 ms. 0 if it makes no sense. The same for the process's life.
std::int64_t measure_tsc_khz();

}  // namespace kab::qemu
