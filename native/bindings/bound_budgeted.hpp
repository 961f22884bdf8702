// Budgeted SGD for Python: the state between calls, and checks of the arguments.
#pragma once

#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bound_arrays.hpp"
#include "bindings/bound_solver.hpp"
#include "host/aligned.hpp"
#include "host/dispatch.hpp"
#include "host/parallel.hpp"

namespace kernline {

inline std::int64_t whole_blocks(std::int64_t n) { return (n + block_slots - 1) / block_slots * block_slots; }

inline void check_values_only(const Rows& rows) {
  const RowKind kind = rows.view().kind;
  require(kind == RowKind::dense_values || kind == RowKind::sparse_values32 || kind == RowKind::sparse_values64,
          "budgeted: the rows must hold values");
}

inline float exponent_of(double gamma) {
  require(gamma > 0.0 && gamma < 1e30, "gamma must be positive and within the range of float32");
  return static_cast<float>(-gamma * std::numbers::log2e);
}

inline std::int64_t slot_offset(std::int64_t slot, std::int64_t n_features) {
  return slot / block_slots * n_features * block_slots + slot % block_slots;
}

// The tables for merging, see MergeTables. Keeps its arrays alive.
class MergeGrid {
 public:
  MergeGrid(Matrix<const float> h, Matrix<const float> loss, bool published)
      : h_(h), loss_(loss), published_(published) {
    require(h.shape(0) >= 2 && h.shape(0) <= 10000 && h.shape(0) == h.shape(1) && loss.shape(0) == h.shape(0) &&
                loss.shape(1) == h.shape(0),
            "merge tables: square, of equal size, at most 10,000");
  }
  MergeTables view() const { return {static_cast<int>(h_.shape(0)), h_.data(), loss_.data(), published_}; }

 private:
  Matrix<const float> h_, loss_;
  bool published_;
};

// Averages reach back about this many merges per support vector, and a twentieth of a pass: chosen on held-out rows of data
// that no page of docs/papers/ shows (benchmarks/papers/bsgd_window.py).
constexpr double merges_averaged = 0.3;

// The state of one binary problem. Each call runs for at most `seconds`, without the GIL.
class BudgetedSGD {
 public:
  BudgetedSGD(const Rows& rows, Vector<const double> signed_weights, const MergeGrid& grid, double gamma, double C,
              std::int64_t budget, const std::string& search, const std::string& maintenance, bool intercept,
              std::uint64_t seed, bool shuffle)
      : rows_(rows), signed_weights_(signed_weights), grid_(grid), state_(seed) {
    check_values_only(rows);
    const RowsView& view = rows_.view();
    require(std::cmp_equal(signed_weights.size(), view.n_rows), "one weight per row");
    require(view.n_rows < (std::int64_t{1} << 31), "more than 2^31 rows: train on a subset");
    require(budget >= 2 && budget < (std::int64_t{1} << 31), "budget must be at least 2");
    require(C > 0.0 && std::isfinite(C), "C must be positive");
    for (std::size_t i = 0; i < signed_weights.size(); ++i) {
      const double size = std::abs(signed_weights(i));
      require(size >= 1e-13 && size <= 1e13, "weights must be between 1e-13 and 1e13");
      largest_weight_ = std::max(largest_weight_, std::abs(signed_weights(i)));
      unequal_ = unequal_ || std::abs(signed_weights(i)) != std::abs(signed_weights(0));
    }
    const std::int64_t n_slots = whole_blocks(budget + 1);
    const auto n = static_cast<std::size_t>(n_slots);
    const auto d = static_cast<std::size_t>(view.n_features);
    vectors_ = aligned_zeros(n * d);
    shrinks_.assign(n, 1.0f);
    norms_.assign(n, 0.0f);
    counts_ = aligned_zeros(n);
    pasts_.assign(n, 0.0);
    born_.assign(n, 0);
    point_.assign(d, 0.0f);
    rows_of_slots_ = aligned_zeros(3 * n + n / static_cast<std::size_t>(block_slots));
    order_.resize(static_cast<std::size_t>(view.n_rows));
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::int32_t>(i);

    state_.budget = budget;
    state_.n_features = view.n_features;
    state_.n_slots = n_slots;
    state_.vectors = vectors_.get();
    state_.shrinks = shrinks_.data();
    state_.norms = norms_.data();
    state_.counts = counts_.get();
    state_.pasts = pasts_.data();
    state_.born = born_.data();
    state_.point = point_.data();
    state_.distance_row = rows_of_slots_.get();
    state_.kernel_row = rows_of_slots_.get() + n;
    state_.bounds = rows_of_slots_.get() + 2 * n;
    state_.block_bounds = rows_of_slots_.get() + 3 * n;
    state_.exponent = exponent_of(gamma);
    state_.tables = grid_.view();
    state_.search = search_of(search);
    state_.maintenance = maintenance_of(maintenance);
    state_.published = state_.tables.published;
    state_.shuffle = shuffle;
    state_.intercept = intercept;
    state_.dense = view.kind == RowKind::dense_values;
    state_.signed_weights = signed_weights_.data();
    state_.order = order_.data();
    state_.n_rows = view.n_rows;
    state_.n_seen = static_cast<double>(view.n_rows);
    state_.C = C;
    state_.growth = 1.0 + 1.0 / (merges_averaged * static_cast<double>(budget));
    choose_memory();
  }
  BudgetedSGD(const BudgetedSGD&) = delete;

