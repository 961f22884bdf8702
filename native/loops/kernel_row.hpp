// One row of the Gaussian kernel, k(x, b) = exp(-gamma |x - b|^2) over all support vectors b. These are stored in blocks of
// 16, so that the inner loop runs over support vectors: one value of x meets one cache line.
//
// Dense rows use differences, which lose no digits if |x - b| is small compared with |x|. Sparse rows use
// |x|^2 + |b|^2 - 2 x.b, and touch only the columns of their non-zeros.
#pragma once

#include <cstdint>
#include <cstring>

#include "loops/rows.hpp"
#include "loops/vector_math.hpp"
#include "views/budget_state.hpp"

namespace kernline::KERNLINE_TARGET {

#if defined(__AVX512F__)
constexpr int row_lanes = 16;
#elif defined(__AVX__)
constexpr int row_lanes = 8;
#else
constexpr int row_lanes = 4;
#endif
using RowVector = float __attribute__((vector_size(4 * row_lanes)));
constexpr int vectors_a_block = static_cast<int>(block_slots) / row_lanes;
constexpr int most_blocks = 8 / vectors_a_block;  // eight sums, enough to hide the latency of an addition

template <class Row>
constexpr bool is_dense = false;
template <>
constexpr bool is_dense<DenseRows<float>::Row> = true;

// Sums over the cells of (x_j - b_j)^2, or of x_j b_j, for `blocks` blocks.
template <bool products, int blocks, class Row>
inline void cell_sums(const Row& row, const float* begin, std::int64_t block_size, float* out) {
  RowVector sum[blocks][vectors_a_block] = {};
  const std::int64_t n = row.size();
  for (std::int64_t k = 0; k < n; ++k) {
    const float value = row.cell(k);
    const float* cells = begin + row.column(k) * block_slots;
    for (int b = 0; b < blocks; ++b) {
      for (int v = 0; v < vectors_a_block; ++v) {
        RowVector x;
        std::memcpy(&x, cells + b * block_size + std::int64_t{v} * row_lanes, sizeof x);
        if constexpr (products) {
          sum[b][v] += x * value;
        } else {
          x -= value;
          sum[b][v] += x * x;
        }
      }
    }
  }
  std::memcpy(out, sum, sizeof sum);
}

template <bool products, class Row>
inline void all_cell_sums(const Row& row, const BlocksView& view, float* out) {
  const std::int64_t n_blocks = view.n_slots / block_slots, block_size = view.n_features * block_slots;
  std::int64_t block = 0;
  const auto add = [&]<int blocks>() {
    for (; block + blocks <= n_blocks; block += blocks) {
      cell_sums<products, blocks>(row, view.vectors + block * block_size, block_size, out + block * block_slots);
    }
  };
  add.template operator()<most_blocks>();
  if constexpr (most_blocks > 4) add.template operator()<4>();
  if constexpr (most_blocks > 3) add.template operator()<3>();
  if constexpr (most_blocks > 2) add.template operator()<2>();
  add.template operator()<1>();
}

template <class Row>
inline float squared_norm(const Row& row) {
  float sum = 0.0f;
  for (std::int64_t k = 0; k < row.size(); ++k) sum += row.cell(k) * row.cell(k);
  return sum;
}

// |x - b|^2 for all slots. `by_differences` is for dense data, whose slots have no multiplier.
template <class Row>
inline void squared_distances(const Row& row, const BlocksView& view, bool by_differences, float* out) {
  if constexpr (is_dense<Row>) {
    if (by_differences) return all_cell_sums<false>(row, view, out);
  }
  all_cell_sums<true>(row, view, out);
  const float norm = squared_norm(row);
  for (std::int64_t b = 0; b < view.n_slots; ++b) {
    const float squared = norm + view.norms[b] - 2.0f * (view.shrinks[b] * out[b]);
    out[b] = squared > 0.0f ? squared : 0.0f;
  }
}

// The kernel at given squared distances; returns the sum of count * kernel.
inline double kernel_values(const BlocksView& view, const float* __restrict distances, float* __restrict kernel) {
  const float exponent = view.exponent;
  const std::int64_t n = view.n_slots;
#pragma omp simd
  for (std::int64_t b = 0; b < n; ++b) kernel[b] = exp2_fast(exponent * distances[b]);
  RowVector sums[vectors_a_block] = {};
  for (std::int64_t b = 0; b < n; b += block_slots) {
    for (int v = 0; v < vectors_a_block; ++v) {
      RowVector count, value;
      std::memcpy(&count, view.counts + b + std::int64_t{v} * row_lanes, sizeof count);
      std::memcpy(&value, kernel + b + std::int64_t{v} * row_lanes, sizeof value);
      sums[v] += count * value;
    }
  }
  double total = 0.0;
  for (const RowVector& sum : sums) {
    for (int l = 0; l < row_lanes; ++l) total += sum[l];
  }
  return total;
}

}  // namespace kernline::KERNLINE_TARGET
