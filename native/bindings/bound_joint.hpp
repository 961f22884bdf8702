// The joint descent over all classes for Python: the state between calls, and checks of the arguments.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "bindings/bound_arrays.hpp"
#include "host/aligned.hpp"
#include "host/dispatch.hpp"

namespace kernline {

// The state of one problem. Each call runs for at most `seconds`, without the GIL.
class JointSolver {
 public:
  JointSolver(const Rows& rows, const Table& read, const Table& write, Vector<const float> scales,
              Vector<const std::int32_t> labels, std::int64_t n_classes, Vector<const double> cost,
              Vector<const double> curvature, double intercept_square,
              std::optional<Vector<const std::int32_t>> members, std::optional<Vector<const float>> means,
              double mean_square, std::uint64_t seed, bool shuffle)
      : rows_(rows),
        method_{read.view(), write.view()},
        read_(read),
        write_(write),
        scales_(scales),
        labels_(labels),
        members_(members),
        means_(means),
        state_(seed, shuffle),
        n_rows_(members ? members->size() : static_cast<std::size_t>(rows.view().n_rows)) {
    if (members) check_members(*members, rows.view().n_rows);
    check_method();
    require(n_classes >= 2 && n_classes < (1 << 24), "at least two classes");
    state_.n_classes = n_classes;
    check_labels();
    require(!means || means->size() == n_rows_, "one mean per row");
    require(cost.size() == n_rows_ && curvature.size() == n_rows_, "one cost and one curvature per row");
    for (std::size_t i = 0; i < n_rows_; ++i) {
      require(cost(i) >= 1e-35 && cost(i) <= 1e35 && curvature(i) >= 0.0 && curvature(i) <= 1e35,
              "costs and curvatures must be within the range of float32");
      cost_.push_back(static_cast<float>(cost(i)));
      curvature_.push_back(static_cast<float>(curvature(i)));
    }
    allocate();
    state_.intercept_square = static_cast<float>(intercept_square);
    state_.mean_square = mean_square;
  }
  JointSolver(const JointSolver&) = delete;

  bool sweep(double seconds) { return loops().joint_sweep(rows_.view(), method_, state_, seconds); }
  bool rebuild(double seconds) {
    if (exact_weights_.empty()) {
      exact_weights_.assign(n_slots_ * block_classes, 0.0);
      state_.exact_weights = exact_weights_.data();
      state_.rebuilt_class = 0;
      begin_block();
    }
    if (!loops().joint_rebuild(rows_.view(), method_, state_, seconds)) return false;
    take_block();
    state_.rebuilt_class += block_classes;
    begin_block();
    if (state_.rebuilt_class < state_.n_classes) return false;
    std::vector<double>().swap(exact_weights_);
    return true;
  }
  bool evaluate(double seconds) { return loops().joint_evaluate(rows_.view(), method_, state_, seconds); }

  // Share of the gap at or below which a row rests.
  void set_negligible(double share) { state_.negligible = share; }
  void wake_all() {
    for (Rest& rest : rests_) rest.left = 0;
  }

  // Multiplies costs, beta and f.
  void grow(double factor) {
    require_between_epochs();
    require(factor > 0.0, "grow: a positive factor");
    loops().joint_grow(state_, factor);
    for (std::size_t k = 0; k < n_slots_ * stride(); ++k) weights_[k] = static_cast<float>(weights_[k] * factor);
    for (std::vector<double>* numbers : {&intercepts_, &beta_sums_, &centres_}) {
      for (double& number : *numbers) number *= factor;
    }
  }

  // Starts from these beta, a row of them per row; the weights follow at the next rebuild, which must come before a sweep.
  void set_beta(Matrix<const float> beta) {
    require_between_epochs();
    require(beta.shape(0) == n_rows_ && std::cmp_equal(beta.shape(1), state_.n_classes), "beta: one per row and class");
    for (std::size_t i = 0; i < n_rows_; ++i) check_beta(beta.data() + i * beta.shape(1), i);
    std::copy_n(beta.data(), beta_.size(), beta_.begin());
    std::fill(rests_.begin(), rests_.end(), Rest{});
  }

