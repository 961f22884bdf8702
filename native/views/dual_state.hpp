// The state of one dual coordinate descent, kept between calls so that Python gets control back while it runs.
#pragma once

#include <cstdint>

#include "views/visits.hpp"

namespace kernline {

// Everything that a visit of a row needs besides its cells and a target that is not a label. Rows of few features wait for
// memory, so this is as small as possible: a label is the sign of the cost.
struct Coordinate {
  double beta;
  float curvature;    // K(x_i, x_i), intercept included
  float signed_cost;  // c_i, times the label t_i, +1 or -1
};

// The loss (losses.hpp), and the only parameter that some have.
enum class LossKind : std::uint8_t {
  hinge,
  squared_hinge,
  logistic,
  epsilon_insensitive,
  squared_epsilon_insensitive,
  squared_error,
};
struct LossView {
  LossKind kind;
  double epsilon;
};

struct DualState : Visits {
  DualState(std::uint64_t seed, bool shuffle_, LossView loss_, float intercept_square_)
      : Visits(seed, shuffle_), loss(loss_), intercept_square(intercept_square_) {}

  Coordinate* coordinates = nullptr;
  float* weights = nullptr;
  const float* scales = nullptr;
  bool equal_scales = false;        // all scales are the first
  const double* targets = nullptr;  // numbers to predict; null if the targets are labels

  LossView loss;
  // K gains this constant s, and b = centre + s sum(beta). With the centre at 0 the intercept is penalised; moved after b
  // again and again, it leads to an intercept that is not (intercept.py).
  float intercept_square;
  double centre = 0.0;
  // The kernel may be centred: K(x, y) - m(x) - m(y) + mean_square, with m(x) = <mu, phi(x)> for some mean mu of the rows
  // (intercept.py). Then f(x_i) = phi(x_i) . W + intercept - beta_sum m_i. null: it is not.
  const float* means = nullptr;
  double mean_square = 0.0;
  double intercept = 0.0;
  double beta_sum = 0.0;
  // The kernel is multiplied by this, and so are the scales, while a part works at the same time as others (parts.hpp).
  double sigma = 1.0;

  // What f(x_i) has besides phi(x_i) . W.
  double offset(std::int64_t i) const { return means ? intercept - beta_sum * means[i] : intercept; }
  // What the intercept gains for each unit of beta_i.
  double constant(std::int64_t i) const { return means ? intercept_square + mean_square - means[i] : intercept_square; }
  void add_to_offset(std::int64_t i, double step) {
    intercept += sigma * step * constant(i);
    beta_sum += sigma * step;
  }

  double dual = 0.0;  // tracked by each update

  double* exact_weights = nullptr;  // sums of a rebuild
  double exact_intercept = 0.0;
  double exact_beta_sum = 0.0;
  std::int64_t rebuilt = 0;  // next row of a rebuild

  // Filled by an evaluation, row by row: the exact sums at the current weights.
  std::int64_t evaluated = 0;  // next row of an evaluation
  double gap = 0.0;
  double loss_sum = 0.0;      // sum of c_i l_i
  double squared_norm = 0.0;  // sum of beta_i f(x_i)
};

}  // namespace kernline
