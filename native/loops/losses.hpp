// Losses l(t, f): the cost of the value f for a row with target t. The problem is
//
//   min_f  1/2 |f|^2 + sum_i c_i l(t_i, f(x_i)),     f = sum_i beta_i K(x_i, .)
//
// and its dual  max_beta  sum_i d_i(beta_i) - 1/2 beta' K beta,  with d_i(beta) = -c_i l*(t_i, -beta / c_i).
//
// A loss is a struct, derived from LabelLoss (t = +1 or -1) or NumberLoss (any t), with six functions of one row, given its
// cost c, target t, coefficient beta and value f:
//
//   value(t, f)            l
//   slope(t, f)            its derivative in f; at a jump, the value of either side
//   dual(c, t, beta)       d, its term of the dual objective
//   gap(c, t, beta, f)     c l(t, f) - d(beta) + beta f: the row's share of primal - dual, written so that nothing cancels;
//                          never negative
//   bounds(c, t)           the interval of beta on which d is finite
//   step(c, t, beta, f, K) the beta that maximises the dual over this coordinate alone, where K = K(x_i, x_i) and f is the
//                          value at the current beta: d(beta') - f (beta' - beta) - K/2 (beta' - beta)^2
//
// A loss may also have dual_change(c, t, beta, updated), the change of d, where this is cheaper than two calls of `dual`.
//
// src/kernline/losses.py has the same functions in NumPy, with references; the tests compare the two.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "views/dual_state.hpp"

