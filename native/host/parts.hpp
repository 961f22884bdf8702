// One problem on many cores: parts of its rows at the same time.
//
// A round deals out the next rows of the epoch to some parts. A part takes the weights, works on a replica of them, and
// returns its change; then all changes are added. To be safe, a part expects the others to do as it does: it sees its own
// change multiplied by sigma, which is at least the squared norm of the sum of all changes divided by the sum of their
// squared norms, from 1 (orthogonal) to the number of parts (equal). Ma, Smith, Jaggi, Jordan, Richtarik, Takac, "Adding
// vs. averaging in distributed primal-dual optimization", ICML 2015; neighbouring rows, replicas, and rows dealt out again:
// Ioannou, Mendler-Duenner, Parnell, "SySCD", NeurIPS 2019.
//
// Here sigma is that of the round before and a margin, on a sample of rows; should it be too small for once, the dual
// objective falls in that round, and the next measurement sets it right.
//
// A large sigma costs as many more epochs, and so do long rounds, whose changes are more alike. So every round measures
// its sigma, and the next one is as long as keeps it close to 1. A round that is too short for several parts is not worth
// its cost: then rows are visited one after the other for a while.
//
// Results depend on the most parts and the least rows, never on the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "host/aligned.hpp"
#include "host/crew.hpp"
#include "views/loops.hpp"
#include "views/visit_order.hpp"

namespace kernline {

class Parts {
 public:
  Parts(const DualState& whole, int most_parts, std::int64_t least_rows, double cells_a_row, std::size_t n_weights,
        std::size_t n_scales)
      : most_parts_(most_parts),
        least_rows_(least_rows),
        most_rows_(std::clamp(static_cast<std::int64_t>(most_cells_ / std::max(cells_a_row, 1.0)), least_rows,
                              most_idle_ * longest_ * least_rows)),
        n_weights_(n_weights),
        live_rows_(2.0 * static_cast<double>(least_rows)),
        scales_(n_scales),
        old_weights_(aligned_zeros(n_weights)) {
    // Workers allocate nothing: an exception in one of them would end the process.
    for (int k = 0; k < most_parts; ++k)
      parts_.push_back({whole, aligned_zeros(n_weights), std::vector<double>(static_cast<std::size_t>(most_rows_))});
  }

  // Continues the epoch of `whole` until it ends (true) or the time is up (false).
  bool sweep(const Loops& loops, const RowsView& rows, const MethodView& method, DualState& whole, int n_threads,
             double seconds) {
    if (!whole.in_epoch) begin_epoch(whole, whole.n_rows);
    const Crew::Turn turn = crew_.next(std::min(n_threads, most_parts_), seconds);
    const std::int64_t first = whole.cursor;
    Round round{loops, rows, method, whole};
    Crew::work(turn.n_threads, [&](int thread, int n_crew, auto&& wait) noexcept {
      const auto each_part = [&](auto&& work) {
        for (int k = thread; k < round.n_parts; k += n_crew) work(parts_[static_cast<std::size_t>(k)]);
        wait();
      };
      while (true) {
        if (thread == 0) begin(round, turn.deadline);
        wait();
        if (round.n_parts == 0) return;
        each_part([&](Part& part) { work(round, part); });
        add(round, n_weights_ * thread / n_crew, n_weights_ * (thread + 1) / n_crew);
        if (thread == 0) add_sums(round);
        wait();
        each_part([&](Part& part) { measure(round, part); });
        if (thread == 0) end(round);
      }
    });
    crew_.done(turn, whole.cursor - first);
    if (whole.cursor < whole.n_active) return false;
    whole.in_epoch = false;
    return true;
  }

 private:
  struct Round {
    const Loops& loops;
    const RowsView& rows;
    const MethodView& method;
    DualState& whole;
    int n_parts = 0;
    double intercept = 0.0, beta_sum = 0.0;  // before it
  };