  // Continues from support vectors with their counts and pasts. `n_seen` is n in lambda = 1 / (n C).
  void resume(Matrix<const float> vectors, Vector<const float> counts, Vector<const double> pasts, double bias,
              double bias_past, double weight_sum, double average_norm, double n_seen, std::int64_t n_steps) {
    const std::size_t n = counts.size();
    require(vectors.shape(0) == n && pasts.size() == n && std::cmp_less_equal(n, state_.budget),
            "resume: one count and one past per support vector, within the budget");
    require(std::cmp_equal(vectors.shape(1), state_.n_features),
            "resume: support vectors with a different number of features");
    require(n_steps >= 0 && state_.n_steps == 0 && n_seen >= 0.0, "resume: only before the first step");
    for (std::size_t b = 0; b < n; ++b) {
      float* values = state_.vectors + slot_offset(static_cast<std::int64_t>(b), state_.n_features);
      float norm = 0.0f;
      for (std::int64_t j = 0; j < state_.n_features; ++j) {
        const float value = vectors.data()[static_cast<std::int64_t>(b) * state_.n_features + j];
        values[j * block_slots] = value;
        if (value != 0.0f) norm += value * value;
      }
      require(std::isfinite(counts(b)), "resume: counts must be finite");
      norms_[b] = norm;
      counts_[b] = counts(b);
      pasts_[b] = pasts(b);
      born_[b] = n_steps;
    }
    state_.n_vectors = static_cast<std::int64_t>(n);
    state_.bias = bias;
    state_.bias_past = bias_past;
    state_.weight_sum = weight_sum;
    state_.average_norm = average_norm;
    state_.n_seen = n_seen;
    state_.n_steps = n_steps;
    choose_memory();
    fill_memory();
  }

  bool run(double seconds) { return loops().sgd_pass(rows_.view(), state_, seconds); }

  // Starts averaging here; earlier averages are discarded.
  void begin_average() {
    state_.averaging = true;
    state_.weight_sum = state_.average_norm = state_.bias_past = 0.0;
    std::fill(pasts_.begin(), pasts_.end(), 0.0);
  }
  void go_on_averaging() { state_.averaging = true; }
  void count_rows_as_seen() { state_.stream = true; }
  // Averages reach back about `merges` merges per support vector, and 1 / `passes` of a pass.
  void set_window(double merges, double passes) {
    require(merges > 0.0 && passes > 0.0, "window: positive numbers");
    state_.growth = 1.0 + 1.0 / (merges * static_cast<double>(state_.budget));
    state_.window_passes = passes;
  }
  void set_merging(bool refine, bool any_label, int at_once) {
    require(!any_label || state_.published, "any_label: only as published");
    require(at_once >= 1 && at_once <= 8 && at_once < state_.budget, "merges at once: 1 to 8, below the budget");
    state_.refine = refine;
    state_.any_label = any_label;
    state_.merged_at_once = at_once;
  }
  void sample_times(std::int64_t one_in) { state_.sampled = one_in; }
  void compare_searches() { state_.compare = true; }

