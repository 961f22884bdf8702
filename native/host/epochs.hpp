// Epochs of a descent, one after the other, until something else is due: a certificate, or a decision of the caller.
//
// Between two epochs the centre of a free intercept moves, and the share of the gap changes at which rows rest. What an epoch
// of few rows takes is no longer than a call from Python, and texts take thousands of such epochs at large C.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "views/centring.hpp"
#include "views/dual_state.hpp"

namespace kernline {

struct Epoch {
  double seconds;  // since the call that began the stretch
  double dual;
  double gap;  // estimated
  std::int64_t n_visits;
};

// How far a stretch of epochs goes.
struct Stretch {
  std::int64_t most_epochs = 0;
  std::int64_t first_check = 0;  // the first epoch, from 1, after which a certificate may be due
  std::int64_t most_visits = 0;  // the stretch ends with the epoch that reaches them
  double tol = 0.0;              // of the gap, relative to the objective
};

class Epochs {
 public:
  using Clock = std::chrono::steady_clock;

  void begin(const Stretch& stretch) {
    stretch_ = stretch;
    begun_ = Clock::now();
    n_visits_ = 0;
    check_is_due_ = false;
    done_.clear();
  }

  // After an epoch that is over: whether the stretch is.
  bool end_epoch(DualState& state) {
    ++n_sweeps_;
    if (may_repeat && n_sweeps_ == first_repeat) state.most_repeats = 1;
    if (may_repeat && n_sweeps_ == more_repeats) state.most_repeats = 3;
    move_centre(state);
    n_visits_ += state.n_visits;
    const double gap = state.active_gap + imbalance(state);
    const std::chrono::duration<double> seconds = Clock::now() - begun_;
    done_.push_back({seconds.count(), state.dual, gap, state.n_visits});
    const auto n_epochs = static_cast<std::int64_t>(done_.size());
    check_is_due_ = state.n_visits == 0 || (n_epochs >= stretch_.first_check && looks_converged(gap, state.dual));
    if (!check_is_due_) let_rest(state, stretch_.tol, gap);
    return check_is_due_ || n_epochs >= stretch_.most_epochs || n_visits_ >= stretch_.most_visits;
  }

  // Sets the share of the gap at which a row rests; `gap` is the last one, exact or estimated.
  void let_rest(DualState& state, double tol, double gap) {
    // Without what balancing may add: should that be overestimated, no row would move any more.
    const double objective = state.dual + std::min(gap, state.active_gap);
    goal = tol * objective;
    state.negligible = std::max(0.0, negligible_part * goal / static_cast<double>(state.n_rows));
  }

  // Moves the centre, and with it b and f; not beyond the range of float32, where data that change meanwhile may lead.
  static void set_centre(DualState& state, double centre) {
    if (!(std::abs(centre) <= 1e30)) return;
    const double change = centre - state.centre;
    state.dual -= change * state.beta_sum;
    state.centre = centre;
    state.intercept += change;
  }

  static void wake_all(DualState& state) {
    for (std::int64_t i = 0; i < state.n_rows; ++i) state.rests[i].left = 0;
  }

  // The problem has changed.
  void restart(const DualState& state) {
    if (centring) centring->restart();
    awake_at_ = state.centre;
  }

  double imbalance(const DualState& state) const { return centring ? centring->imbalance(state.beta_sum) : 0.0; }
  bool rebuild_is_due() const { return (n_sweeps_ + 1) % epochs_a_rebuild == 0; }
  bool check_is_due() const { return check_is_due_; }
  const std::vector<Epoch>& done() const { return done_; }

  std::optional<Centring> centring;  // of a free intercept
  bool may_repeat = false;           // whether late epochs of few rows visit them again
  double goal = 0.0;                 // the gap to reach, as far as the objective is known

 private:
  // Epochs between new sums of the weights. Float32 updates drift: without new sums, long runs would settle where the
  // drifted weights are best.
  static constexpr std::int64_t epochs_a_rebuild = 100;
  // After so many epochs, an epoch of few rows visits them once more before it looks for others, and then three times more.
  static constexpr std::int64_t first_repeat = 20, more_repeats = 100;
  // All rows wake when the centre has moved by this multiple of its longest step: they rest because of a margin that is no
  // longer theirs, and the centre would follow the few that do not.
  static constexpr double far = 0.5;
  // A row may rest if its share of the gap is at most this fraction of the tolerance, spread over all rows.
  static constexpr double negligible_part = 0.1;

  void move_centre(DualState& state) {
    if (!centring) return;
    const double b = state.centre + centring->s * state.beta_sum;
    const std::optional<double> centre = centring->next(b, state.beta_sum, state.active_gap);
    if (!centre) return;
    set_centre(state, *centre);
    if (std::abs(*centre - awake_at_) > far * centring->reach) {
      wake_all(state);
      awake_at_ = *centre;
    }
  }

  // Whether an estimate of the gap is low enough to compute the exact gap. The dual objective is a sum of changes. After a
  // start far off it may have lost all its digits, and be negative; the exact gap corrects it.
  bool looks_converged(double gap, double dual) const {
    return gap <= (1.0 - negligible_part) * stretch_.tol * std::abs(dual + gap);
  }

  Stretch stretch_;
  Clock::time_point begun_;
  std::int64_t n_visits_ = 0;  // of the stretch
  bool check_is_due_ = false;
  std::vector<Epoch> done_;
  std::int64_t n_sweeps_ = 0;
  double awake_at_ = 0.0;  // the centre when all rows last were awake
};

}  // namespace kernline
