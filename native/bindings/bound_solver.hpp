// Dual coordinate descent for Python: the state between calls, and checks of the arguments.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bound_arrays.hpp"
#include "bindings/bound_products.hpp"
#include "host/aligned.hpp"
#include "host/dispatch.hpp"
#include "host/epochs.hpp"
#include "host/parts.hpp"

namespace kernline {

// The losses of the core, by their names in losses.py.
inline LossKind loss_kind(const std::string& name) {
  if (name == "hinge") return LossKind::hinge;
  if (name == "squared_hinge") return LossKind::squared_hinge;
  if (name == "log") return LossKind::logistic;
  if (name == "epsilon_insensitive") return LossKind::epsilon_insensitive;
  if (name == "squared_epsilon_insensitive") return LossKind::squared_epsilon_insensitive;
  if (name == "squared_error") return LossKind::squared_error;
  throw std::invalid_argument("the core has no loss named " + name);
}

inline bool predicts_labels(LossKind kind) {
  return kind == LossKind::hinge || kind == LossKind::squared_hinge || kind == LossKind::logistic;
}

// The state of one problem. Each call runs for at most `seconds`, without the GIL.
class DualSolver {
 public:
  DualSolver(const Rows& rows, const Table& read, const Table& write, Vector<const float> scales,
             Vector<const double> targets, Vector<const double> cost, Vector<const double> curvature,
             double intercept_square, const std::string& loss, double epsilon,
             std::optional<Vector<const std::int32_t>> members, std::optional<Vector<const float>> means,
             double mean_square, std::uint64_t seed, bool shuffle)
      : rows_(rows),
        method_{read.view(), write.view()},
        read_(read),
        write_(write),
        scales_(scales),
        targets_(targets),
        members_(members),
        means_(means),
        state_(seed, shuffle, {loss_kind(loss), epsilon}, static_cast<float>(intercept_square)) {
    const RowsView& view = rows_.view();
    const std::size_t n = members ? members->size() : static_cast<std::size_t>(view.n_rows);
    if (members) check_members(*members, view.n_rows);
    read.check(rows);
    write.check(rows);
    require(read.view().width == write.view().width, "read and write tables must have the same width");
    require(is_method(read.view().form, write.view().form), "no method has this pair of read and write tables");
    require(scales.size() == static_cast<std::size_t>(view.n_features), "one scale per feature");
    require(targets.size() == n && cost.size() == n && curvature.size() == n,
            "one target, one cost and one curvature per row");
    require(!means || means->size() == n, "one mean per row");
    require(std::isfinite(epsilon) && epsilon >= 0.0, "epsilon must be a finite number, 0 or more");
    require(n < (std::size_t{1} << 31), "more than 2^31 rows: train on a subset");

    coordinates_.resize(n);
    order_.resize(n);
    rests_.resize(n);
    const bool labels = predicts_labels(state_.loss.kind);
    for (std::size_t i = 0; i < n; ++i) {
      require(cost(i) >= 1e-35 && cost(i) <= 1e35 && curvature(i) >= 0.0 && curvature(i) <= 1e35,
              "costs and curvatures must be within the range of float32");
      require(labels ? std::abs(targets(i)) == 1.0 : std::abs(targets(i)) <= 1e35,
              labels ? "labels must be +1 or -1" : "targets must be within the range of float32");
      const double signed_cost = labels ? targets(i) * cost(i) : cost(i);
      coordinates_[i] = {0.0, static_cast<float>(curvature(i)), static_cast<float>(signed_cost)};
    }
    n_weights_ = static_cast<std::size_t>(view.n_features) * static_cast<std::size_t>(read.view().width);
    weights_ = aligned_zeros(n_weights_ + 1);
    state_.coordinates = coordinates_.data();
    state_.rests = rests_.data();
    state_.order = order_.data();
    state_.members = members ? members->data() : nullptr;
    state_.n_rows = state_.n_active = state_.n_visits = static_cast<std::int64_t>(n);
    state_.weights = weights_.get();
    state_.scales = scales_.data();
    state_.equal_scales = are_equal(scales_.data(), scales_.size());
    state_.targets = labels ? nullptr : targets_.data();
    state_.means = means ? means->data() : nullptr;
    state_.mean_square = mean_square;
  }
  DualSolver(const DualSolver&) = delete;