  // Some rows, and what the part did with them in this round.
  struct Part {
    DualState state;
    AlignedFloats replica;
    std::vector<double> change;  // of beta, by row
    double together = 0.0, alone = 0.0;
  };

  // Deals out the next rows to several parts; until that is worth it, visits rows one after the other.
  void begin(Round& round, Crew::Clock::time_point deadline) {
    DualState& whole = round.whole;
    while (true) {
      round.n_parts = 0;
      if (whole.cursor >= whole.n_active || Crew::Clock::now() > deadline) return;
      round.n_parts = n_parts();
      if (round.n_parts > 1) break;
      visit_alone(round);
    }
    round.intercept = whole.intercept;
    round.beta_sum = whole.beta_sum;
    std::copy_n(whole.weights, n_weights_, old_weights_.get());
    for (std::size_t j = 0; j < scales_.size(); ++j) scales_[j] = static_cast<float>(sigma_ * whole.scales[j]);
    std::int64_t first = whole.cursor;
    for (int k = 0; k < round.n_parts; ++k) {
      const std::int64_t end = deal(whole, first, static_cast<std::int64_t>(live_rows_) / round.n_parts);
      DualState& part = parts_[static_cast<std::size_t>(k)].state = stretch(whole, first, end);
      part.weights = parts_[static_cast<std::size_t>(k)].replica.get();
      part.scales = scales_.data();
      part.sigma = sigma_;
      first = end;
    }
    whole.cursor = first;
  }

  // A power of two, so that two threads, or four, have the same work.
  int n_parts() const {
    std::int64_t n = 1;
    while (2 * n <= most_parts_ && 2 * n * least_rows_ <= static_cast<std::int64_t>(live_rows_)) n *= 2;
    return static_cast<int>(n);
  }

  void visit_alone(Round& round) {
    DualState& whole = round.whole;
    const std::int64_t end = deal(whole, whole.cursor, alone_ * least_rows_);
    DualState part = stretch(whole, whole.cursor, end);
    round.loops.sweep(round.rows, round.method, part, 1e9);
    whole.random = part.random;
    whole.intercept = part.intercept;
    whole.beta_sum = part.beta_sum;
    whole.dual += part.dual;
    whole.active_gap += part.active_gap;
    whole.cursor = end;
    live_rows_ = 2.0 * static_cast<double>(least_rows_);
    sigma_ = 2.0;
  }

  // Where a part ends that begins at `first`: after so many rows that changed at their last visit.
  std::int64_t deal(const DualState& whole, std::int64_t first, std::int64_t n_live) const {
    std::int64_t end = first;
    const std::int64_t last = std::min(whole.n_active, first + most_rows_);
    for (std::int64_t live = 0; live < n_live && end < last; ++end) live += whole.rests[whole.order[end]].level == 0;
    return end;
  }

  // The state of the rows at these positions of the epoch, which are in their final order.
  static DualState stretch(const DualState& whole, std::int64_t first, std::int64_t end) {
    DualState part = whole;
    part.order = whole.order + first;
    part.n_active = end - first;
    part.cursor = 0;
    part.shuffle = false;
    part.dual = part.active_gap = 0.0;
    return part;
  }

  void work(const Round& round, Part& part) const {
    DualState& state = part.state;
    for (std::int64_t r = 0; r < state.n_active; ++r)
      part.change[static_cast<std::size_t>(r)] = -state.coordinates[state.order[r]].beta;
    std::copy_n(old_weights_.get(), n_weights_, state.weights);
    round.loops.sweep(round.rows, round.method, state, 1e9);
  }

  // Adds the changes of all parts to these weights.
  void add(const Round& round, std::size_t begin, std::size_t end) const {
    const auto factor = static_cast<float>(1.0 / sigma_);
    float* weights = round.whole.weights;
    for (std::size_t s = begin; s < end; ++s) {
      float change = 0.0f;  // exactly zero where no part changed the weight
      for (int k = 0; k < round.n_parts; ++k) change += parts_[static_cast<std::size_t>(k)].replica[s] - weights[s];
      weights[s] += factor * change;
    }
  }