  // Moves the centres, and with them b and f; not beyond the range of float32, where data that change meanwhile may lead.
  void set_centres(Vector<const double> centres) {
    require_between_epochs();
    require(std::cmp_equal(centres.size(), state_.n_classes), "centres: one per class");
    for (std::size_t k = 0; k < centres.size(); ++k) {
      if (!(std::abs(centres(k)) <= 1e30)) continue;
      const double change = centres(k) - centres_[k];
      state_.dual -= change * beta_sums_[k];
      centres_[k] = centres(k);
      intercepts_[k] += change;
    }
  }
  void set_dual(double dual) { state_.dual = dual; }

  // The weights as `decision` reads them: the classes of a slot are adjacent, padded as the caller likes.
  void copy_weights(Matrix<float> out) const {
    const auto n = static_cast<std::size_t>(state_.n_classes);
    require(out.shape(0) >= n_slots_ && out.shape(1) >= n, "weights: a row per slot, a column per class");
    for (std::size_t s = 0; s < n_slots_; ++s)
      std::copy_n(weights_.get() + s * stride(), n, out.data() + s * out.shape(1));
  }
  void copy_beta(Matrix<float> out) const {
    require(out.size() == beta_.size(), "beta: one per row and class");
    std::copy(beta_.begin(), beta_.end(), out.data());
  }
  std::vector<double> of_classes(const std::vector<double>& padded) const {
    return {padded.begin(), padded.begin() + state_.n_classes};
  }
  std::vector<double> intercepts() const { return of_classes(intercepts_); }
  std::vector<double> beta_sums() const { return of_classes(beta_sums_); }
  std::vector<double> centres() const { return of_classes(centres_); }
  const JointState& state() const { return state_; }

 private:
  void check_method() const {
    const RowsView& view = rows_.view();
    const TableForm read = method_.read.form, write = method_.write.form;
    read_.check(rows_);
    write_.check(rows_);
    require(method_.read.width == method_.write.width, "read and write tables must have the same width");
    require((write == TableForm::dense && (read == TableForm::dense || read == TableForm::pair)) ||
                (write == TableForm::value && read == TableForm::value),
            "no symmetric method has this pair of read and write tables");
    require(scales_.size() == static_cast<std::size_t>(view.n_features), "one scale per feature");
    require(n_rows_ < (std::size_t{1} << 31), "more than 2^31 rows: train on a subset");
  }
  void check_labels() const {
    require(labels_.size() == n_rows_, "one label per row");
    for (std::size_t i = 0; i < n_rows_; ++i)
      require(labels_(i) >= 0 && labels_(i) < state_.n_classes, "labels must be numbers of classes");
  }
  // Within the bounds, and their sum zero, up to rounding errors.
  void check_beta(const float* beta, std::size_t i) const {
    double sum = 0.0;
    bool within = true;
    for (std::int64_t k = 0; k < state_.n_classes; ++k) {
      sum += static_cast<double>(beta[k]);
      within = within && beta[k] <= (k == labels_(i) ? cost_[i] : 0.0f);
    }
    require(within && std::abs(sum) <= 1e-5 * static_cast<double>(cost_[i]), "beta: not within the bounds of the loss");
  }
  void require_between_epochs() const {
    require(!state_.in_epoch && exact_weights_.empty(), "not in the middle of an epoch");
  }
  std::size_t stride() const { return static_cast<std::size_t>(state_.stride); }

  void allocate() {
    const auto n_classes = static_cast<std::size_t>(state_.n_classes);
    state_.stride = (state_.n_classes + block_classes - 1) / block_classes * block_classes;
    n_slots_ = static_cast<std::size_t>(rows_.view().n_features) * static_cast<std::size_t>(method_.read.width);
    weights_ = aligned_zeros((n_slots_ + 1) * stride());  // a pair table may read one slot more
    beta_.assign(n_rows_ * n_classes, 0.0f);
    order_.resize(n_rows_);
    rests_.resize(n_rows_);
    for (std::vector<double>* numbers : {&intercepts_, &beta_sums_, &centres_}) numbers->assign(stride(), 0.0);
    state_.weights = weights_.get();
    state_.beta = beta_.data();
    state_.order = order_.data();
    state_.rests = rests_.data();
    state_.labels = labels_.data();
    state_.cost = cost_.data();
    state_.curvature = curvature_.data();
    state_.scales = scales_.data();
    state_.members = members_ ? members_->data() : nullptr;
    state_.means = means_ ? means_->data() : nullptr;
    state_.intercepts = intercepts_.data();
    state_.beta_sums = beta_sums_.data();
    state_.centres = centres_.data();
    state_.n_rows = state_.n_active = static_cast<std::int64_t>(n_rows_);
  }