  static bool are_equal(const float* values, std::size_t n) {
    return n > 0 && std::all_of(values, values + n, [&](float value) { return value == values[0]; });
  }

  // The pairs that `with_method` knows.
  static bool is_method(TableForm read, TableForm write) {
    switch (read) {
      case TableForm::dense: return write == TableForm::dense || write == TableForm::pair;
      case TableForm::pair: return write == TableForm::dense;
      case TableForm::value: return write == TableForm::value;
      case TableForm::powers: return write == TableForm::nodes;
      default: return false;
    }
  }

  // Works on up to so many parts of the rows at the same time, of at least this many rows each.
  void set_parts(int most_parts, std::int64_t least_rows) {
    require(!state_.in_epoch, "parts: not in the middle of an epoch");
    require(most_parts >= 1 && most_parts <= 256, "parts: at least 1, at most 256");
    require(least_rows >= 1 && least_rows <= (1 << 24), "parts: their rows are out of range");
    parts_.reset();
    const RowsView& view = rows_.view();
    const std::int64_t cells = view.row_start ? view.row_start[view.n_rows] : view.n_rows * view.n_features;
    const double cells_a_row = static_cast<double>(cells) / std::max<double>(1.0, static_cast<double>(view.n_rows));
    if (most_parts > 1) parts_.emplace(state_, most_parts, least_rows, cells_a_row, n_weights_ + 1, scales_.size());
  }

  bool sweep(double seconds, int n_threads) {
    if (parts_) return parts_->sweep(loops(), rows_.view(), method_, state_, n_threads, seconds);
    return loops().sweep(rows_.view(), method_, state_, seconds);
  }

  // How the intercept is found, if it is free: its first centre, and what centring.hpp needs.
  void set_centring(double first, double square_cost, double kink_cost, double reach) {
    require(state_.intercept_square > 0.0, "centring: the kernel gains no constant");
    epochs_.centring = Centring{state_.intercept_square, square_cost, kink_cost, reach};
    set_centre(first);
    epochs_.restart(state_);
  }
  void set_may_repeat(bool may_repeat) { epochs_.may_repeat = may_repeat; }

  // Begins a stretch of epochs, which `run_epochs` then goes through.
  void begin_epochs(std::int64_t most_epochs, std::int64_t first_check, std::int64_t most_visits, double tol) {
    require(!state_.in_epoch && exact_weights_.empty(), "epochs: not in the middle of one");
    require(most_epochs >= 1 && tol >= 0.0, "epochs: at least one");
    epochs_.begin({most_epochs, first_check, most_visits, tol});
  }
  // Returns true when the stretch is over, false when the time is up.
  bool run_epochs(double seconds, int n_threads) {
    const auto deadline = Epochs::Clock::now() + std::chrono::duration<double>(seconds);
    while (true) {
      const std::chrono::duration<double> left = deadline - Epochs::Clock::now();
      const double time = std::max(left.count(), 0.0);
      if (exact_weights_.empty() && !sweep(time, n_threads)) return false;
      if (epochs_.rebuild_is_due() && !rebuild(time)) return false;
      if (epochs_.end_epoch(state_)) return true;
      if (time == 0.0) return false;
    }
  }
  // The epochs of the last stretch: seconds, dual objective, estimate of the gap, visits.
  std::vector<std::tuple<double, double, double, std::int64_t>> epochs() const {
    std::vector<std::tuple<double, double, double, std::int64_t>> found;
    found.reserve(epochs_.done().size());
    for (const Epoch& epoch : epochs_.done()) found.emplace_back(epoch.seconds, epoch.dual, epoch.gap, epoch.n_visits);
    return found;
  }
  bool check_is_due() const { return epochs_.check_is_due(); }
  void let_rest(double tol, double gap) { epochs_.let_rest(state_, tol, gap); }
  double imbalance() const { return epochs_.imbalance(state_); }

