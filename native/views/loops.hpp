// The hot loops behind function pointers: loops.cpp is compiled once per instruction set, and the best one that the
// processor supports is chosen at run time.
#pragma once

#include <cstdint>

#include "views/budget_state.hpp"
#include "views/dual_state.hpp"
#include "views/gram_views.hpp"
#include "views/joint_state.hpp"
#include "views/pairs.hpp"
#include "views/views.hpp"

namespace kernline {

struct Loops {
  const char* target;
  bool (*sweep)(const RowsView&, const MethodView&, DualState&, double seconds);
  bool (*rebuild)(const RowsView&, const MethodView&, DualState&, double seconds);
  void (*follow)(const RowsView&, const MethodView&, DualState&, const double* before);
  bool (*evaluate)(const RowsView&, const MethodView&, DualState&, double seconds);
  void (*grow)(DualState&, double factor);
  bool (*set_beta)(DualState&, const double* beta);
  void (*balance)(DualState&, double* numbers);
  void (*certify)(DualState&, const double* values, double intercept, double* shares);
  double (*best_intercept)(const DualState&, const double* values, double near, double* numbers);
  bool (*joint_sweep)(const RowsView&, const MethodView&, JointState&, double seconds);
  bool (*joint_rebuild)(const RowsView&, const MethodView&, JointState&, double seconds);
  bool (*joint_evaluate)(const RowsView&, const MethodView&, JointState&, double seconds);
  void (*joint_grow)(JointState&, double factor);
  void (*decision)(const RowsView&, const TableView&, const WeightsView&, std::int64_t begin, std::int64_t end,
                   double* out);
  void (*contributions)(const RowsView&, const TableView&, const WeightsView&, std::int64_t begin, std::int64_t end,
                        float* out);
  void (*read_members)(const RowsView&, const TableView&, const float* weights, const std::int32_t* members,
                       std::int64_t n_members, double* out);
  void (*add_members)(const RowsView&, const TableView&, const double* t, const std::int32_t* members,
                      std::int64_t n_members, double* sums);
  double (*add_image)(const RowsView&, const TableView&, const float* weights, float intercept, const float* s,
                      const std::int32_t* members, std::int64_t n_members, float* sums);
  void (*add_products)(const RowsView&, const TableView&, const double* t, const std::int32_t* members,
                       std::int64_t n_members, std::int64_t first_column, std::int64_t end_column, std::int64_t stride,
                       double* sums);
  void (*add_classes)(const RowsView&, const TableView&, const float* r, std::int64_t stride, std::int64_t begin,
                      std::int64_t end, float* sums);
  void (*read_pairs)(const PairsView&, const float* weights, std::int64_t stride, std::int64_t n_problems,
                     std::int64_t begin, std::int64_t end, double* out);
  void (*add_pairs)(const PairsView&, const float* r, std::int64_t stride, std::int64_t begin, std::int64_t end,
                    float* sums);
  void (*add_cells)(const std::uint8_t* first, const std::uint8_t* second, std::int64_t width, const float* r,
                    std::int64_t stride, std::int64_t n_rows, float* histogram);
  void (*gram_dense)(const GramKernel&, const DensePoints&, const DensePoints&, std::int64_t begin, std::int64_t end,
                     double* out);
  void (*gram_sparse)(const GramKernel&, const SparsePoints&, const SparsePoints&, std::int64_t begin, std::int64_t end,
                      double* scratch, double* out);
  void (*recall)(BudgetState&);
  bool (*sgd_pass)(const RowsView&, BudgetState&, double seconds);
  void (*budgeted_decision)(const RowsView&, const BlocksView&, std::int64_t begin, std::int64_t end, float* room,
                            double* out);
};

namespace baseline {
extern const Loops loops;
}
namespace avx2 {
extern const Loops loops;
}
namespace avx512 {
extern const Loops loops;
}

}  // namespace kernline