  void copy_vectors(Matrix<float> out) const {
    require(std::cmp_equal(out.shape(0), state_.n_vectors) && std::cmp_equal(out.shape(1), state_.n_features),
            "vectors: one row per support vector");
    for (std::int64_t b = 0; b < state_.n_vectors; ++b) {
      const float* values = state_.vectors + slot_offset(b, state_.n_features);
      for (std::int64_t j = 0; j < state_.n_features; ++j) out(b, j) = state_.shrinks[b] * values[j * block_slots];
    }
  }
  void copy_counts(Vector<float> counts, Vector<double> pasts) const {
    require(std::cmp_equal(counts.size(), state_.n_vectors) && pasts.size() == counts.size(),
            "counts: one per support vector");
    std::copy_n(state_.counts, counts.size(), counts.data());
    std::copy_n(state_.pasts, pasts.size(), pasts.data());
  }
  // Copies the stored squared distances; false if none are stored.
  bool copy_distances(Matrix<float> out) const {
    if (!state_.distances) return false;
    require(std::cmp_equal(out.shape(0), state_.n_vectors) && out.shape(1) == out.shape(0), "distances: square");
    for (std::int64_t b = 0; b < state_.n_vectors; ++b)
      std::copy_n(state_.distances + b * state_.n_slots, out.shape(1), &out(b, 0));
    return true;
  }
  const BudgetState& state() const { return state_; }

 private:
  static Search search_of(const std::string& name) {
    if (name == "lookup-wd") return Search::lookup_wd;
    if (name == "lookup-h") return Search::lookup_h;
    if (name == "gss") return Search::gss;
    require(name == "gss-precise", "unknown merge search");
    return Search::gss_precise;
  }
  static Maintenance maintenance_of(const std::string& name) {
    if (name == "merge") return Maintenance::merge;
    if (name == "remove") return Maintenance::remove;
    require(name == "project", "unknown maintenance");
    return Maintenance::project;
  }

  // Distances between support vectors are stored if the smallest count may not be the newest, and the inverse of their
  // kernel matrix for projection.
  void choose_memory() {
    bool smaller = false;
    for (std::int64_t b = 0; b < state_.n_vectors; ++b)
      smaller = smaller || std::abs(state_.counts[b]) < static_cast<float>(largest_weight_);
    state_.newest_is_least = !unequal_ && !smaller;
    const auto n = static_cast<std::size_t>(state_.n_slots);
    if (state_.maintenance == Maintenance::merge && !state_.newest_is_least && !state_.published &&
        distances_.empty()) {
      distances_.assign(n * n, 0.0f);
      state_.distances = distances_.data();
    }
    if (state_.maintenance == Maintenance::project && inverse_.empty()) {
      inverse_.assign(n * n, 0.0);
      state_.inverse = inverse_.data();
    }
  }
  void fill_memory() { loops().recall(state_); }

