// phi(u_ij) . W_pj of every cell of a range of rows and every problem p: what each column adds to f_p(x_i).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "loops/class_sums.hpp"
#include "loops/methods.hpp"

namespace kernline::KERNLINE_TARGET {

// The products of one term with the weights of all problems, `lanes` at a time. The last lanes overlap those before
// them, so that whole vectors are stored.
template <int lanes, int run>
void weigh(const Term& term, int run_time_run, const WeightsView& weights, float* to) {
  using Vector = typename Lanes<lanes>::Vector;
  const int length = run ? run : run_time_run;
  const auto products = [&](std::int64_t p) {
    Vector sum = {};
    const float* slot = term.weights + p;
    for (int r = 0; r < length; ++r, slot += weights.stride) {
      Vector w;
      std::memcpy(&w, slot, sizeof w);
      sum += w * term.phi[r];
    }
    return sum;
  };
  const std::int64_t n = weights.n_problems;
  if (n < lanes) {
    const Vector sum = products(0);
    std::memcpy(to, &sum, static_cast<std::size_t>(n) * sizeof(float));
    return;
  }
  for (std::int64_t p = 0; p < n; p += lanes) {
    const std::int64_t at = std::min(p, n - lanes);
    const Vector sum = products(at);
    std::memcpy(to + at, &sum, sizeof sum);
  }
}

template <int run>
void weigh_term(const Term& term, int run_time_run, const WeightsView& weights, float* to) {
  if (weights.stride >= 8) return weigh<8, run>(term, run_time_run, weights, to);
  if (weights.stride == 4) return weigh<4, run>(term, run_time_run, weights, to);
  float sum = 0.0f;
  for (int r = 0; r < (run ? run : run_time_run); ++r) sum += term.weights[r] * term.phi[r];
  *to = sum;
}

// `out` is [cell][problem] for all cells of the view, row by row, and zero where a cell is.
inline void contributions(const RowsView& view, const TableView& table, const WeightsView& weights, std::int64_t begin,
                          std::int64_t end, float* out) {
  with_reader(view, table, [&](const auto& rows, const auto& read) {
    using Table = std::decay_t<decltype(read)>;
    TermList list;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto row = rows.row(i);
      float* to = out + (view.row_start ? view.row_start[i] : i * view.n_features) * weights.n_problems;
      for (std::int64_t k = 0; k < row.size(); ++k, to += weights.n_problems) {
        const auto cell = row.cell(k);
        if (is_zero(cell)) continue;
        const float* own = weights.data + row.column(k) * read.width() * weights.stride;
        weigh_term<run_of<Table>>(list.one(read, cell, own, weights.stride), read.width(), weights, to);
      }
    }
  });
}

}  // namespace kernline::KERNLINE_TARGET
