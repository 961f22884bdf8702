// What makes a certificate of a problem with a free intercept: beta with sum zero, and the gap at the best intercept.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "loops/losses.hpp"

namespace kernline::KERNLINE_TARGET {

// Rows that may change, and how far: `room` has three numbers per row.
struct Movable {
  std::int64_t n = 0;
  double* row;  // its number
  double* room;
  double* rate;
  double total_room = 0.0;

  Movable(double* numbers, std::int64_t n_rows) : row(numbers), room(numbers + n_rows), rate(numbers + 2 * n_rows) {}
  void add(std::int64_t i, double distance, double norm) {
    row[n] = static_cast<double>(i);
    room[n] = distance;
    rate[n++] = 1.0 / std::max(norm, static_cast<double>(FLT_MIN));
    total_room += distance;
  }
};

// lambda such that the sum of min(room_i, lambda rate_i) is `total`. The sum is concave in lambda, so that Newton's method
// comes from below; every step fills more rows, or is the last.
inline double level_of(const Movable& rows, double total) {
  double level = 0.0;
  std::int64_t n_full = -1;
  while (true) {
    double full = 0.0, rates = 0.0;
    std::int64_t n = 0;
    for (std::int64_t k = 0; k < rows.n; ++k) {
      const bool is_full = rows.room[k] < level * rows.rate[k];
      n += is_full;
      (is_full ? full : rates) += is_full ? rows.room[k] : rows.rate[k];
    }
    if (n <= n_full || n == rows.n) return level;
    n_full = n;
    level = (total - full) / rates;
  }
}

// Makes sum(beta) zero, within the bounds, by changes that move f little. Rows between their bounds change, or if they do
// not suffice, those of the heavier sign; each in proportion to 1 / K(x_i, x_i), as far as it may. `numbers` has three per
// row.
inline void balance(DualState& state, double* numbers) {
  with_loss(state.loss, [&](const auto& loss) {
    double total = 0.0;
    for (std::int64_t i = 0; i < state.n_rows; ++i) total += state.coordinates[i].beta;
    if (total == 0.0 || !std::isfinite(total)) return;
    const double s = state.intercept_square;
    const auto norm = [&](std::int64_t i) {  // without s, and zero if rounding errors are all that is left
      const double rest = state.coordinates[i].curvature - s;
      return rest > 1e-6 * s ? rest : 0.0;
    };
    Movable rows(numbers, state.n_rows);
    for (std::int64_t i = 0; i < state.n_rows; ++i) {
      const double beta = state.coordinates[i].beta;
      const auto [cost, target] = loss.terms(state, i);
      const Interval bounds = loss.bounds(cost, target);
      if (beta == 0.0 || beta <= bounds.low || beta >= bounds.high) continue;
      const double bound = total > 0.0 ? bounds.low : bounds.high;
      rows.add(i, std::abs(beta - (std::isfinite(bound) ? bound : 0.0)), norm(i));
    }
    if (rows.total_room < std::abs(total)) {
      rows = Movable(numbers, state.n_rows);
      for (std::int64_t i = 0; i < state.n_rows; ++i) {
        const double beta = state.coordinates[i].beta;
        if (total > 0.0 ? beta > 0.0 : beta < 0.0) rows.add(i, std::abs(beta), norm(i));
      }
    }
    double largest = 0.0;
    for (std::int64_t k = 0; k < rows.n; ++k) largest = std::max(largest, rows.rate[k]);
    for (std::int64_t k = 0; k < rows.n; ++k) rows.rate[k] /= largest;
    const double level = level_of(rows, std::abs(total));
    for (std::int64_t k = 0; k < rows.n; ++k) {
      const auto i = static_cast<std::int64_t>(rows.row[k]);
      const auto [cost, target] = loss.terms(state, i);
      const double change = std::copysign(std::min(rows.room[k], level * rows.rate[k]), total);
      double& beta = state.coordinates[i].beta;
      beta = loss.bounds(cost, target).clip(beta - change);
    }
  });
}

// The gap and the sums of an evaluation, with sum(beta) = 0, for phi(x_i) . W = values and this intercept; and each row's
// share of the gap.
inline void certify(DualState& state, const double* values, double intercept, double* shares) {
  with_loss(state.loss, [&](const auto& loss) {
    double gap = 0.0, loss_sum = 0.0, squared_norm = 0.0;
    for (std::int64_t i = 0; i < state.n_rows; ++i) {
      const double beta = state.coordinates[i].beta, f = values[i] + intercept;
      const auto [cost, target] = loss.terms(state, i);
      gap += shares[i] = loss.gap(cost, target, beta, f);
      loss_sum += cost * loss.value(target, f);
      squared_norm += beta * values[i];
    }
    state.gap = gap;
    state.loss_sum = loss_sum;
    state.squared_norm = squared_norm;
  });
}

// argmin_b sum_i c_i l(t_i, values_i + b), by the zero of its slope; the search begins near a guess. `numbers` has one per
// row.
inline double best_intercept(const DualState& state, const double* values, double near, double* numbers) {
  constexpr double first_width = 0.02, precision = 1e-8;
  constexpr int most_doublings = 16, most_steps = 200;
  return with_loss(state.loss, [&](const auto& loss) {
    const auto slope_of = [&](std::int64_t i, double b) {
      const auto [cost, target] = loss.terms(state, i);
      return cost * loss.slope(target, values[i] + b);
    };
    const auto slope = [&](double b) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < state.n_rows; ++i) sum += slope_of(i, b);
      return sum;
    };
    double width = first_width * std::max(std::abs(near), 1.0), low = near - width, high = near + width;
    double below = slope(low), above = slope(high);
    for (int k = 0; k < most_doublings && (below > 0.0 || above < 0.0); ++k) {
      width *= 4.0;
      if (below > 0.0) {
        high = low;
        above = below;
        below = slope(low -= width);
      } else {
        low = high;
        below = above;
        above = slope(high += width);
      }
    }
    if (below >= 0.0 || above <= 0.0) return below >= 0.0 ? low : high;
    // Most rows have the same slope at both ends, and so between them.
    double others = 0.0;
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < state.n_rows; ++i) {
      const double at_low = slope_of(i, low);
      if (at_low == slope_of(i, high)) {
        others += at_low;
      } else {
        numbers[n++] = static_cast<double>(i);
      }
    }
    const double tol = precision * std::max({std::abs(low), std::abs(high), 1.0});
    // False position (the Illinois variant), and bisection where that is slow: slopes of a loss with kinks have steps.
    int side = 0;
    for (int step = 0; step < most_steps && high - low > tol; ++step) {
      const double middle = 0.5 * (low + high);
      double b = step % 3 == 2 ? middle : low - below * (high - low) / (above - below);
      if (!(low < b && b < high)) b = middle;
      double value = others;
      for (std::int64_t k = 0; k < n; ++k) value += slope_of(static_cast<std::int64_t>(numbers[k]), b);
      if (value == 0.0) return b;
      if (value < 0.0) {
        low = b;
        below = value;
        above *= side < 0 ? 0.5 : 1.0;
        side = -1;
      } else {
        high = b;
        above = value;
        below *= side > 0 ? 0.5 : 1.0;
        side = 1;
      }
    }
    return 0.5 * (low + high);
  });
}

}  // namespace kernline::KERNLINE_TARGET
