// Exact Gram matrices of additive kernels: out[a, b] = sum_j k(x_aj, y_bj), for non-negative values.
//
// Each value x comes with a companion number that the kernel needs from x alone (its logarithm), so that a pair needs as few
// transcendental functions as possible. k(0, y) = 0 for every kernel, so sparse rows contribute only where both are non-zero.
#pragma once

#include <algorithm>
#include <cstdint>

#include "loops/vector_math.hpp"
#include "views/gram_views.hpp"

namespace kernline::KERNLINE_TARGET {

struct Chi2 {
  double operator()(double x, double, double y, double) const {
    const double sum = x + y;
    return 2.0 * x * (y / (sum + (sum == 0.0 ? 1.0 : 0.0)));
  }
};

struct Intersection {
  double operator()(double x, double, double y, double) const { return x < y ? x : y; }
};

// (x/2) log2((x+y)/x) + (y/2) log2((x+y)/y), with r = min/max: max ((1 + r) log2(1 + r) - r log2 r) / 2, in which no
// large terms cancel. The companion is log2 x.
struct JensenShannon {
  double operator()(double x, double log_x, double y, double log_y) const {
    const double smaller = x < y ? x : y, larger = x < y ? y : x;
    const double r = smaller / (larger > 0.0 ? larger : 1.0);
    const double log_r = x < y ? log_x - log_y : log_y - log_x;
    const double value = 0.5 * larger * ((1.0 + r) * log2_1p_fast(r) - r * log_r);
    return smaller > 0.0 ? value : 0.0;
  }
};

// ((x^p + y^p)/2)^(1/p) for p < 0, written with r = min/max <= 1 so that no power overflows:
// min(x, y) ((1 + r^-p)/2)^(1/p). The companion is log2 x.
struct PowerMean {
  double p;
  double inverse_p;
  double operator()(double x, double log_x, double y, double log_y) const {
    const double smaller = x < y ? x : y;
    const double gap = log_x < log_y ? log_y - log_x : log_x - log_y;
    const double ratio_power = exp2_fast(p * gap);
    return smaller * exp2_fast(inverse_p * log2_fast(0.5 + 0.5 * ratio_power));
  }
};

template <class F>
void with_kernel(const GramKernel& kernel, F&& f) {
  switch (kernel.kind) {
    case GramKind::chi2: return f(Chi2{});
    case GramKind::intersection: return f(Intersection{});
    case GramKind::jensen_shannon: return f(JensenShannon{});
    case GramKind::power_mean: return f(PowerMean{kernel.p, 1.0 / kernel.p});
  }
}

// Rows [begin, end) of X against all rows of Y.
inline void gram_dense(const GramKernel& kernel, const DensePoints& x, const DensePoints& y, std::int64_t begin,
                       std::int64_t end, double* out) {
  with_kernel(kernel, [&](const auto& k) {
    for (std::int64_t a = begin; a < end; ++a) {
      const double *xa = x.values + a * x.n_features, *cxa = x.companions + a * x.n_features;
      for (std::int64_t b = 0; b < y.n_rows; ++b) {
        const double *yb = y.values + b * x.n_features, *cyb = y.companions + b * x.n_features;
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t j = 0; j < x.n_features; ++j) sum += k(xa[j], cxa[j], yb[j], cyb[j]);
        out[a * y.n_rows + b] = sum;
      }
    }
  });
}

// `scratch` is used for a dense row of X: 2 n_features zeros, before and after the call.
inline void gram_sparse(const GramKernel& kernel, const SparsePoints& x, const SparsePoints& y, std::int64_t begin,
                        std::int64_t end, double* scratch, double* out) {
  double *spread = scratch, *spread_companion = scratch + x.n_features;
  with_kernel(kernel, [&](const auto& k) {
    for (std::int64_t a = begin; a < end; ++a) {
      for (std::int64_t e = x.row_start[a]; e < x.row_start[a + 1]; ++e) {
        spread[x.columns[e]] = x.values[e];
        spread_companion[x.columns[e]] = x.companions[e];
      }
      for (std::int64_t b = 0; b < y.n_rows; ++b) {
        double sum = 0.0;
        for (std::int64_t e = y.row_start[b]; e < y.row_start[b + 1]; ++e) {
          const double value = spread[y.columns[e]];
          if (value > 0.0) sum += k(value, spread_companion[y.columns[e]], y.values[e], y.companions[e]);
        }
        out[a * y.n_rows + b] = sum;
      }
      for (std::int64_t e = x.row_start[a]; e < x.row_start[a + 1]; ++e) spread[x.columns[e]] = 0.0;
    }
  });
}

}  // namespace kernline::KERNLINE_TARGET
