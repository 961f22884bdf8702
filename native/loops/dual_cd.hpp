// Dual coordinate descent for the SVM, on any pair of tables.
//
//   max_beta  sum_i d_i(beta_i) - 1/2 beta' (K + s) beta - b0 sum(beta),   d_i(beta) = -c_i l*(t_i, -beta / c_i)
//
// for a loss l with targets t_i and costs c_i (losses.hpp); the intercept b = b0 + s sum(beta) is part of f. A visit of row i
// takes the exact maximum over beta_i, with f(x_i) read from the weights, and writes the change back:
//
//   beta_i <- step(beta_i, f(x_i)),   W_j += (change of beta_i) s_j psi(u_ij)
//
// in random order: Hsieh, Chang, Lin, Keerthi, Sundararajan, "A dual coordinate descent method for large-scale linear
// SVM", ICML 2008. Each visit also gives, at no cost, the dual objective and the row's share of the gap. The share replaces
// that paper's shrinking: a row with a negligible share is not updated, and rests for a growing number of epochs
// (visits.hpp). On MNIST that halved the visits needed for a gap of 1 %.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

#include "loops/losses.hpp"
#include "loops/methods.hpp"
#include "views/dual_state.hpp"
#include "views/visit_order.hpp"

namespace kernline::KERNLINE_TARGET {

using Clock = std::chrono::steady_clock;

// Rows between two readings of the clock: about 100,000 cells, well below a millisecond.
inline std::int64_t rows_between_clock_reads(const RowsView& view) {
  const std::int64_t cells = view.row_start ? view.row_start[view.n_rows] : view.n_rows * view.n_features;
  const std::int64_t cells_a_row = cells / std::max<std::int64_t>(view.n_rows, 1) + 1;
  return std::max<std::int64_t>(1, 100000 / cells_a_row);
}

// Rows are drawn this far ahead of their visit. Their offset is prefetched first, then their cells, so that random order
// costs little more than sequential order.
constexpr std::int64_t lookahead = 8;
constexpr std::int64_t cell_lookahead = 2;

// Moves beta_i to its best value, given f(x_i), and returns the change; zero where the row's share of the gap is negligible.
template <class Loss>
[[gnu::always_inline]] inline double move(DualState& state, const Loss& loss, std::int64_t i, double value) {
  Coordinate& row = state.coordinates[i];
  const auto [cost, target] = loss.terms(state, i);
  const double beta = row.beta, curvature = state.sigma * row.curvature;
  const double gap = loss.gap(cost, target, beta, value);
  state.active_gap += gap;
  if (gap <= state.negligible) {
    state.rests[i].begin();
    return 0.0;
  }
  state.rests[i].level = 0;
  const double updated = loss.step(cost, target, beta, value, curvature);
  const double change = updated - beta;
  if (change == 0.0) return 0.0;
  state.dual += dual_change(loss, cost, target, beta, updated) - change * (value + 0.5 * curvature * change);
  row.beta = updated;
  return change;
}

// One switch per visit, which always takes the same branch: a copy of every loop for every loss would make the core two
// thirds larger.
[[gnu::noinline]] inline double move_any(DualState& state, std::int64_t i, double value) {
  return with_loss(state.loss, [&](const auto& loss) { return move(state, loss, i, value); });
}

template <class Row, class Read, class Write>
inline void visit(DualState& state, std::int64_t i, const Row& row, const Read& read, const Write& write) {
  const double value = read_row(row, read, state.weights) + state.offset(i);
  const auto change = [&] {
    // For a row of three features, the call takes a tenth of the time.
    if constexpr (reads_fast<Row, Read>) {
      if (state.loss.kind == LossKind::hinge) return move(state, Hinge(state.loss), i, value);
      if (state.loss.kind == LossKind::squared_hinge) return move(state, SquaredHinge(state.loss), i, value);
    }
    return move_any(state, i, value);
  }();
  const auto step = static_cast<float>(change);
  if (step == 0.0f) return;
  if (pays_without_scales<Row, Write> && state.equal_scales) {
    write_row(row, write, state.weights, step * state.scales[0], NoScales{});
  } else {
    write_row(row, write, state.weights, step, state.scales);
  }
  state.add_to_offset(i, static_cast<double>(step));
}

// Continues the current epoch until it ends (true) or the time is up (false).
inline bool sweep(const RowsView& view, const MethodView& method, DualState& state, double seconds) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  const std::int64_t stride = rows_between_clock_reads(view);
  bool finished = false;
  if (!state.in_epoch) {
    begin_epoch(state, lookahead);
    state.repeats = state.most_repeats;
  }
  with_method(view, method, [&](const auto& rows, const auto& read, const auto& write) {
    std::int64_t visits = 0;
    while (state.cursor < state.n_active || visit_again(state, lookahead)) {
      if (++visits % stride == 0 && Clock::now() > deadline) return;
      const std::int64_t ahead = state.cursor + lookahead;
      draw(state, ahead);
      if (ahead < state.n_active) {
        rows.prefetch_start(state.data_row(state.order[ahead]));
        __builtin_prefetch(state.coordinates + state.order[ahead]);
        if (state.targets) __builtin_prefetch(state.targets + state.order[ahead]);
        if (state.means) __builtin_prefetch(state.means + state.order[ahead]);
        rows.prefetch(state.data_row(state.order[state.cursor + cell_lookahead]));
      }
      const std::int64_t i = state.order[state.cursor++];
      visit(state, i, rows.row(state.data_row(i)), read, write);
    }
    finished = true;
  });
  if (finished) state.in_epoch = false;
  return finished;
}

