#pragma once
// Loops over arrays of doubles, compiled once for each width of registers.
#include <cstddef>

/// Before a function: which of its versions runs is found out when the program starts and changes no digit, for none of
/// them fuses or reorders an operation.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_UNDEFINED__)
#define KAB_WIDE __attribute__((target_clones("default", "avx2", "arch=x86-64-v4"), optimize("O3")))
#else
#define KAB_WIDE
#endif

namespace kab::stats {

inline constexpr std::size_t lanes = 4;
/// Four numbers side by side; arithmetic is on each, in what registers there are.
using Lanes = double __attribute__((vector_size(lanes * sizeof(double))));

}  // namespace kab::stats
