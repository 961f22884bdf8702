// Dual coordinate descent for Python: the state between calls, and checks of the arguments.
#pragma once

#include <cmath>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/bound_arrays.hpp"
#include "host/aligned.hpp"
#include "host/dispatch.hpp"
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
    state_.n_rows = state_.n_active = static_cast<std::int64_t>(n);
    state_.weights = weights_.get();
    state_.scales = scales_.data();
    state_.targets = labels ? nullptr : targets_.data();
    state_.means = means ? means->data() : nullptr;
    state_.mean_square = mean_square;
  }
  DualSolver(const DualSolver&) = delete;

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
  bool rebuild(double seconds) {
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
  bool evaluate(double seconds) { return loops().evaluate(rows_.view(), method_, state_, seconds); }

  // Share of the gap at or below which a row rests.
  void set_negligible(double share) { state_.negligible = share; }
  // Ends all rests: a row that rested too long shows only in the exact gap.
  void wake_all() {
    for (Rest& rest : rests_) rest.left = 0;
  }

  // Multiplies costs, beta and f.
  void grow(double factor) {
    require(factor > 0.0 && !state_.in_epoch && exact_weights_.empty(), "grow: not in the middle of an epoch");
    loops().grow(state_, factor);
    for (std::size_t k = 0; k < n_weights_; ++k) weights_[k] = static_cast<float>(weights_[k] * factor);
    state_.intercept *= factor;
    state_.beta_sum *= factor;
    state_.centre *= factor;
  }

  // Starts from these beta; the weights follow at the next rebuild, which must come before a sweep.
  void set_beta(Vector<const double> beta) {
    require(beta.size() == coordinates_.size(), "beta: one per row");
    require(!state_.in_epoch && exact_weights_.empty(), "beta: not in the middle of an epoch");
    require(loops().set_beta(state_, beta.data()), "beta: not within the bounds of the loss");
  }

  // Starts from these weights, to which rows of other data have contributed: this problem is then a block of a larger one,
  // and its dual objective counts the changes from here.
  void set_weights(Vector<const float> weights, double intercept) {
    require(weights.size() == n_weights_, "weights: one float per slot");
    require(!state_.in_epoch && exact_weights_.empty(), "weights: not in the middle of an epoch");
    std::copy_n(weights.data(), n_weights_, weights_.get());
    state_.intercept = intercept;
  }

  // Moves the centre, and with it b and f; not beyond the range of float32, where data that change meanwhile may lead.
  void set_centre(double centre) {
    require(!state_.in_epoch && exact_weights_.empty(), "centre: not in the middle of an epoch");
    if (!(std::abs(centre) <= 1e30)) return;
    const double change = centre - state_.centre;
    state_.dual -= change * state_.beta_sum;
    state_.centre = centre;
    state_.intercept += change;
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
};

}  // namespace kernline