  // Keeps the current point, and goes on to one with sum(beta) = 0 and about the same intercept, for a certificate. Its
  // weights are summed by the rebuild that must follow, if they are to be `exact`; else the changes are added to them.
  void balance(bool exact) {
    require(epochs_.centring.has_value(), "balance: the intercept is not free");
    save();
    numbers_.resize(3 * coordinates_.size());
    loops().balance(state_, numbers_.data());
    set_centre(state_.centre + state_.intercept_square * state_.beta_sum);
    if (!exact) loops().follow(rows_.view(), method_, state_, saved_.beta.data());
  }
  // The exact gap and the objective, for phi(x_i) . W = values: with the current intercept, or with the best one if that
  // would not do. To be called after `balance` and `rebuild`.
  std::pair<double, double> certify(Vector<const double> values) {
    require(values.size() == coordinates_.size(), "certify: one value per row");
    require(is_saved_ && exact_weights_.empty() && epochs_.centring.has_value(), "certify: balance first");
    if (!epochs_.centring) return {};  // never: for the linter, which does not know `require`
    shares_.resize(coordinates_.size());
    loops().certify(state_, values.data(), state_.intercept, shares_.data());
    if (state_.gap > epochs_.goal) {
      const double best = loops().best_intercept(state_, values.data(), state_.intercept, numbers_.data());
      set_centre(state_.centre + best - state_.intercept);
      loops().certify(state_, values.data(), state_.intercept, shares_.data());
    }
    const double primal = state_.loss_sum + 0.5 * state_.squared_norm;
    state_.dual = primal - state_.gap;
    epochs_.centring->compare(state_.active_gap, saved_.beta_sum, state_.gap);
    return {state_.gap, primal};
  }
  bool rebuild(double seconds) {
    require(state_.sigma == 1.0, "rebuild: the weights are those of several blocks");
    if (exact_weights_.empty()) {
      exact_weights_.assign(n_weights_ + 1, 0.0);
      state_.exact_weights = exact_weights_.data();
      state_.exact_intercept = state_.centre;
      state_.exact_beta_sum = 0.0;
      state_.rebuilt = 0;
    }
    if (!loops().rebuild(rows_.view(), method_, state_, seconds)) return false;
    for (std::size_t k = 0; k < n_weights_; ++k) weights_[k] = static_cast<float>(exact_weights_[k]);
    state_.intercept = state_.exact_intercept;
    state_.beta_sum = state_.exact_beta_sum;
    std::vector<double>().swap(exact_weights_);
    return true;
  }
  // phi(x_i) . W of the rows of a list.
  void read(Vector<const std::int32_t> members, Vector<double> out, int n_threads) const {
    read_members_of(rows_, read_, weights_.get(), members, out, n_threads);
  }
  bool evaluate(double seconds) { return loops().evaluate(rows_.view(), method_, state_, seconds); }

  // Share of the gap at or below which a row rests.
  void set_negligible(double share) { state_.negligible = share; }
  // Ends all rests: a row that rested too long shows only in the exact gap.
  void wake_all() { Epochs::wake_all(state_); }

  // Ends the rests of the rows whose share of the last certificate's gap is not negligible.
  void wake_by_shares() {
    require(shares_.size() == rests_.size(), "wake: there is no certificate");
    for (std::size_t i = 0; i < rests_.size(); ++i) {
      if (shares_[i] > state_.negligible) rests_[i].left = 0;
    }
  }

  // Multiplies costs, beta and f.
  void grow(double factor) {
    require(factor > 0.0 && !state_.in_epoch && exact_weights_.empty(), "grow: not in the middle of an epoch");
    loops().grow(state_, factor);
    for (std::size_t k = 0; k < n_weights_; ++k) weights_[k] = static_cast<float>(weights_[k] * factor);
    state_.intercept *= factor;
    state_.beta_sum *= factor;
    state_.centre *= factor;
    epochs_.restart(state_);
  }

  // Starts from these beta; the weights follow at the next rebuild, which must come before a sweep.
  void set_beta(Vector<const double> beta) {
    require(beta.size() == coordinates_.size(), "beta: one per row");
    require(!state_.in_epoch && exact_weights_.empty(), "beta: not in the middle of an epoch");
    require(loops().set_beta(state_, beta.data()), "beta: not within the bounds of the loss");
  }

