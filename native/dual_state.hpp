// The state of one dual coordinate descent, kept between calls so that Python gets control back while it runs.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "random.hpp"

namespace kernline {

// All that a visit of a row needs besides its cells, in one cache line: y_i is the sign of `signed_cost`.
struct Coordinate {
  double alpha;
  float curvature;    // K(x_i, x_i), intercept included
  float signed_cost;  // y_i C_i
};

enum class Loss : std::uint8_t { hinge, squared_hinge };

// A row whose share of the gap was negligible at its last visits is left alone for a while: 2, 8, 26, then 80 epochs.
struct Rest {
  static constexpr std::uint8_t lengths[] = {2, 8, 26, 80};
  std::uint8_t left = 0;   // epochs until the next visit
  std::uint8_t level = 0;  // negligible visits in a row, at most the last of `lengths`

  void begin() {
    left = lengths[level];
    if (level + 1 < static_cast<int>(sizeof lengths)) ++level;
  }
};

struct DualState {
  DualState(std::uint64_t seed, bool shuffle_, Loss loss_, float intercept_square_)
      : random(seed), shuffle(shuffle_), loss(loss_), intercept_square(intercept_square_) {}

  Coordinate* coordinates = nullptr;
  Rest* rests = nullptr;
  std::int32_t* order = nullptr;          // this epoch's visits, the first `n_active`
  const std::int32_t* members = nullptr;  // the rows of the data that take part; null for all
  std::int64_t n_rows = 0;                // how many take part
  std::int64_t data_row(std::int64_t i) const { return members ? members[i] : i; }
  float* weights = nullptr;
  const float* scales = nullptr;

  Random random;
  bool shuffle;  // or visit the rows in their order, as some papers write
  Loss loss;
  float intercept_square;  // K gains this constant: the penalised intercept
  float intercept = 0.0f;

  std::int64_t n_active = 0;
  bool in_epoch = false;
  bool in_blocks = false;   // this epoch's order: blocks of neighbours, or all rows alike
  std::int64_t cursor = 0;  // next position in `order`
  double negligible = 0.0;  // share of the gap at or below which a row rests

  double dual = 0.0;        // tracked by each update
  double active_gap = 0.0;  // sum over this epoch's visits of each row's share of the gap, before its update

  double* exact_weights = nullptr;  // sums of a rebuild
  double exact_intercept = 0.0;
  std::int64_t rebuilt = 0;  // next row of a rebuild

  // Filled by an evaluation, row by row: the exact sums at the present weights.
  std::int64_t evaluated = 0;  // next row of an evaluation
  double gap = 0.0;
  double loss_sum = 0.0;     // sum of C_i loss_i
  double squared_norm = 0.0;  // sum of alpha_i y_i f(x_i)
};

// What the loss changes in the dual: alpha_i <= bound, and alpha_i^2 / (4 C_i) added to the objective.
struct DualLoss {
  double bound;
  double diagonal;  // second derivative of the added term

  DualLoss(Loss loss, double cost)
      : bound(loss == Loss::hinge ? cost : std::numeric_limits<double>::infinity()),
        diagonal(loss == Loss::hinge ? 0.0 : 0.5 / cost) {}

  static double primal(Loss loss, double cost, double margin) {
    const double violation = margin > 0.0 ? margin : 0.0;
    return loss == Loss::hinge ? cost * violation : cost * violation * violation;
  }

  // Row i's share of primal - dual, never negative: C loss(m) - alpha m + alpha^2/(4C), where m = 1 - y f(x).
  static double gap(Loss loss, double cost, double alpha, double margin) {
    if (loss == Loss::hinge) return margin > 0.0 ? (cost - alpha) * margin : -alpha * margin;
    const double rest = alpha / (2.0 * cost);
    if (margin > 0.0) return cost * (margin - rest) * (margin - rest);
    return alpha * (0.5 * rest - margin);
  }
};

}  // namespace kernline
