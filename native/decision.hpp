// f_p(x_i) = intercept_p + sum_j phi(u_ij) . W_pj for every row of a range and every problem p.
#pragma once

#include <algorithm>

#include "methods.hpp"

namespace kernline::KERNLINE_TARGET {

// Rows that stay in cache while one problem's weights after another pass over them.
constexpr std::int64_t rows_a_block = 64;

inline void decision(const RowsView& view, const TableView& table, const float* weights, std::int64_t stride,
                     const float* intercepts, std::int64_t n_problems, std::int64_t begin, std::int64_t end,
                     double* out) {
  with_reader(view, table, [&](const auto& rows, const auto& read) {
    for (std::int64_t block = begin; block < end; block += rows_a_block) {
      const std::int64_t block_end = std::min(block + rows_a_block, end);
      for (std::int64_t p = 0; p < n_problems; ++p) {
        for (std::int64_t i = block; i < block_end; ++i) {
          out[i * n_problems + p] = static_cast<double>(read_row(rows.row(i), read, weights + p * stride)) + intercepts[p];
        }
      }
    }
  });
}

}  // namespace kernline::KERNLINE_TARGET