  void add_sums(const Round& round) const {
    DualState& whole = round.whole;
    for (int k = 0; k < round.n_parts; ++k) {
      const DualState& part = parts_[static_cast<std::size_t>(k)].state;
      whole.intercept += (part.intercept - round.intercept) / sigma_;
      whole.beta_sum += (part.beta_sum - round.beta_sum) / sigma_;
      whole.dual += part.dual;  // it grew at least so much if sigma was large enough
      whole.active_gap += part.active_gap;
    }
  }

  // The squared norm of a change of f is the sum over rows of the change of beta_i times that of f(x_i): of all parts
  // together, and of each alone, from some rows that changed.
  void measure(const Round& round, Part& part) const {
    const DualState& state = part.state;
    DualState old = state;
    old.intercept = round.intercept;
    old.beta_sum = round.beta_sum;
    std::int64_t n_changed = 0;
    for (std::int64_t r = 0; r < state.n_active; ++r) {
      double& change = part.change[static_cast<std::size_t>(r)];
      change += state.coordinates[state.order[r]].beta;
      n_changed += change != 0.0;
    }
    const std::int64_t interval = std::max<std::int64_t>(1, n_changed * round.n_parts / sample_);
    std::int64_t left = 0;
    part.together = part.alone = 0.0;
    for (std::int64_t r = 0; r < state.n_active; ++r) {
      const double change = part.change[static_cast<std::size_t>(r)];
      if (change == 0.0 || left-- > 0) continue;
      left = interval - 1;
      const std::int32_t i = state.order[r];
      const auto row = static_cast<std::int32_t>(state.data_row(i));
      const auto value = [&](const float* weights, const DualState& at) {
        double sum = 0.0;
        round.loops.read_members(round.rows, round.method.read, weights, &row, 1, &sum);
        return sum + at.offset(i);
      };
      const double before = value(old_weights_.get(), old);
      part.together += change * (value(round.whole.weights, round.whole) - before);
      part.alone += change * (value(state.weights, state) - before) / sigma_;
    }
  }

  // Chooses sigma and the length of the next round.
  void end(const Round& round) {
    double together = 0.0, alone = 0.0;
    for (int k = 0; k < round.n_parts; ++k) {
      together += parts_[static_cast<std::size_t>(k)].together;
      alone += parts_[static_cast<std::size_t>(k)].alone;
    }
    if (!(alone > 0.0) || !std::isfinite(together / alone)) return;
    const double needed = margin_ * std::max(together / alone, 1.0);
    sigma_ = std::clamp(std::max({needed, wanted_, slowest_fall_ * sigma_}), 1.0, static_cast<double>(most_parts_));
    const double factor = std::clamp((wanted_ - 1.0) / (needed - 1.0), 0.25, 1.2);
    live_rows_ = std::clamp(factor * live_rows_, 1.0, static_cast<double>(most_parts_ * longest_ * least_rows_));
  }

  // sigma should not be above this. It is larger than measured by the margin, and falls at most by the factor.
  static constexpr double wanted_ = 1.5, margin_ = 1.15, slowest_fall_ = 0.7;
  // Rows that sigma is measured on.
  static constexpr std::int64_t sample_ = 64;
  // The longest part of a round, and the rows visited one after the other before parts are tried again; in least rows.
  static constexpr std::int64_t longest_ = 8, alone_ = 16;
  // Most rows of a part for each that changed at its last visit; and most cells, a millisecond, so that a call can end.
  static constexpr std::int64_t most_idle_ = 16;
  static constexpr double most_cells_ = 300'000.0;

  int most_parts_;
  std::int64_t least_rows_, most_rows_;
  std::size_t n_weights_;
  double sigma_ = 2.0;
  double live_rows_;  // of a round: rows that changed at their last visit
  std::vector<float> scales_;
  AlignedFloats old_weights_;
  std::vector<Part> parts_;
  Crew crew_;
};

}  // namespace kernline
