// Which build of the loops to use: the best the processor has, or what KERNLINE_TARGET asks for. A name that cannot be had
// is an error, not the default in silence: who sets it means to measure or to reproduce something.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "loops.hpp"

namespace kernline {

// The builds that run here, the best last. Elsewhere than on x86 the baseline is the only one: on 64-bit ARM it has NEON
// already.
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
  throw std::invalid_argument("KERNLINE_TARGET=" + std::string(wanted) + " names no build of kernline that runs on this processor. Unset it for the best, or choose of: " + names + ".");
}

inline const Loops& loops() {
  static const Loops& chosen = choose_loops();
  return chosen;
}

}  // namespace kernline