  void begin_block() {
    state_.rebuilt = 0;
    std::fill(exact_weights_.begin(), exact_weights_.end(), 0.0);
    std::fill_n(state_.exact_intercepts, block_classes, 0.0);
    std::fill_n(state_.exact_sums, block_classes, 0.0);
  }
  void take_block() {
    const auto first = static_cast<std::size_t>(state_.rebuilt_class);
    for (std::size_t k = 0; k < block_classes; ++k) {
      for (std::size_t s = 0; s < n_slots_; ++s)
        weights_[s * stride() + first + k] = static_cast<float>(exact_weights_[s * block_classes + k]);
      intercepts_[first + k] = centres_[first + k] + state_.exact_intercepts[k];
      beta_sums_[first + k] = state_.exact_sums[k];
    }
  }

  Rows rows_;
  MethodView method_;
  Table read_, write_;
  Vector<const float> scales_;
  Vector<const std::int32_t> labels_;
  std::optional<Vector<const std::int32_t>> members_;
  std::optional<Vector<const float>> means_;
  JointState state_;
  std::size_t n_rows_;
  std::size_t n_slots_ = 0;
  AlignedFloats weights_;
  std::vector<float> beta_, cost_, curvature_;
  std::vector<Rest> rests_;
  std::vector<std::int32_t> order_;
  std::vector<double> intercepts_, beta_sums_, centres_;
  std::vector<double> exact_weights_;  // only during a rebuild
};

inline void bind_joint(nb::module_& m) {
  using namespace nb::literals;
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<JointSolver>(m, "JointSolver")
      .def(nb::init<const Rows&, const Table&, const Table&, Vector<const float>, Vector<const std::int32_t>,
                    std::int64_t, Vector<const double>, Vector<const double>, double,
                    std::optional<Vector<const std::int32_t>>, std::optional<Vector<const float>>, double,
                    std::uint64_t, bool>(),
           "rows"_a, "read"_a, "write"_a, exact("scales"), exact("labels"), "n_classes"_a, exact("cost"),
           exact("curvature"), "intercept_square"_a, exact("members").none(), exact("means").none(), "mean_square"_a,
           "seed"_a, "shuffle"_a)
      .def("sweep", &JointSolver::sweep, "seconds"_a, Release())
      .def("rebuild", &JointSolver::rebuild, "seconds"_a, Release())
      .def("evaluate", &JointSolver::evaluate, "seconds"_a, Release())
      .def("set_negligible", &JointSolver::set_negligible, "share"_a)
      .def("wake_all", &JointSolver::wake_all)
      .def("grow", &JointSolver::grow, "factor"_a, Release())
      .def("set_beta", &JointSolver::set_beta, exact("beta"))
      .def("set_centres", &JointSolver::set_centres, exact("centres"))
      .def("set_dual", &JointSolver::set_dual, "dual"_a)
      .def("copy_weights", &JointSolver::copy_weights, exact("out"))
      .def("copy_beta", &JointSolver::copy_beta, exact("out"))
      .def_prop_ro("intercepts", &JointSolver::intercepts)
      .def_prop_ro("beta_sums", &JointSolver::beta_sums)
      .def_prop_ro("centres", &JointSolver::centres)
      .def_prop_ro("n_active", [](const JointSolver& s) { return s.state().n_active; })
      .def_prop_ro("dual", [](const JointSolver& s) { return s.state().dual; })
      .def_prop_ro("active_gap", [](const JointSolver& s) { return s.state().active_gap; })
      .def_prop_ro("gap", [](const JointSolver& s) { return s.state().gap; })
      .def_prop_ro("loss_sum", [](const JointSolver& s) { return s.state().loss_sum; })
      .def_prop_ro("squared_norm", [](const JointSolver& s) { return s.state().squared_norm; });
}

}  // namespace kernline
