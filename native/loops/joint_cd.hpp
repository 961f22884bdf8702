// Dual coordinate descent for the joint loss of all classes, on any symmetric pair of tables.
//
//   max_beta  sum_i beta_{i, y_i} - sum_k (1/2 beta_k' (K + s) beta_k + b0_k sum_i beta_ik)
//
// under the constraints of crammer_singer.hpp. A visit of row i reads f_k(x_i) of all classes in one pass over its cells,
// takes the exact maximum over the row's beta, and writes the changes of all classes in another. Order, rests and the share of
// the gap are as in dual_cd.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "loops/class_sums.hpp"
#include "loops/crammer_singer.hpp"
#include "loops/dual_cd.hpp"
#include "loops/methods.hpp"
#include "loops/scratch.hpp"
#include "views/joint_state.hpp"
#include "views/visit_order.hpp"

namespace kernline::KERNLINE_TARGET {

// psi of a cell, for tables that a symmetric method writes.
template <int width>
inline const float* psi_of(const DenseTable<width>& table, const unsigned& code) {
  return table.data + static_cast<std::int64_t>(code) * table.width();
}
inline const float* psi_of(const ValueTable&, const float& value) { return &value; }

template <class Table>
constexpr bool is_written_jointly = false;
template <int width>
constexpr bool is_written_jointly<DenseTable<width>> = true;
template <>
constexpr bool is_written_jointly<ValueTable> = true;

// Memory of one visit.
struct JointScratch {
  explicit JointScratch(const JointState& state)
      : sums(floats.room(2 * state.stride)),
        change(sums + state.stride),
        g(doubles.room(2 * state.stride)),
        a(g + state.stride),
        blocks(numbers.room(state.stride / block_classes)) {
    for (std::int64_t k = 0; k < state.stride; ++k) change[k] = 0.0f;
  }

  TermList terms;
  Scratch<float> floats;
  Scratch<double> doubles;
  Scratch<std::int64_t> numbers;
  float* sums;
  float* change;  // of beta; zero beyond the last class
  double* g;
  double* a;
  std::int64_t* blocks;  // the first class of every block with a change
  std::int64_t n_blocks = 0;
};

// The row, with f_k(x_i) of all classes from the sums.
inline JointRow joint_row(const JointState& state, std::int64_t i, JointScratch& scratch) {
  const std::int64_t label = state.labels[i];
  for (std::int64_t k = 0; k < state.n_classes; ++k) {
    scratch.g[k] = static_cast<double>(scratch.sums[k]) + state.offset(i, k) + 1.0;
  }
  scratch.g[label] -= 1.0;
  return {state.n_classes, label, state.cost[i], state.beta + i * state.n_classes, scratch.g};
}

// Moves the row's beta to their best values; returns whether any changed.
[[gnu::noinline]] inline bool move_row(JointState& state, std::int64_t i, JointScratch& scratch) {
  const JointRow row = joint_row(state, i, scratch);
  const double gap = row.gap();
  state.active_gap += gap;
  if (gap <= state.negligible) {
    state.rests[i].begin();
    return false;
  }
  state.rests[i].level = 0;
  const double K = state.curvature[i], constant = state.constant(i);
  best_beta(row, K, scratch.a, scratch.change);
  float* beta = state.beta + i * state.n_classes;
  scratch.n_blocks = 0;
  for (std::int64_t k = 0; k < state.n_classes; ++k) {
    const float updated = scratch.change[k];
    const float change = scratch.change[k] = updated - beta[k];
    if (change == 0.0f) continue;
    const auto step = static_cast<double>(change);
    beta[k] = updated;
    state.dual -= step * (scratch.g[k] + 0.5 * K * step);
    state.intercepts[k] += step * constant;
    state.beta_sums[k] += step;
    const std::int64_t block = k - k % block_classes;
    if (scratch.n_blocks == 0 || scratch.blocks[scratch.n_blocks - 1] != block) {
      scratch.blocks[scratch.n_blocks++] = block;
    }
  }
  return scratch.n_blocks > 0;
}

// W_kj += change_k s_j psi(u_ij) for the classes k of some blocks.
template <class Row, class Table, class Weight>
inline void write_blocks(const Row& row, const Table& table, Weight* weights, std::int64_t stride, const Weight* change,
                         const std::int64_t* blocks, std::int64_t n_blocks, const float* scales) {
  const std::int64_t size = row.size();
  for (std::int64_t k = 0; k < size; ++k) {
    const auto cell = row.cell(k);
    if (is_zero(cell)) continue;
    const std::int64_t column = row.column(k);
    const float* psi = psi_of(table, cell);
    Weight* slot = weights + column * table.width() * stride;
    for (int q = 0; q < table.width(); ++q, slot += stride) {
      const Weight factor = static_cast<Weight>(psi[q]) * static_cast<Weight>(scales[column]);
      for (std::int64_t b = 0; b < n_blocks; ++b) {
        Weight* into = slot + blocks[b];
        const Weight* from = change + blocks[b];
#pragma omp simd
        for (std::int64_t lane = 0; lane < block_classes; ++lane) into[lane] += factor * from[lane];
      }
    }
  }
}

template <class Row, class Read>
inline void read_classes(const JointState& state, const Row& row, const Read& read, JointScratch& scratch) {
  const auto& terms = terms_of(row, read, state.weights, state.stride, scratch.terms);
  class_sums<run_of<Read>>(terms, read.width(), state.stride, scratch.sums);
}

// A visit costs up to 16 times as much for every block of classes as one of a binary problem.
inline std::int64_t joint_rows_between_clock_reads(const RowsView& view, const JointState& state) {
  return std::max<std::int64_t>(1, rows_between_clock_reads(view) / state.stride);
}

// Continues the current epoch until it ends (true) or the time is up (false).
inline bool joint_sweep(const RowsView& view, const MethodView& method, JointState& state, double seconds) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  const std::int64_t interval = joint_rows_between_clock_reads(view, state);
  if (!state.in_epoch) begin_epoch(state, lookahead);
  JointScratch scratch(state);
  with_method(view, method, [&](const auto& rows, const auto& read, const auto& write) {
    if constexpr (is_written_jointly<std::decay_t<decltype(write)>>) {
      for (std::int64_t visits = 1; state.cursor < state.n_active; ++visits) {
        if (visits % interval == 0 && Clock::now() > deadline) return;
        const std::int64_t ahead = state.cursor + lookahead;
        draw(state, ahead);
        if (ahead < state.n_active) {
          rows.prefetch_start(state.data_row(state.order[ahead]));
          __builtin_prefetch(state.beta + state.order[ahead] * state.n_classes);
          rows.prefetch(state.data_row(state.order[state.cursor + cell_lookahead]));
        }
        const std::int64_t i = state.order[state.cursor++];
        const auto row = rows.row(state.data_row(i));
        read_classes(state, row, read, scratch);
        if (!move_row(state, i, scratch)) continue;
        write_blocks(row, write, state.weights, state.stride, scratch.change, scratch.blocks, scratch.n_blocks,
                     state.scales);
      }
    }
  });
  if (state.cursor < state.n_active) return false;
  state.in_epoch = false;
  return true;
}

