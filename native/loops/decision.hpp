// f_p(x_i) = intercept_p + sum_j phi(u_ij) . W_pj for every row of a range and every problem p.
#pragma once

#include "loops/class_sums.hpp"
#include "loops/methods.hpp"

namespace kernline::KERNLINE_TARGET {

// `weights.data` is [slot][problem] with `stride` floats per slot: 1 for a single problem, else a multiple of 4.
// `out` starts with row `begin`.
inline void decision(const RowsView& view, const TableView& table, const WeightsView& weights, std::int64_t begin,
                     std::int64_t end, double* out) {
  with_reader(view, table, [&](const auto& rows, const auto& read) {
    using Table = std::decay_t<decltype(read)>;
    if (weights.stride == 1) {
      for (std::int64_t i = begin; i < end; ++i) {
        *out++ = static_cast<double>(read_row(rows.row(i), read, weights.data)) + weights.intercepts[0];
      }
      return;
    }
    TermList list;
    Scratch<float> scratch;
    float* sums = scratch.room(weights.stride);
    for (std::int64_t i = begin; i < end; ++i, out += weights.n_problems) {
      const auto row = rows.row(i);
      const auto& terms = terms_of(row, read, weights.data, weights.stride, list);
      class_sums<run_of<Table>>(terms, read.width(), weights.stride, sums);
      for (std::int64_t p = 0; p < weights.n_problems; ++p) {
        out[p] = static_cast<double>(sums[p]) + weights.intercepts[p];
      }
    }
  });
}

}  // namespace kernline::KERNLINE_TARGET
