// Stochastic gradient descent for the SVM of the Gaussian kernel on a budget (Wang, Crammer, Vucetic, "Breaking the curse
// of kernelization", JMLR 13, 2012):
//
//   min_w  lambda/2 |w|^2 + 1/n sum_i weight_i max(0, 1 - y_i f(x_i)),   f(x) = <w, phi(x)>,   lambda = 1 / (n C).
//
// With the step eta_t = 1 / (lambda t), w after t steps is 1 / (lambda t) times the sum of y_i weight_i phi(x_i) over the
// steps with a violation, y f < 1. So the coefficients are stored as counts and share one factor. The intercept is one more
// feature, the constant 1. If there are too many support vectors, two are merged (budget_maintenance.hpp).
#pragma once

#include "loops/budget_maintenance.hpp"

namespace kernline::KERNLINE_TARGET {

template <class F>
void with_values(const RowsView& view, F&& f) {
  switch (view.kind) {
    case RowKind::dense_values: return f(DenseRows<float>(view));
    case RowKind::sparse_values32: return f(SparseValueRows<std::int32_t>(view));
    case RowKind::sparse_values64: return f(SparseValueRows<std::int64_t>(view));
    default: return;  // the bindings refuse other rows
  }
}

template <class Row>
inline void maintain(BudgetState& state, const Row& row, double count, std::int64_t likeliest) {
  if (state.maintenance == Maintenance::merge && state.newest_is_least && likeliest >= 0) {
    PartnerSearch search(state, std::fabs(count));
    const Partner partner = search.refined(state.search, search.among_likely(state.search, likeliest));
    if (partner.slot >= 0) {
      return state.merged_at_once > 1 ? merge_several(state, row, count, search, partner)
                                      : merge_row(state, row, count, partner);
    }
  }
  insert(state, row, count);
  switch (state.maintenance) {
    case Maintenance::merge: return merge_least(state);
    case Maintenance::remove: return remove_slot(state, least_slot(state, 0.0, true));
    case Maintenance::project: return project(state);
  }
}

// Resets the weight of averaging to 1.
inline void settle_average(BudgetState& state) {
  const double factor = 1.0 / state.weight;
  for (std::int64_t b = 0; b < state.n_vectors; ++b) state.pasts[b] *= factor;
  state.bias_past *= factor;
  state.weight_sum *= factor;
  state.average_norm *= factor;
  state.weight = 1.0;
}

template <class Row>
inline void violation(BudgetState& state, const Row& row, double count) {
  ++state.n_violations;
  if (state.intercept) {
    state.bias += count;
    state.bias_past += state.weight_sum * count;
  }
  const bool full = state.n_vectors == state.budget;
  const bool timed = full && state.sampled && state.n_maintained % state.sampled == 0;
  const Clock::time_point begun = timed ? Clock::now() : Clock::time_point{};
  const std::int64_t likeliest = state.published ? -1 : fill_bounds(state, count, state.kernel_row);
  if (likeliest >= 0 && is_point(state, row, likeliest)) {
    const float before = state.counts[likeliest];  // the point is already a support vector
    state.counts[likeliest] += static_cast<float>(count);
    // The change in float32, or the average of a point seen 2^24 times would drift.
    state.pasts[likeliest] += state.weight_sum * (state.counts[likeliest] - before);
    state.n_repeated += full;
  } else if (full) {
    maintain(state, row, count, likeliest);
    if (timed) state.whole.add(seconds_since(begun));
    if (state.sampled && state.n_maintained % state.sampled == state.sampled / 2)
      state.nothing.add(seconds_since(Clock::now()));
    ++state.n_timed_over;
    ++state.n_maintained;
    state.weight *= state.growth;
    if (state.weight > 1e100) settle_average(state);
  } else {
    insert(state, row, count);
  }
}

// The decision value of the average, given the kernel row.
inline double average_value(const BudgetState& state) {
  double counts = state.bias, pasts = state.bias_past;
  for (std::int64_t b = 0; b < state.n_vectors; ++b) {
    counts += static_cast<double>(state.kernel_row[b]) * state.counts[b];
    pasts += state.kernel_row[b] * state.pasts[b];
  }
  return (state.weight_sum * counts - pasts) / state.average_norm;
}

inline void judge(BudgetState& state, double margin, double signed_weight) {
  const double f = average_value(state), average = signed_weight > 0.0 ? f : -f, weight = std::fabs(signed_weight);
  ++state.n_judged;
  state.judged_last += margin > 0.0 ? 0.0 : weight;
  state.judged_average += average > 0.0 ? 0.0 : weight;
}

template <class Row>
inline void step(BudgetState& state, const Row& row, double signed_weight) {
  const BlocksView view = state.blocks();
  squared_distances(row, view, state.dense, state.distance_row);
  const double sum = kernel_values(view, state.distance_row, state.kernel_row) + state.bias;
  const double f = state.scale() * sum;
  const double margin = signed_weight > 0.0 ? f : -f;
  if (state.averaging && state.average_norm > 0.0 && state.n_steps % BudgetState::judged == 0)
    judge(state, margin, signed_weight);
  ++state.n_steps;
  state.n_seen += state.stream;
  if (margin < 1.0) {
    state.loss_sum += std::fabs(signed_weight) * (1.0 - margin);
    violation(state, row, signed_weight);
  }
  if (state.averaging) {
    state.weight *= 1.0 + state.window_passes / state.n_seen;
    state.weight_sum += state.weight * state.scale();
    state.average_norm += state.weight;
  }
}

inline void begin_pass(BudgetState& state) {
  state.in_pass = true;
  state.cursor = 0;
  state.loss_sum = 0.0;
  state.n_violations = state.n_maintained = state.n_repeated = state.n_judged = 0;
  state.judged_last = state.judged_average = 0.0;
  if (!state.shuffle) return;
  for (std::int64_t k = state.n_rows - 1; k > 0; --k) std::swap(state.order[k], state.order[state.random.below(k + 1)]);
}

// Continues the current pass until it ends (true) or the time is up (false).
inline bool sgd_pass(const RowsView& view, BudgetState& state, double seconds) {
  constexpr std::int64_t ahead = 4;
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  const std::int64_t cells =
      view.row_start ? view.row_start[view.n_rows] / std::max<std::int64_t>(view.n_rows, 1) : view.n_features;
  const std::int64_t stride = std::max<std::int64_t>(1, 400000 / (state.n_slots * (cells + 16)));
  if (!state.in_pass) begin_pass(state);
  bool finished = false;
  with_values(view, [&](const auto& rows) {
    std::int64_t visits = 0;
    while (state.cursor < state.n_rows) {
      if (++visits % stride == 0 && Clock::now() > deadline) return;
      if (state.cursor + 2 * ahead < state.n_rows) {
        rows.prefetch_start(state.order[state.cursor + 2 * ahead]);
        __builtin_prefetch(state.signed_weights + state.order[state.cursor + 2 * ahead]);
        rows.prefetch(state.order[state.cursor + ahead]);
      }
      const std::int32_t i = state.order[state.cursor++];
      step(state, rows.row(i), state.signed_weights[i]);
    }
    finished = true;
  });
  if (finished) {
    state.in_pass = false;
    settle_average(state);
  }
  return finished;
}

// sum_b count_b k(x_i, b) for rows [begin, end): the decision value without the intercept. `room` has space for two rows.
inline void budgeted_decision(const RowsView& view, const BlocksView& blocks, std::int64_t begin, std::int64_t end,
                              float* room, double* out) {
  with_values(view, [&](const auto& rows) {
    for (std::int64_t i = begin; i < end; ++i) {
      squared_distances(rows.row(i), blocks, !view.row_start, room);
      out[i] = kernel_values(blocks, room, room + blocks.n_slots);
    }
  });
}

}  // namespace kernline::KERNLINE_TARGET
