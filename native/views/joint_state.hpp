// The state of one joint descent over all classes, kept between calls so that Python gets control back while it runs.
#pragma once

#include <cstdint>

#include "views/visits.hpp"

namespace kernline {

// The weights of a slot are padded to whole blocks of so many classes, which are read and written together.
constexpr std::int64_t block_classes = 8;

struct JointState : Visits {
  using Visits::Visits;

  std::int64_t n_classes = 0;
  std::int64_t stride = 0;  // n_classes, padded
  float* beta = nullptr;    // [row][class], n_classes a row
  const std::int32_t* labels = nullptr;
  float* cost = nullptr;
  float* curvature = nullptr;  // K(x_i, x_i), intercept included
  float* weights = nullptr;    // [slot][class], stride floats a slot
  const float* scales = nullptr;

  // As in DualState, for every class: K gains the constant s, b_k = centre_k + s sum_i beta_ik, and K may be centred.
  float intercept_square = 0.0f;
  const float* means = nullptr;
  double mean_square = 0.0;
  double* intercepts = nullptr;  // `stride` of each
  double* beta_sums = nullptr;
  double* centres = nullptr;

  // What f_k(x_i) has besides phi(x_i) . W_k.
  double offset(std::int64_t i, std::int64_t k) const {
    return means ? intercepts[k] - beta_sums[k] * means[i] : intercepts[k];
  }
  // What the intercept of a class gains for each unit of its beta_i.
  double constant(std::int64_t i) const { return means ? intercept_square + mean_square - means[i] : intercept_square; }

  double dual = 0.0;  // tracked by each update

  // Sums of a rebuild, block of classes by block: weights [slot][block_classes], and what the intercepts are made of.
  double* exact_weights = nullptr;
  double exact_intercepts[block_classes] = {};
  double exact_sums[block_classes] = {};
  std::int64_t rebuilt_class = 0;  // the first of the current block
  std::int64_t rebuilt = 0;        // next row

  // Filled by an evaluation, row by row: the exact sums at the current weights.
  std::int64_t evaluated = 0;  // next row
  double gap = 0.0;
  double loss_sum = 0.0;      // sum of c_i l_i
  double squared_norm = 0.0;  // sum of beta_ik f_k(x_i)
};

}  // namespace kernline