  // Keeps beta, the weights and what belongs to them, and returns to them: another point may be evaluated in between. Rests
  // are as they were.
  void save() {
    require(!state_.in_epoch && exact_weights_.empty(), "save: not in the middle of an epoch");
    is_saved_ = true;
    saved_.weights.assign(weights_.get(), weights_.get() + n_weights_);
    saved_.beta.resize(coordinates_.size());
    for (std::size_t i = 0; i < coordinates_.size(); ++i) saved_.beta[i] = coordinates_[i].beta;
    saved_.centre = state_.centre;
    saved_.intercept = state_.intercept;
    saved_.beta_sum = state_.beta_sum;
    saved_.dual = state_.dual;
  }
  void restore() {
    require(is_saved_ && !state_.in_epoch && exact_weights_.empty(), "restore: nothing is saved");
    is_saved_ = false;
    for (std::size_t i = 0; i < coordinates_.size(); ++i) coordinates_[i].beta = saved_.beta[i];
    std::copy(saved_.weights.begin(), saved_.weights.end(), weights_.get());
    state_.centre = saved_.centre;
    state_.intercept = saved_.intercept;
    state_.beta_sum = saved_.beta_sum;
    state_.dual = saved_.dual;
  }

  // Starts from these weights and sums, to which rows of other data have contributed: this problem is then a block of a larger
  // one, and its dual objective counts the changes from here. If other blocks are worked on at the same time, they are
  // expected to change f as this one does, sigma times in all (parts.hpp); the weights are then not summed again here.
  void set_weights(Vector<const float> weights, double intercept, double beta_sum, double sigma) {
    require(weights.size() == n_weights_, "weights: one float per slot");
    require(sigma >= 1.0 && sigma <= 1e6, "sigma: at least 1");
    require(!state_.in_epoch && exact_weights_.empty(), "weights: not in the middle of an epoch");
    std::copy_n(weights.data(), n_weights_, weights_.get());
    state_.intercept = intercept;
    state_.beta_sum = beta_sum;
    state_.sigma = sigma;
    sigma_scales_.assign(scales_.data(), scales_.data() + scales_.size());
    for (float& scale : sigma_scales_) scale = static_cast<float>(sigma * scale);
    state_.scales = sigma_scales_.data();
  }

  void set_centre(double centre) {
    require(!state_.in_epoch && exact_weights_.empty(), "centre: not in the middle of an epoch");
    Epochs::set_centre(state_, centre);
  }

  // The objective of beta that were set, if it is known.
  void set_dual(double dual) { state_.dual = dual; }

  void copy_weights(Vector<float> out) const {
    require(out.size() == n_weights_, "weights: one float per slot");
    std::copy_n(weights_.get(), n_weights_, out.data());
  }
  void copy_beta(Vector<double> out) const {
    require(out.size() == coordinates_.size(), "beta: one per row");
    for (std::size_t i = 0; i < coordinates_.size(); ++i) out(i) = coordinates_[i].beta;
  }
  const DualState& state() const { return state_; }

 private:
  Rows rows_;
  MethodView method_;
  Table read_, write_;
  Vector<const float> scales_;
  std::vector<float> sigma_scales_;  // those of a block
  Vector<const double> targets_;
  std::optional<Vector<const std::int32_t>> members_;
  std::optional<Vector<const float>> means_;
  DualState state_;
  std::vector<Coordinate> coordinates_;
  std::vector<Rest> rests_;
  std::vector<std::int32_t> order_;
  std::size_t n_weights_;
  AlignedFloats weights_;
  std::vector<double> exact_weights_;  // only during a rebuild
  std::optional<Parts> parts_;
  Epochs epochs_;
  std::vector<double> numbers_, shares_;  // of certificates
  struct Point {
    std::vector<double> beta;
    std::vector<float> weights;
    double centre, intercept, beta_sum, dual;
  };
  Point saved_{};  // its memory is kept for the next one
  bool is_saved_ = false;
};

}  // namespace kernline
