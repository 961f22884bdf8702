// The products that a primal method needs, for any rows and read table phi: X w, X' t, X' S X w and X' S X over the rows of
// a list, where the rows of X are the phi(u_i). X is never formed.
#pragma once

#include <algorithm>
#include <type_traits>

#include "loops/class_sums.hpp"
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

// sums[a][b] += factor phi_a phi_b for the slots a of term k of a row, and the slots b <= a of the terms up to it.
template <class Run>
void add_term_products(const TermList& terms, std::int64_t k, const float* zero, double factor, Run run,
                       std::int64_t stride, double* sums) {
  const Term term = terms[k];
  double* into = sums + (term.weights - zero) * stride;
  for (int s = 0; s < run; ++s, into += stride) {
    const double product = factor * static_cast<double>(term.phi[s]);
    if (product == 0.0) continue;
    for (std::int64_t before = 0; before < k; ++before) {
      const Term other = terms[before];
      double* at = into + (other.weights - zero);
      for (int q = 0; q < run; ++q) at[q] += product * static_cast<double>(other.phi[q]);
    }
    double* at = into + (term.weights - zero);
    for (int q = 0; q <= s; ++q) at[q] += product * static_cast<double>(term.phi[q]);
  }
}

// sums[a][b] += sum_k t_k phi_a(u_i) phi_b(u_i) for i = members[k], the slots a of some columns, and b <= a; `stride`
// numbers per slot a. Several rows are walked side by side, column by column, so that the sums of a column stay in a cache.
inline void add_products(const RowsView& view, const TableView& table, const double* t, const std::int32_t* members,
                         std::int64_t n_members, std::int64_t first_column, std::int64_t end_column,
                         std::int64_t stride, double* sums) {
  constexpr std::int64_t rows_at_once = 32;
  TermList lists[rows_at_once];
  const auto* zero = reinterpret_cast<const float*>(sums);  // a slot is a difference from any pointer
  with_adder(view, table, [&](const auto& rows, const auto& read) {
    using Table = std::decay_t<decltype(read)>;
    const std::int64_t first = first_column * read.width(), end = end_column * read.width();
    const auto add_all = [&](auto run) {
      for (std::int64_t begin = 0; begin < n_members; begin += rows_at_once) {
        const std::int64_t n = std::min(rows_at_once, n_members - begin);
        std::int64_t longest = 0;
        for (std::int64_t r = 0; r < n; ++r) {
          lists[r].of(rows.row(members[begin + r]), read, zero, 1);
          longest = std::max(longest, lists[r].size());
        }
        for (std::int64_t k = 0; k < longest; ++k) {
          for (std::int64_t r = 0; r < n; ++r) {
            if (k >= lists[r].size()) continue;
            const std::int64_t slot = lists[r][k].weights - zero;
            if (slot >= first && slot < end) add_term_products(lists[r], k, zero, t[begin + r], run, stride, sums);
          }
        }
      }
    };
    if constexpr (run_of<Table> > 0) {
      add_all(std::integral_constant<int, run_of<Table>>{});
    } else {
      add_all(read.width());
    }
  });
}

}  // namespace kernline::KERNLINE_TARGET