// Sums the weights again from beta in double precision: many small float32 updates leave an error that would show in the
// gap of a nearly solved problem. Visits only the rows with beta_i != 0; the caller takes the sums when it is done.
inline bool rebuild(const RowsView& view, const MethodView& method, DualState& state, double seconds) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  const std::int64_t stride = rows_between_clock_reads(view);
  with_method(view, method, [&](const auto& rows, const auto&, const auto& write) {
    for (std::int64_t visits = 1; state.rebuilt < state.n_rows; ++state.rebuilt, ++visits) {
      if (visits % stride == 0 && Clock::now() > deadline) return;
      const Coordinate& coordinate = state.coordinates[state.rebuilt];
      if (coordinate.beta == 0.0) continue;
      write_row(rows.row(state.data_row(state.rebuilt)), write, state.exact_weights, coordinate.beta, state.scales);
      state.exact_intercept += coordinate.beta * state.constant(state.rebuilt);
      state.exact_beta_sum += coordinate.beta;
    }
  });
  return state.rebuilt >= state.n_rows;
}

// Adds the changes of beta since it was `before` to the weights: much faster than a new sum where few rows change, and as
// exact as the sweeps before it were.
inline void follow(const RowsView& view, const MethodView& method, DualState& state, const double* before) {
  state.intercept = state.centre;
  state.beta_sum = 0.0;
  with_method(view, method, [&](const auto& rows, const auto&, const auto& write) {
    for (std::int64_t i = 0; i < state.n_rows; ++i) {
      const double beta = state.coordinates[i].beta;
      state.intercept += beta * state.constant(i);
      state.beta_sum += beta;
      const auto step = static_cast<float>(beta - before[i]);
      if (step != 0.0f) write_row(rows.row(state.data_row(i)), write, state.weights, step, state.scales);
    }
  });
}

// Adds row i to the sums of an evaluation.
[[gnu::noinline]] inline void account(DualState& state, std::int64_t i, double value) {
  with_loss(state.loss, [&](const auto& loss) {
    const double beta = state.coordinates[i].beta;
    const auto [cost, target] = loss.terms(state, i);
    state.gap += loss.gap(cost, target, beta, value);
    state.loss_sum += cost * loss.value(target, value);
    state.squared_norm += beta * value;
  });
}

// The exact gap at the current weights: one pass over all rows, including resting ones.
inline bool evaluate(const RowsView& view, const MethodView& method, DualState& state, double seconds) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  const std::int64_t stride = rows_between_clock_reads(view);
  if (state.evaluated == 0) state.gap = state.loss_sum = state.squared_norm = 0.0;
  with_reader(view, method.read, [&](const auto& rows, const auto& read) {
    for (std::int64_t visits = 1; state.evaluated < state.n_rows; ++state.evaluated, ++visits) {
      if (visits % stride == 0 && Clock::now() > deadline) return;
      const double value =
          read_row(rows.row(state.data_row(state.evaluated)), read, state.weights) + state.offset(state.evaluated);
      account(state, state.evaluated, value);
    }
  });
  if (state.evaluated < state.n_rows) return false;
  state.evaluated = 0;
  state.dual = state.loss_sum + 0.5 * (state.squared_norm - state.centre * state.beta_sum) - state.gap;
  return true;
}

// Multiplies costs and beta, and updates the dual objective: the solution for smaller costs becomes a start for larger
// costs, and rows at their bound stay there. The caller multiplies the weights.
inline void grow(DualState& state, double factor) {
  // The sum of d_i, which grows like beta. Its excess over the dual objective, half the norm, grows like the square.
  double linear = 0.0;
  with_loss(state.loss, [&](const auto& loss) {
    for (std::int64_t i = 0; i < state.n_rows; ++i) {
      Coordinate& row = state.coordinates[i];
      const auto [cost, target] = loss.terms(state, i);
      linear += loss.dual(cost, target, row.beta);
      row.signed_cost = static_cast<float>(row.signed_cost * factor);
      row.beta = loss.bounds(loss.terms(state, i).cost, target).clip(row.beta * factor);
    }
  });
  state.dual = factor * linear - factor * factor * (linear - state.dual);
}

// Sets beta, clipped to the float32 values of their bounds; returns whether they were within the bounds.
inline bool set_beta(DualState& state, const double* beta) {
  bool within = true;
  with_loss(state.loss, [&](const auto& loss) {
    for (std::int64_t i = 0; i < state.n_rows; ++i) {
      Coordinate& row = state.coordinates[i];
      const auto [cost, target] = loss.terms(state, i);
      row.beta = loss.bounds(cost, target).clip(beta[i]);
      within = within && std::abs(beta[i] - row.beta) <= 1e-6 * std::abs(row.beta);
    }
  });
  return within;
}

}  // namespace kernline::KERNLINE_TARGET
