#include "agent/host/qemu/tsc.h"

#include <cpuid.h>
#include <x86intrin.h>

#include <algorithm>
#include <ctime>
#include <limits>

namespace kab::qemu {
namespace {

struct Registers {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf) {
    Registers r;
    __cpuid(leaf, r.eax, r.ebx, r.ecx, r.edx);
    return r;
}

/// Leaf 0x15: crystal in Hz (ecx) times ebx / eax. Many processors leave the crystal out.
std::int64_t from_leaf_15() {
    if (cpuid(0).eax < 0x15) return 0;
    const Registers r = cpuid(0x15);
    if (r.eax == 0 || r.ebx == 0 || r.ecx == 0) return 0;
    return static_cast<std::int64_t>(std::uint64_t{r.ecx} * r.ebx / r.eax / 1000);
}

/// Leaf 0x40000010, a convention of several hypervisors: kHz in eax.
std::int64_t from_hypervisor() {
    const bool guest = (cpuid(1).ecx & (1U << 31)) != 0;
    if (!guest) return 0;
    const unsigned last = cpuid(0x40000000).eax;
    if (last < 0x40000010 || last > 0x400000FF) return 0;
    return cpuid(0x40000010).eax;
}

std::int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

struct Reading {
    std::int64_t ns = 0;
    std::int64_t ticks = 0;
};

/// Both clocks at the same moment: of several tries the one with the least between.
Reading read_both() {
    Reading best;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 16; ++i) {
        const auto before = static_cast<std::int64_t>(__rdtsc());
        const std::int64_t ns = now_ns();
        const auto after = static_cast<std::int64_t>(__rdtsc());
        if (after - before >= least) continue;
        least = after - before;
        best = {ns, before + (after - before) / 2};
    }
    return best;
}

std::int64_t calibrate() {
    constexpr timespec pause{0, 50'000'000};
    const Reading first = read_both();
    nanosleep(&pause, nullptr);
    const Reading second = read_both();
    const std::int64_t elapsed = second.ns - first.ns;
    if (elapsed <= 0) return 0;
    return (second.ticks - first.ticks) * 1'000'000 / elapsed;
}

bool plausible(std::int64_t khz) {
    return khz > 100'000 && khz < 20'000'000;
}

std::int64_t find_tsc_khz() {
    for (const auto source : {from_leaf_15, from_hypervisor, calibrate}) {
        if (const std::int64_t khz = source(); plausible(khz)) return khz;
    }
    return 0;
}

}  // namespace

std::int64_t measure_tsc_khz() {
    static const std::int64_t khz = find_tsc_khz();
    return khz;
}

}  // namespace kab::qemu
