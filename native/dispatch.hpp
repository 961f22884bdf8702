// Which build of the loops to use: the best the processor has, or what KERNLINE_TARGET asks for.
#pragma once

#include <cstdlib>
#include <cstring>

#include "loops.hpp"

namespace kernline {

inline const Loops& choose_loops() {
  const char* wanted = std::getenv("KERNLINE_TARGET");
#ifdef KERNLINE_HAS_AVX2
  const bool allowed = wanted == nullptr || std::strcmp(wanted, "avx2") == 0;
  if (allowed && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::loops;
#endif
  (void)wanted;
  return baseline::loops;
}

inline const Loops& loops() {
  static const Loops& chosen = choose_loops();
  return chosen;
}

}  // namespace kernline