  Rows rows_;
  Vector<const double> signed_weights_;
  MergeGrid grid_;
  BudgetState state_;
  double largest_weight_ = 0.0;
  bool unequal_ = false;
  AlignedFloats vectors_, counts_, rows_of_slots_;
  std::vector<float> shrinks_, norms_, point_, distances_;
  std::vector<double> pasts_, inverse_;
  std::vector<std::int64_t> born_;
  std::vector<std::int32_t> order_;
};

// f(x_i) - intercept of one model.
inline void budgeted_decision(const Rows& rows, Matrix<const float> vectors, Vector<const float> coefficients,
                              double gamma, Vector<double> out, int n_threads) {
  check_values_only(rows);
  const RowsView& view = rows.view();
  const auto n = static_cast<std::int64_t>(vectors.shape(0)), d = static_cast<std::int64_t>(vectors.shape(1));
  require(d == view.n_features, "budgeted: rows and support vectors have different numbers of features");
  require(coefficients.size() == vectors.shape(0) && std::cmp_equal(out.size(), view.n_rows),
          "budgeted: one coefficient per support vector, one output per row");
  const std::int64_t n_slots = whole_blocks(std::max<std::int64_t>(n, 1));
  const auto size = static_cast<std::size_t>(n_slots);
  AlignedFloats blocks = aligned_zeros(size * static_cast<std::size_t>(d)), counts = aligned_zeros(size);
  std::vector<float> norms(size, 0.0f), shrinks(size, 1.0f);
  for (std::int64_t b = 0; b < n; ++b) {
    const float* from = vectors.data() + b * d;
    float norm = 0.0f;
    for (std::int64_t j = 0; j < d; ++j) {
      blocks[static_cast<std::size_t>(slot_offset(b, d) + j * block_slots)] = from[j];
      norm += from[j] * from[j];
    }
    norms[static_cast<std::size_t>(b)] = norm;
    counts[static_cast<std::size_t>(b)] = coefficients.data()[b];
  }
  const BlocksView model{d, n_slots, blocks.get(), shrinks.data(), norms.data(), counts.get(), exponent_of(gamma)};
  parallel_for(n_threads, view.n_rows, [&](std::int64_t begin, std::int64_t end) {
    AlignedFloats room = aligned_zeros(2 * size);
    loops().budgeted_decision(view, model, begin, end, room.get(), out.data());
  });
}

inline void bind_budgeted(nb::module_& m) {
  using namespace nb::literals;
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<MergeGrid>(m, "MergeGrid")
      .def(nb::init<Matrix<const float>, Matrix<const float>, bool>(), exact("h"), exact("loss"), "published"_a);
  nb::class_<BudgetedSGD>(m, "BudgetedSGD")
      .def(nb::init<const Rows&, Vector<const double>, const MergeGrid&, double, double, std::int64_t,
                    const std::string&, const std::string&, bool, std::uint64_t, bool>(),
           "rows"_a, exact("signed_weights"), "grid"_a, "gamma"_a, "C"_a, "budget"_a, "search"_a, "maintenance"_a,
           "intercept"_a, "seed"_a, "shuffle"_a)
      .def("resume", &BudgetedSGD::resume, exact("vectors"), exact("counts"), exact("pasts"), "bias"_a, "bias_past"_a,
           "weight_sum"_a, "average_norm"_a, "n_seen"_a, "n_steps"_a)
      .def("run", &BudgetedSGD::run, "seconds"_a, Release())
      .def("begin_average", &BudgetedSGD::begin_average)
      .def("go_on_averaging", &BudgetedSGD::go_on_averaging)
      .def("count_rows_as_seen", &BudgetedSGD::count_rows_as_seen)
      .def("set_window", &BudgetedSGD::set_window, "merges"_a, "passes"_a)
      .def("set_merging", &BudgetedSGD::set_merging, "refine"_a, "any_label"_a, "at_once"_a)
      .def("sample_times", &BudgetedSGD::sample_times, "one_in"_a)
      .def("compare_searches", &BudgetedSGD::compare_searches)
      .def("copy_vectors", &BudgetedSGD::copy_vectors, exact("out"))
      .def("copy_counts", &BudgetedSGD::copy_counts, exact("counts"), exact("pasts"))
      .def("copy_distances", &BudgetedSGD::copy_distances, exact("out"))
      .def_prop_ro("n_vectors", [](const BudgetedSGD& s) { return s.state().n_vectors; })
      .def_prop_ro("n_features", [](const BudgetedSGD& s) { return s.state().n_features; })
      .def_prop_ro("n_steps", [](const BudgetedSGD& s) { return s.state().n_steps; })
      .def_prop_ro("n_seen", [](const BudgetedSGD& s) { return s.state().n_seen; })
      .def_prop_ro("scale", [](const BudgetedSGD& s) { return s.state().scale(); })
      .def_prop_ro("bias", [](const BudgetedSGD& s) { return s.state().bias; })
      .def_prop_ro("bias_past", [](const BudgetedSGD& s) { return s.state().bias_past; })
      .def_prop_ro("weight_sum", [](const BudgetedSGD& s) { return s.state().weight_sum; })
      .def_prop_ro("average_norm", [](const BudgetedSGD& s) { return s.state().average_norm; })
      .def_prop_ro("loss_sum", [](const BudgetedSGD& s) { return s.state().loss_sum; })
      .def_prop_ro("n_violations", [](const BudgetedSGD& s) { return s.state().n_violations; })
      .def_prop_ro("n_maintained", [](const BudgetedSGD& s) { return s.state().n_maintained; })
      .def_prop_ro("n_repeated", [](const BudgetedSGD& s) { return s.state().n_repeated; })
      .def_prop_ro("maintenance_seconds", [](const BudgetedSGD& s) { return s.state().seconds_of(s.state().whole); })
      .def_prop_ro("search_seconds", [](const BudgetedSGD& s) { return s.state().seconds_of(s.state().searching); })
      .def_prop_ro("compared",
                   [](const BudgetedSGD& s) {
                     const BudgetState& state = s.state();
                     return nb::make_tuple(state.n_compared, state.n_equal, state.least_loss, state.loss_gss,
                                           state.loss_lookup, state.n_factors, state.factors_gss, state.factors_lookup);
                   })
      .def_prop_ro("judged", [](const BudgetedSGD& s) {
        const BudgetState& state = s.state();
        return nb::make_tuple(state.n_judged, state.judged_last, state.judged_average);
      });
  m.def("budgeted_decision", budgeted_decision, "rows"_a, exact("vectors"), exact("coefficients"), "gamma"_a,
        exact("out"), "n_threads"_a, Release());
}

}  // namespace kernline