namespace kernline::KERNLINE_TARGET {

struct Interval {
  double low, high;
  double clip(double value) const { return std::min(std::max(value, low), high); }
};

constexpr double infinity = std::numeric_limits<double>::infinity();

// The value nearest to zero within `distance` of v: the proximal map of distance |.|.
inline double shrink(double v, double distance) {
  if (v > distance) return v - distance;
  return v < -distance ? v + distance : 0.0;
}

// The cost and the target of a row.
struct Terms {
  double cost, target;
};

struct LabelLoss {
  static Terms terms(const DualState& state, std::int64_t i) {
    const double signed_cost = state.coordinates[i].signed_cost;
    return {std::abs(signed_cost), std::copysign(1.0, signed_cost)};  // no branch: labels are not predictable
  }
};

struct NumberLoss {
  static Terms terms(const DualState& state, std::int64_t i) {
    return {state.coordinates[i].signed_cost, state.targets[i]};
  }
};

// The change of beta^2 / (4 c). Its division is the one that `step` needs too.
inline double square_change(double c, double beta, double updated) {
  return 0.5 * (updated - beta) * (updated + beta) * (0.5 / c);
}

// max(0, 1 - t f). With alpha = t beta: d = alpha on 0 <= alpha <= c.
struct Hinge : LabelLoss {
  explicit Hinge(const LossView&) {}
  static double value(double t, double f) { return std::max(0.0, 1.0 - t * f); }
  static double slope(double t, double f) { return t * f < 1.0 ? -t : 0.0; }
  static double dual(double, double t, double beta) { return t * beta; }
  static Interval bounds(double c, double t) { return t > 0.0 ? Interval{0.0, c} : Interval{-c, 0.0}; }
  static double gap(double c, double t, double beta, double f) {
    const double alpha = t * beta, margin = 1.0 - t * f;
    // No branch: which side of the kink a row is on is not predictable.
    return ((margin > 0.0 ? c : 0.0) - alpha) * margin;
  }
  static double step(double c, double t, double beta, double f, double K) {
    const double alpha = t * beta, margin = 1.0 - t * f;
    const double target = K > 0.0 ? alpha + margin / K : (margin > 0.0 ? c : 0.0);
    return t * std::clamp(target, 0.0, c);
  }
};

// max(0, 1 - t f)^2. d = alpha - alpha^2 / (4 c) on alpha >= 0.
struct SquaredHinge : LabelLoss {
  explicit SquaredHinge(const LossView&) {}
  static double value(double t, double f) {
    const double excess = std::max(0.0, 1.0 - t * f);
    return excess * excess;
  }
  static double slope(double t, double f) { return -2.0 * t * std::max(0.0, 1.0 - t * f); }
  static double dual(double c, double t, double beta) { return t * beta - 0.25 * beta * beta / c; }
  static double dual_change(double c, double t, double beta, double updated) {
    return t * (updated - beta) - square_change(c, beta, updated);
  }
  static Interval bounds(double, double t) { return t > 0.0 ? Interval{0.0, infinity} : Interval{-infinity, 0.0}; }
  static double gap(double c, double t, double beta, double f) {
    const double alpha = t * beta, margin = 1.0 - t * f, half = alpha / (2.0 * c);
    const double inside = c * (margin - half) * (margin - half), outside = alpha * (0.5 * half - margin);
    return margin > 0.0 ? inside : outside;
  }
  static double step(double c, double t, double beta, double f, double K) {
    const double alpha = t * beta, diagonal = 0.5 / c;
    return t * std::max(0.0, alpha - (diagonal * alpha - (1.0 - t * f)) / (K + diagonal));
  }
};

// log(1 + exp(-t f)). With p = t beta / c: d = c H(p), the entropy, on 0 <= p <= 1.
struct Logistic : LabelLoss {
  explicit Logistic(const LossView&) {}
  static double value(double t, double f) { return softplus(-t * f); }
  static double slope(double t, double f) { return -t * logistic(-t * f); }
  static double dual(double c, double t, double beta) {
    const double p = t * beta / c;
    return -c * (times_log(p) + times_log(1.0 - p));
  }
  static Interval bounds(double c, double t) { return Hinge::bounds(c, t); }
  // c KL(p | q) with q = 1 / (1 + exp(t f)).
  static double gap(double c, double t, double beta, double f) {
    const double p = t * beta / c, margin = t * f;
    const double divergence = times_log(p) + p * softplus(margin) + times_log(1.0 - p) + (1.0 - p) * softplus(-margin);
    return c * std::max(0.0, divergence);
  }
  // With alpha' = c / (1 + exp(-s)), s solves s + K (alpha' - alpha) + t f = 0: Newton's method of Yu, Huang and Lin (2011),
  // in the logit s, where the left side has slopes between 1 and 1 + K c / 4 and its zero lies in a known interval.
  static double step(double c, double t, double beta, double f, double K) {
    const double alpha = t * beta, constant = t * f - K * alpha;
    double low = -constant - K * c, high = -constant;
    const double p = alpha / c;
    double s = p > 0.0 && p < 1.0 ? std::log(p / (1.0 - p)) : -t * f;
    double before = infinity;
    for (int iteration = 0; iteration < 100; ++iteration) {
      // For large K c, Newton's steps may go back and forth between the ends: halve the interval if they do not help.
      if (!(s > low && s < high)) s = 0.5 * (low + high);
      const double q = logistic(s);
      const double residual = s + constant + K * c * q;
      if (std::abs(residual) <= 1e-12 * (1.0 + std::abs(s) + std::abs(constant))) break;
      (residual > 0.0 ? high : low) = s;
      const bool helps = std::abs(residual) < 0.5 * before;
      s = helps ? s - residual / (1.0 + K * c * q * (1.0 - q)) : 0.5 * (low + high);
      before = std::abs(residual);
    }
    return t * c * logistic(s);
  }

