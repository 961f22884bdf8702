// The joint hinge of all classes, for one row with label y and cost c (Crammer and Singer, JMLR 2001):
//
//   l = max_m g_m - g_y,   g_m = f_m + [m != y],
//
// and its dual variables beta_m: they sum to zero, beta_m <= 0 for m != y, and beta_y <= c. With p_m = c [m == y] - beta_m,
// which are not negative and sum to c, the row's share of primal - dual is sum_m p_m (max g - g_m).
//
// The best beta for this row alone, where K = K(x_i, x_i), moves p by g / K and back to the nearest point with these
// constraints: beta_m = -max(0, a_m - tau) for m != y, and beta_y = min(c, tau - a_y), with a_m = g_m / K - beta_m and tau
// such that the sum is zero. Keerthi, Sundararajan, Chang, Hsieh, Lin, "A sequential dual method for large scale
// multi-class linear SVMs", KDD 2008.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace kernline::KERNLINE_TARGET {

struct JointRow {
  std::int64_t n_classes;
  std::int64_t label;
  double cost;
  const float* beta;
  const double* g;

  double largest() const {
    double top = g[0];
    for (std::int64_t m = 1; m < n_classes; ++m) top = std::max(top, g[m]);
    return top;
  }
  double loss() const { return cost * (largest() - g[label]); }
  double gap() const {
    const double top = largest();
    double sum = cost * (top - g[label]);
    for (std::int64_t m = 0; m < n_classes; ++m) sum -= static_cast<double>(beta[m]) * (top - g[m]);
    return std::max(0.0, sum);
  }
  // The beta sum to zero, so those of the other classes add -beta_y to the sum of beta g.
  double beta_times_f() const {
    double sum = beta[label];
    for (std::int64_t m = 0; m < n_classes; ++m) sum += static_cast<double>(beta[m]) * g[m];
    return sum;
  }
};

// tau such that the sum of max(0, a_m - tau) over m != y is n_others tau - other_sum. Every round leaves out the classes
// below tau, which only raises it (Michelot 1986): exact after a few rounds, without sorting.
inline double threshold(const double* a, const JointRow& row, double other_sum, double n_others) {
  double tau = -std::numeric_limits<double>::infinity();
  for (std::int64_t n_before = row.n_classes;;) {
    double sum = other_sum;
    std::int64_t n = 0;
    for (std::int64_t m = 0; m < row.n_classes; ++m) {
      if (m == row.label || a[m] <= tau) continue;
      sum += a[m];
      ++n;
    }
    // More classes than before are rounding errors, among equal a.
    if (n >= n_before || static_cast<double>(n) + n_others == 0.0) return tau;
    tau = sum / (static_cast<double>(n) + n_others);
    n_before = n;
  }
}

// Writes the best beta of the row to `best`; `a` is scratch memory.
inline void best_beta(const JointRow& row, double K, double* a, float* best) {
  // A row of zeros has K = 0, and all of its beta belong to the largest g. Some K is enough for that.
  const double inverse = 1.0 / std::max(K, 1e-12 / row.cost);
  for (std::int64_t m = 0; m < row.n_classes; ++m) a[m] = row.g[m] * inverse - static_cast<double>(row.beta[m]);
  double tau = threshold(a, row, a[row.label], 1.0);
  if (tau - a[row.label] > row.cost) tau = threshold(a, row, -row.cost, 0.0);
  double total = 0.0;
  for (std::int64_t m = 0; m < row.n_classes; ++m) {
    a[m] = m == row.label ? 0.0 : std::max(0.0, a[m] - tau);
    total += a[m];
  }
  const double factor = total > row.cost ? row.cost / total : 1.0;  // rounding errors
  for (std::int64_t m = 0; m < row.n_classes; ++m) best[m] = static_cast<float>(-factor * a[m]);
  best[row.label] = static_cast<float>(factor * total);
}

}  // namespace kernline::KERNLINE_TARGET
