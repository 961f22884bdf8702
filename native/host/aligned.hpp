// Arrays of floats that begin at a cache line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace kernline {

// Sixteen floats per feature are one cache line if they are aligned.
struct AlignedDelete {
  void operator()(float* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using AlignedFloats = std::unique_ptr<float[], AlignedDelete>;

inline AlignedFloats aligned_zeros(std::size_t n) {
  AlignedFloats floats(static_cast<float*>(::operator new[](n * sizeof(float), std::align_val_t{64})));
  std::fill_n(floats.get(), n, 0.0f);
  return floats;
}

}  // namespace kernline