 private:
  static double times_log(double p) { return p > 0.0 ? p * std::log(p) : 0.0; }
  static double softplus(double x) { return x > 0.0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
  static double logistic(double s) { return s > 0.0 ? 1.0 / (1.0 + std::exp(-s)) : std::exp(s) / (1.0 + std::exp(s)); }
};

// max(0, |t - f| - epsilon). d = t beta - epsilon |beta| on |beta| <= c.
struct EpsilonInsensitive : NumberLoss {
  explicit EpsilonInsensitive(const LossView& view) : epsilon(view.epsilon) {}
  double value(double t, double f) const { return std::max(0.0, std::abs(t - f) - epsilon); }
  double slope(double t, double f) const { return std::abs(t - f) > epsilon ? std::copysign(1.0, f - t) : 0.0; }
  double dual(double, double t, double beta) const { return t * beta - epsilon * std::abs(beta); }
  static Interval bounds(double c, double) { return {-c, c}; }
  double gap(double c, double t, double beta, double f) const {
    const double distance = std::abs(t - f), excess = distance - epsilon;
    const double along = t > f ? beta : -beta;  // beta in the direction of the residual
    if (along < 0.0) return c * std::max(0.0, excess) - along * (epsilon + distance);
    return excess > 0.0 ? (c - along) * excess : -along * excess;
  }
  double step(double c, double t, double beta, double f, double K) const {
    const double pull = shrink(K * beta + t - f, epsilon);
    if (K > 0.0) return std::clamp(pull / K, -c, c);
    return pull == 0.0 ? 0.0 : std::copysign(c, pull);
  }
  double epsilon;
};

// max(0, |t - f| - epsilon)^2. d = t beta - epsilon |beta| - beta^2 / (4 c).
struct SquaredEpsilonInsensitive : NumberLoss {
  explicit SquaredEpsilonInsensitive(const LossView& view) : epsilon(view.epsilon) {}
  double value(double t, double f) const {
    const double excess = std::max(0.0, std::abs(t - f) - epsilon);
    return excess * excess;
  }
  double slope(double t, double f) const { return 2.0 * shrink(f - t, epsilon); }
  double dual(double c, double t, double beta) const {
    return t * beta - epsilon * std::abs(beta) - 0.25 * beta * beta / c;
  }
  double dual_change(double c, double t, double beta, double updated) const {
    return t * (updated - beta) - epsilon * (std::abs(updated) - std::abs(beta)) - square_change(c, beta, updated);
  }
  static Interval bounds(double, double) { return {-infinity, infinity}; }
  double gap(double c, double t, double beta, double f) const {
    const double distance = std::abs(t - f), excess = distance - epsilon;
    const double along = t > f ? beta : -beta, half = along / (2.0 * c);
    if (along < 0.0) return value(t, f) * c - along * (epsilon + distance) + 0.5 * half * along;
    return excess > 0.0 ? c * (excess - half) * (excess - half) : along * (0.5 * half - excess);
  }
  double step(double c, double t, double beta, double f, double K) const {
    return shrink(K * beta + t - f, epsilon) / (K + 0.5 / c);
  }
  double epsilon;
};

// (t - f)^2. d = t beta - beta^2 / (4 c).
struct SquaredError : NumberLoss {
  explicit SquaredError(const LossView&) {}
  static double value(double t, double f) { return (t - f) * (t - f); }
  static double slope(double t, double f) { return 2.0 * (f - t); }
  static double dual(double c, double t, double beta) { return t * beta - 0.25 * beta * beta / c; }
  static double dual_change(double c, double t, double beta, double updated) {
    return t * (updated - beta) - square_change(c, beta, updated);
  }
  static Interval bounds(double, double) { return {-infinity, infinity}; }
  static double gap(double c, double t, double beta, double f) {
    const double residual = t - f - beta / (2.0 * c);
    return c * residual * residual;
  }
  static double step(double c, double t, double beta, double f, double K) { return (K * beta + t - f) / (K + 0.5 / c); }
};

template <class Loss>
inline double dual_change(const Loss& loss, double c, double t, double beta, double updated) {
  if constexpr (requires { loss.dual_change(c, t, beta, updated); }) {
    return loss.dual_change(c, t, beta, updated);
  } else {
    return loss.dual(c, t, updated) - loss.dual(c, t, beta);
  }
}

// Calls visit(loss) with the struct that the view names.
template <class Visitor>
inline auto with_loss(const LossView& view, Visitor&& visit) {
  switch (view.kind) {
    case LossKind::squared_hinge: return visit(SquaredHinge(view));
    case LossKind::logistic: return visit(Logistic(view));
    case LossKind::epsilon_insensitive: return visit(EpsilonInsensitive(view));
    case LossKind::squared_epsilon_insensitive: return visit(SquaredEpsilonInsensitive(view));
    case LossKind::squared_error: return visit(SquaredError(view));
    default: return visit(Hinge(view));
  }
}

}  // namespace kernline::KERNLINE_TARGET
