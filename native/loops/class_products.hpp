// The products that a joint method needs, for all problems at once: X' R for any rows and read table phi, and X W and X' R
// for tables of pairs of columns. R and W have `stride` floats per row and slot, as in class_sums.hpp.
#pragma once

#include <type_traits>

#include "loops/class_sums.hpp"
#include "loops/methods.hpp"
#include "views/pairs.hpp"

namespace kernline::KERNLINE_TARGET {

// Calls f with the stride, known at compile time if it is one of the usual ones.
template <class F>
void with_stride(std::int64_t stride, F&& f) {
  if (stride == 1) return f(std::integral_constant<std::int64_t, 1>{});
  if (stride == 4) return f(std::integral_constant<std::int64_t, 4>{});
  if (stride == 8) return f(std::integral_constant<std::int64_t, 8>{});
  if (stride == 16) return f(std::integral_constant<std::int64_t, 16>{});
  f(stride);
}

// into_p += factor * r_p
template <class Stride>
void add_row(float factor, const float* r, Stride stride, float* into) {
#pragma omp simd
  for (std::int64_t p = 0; p < stride; ++p) into[p] += factor * r[p];
}

// sums[slot][p] += sum_i r_ip phi(u_i) over the rows of a range. `r` starts with row `begin`.
inline void add_classes(const RowsView& view, const TableView& table, const float* r, std::int64_t stride,
                        std::int64_t begin, std::int64_t end, float* sums) {
  with_adder(view, table, [&](const auto& rows, const auto& read) {
    using Table = std::decay_t<decltype(read)>;
    const int length = run_of<Table> ? run_of<Table> : read.width();
    TermList list;
    with_stride(stride, [&](auto wide) {
      for (std::int64_t i = begin; i < end; ++i, r += wide) {
        const auto row = rows.row(i);
        const auto& terms = terms_of(row, read, static_cast<const float*>(sums), stride, list);
        for (std::int64_t k = 0; k < terms.size(); ++k) {
          const Term term = terms[k];
          float* into = sums + (term.weights - sums);
          for (int s = 0; s < length; ++s, into += wide) add_row(term.phi[s], r, wide, into);
        }
      }
    });
  });
}

// f(slot, share) for the corners of the cell of a row in the table of a pair, at most four; for none without a place.
template <class F>
void for_corners(const PairsView& pairs, const std::uint8_t* codes, std::int64_t pair, F&& f) {
  const std::int32_t first = pairs.axes[2 * pair], second = pairs.axes[2 * pair + 1];
  const Place a = pairs.places[256 * first + codes[first]], b = pairs.places[256 * second + codes[second]];
  if (a.position < 0 || b.position < 0) return;
  const std::int64_t width = pairs.sizes[second];
  const std::int64_t slot = pairs.start[pair] + a.position * width + b.position;
  const auto along_second = [&](std::int64_t at, float weight) {
    f(at, weight * (1.0f - b.share));
    if (b.share != 0.0f) f(at + 1, weight * b.share);
  };
  along_second(slot, 1.0f - a.share);
  if (a.share != 0.0f) along_second(slot + width, a.share);
}

// out[i][p] += the tables' values at the rows of a range. `out` starts with row `begin`.
inline void read_pairs(const PairsView& pairs, const float* weights, std::int64_t stride, std::int64_t n_problems,
                       std::int64_t begin, std::int64_t end, double* out) {
  Scratch<float> scratch;
  float* sums = scratch.room(stride);
  with_stride(stride, [&](auto wide) {
    for (std::int64_t i = begin; i < end; ++i, out += n_problems) {
      for (std::int64_t p = 0; p < wide; ++p) sums[p] = 0.0f;
      const std::uint8_t* codes = pairs.codes + i * pairs.n_axes;
      for (std::int64_t pair = 0; pair < pairs.n_pairs; ++pair) {
        for_corners(pairs, codes, pair,
                    [&](std::int64_t slot, float share) { add_row(share, weights + slot * wide, wide, sums); });
      }
      for (std::int64_t p = 0; p < n_problems; ++p) out[p] += static_cast<double>(sums[p]);
    }
  });
}

// sums[slot][p] += sum_i r_ip times the row's shares. `r` starts with row `begin`.
inline void add_pairs(const PairsView& pairs, const float* r, std::int64_t stride, std::int64_t begin, std::int64_t end,
                      float* sums) {
  with_stride(stride, [&](auto wide) {
    for (std::int64_t i = begin; i < end; ++i, r += wide) {
      const std::uint8_t* codes = pairs.codes + i * pairs.n_axes;
      for (std::int64_t pair = 0; pair < pairs.n_pairs; ++pair) {
        for_corners(pairs, codes, pair,
                    [&](std::int64_t slot, float share) { add_row(share, r, wide, sums + slot * wide); });
      }
    }
  });
}

// histogram[cell][p] += r_ip, where the cell is that of two columns of bins. `r` starts with row `begin`.
inline void add_cells(const std::uint8_t* first, const std::uint8_t* second, std::int64_t width, const float* r,
                      std::int64_t stride, std::int64_t n_rows, float* histogram) {
  for (std::int64_t i = 0; i < n_rows; ++i) {
    add_row(1.0f, r + i * stride, stride, histogram + (first[i] * width + second[i]) * stride);
  }
}

}  // namespace kernline::KERNLINE_TARGET