// Sums the weights of the current block of classes again from beta, in double precision; the caller takes the sums.
inline bool joint_rebuild(const RowsView& view, const MethodView& method, JointState& state, double seconds) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  const std::int64_t interval = joint_rows_between_clock_reads(view, state);
  const std::int64_t n = std::min(block_classes, state.n_classes - state.rebuilt_class);
  const std::int64_t only_block = 0;
  with_method(view, method, [&](const auto& rows, const auto&, const auto& write) {
    if constexpr (is_written_jointly<std::decay_t<decltype(write)>>) {
      for (std::int64_t visits = 1; state.rebuilt < state.n_rows; ++state.rebuilt, ++visits) {
        if (visits % interval == 0 && Clock::now() > deadline) return;
        const float* from = state.beta + state.rebuilt * state.n_classes + state.rebuilt_class;
        double beta[block_classes] = {};
        bool any = false;
        for (std::int64_t k = 0; k < n; ++k) {
          beta[k] = static_cast<double>(from[k]);
          any = any || beta[k] != 0.0;
          state.exact_intercepts[k] += beta[k] * state.constant(state.rebuilt);
          state.exact_sums[k] += beta[k];
        }
        if (!any) continue;
        write_blocks(rows.row(state.data_row(state.rebuilt)), write, state.exact_weights, block_classes, beta,
                     &only_block, 1, state.scales);
      }
    }
  });
  return state.rebuilt >= state.n_rows;
}

// The exact gap at the current weights: one pass over all rows, including resting ones.
inline bool joint_evaluate(const RowsView& view, const MethodView& method, JointState& state, double seconds) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  const std::int64_t interval = joint_rows_between_clock_reads(view, state);
  JointScratch scratch(state);
  if (state.evaluated == 0) state.gap = state.loss_sum = state.squared_norm = 0.0;
  with_reader(view, method.read, [&](const auto& rows, const auto& read) {
    for (std::int64_t visits = 1; state.evaluated < state.n_rows; ++state.evaluated, ++visits) {
      if (visits % interval == 0 && Clock::now() > deadline) return;
      read_classes(state, rows.row(state.data_row(state.evaluated)), read, scratch);
      const JointRow row = joint_row(state, state.evaluated, scratch);
      state.gap += row.gap();
      state.loss_sum += row.loss();
      state.squared_norm += row.beta_times_f();
    }
  });
  if (state.evaluated < state.n_rows) return false;
  state.evaluated = 0;
  double from_centres = 0.0;
  for (std::int64_t k = 0; k < state.n_classes; ++k) from_centres += state.centres[k] * state.beta_sums[k];
  state.dual = state.loss_sum + 0.5 * (state.squared_norm - from_centres) - state.gap;
  return true;
}

// Multiplies costs and beta, and updates the dual objective, as `grow` does for one problem.
inline void joint_grow(JointState& state, double factor) {
  double linear = 0.0;
  for (std::int64_t i = 0; i < state.n_rows; ++i) {
    float* beta = state.beta + i * state.n_classes;
    linear += static_cast<double>(beta[state.labels[i]]);
    state.cost[i] = static_cast<float>(state.cost[i] * factor);
    for (std::int64_t k = 0; k < state.n_classes; ++k) beta[k] = static_cast<float>(beta[k] * factor);
    beta[state.labels[i]] = std::min(beta[state.labels[i]], state.cost[i]);
  }
  state.dual = factor * linear - factor * factor * (linear - state.dual);
}

}  // namespace kernline::KERNLINE_TARGET
