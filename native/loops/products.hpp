// The products that a primal method needs, for any rows and read table phi: X w, X' t and X' S X w over the rows of a list,
// where the rows of X are the phi(u_i). X is never formed.
#pragma once

#include "loops/methods.hpp"

namespace kernline::KERNLINE_TARGET {

// out_k = sum_j phi(u_ij) . W_j for i = members[k]
inline void read_members(const RowsView& view, const TableView& table, const float* weights,
                         const std::int32_t* members, std::int64_t n_members, double* out) {
  with_reader(view, table, [&](const auto& rows, const auto& read) {
    for (std::int64_t k = 0; k < n_members; ++k) {
      if (k + 8 < n_members) rows.prefetch_start(members[k + 8]);
      if (k + 2 < n_members) rows.prefetch(members[k + 2]);
      out[k] = static_cast<double>(read_row(rows.row(members[k]), read, weights));
    }
  });
}

// sums_j += sum_k t_k phi(u_ij) for i = members[k], in double precision
inline void add_members(const RowsView& view, const TableView& table, const double* t, const std::int32_t* members,
                        std::int64_t n_members, double* sums) {
  with_adder(view, table, [&](const auto& rows, const auto& read) {
    for (std::int64_t k = 0; k < n_members; ++k) {
      if (k + 8 < n_members) rows.prefetch_start(members[k + 8]);
      if (k + 2 < n_members) rows.prefetch(members[k + 2]);
      write_row(rows.row(members[k]), read, sums, t[k], NoScales{});
    }
  });
}

// sums_j += sum_k s_k v_k phi(u_ij) with v_k = intercept + sum_j phi(u_ij) . W_j, for i = members[k]. Returns the sum of
// s_k v_k. One pass: a row is still in the cache when it is added. Single precision, so lists should be short.
inline double add_image(const RowsView& view, const TableView& table, const float* weights, float intercept,
                        const float* s, const std::int32_t* members, std::int64_t n_members, float* sums) {
  double total = 0.0;
  with_adder(view, table, [&](const auto& rows, const auto& read) {
    for (std::int64_t k = 0; k < n_members; ++k) {
      if (k + 8 < n_members) rows.prefetch_start(members[k + 8]);
      if (k + 2 < n_members) rows.prefetch(members[k + 2]);
      const auto row = rows.row(members[k]);
      const float value = s[k] * (read_row(row, read, weights) + intercept);
      write_row(row, read, sums, value, NoScales{});
      total += value;
    }
  });
  return total;
}

}  // namespace kernline::KERNLINE_TARGET
