// The points of a Gram matrix, as passed by Python.
#pragma once

#include <cstdint>

namespace kernline {

enum class GramKind : std::uint8_t { chi2, intersection, jensen_shannon, power_mean };

struct GramKernel {
  GramKind kind;
  double p;  // power mean only
};

struct DensePoints {
  std::int64_t n_rows;
  std::int64_t n_features;
  const double* values;
  const double* companions;
};

struct SparsePoints {
  std::int64_t n_rows;
  std::int64_t n_features;
  const std::int64_t* row_start;
  const std::int64_t* columns;
  const double* values;
  const double* companions;
};

}  // namespace kernline
