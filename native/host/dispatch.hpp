// Chooses the build of the loops: the best that the processor supports, or the one that KERNLINE_TARGET names. An unavailable
// name is an error instead of a silent fallback, because the variable is set to measure or to reproduce something.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "views/loops.hpp"

namespace kernline {

// The available builds, the best last. On processors other than x86 there is only the baseline; on 64-bit ARM it includes
// NEON.
inline std::vector<const Loops*> runnable_loops() {
  std::vector<const Loops*> found = {&baseline::loops};
#ifdef KERNLINE_X86
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_avx2) found.push_back(&avx2::loops);
  if (has_avx2 && has_avx512) found.push_back(&avx512::loops);
#endif
  return found;
}

inline const Loops& choose_loops() {
  const std::vector<const Loops*> runnable = runnable_loops();
  const char* wanted = std::getenv("KERNLINE_TARGET");
  if (wanted == nullptr || *wanted == '\0') return *runnable.back();
  std::string names;
  for (const Loops* loops : runnable) {
    if (std::string(wanted) == loops->target) return *loops;
    names += (names.empty() ? "" : ", ") + std::string(loops->target);
  }
  throw std::invalid_argument(
      "KERNLINE_TARGET=" + std::string(wanted) +
      " is not available on this processor. Unset it to use the best, or choose one of: " + names + ".");
}

inline const Loops& loops() {
  static const Loops& chosen = choose_loops();
  return chosen;
}

}  // namespace kernline
