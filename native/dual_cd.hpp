// Dual coordinate descent for the SVM, on any pair of tables.
//
//   min_alpha  1/2 alpha' Q alpha - sum_i alpha_i,   0 <= alpha_i <= C_i,   Q_ij = y_i y_j (K(x_i, x_j) + b^2)
//
// (hinge loss; the squared hinge adds alpha_i^2 / (4 C_i) and drops the upper bound). A visit of row i takes the exact
// minimum over alpha_i, with m_i = 1 - y_i f(x_i) read from the weights:
//
//   alpha_i <- clip(alpha_i + m_i / Q_ii, 0, C_i),   W_j += y_i (change of alpha_i) s_j psi(u_ij)
//
// in random order: Hsieh, Chang, Lin, Keerthi, Sundararajan, "A dual coordinate descent method for large-scale linear
// SVM", ICML 2008. What the visits give for nothing is kept: the dual objective, and each row's share of the gap. It takes
// the place of that paper's shrinking: a row whose share is negligible is not updated, and rests for a growing number of
// epochs (dual_state.hpp). On MNIST that halved the visits that a gap of 1 % takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

#include "dual_state.hpp"
#include "methods.hpp"

namespace kernline::KERNLINE_TARGET {

using Clock = std::chrono::steady_clock;

// Rows between two looks at the clock: about 100,000 cells, well below a millisecond.
inline std::int64_t rows_between_clock_reads(const RowsView& view) {
  const std::int64_t cells = view.row_start ? view.row_start[view.n_rows] : view.n_rows * view.n_features;
  const std::int64_t cells_a_row = cells / std::max<std::int64_t>(view.n_rows, 1) + 1;
  return std::max<std::int64_t>(1, 100000 / cells_a_row);
}

// Rows are drawn this far ahead of their visit: first their offset is fetched, then their cells, so that random order
// costs little more than running through the rows.
constexpr std::int64_t lookahead = 8;
constexpr std::int64_t cell_lookahead = 2;

// Random order waits for memory. Where most rows are visited, blocks of neighbours are shuffled, and the rows within each:
// all but as random, and the data is run through almost in its order.
constexpr std::int64_t block_length = 64;

inline void shuffle_blocks(DualState& state) {
  const std::int64_t n_blocks = state.n_active / block_length;
  for (std::int64_t block = 0; block < n_blocks; ++block) {
    std::int32_t* here = state.order + block * block_length;
    std::int32_t* there = here + state.random.below(n_blocks - block) * block_length;
    if (here != there) std::swap_ranges(here, here + block_length, there);
  }
}

// Chooses the row to visit at `position` among those that are left, of its block or of all.
inline void draw(DualState& state, std::int64_t position) {
  if (!state.shuffle || position >= state.n_active) return;
  std::int64_t end = state.n_active;
  if (state.in_blocks) end = std::min(end, (position / block_length + 1) * block_length);
  std::swap(state.order[position], state.order[position + state.random.below(end - position)]);
}

inline void begin_epoch(DualState& state) {
  state.in_epoch = true;
  state.cursor = 0;
  state.active_gap = 0.0;
  state.n_active = 0;
  for (std::int64_t i = 0; i < state.n_rows; ++i) {
    if (state.rests[i].left == 0) {
      state.order[state.n_active++] = static_cast<std::int32_t>(i);
    } else {
      --state.rests[i].left;
    }
  }
  state.in_blocks = 2 * state.n_active > state.n_rows;
  if (state.shuffle && state.in_blocks) shuffle_blocks(state);
  for (std::int64_t s = 0; s < lookahead; ++s) draw(state, s);
}

template <class Row, class Read, class Write>
inline void visit(DualState& state, std::int64_t i, const Row& row, const Read& read, const Write& write) {
  Coordinate& coordinate = state.coordinates[i];
  const double sign = coordinate.signed_cost < 0.0f ? -1.0 : 1.0;
  const double cost = sign * coordinate.signed_cost;
  const double alpha = coordinate.alpha;

  const double margin = 1.0 - sign * (read_row(row, read, state.weights) + state.intercept);
  const double gap = DualLoss::gap(state.loss, cost, alpha, margin);
  state.active_gap += gap;
  if (gap <= state.negligible) return state.rests[i].begin();
  state.rests[i].level = 0;

  const DualLoss dual_loss(state.loss, cost);
  const double gradient = dual_loss.diagonal * alpha - margin;
  const double curvature = coordinate.curvature + dual_loss.diagonal;
  const double target = curvature > 0.0 ? alpha - gradient / curvature : (gradient < 0.0 ? dual_loss.bound : 0.0);
  const double updated = std::clamp(target, 0.0, dual_loss.bound);
  const double change = updated - alpha;
  if (change == 0.0) return;

  coordinate.alpha = updated;
  state.dual -= change * (gradient + 0.5 * curvature * change);
  const float step = static_cast<float>(sign * change);
  write_row(row, write, state.weights, step, state.scales);
  state.intercept += step * state.intercept_square;
}

// Goes on with the present epoch until it ends (true) or the time is up (false).
inline bool sweep(const RowsView& view, const MethodView& method, DualState& state, double seconds) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  const std::int64_t stride = rows_between_clock_reads(view);
  bool finished = false;
  if (!state.in_epoch) begin_epoch(state);
  with_method(view, method, [&](const auto& rows, const auto& read, const auto& write) {
    std::int64_t visits = 0;
    while (state.cursor < state.n_active) {
      if (++visits % stride == 0 && Clock::now() > deadline) return;
      const std::int64_t ahead = state.cursor + lookahead;
      draw(state, ahead);
      if (ahead < state.n_active) {
        rows.prefetch_start(state.data_row(state.order[ahead]));
        __builtin_prefetch(state.coordinates + state.order[ahead]);
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

// Sums the weights anew from alpha in double precision: the many small float32 updates leave an error that the gap of a
// nearly solved problem would show. Visits the rows with alpha_i > 0 only; the caller takes over the sums when it is done.
inline bool rebuild(const RowsView& view, const MethodView& method, DualState& state, double seconds) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  const std::int64_t stride = rows_between_clock_reads(view);
  with_method(view, method, [&](const auto& rows, const auto&, const auto& write) {
    for (std::int64_t visits = 1; state.rebuilt < state.n_rows; ++state.rebuilt, ++visits) {
      if (visits % stride == 0 && Clock::now() > deadline) return;
      const Coordinate& coordinate = state.coordinates[state.rebuilt];
      if (coordinate.alpha == 0.0) continue;
      const double step = coordinate.signed_cost < 0.0f ? -coordinate.alpha : coordinate.alpha;
      write_row(rows.row(state.data_row(state.rebuilt)), write, state.exact_weights, step, state.scales);
      state.exact_intercept += step * state.intercept_square;
    }
  });
  return state.rebuilt >= state.n_rows;
}

// The exact gap at the present weights: one pass over all rows, resting ones included.
inline bool evaluate(const RowsView& view, const MethodView& method, DualState& state, double seconds) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  const std::int64_t stride = rows_between_clock_reads(view);
  if (state.evaluated == 0) state.gap = state.loss_sum = state.squared_norm = 0.0;
  with_reader(view, method.read, [&](const auto& rows, const auto& read) {
    for (std::int64_t visits = 1; state.evaluated < state.n_rows; ++state.evaluated, ++visits) {
      if (visits % stride == 0 && Clock::now() > deadline) return;
      const Coordinate& coordinate = state.coordinates[state.evaluated];
      const double sign = coordinate.signed_cost < 0.0f ? -1.0 : 1.0;
      const double cost = sign * coordinate.signed_cost;
      const double value = read_row(rows.row(state.data_row(state.evaluated)), read, state.weights) + state.intercept;
      const double margin = 1.0 - sign * value;
      state.gap += DualLoss::gap(state.loss, cost, coordinate.alpha, margin);
      state.loss_sum += DualLoss::primal(state.loss, cost, margin);
      state.squared_norm += coordinate.alpha * sign * value;
    }
  });
  if (state.evaluated < state.n_rows) return false;
  state.evaluated = 0;
  state.dual = state.loss_sum + 0.5 * state.squared_norm - state.gap;
  return true;
}

}  // namespace kernline::KERNLINE_TARGET
