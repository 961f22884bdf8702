// libFuzzer's target for coordinate descent: `make fuzz`. On any rows, tables, costs and losses, with restarts and several
// parts: beta stays within its bounds, the weights are their sums, and the objectives are what their definitions say.
#include <algorithm>
#include <optional>

#include "drawn.hpp"
#include "host/parts.hpp"
#include "views/loops.hpp"

using namespace kernline;
using namespace kernline::fuzz;

namespace {

const Loops& loops = baseline::loops;

// A method whose kernel is symmetric, psi = phi, or that of the papers, powers and nodes, which is not.
struct DrawnMethod {
  DrawnTable read, write;
  bool symmetric = true;

  explicit DrawnMethod(Draw& draw) : DrawnMethod(draw, draw.between(0, 6)) {}
  MethodView view() const { return {read.view, write.view}; }

 private:
  DrawnMethod(Draw& draw, std::int64_t choice)
      : read(draw, choice == 0   ? TableForm::value
                   : choice == 1 ? TableForm::powers
                   : choice <= 3 ? TableForm::dense
                                 : TableForm::pair),
        write(written(draw, choice)) {
    symmetric = choice != 1;
    if (choice == 4) {  // PLAME reads a dense table and writes pairs
      std::swap(read.view, write.view);
      std::swap(read.data, write.data);
      std::swap(read.n_codes, write.n_codes);
    }
  }
  DrawnTable written(Draw& draw, std::int64_t choice) const {
    if (choice == 1) {
      DrawnTable nodes(draw, TableForm::nodes);
      nodes.view.width = read.view.width;
      nodes.data = draw.numbers(1 + static_cast<std::size_t>(read.view.width * read.view.width));
      nodes.view.data = nodes.data.data();
      return nodes;
    }
    if (choice <= 3) return read;
    DrawnTable dense = read;  // the same hats as a dense table
    dense.view.form = TableForm::dense;
    dense.view.shift = 0;
    dense.data.assign(read.n_codes * static_cast<std::size_t>(read.view.width), 0.0f);
    for (unsigned code = 1; code < read.n_codes; ++code) {
      const Slots phi = read.phi(code, nullptr);
      for (std::size_t k = 1; k < phi.size(); ++k)  // psi has nothing in the slot of u = 0
        dense.data[code * phi.size() + k] = static_cast<float>(phi[k]);
    }
    dense.view.data = dense.data.data();
    return dense;
  }
};

struct DrawnProblem {
  DrawnMethod method;
  DrawnRows rows;
  std::vector<float> scales;
  std::vector<std::int32_t> members;
  std::int64_t n, n_slots;

  explicit DrawnProblem(Draw& draw)
      : method(draw),
        rows(draw, method.read.view.form, method.read.n_codes, 1 + method.read.view.width - method.write.view.shift) {
    n_slots = rows.view.n_features * method.read.view.width;
    for (std::int64_t j = 0; j < rows.view.n_features; ++j)
      scales.push_back(draw.flip() ? 1.0f : 0.25f * static_cast<float>(draw.between(1, 8)));
    n = rows.view.n_rows;
    if (draw.between(0, 3) == 0) {
      members.resize(draw.some<std::size_t>(8, 30));
      for (auto& member : members) member = draw.between<std::int32_t>(0, rows.view.n_rows - 1);
      n = static_cast<std::int64_t>(members.size());
    }
  }
  std::int64_t row(std::int64_t i) const { return members.empty() ? i : members[static_cast<std::size_t>(i)]; }

  // W += beta s psi of row i.
  void add_row(std::int64_t i, double beta, double* weights, double* sizes) const {
    for (const auto& cell : rows.cells(row(i))) {
      if (!cell.payload && cell.code == 0) continue;
      const Slots psi = method.write.phi(cell.code, cell.payload);
      for (std::size_t k = 0; k < psi.size(); ++k) {
        const auto slot = static_cast<std::size_t>(cell.column * method.write.view.width) + k;
        const double term = beta * scales[static_cast<std::size_t>(cell.column)] * psi[k];
        weights[slot] += term;
        sizes[slot] += std::abs(term);
      }
    }
  }
  // K(x_i, x_i) of the additive kernel.
  double curvature(std::int64_t i) const {
    std::vector<double> image(static_cast<std::size_t>(n_slots) + 1), sizes(image.size());
    add_row(i, 1.0, image.data(), sizes.data());
    return std::max(0.0, value_of(rows, method.read, row(i), image.data()).f);
  }
};

double loss_of(LossKind kind, double epsilon, double t, double f) {
  const double margin = std::max(0.0, 1.0 - t * f), excess = std::max(0.0, std::abs(t - f) - epsilon);
  switch (kind) {
    case LossKind::hinge: return margin;
    case LossKind::squared_hinge: return margin * margin;
    case LossKind::logistic: return std::max(0.0, -t * f) + std::log1p(std::exp(-std::abs(f)));
    case LossKind::epsilon_insensitive: return excess;
    case LossKind::squared_epsilon_insensitive: return excess * excess;
    case LossKind::squared_error: return (t - f) * (t - f);
  }
  return 0.0;
}

bool within_bounds(LossKind kind, double cost, double t, double beta) {
  const double alpha = t * beta, least = -1e-6 * cost, most = cost * (1.0 + 1e-6);
  switch (kind) {
    case LossKind::hinge:
    case LossKind::logistic: return alpha >= least && alpha <= most;
    case LossKind::squared_hinge: return alpha >= least;
    case LossKind::epsilon_insensitive: return std::abs(beta) <= most;
    default: return std::isfinite(beta);
  }
}

class DualCheck {
 public:
  explicit DualCheck(Draw& draw)
      : draw_(draw),
        problem_(draw),
        state_(draw.bits(2), draw.flip(),
               {draw.between<LossKind>(0, 5), 0.125 * static_cast<double>(draw.between(0, 4))},
               draw.flip() ? 1.0f : 0.0f) {
    const auto n = static_cast<std::size_t>(problem_.n);
    const bool labels = state_.loss.kind <= LossKind::logistic;
    for (std::int64_t i = 0; i < problem_.n; ++i) {
      targets_.push_back(labels ? (draw.flip() ? 1.0 : -1.0) : static_cast<double>(draw.number()));
      const double cost = 0.0625 * static_cast<double>(draw.between(1, 64));
      const double curvature = problem_.method.symmetric ? problem_.curvature(i) : 4.0;
      coordinates_.push_back({0.0, static_cast<float>(curvature + static_cast<double>(state_.intercept_square)),
                              static_cast<float>(labels ? targets_.back() * cost : cost)});
    }
    rests_.resize(n);
    order_.resize(n);
    weights_ = aligned_zeros(static_cast<std::size_t>(problem_.n_slots) + 1);
    state_.coordinates = coordinates_.data();
    state_.rests = rests_.data();
    state_.order = order_.data();
    state_.members = problem_.members.empty() ? nullptr : problem_.members.data();
    state_.n_rows = state_.n_active = state_.n_visits = problem_.n;
    state_.weights = weights_.get();
    state_.scales = problem_.scales.data();
    state_.targets = labels ? nullptr : targets_.data();
    state_.negligible = draw.flip() ? 0.0 : 1e-3;
    state_.most_repeats = draw.between<int>(0, 2);
  }

  void run() {
    std::optional<Parts> parts;
    if (draw_.flip()) {
      const double cells = static_cast<double>(problem_.rows.row_start.back()) / static_cast<double>(problem_.n);
      parts.emplace(state_, draw_.between<int>(2, 8), draw_.between(1, 8), cells,
                    static_cast<std::size_t>(problem_.n_slots) + 1, problem_.scales.size());
    }
    for (std::int64_t epoch = draw_.between(1, 6); epoch > 0; --epoch) {
      const double before = state_.dual, size = size_of_dual();
      const auto sweep = [&](double seconds) {
        return parts ? parts->sweep(loops, problem_.rows.view, problem_.method.view(), state_, 1, seconds)
                     : loops.sweep(problem_.rows.view, problem_.method.view(), state_, seconds);
      };
      bool done = draw_.between(0, 7) == 0 && sweep(0.0);
      for (int call = 0; call < 10'000 && !done; ++call) done = sweep(60.0);
      require(done, "an epoch does not end");
      if (problem_.method.symmetric && !parts)
        require(state_.dual >= before - 1e-4 * (1.0 + size + size_of_dual()), "the dual objective fell");
    }
    check_bounds();
    if (!problem_.method.symmetric) return;  // its descent may diverge, and then no digit is right
    check_rebuild();
    check_evaluation();
    if (draw_.flip()) {
      loops.grow(state_, 2.0);
      check_bounds();
    }
  }

 private:
  double cost(std::size_t i) const { return std::abs(static_cast<double>(coordinates_[i].signed_cost)); }
  double size_of_dual() const {
    double size = 0.0;
    for (const Coordinate& coordinate : coordinates_)
      size += std::abs(coordinate.beta) * (1.0 + std::abs(coordinate.beta) * static_cast<double>(coordinate.curvature));
    return size;
  }

  void check_bounds() const {
    for (std::size_t i = 0; i < coordinates_.size(); ++i) {
      if (!problem_.method.symmetric && !std::isfinite(coordinates_[i].beta)) continue;
      require(within_bounds(state_.loss.kind, cost(i), targets_[i], coordinates_[i].beta), "beta out of its bounds");
    }
  }

  void check_rebuild() {
    std::vector<double> exact(static_cast<std::size_t>(problem_.n_slots) + 1), expected(exact.size()),
        sizes(exact.size());
    state_.exact_weights = exact.data();
    state_.exact_intercept = state_.centre;
    state_.exact_beta_sum = 0.0;
    state_.rebuilt = 0;
    while (!loops.rebuild(problem_.rows.view, problem_.method.view(), state_, 0.0)) {
    }
    for (std::int64_t i = 0; i < problem_.n; ++i)
      problem_.add_row(i, coordinates_[static_cast<std::size_t>(i)].beta, expected.data(), sizes.data());
    for (std::size_t slot = 0; slot + 1 < exact.size(); ++slot) {
      if (problem_.method.write.view.form == TableForm::pair &&
          slot % static_cast<std::size_t>(problem_.method.write.view.width) == 0)
        continue;
      require_near(exact[slot], expected[slot], sizes[slot], "a weight of the rebuild");
      weights_[slot] = static_cast<float>(exact[slot]);
    }
    state_.intercept = state_.exact_intercept;
    state_.beta_sum = state_.exact_beta_sum;
  }

  void check_evaluation() {
    while (!loops.evaluate(problem_.rows.view, problem_.method.view(), state_, 0.0)) {
    }
    double losses = 0.0, norm = 0.0, size = 0.0;
    for (std::int64_t i = 0; i < problem_.n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const Value value = value_of(problem_.rows, problem_.method.read, problem_.row(i), weights_.get());
      const double f = value.f + state_.intercept,
                   loss = loss_of(state_.loss.kind, state_.loss.epsilon, targets_[k], f);
      losses += cost(k) * loss;
      norm += coordinates_[k].beta * f;
      size += (cost(k) * (1.0 + std::abs(f)) + std::abs(coordinates_[k].beta)) *
              (1.0 + value.size + std::abs(state_.intercept));
    }
    require_near(state_.loss_sum, losses, size, "the sum of losses");
    require_near(state_.squared_norm, norm, size, "the squared norm");
    require(state_.gap >= -1e-4 * (1.0 + size), "the gap is negative");
  }

  Draw& draw_;
  DrawnProblem problem_;
  DualState state_;
  std::vector<double> targets_;
  std::vector<Coordinate> coordinates_;
  std::vector<Rest> rests_;
  std::vector<std::int32_t> order_;
  AlignedFloats weights_;
};

class JointCheck {
 public:
  explicit JointCheck(Draw& draw) : draw_(draw), problem_(draw), state_(draw.bits(2), draw.flip()) {
    const std::int64_t n_classes = 1 + draw.some(8, 19);
    state_.n_classes = n_classes;
    state_.stride = (n_classes + block_classes - 1) / block_classes * block_classes;
    for (std::int64_t i = 0; i < problem_.n; ++i) {
      labels_.push_back(draw.between<std::int32_t>(0, n_classes - 1));
      cost_.push_back(0.0625f * static_cast<float>(draw.between(1, 64)));
      curvature_.push_back(static_cast<float>(problem_.method.symmetric ? problem_.curvature(i) : 4.0));
    }
    const auto n = static_cast<std::size_t>(problem_.n), stride = static_cast<std::size_t>(state_.stride);
    beta_.resize(n * static_cast<std::size_t>(n_classes));
    rests_.resize(n);
    order_.resize(n);
    for (auto* numbers : {&intercepts_, &sums_, &centres_}) numbers->assign(stride, 0.0);
    weights_ = aligned_zeros((static_cast<std::size_t>(problem_.n_slots) + 1) * stride);
    state_.beta = beta_.data();
    state_.labels = labels_.data();
    state_.cost = cost_.data();
    state_.curvature = curvature_.data();
    state_.weights = weights_.get();
    state_.scales = problem_.scales.data();
    state_.rests = rests_.data();
    state_.order = order_.data();
    state_.members = problem_.members.empty() ? nullptr : problem_.members.data();
    state_.n_rows = state_.n_active = problem_.n;
    state_.intercepts = intercepts_.data();
    state_.beta_sums = sums_.data();
    state_.centres = centres_.data();
  }

  void run() {
    const TableForm written = problem_.method.write.view.form;
    if (written != TableForm::dense && written != TableForm::value) return;  // the bindings refuse others
    const RowsView& rows = problem_.rows.view;
    const MethodView method = problem_.method.view();
    for (std::int64_t epoch = draw_.between(1, 4); epoch > 0; --epoch)
      while (!loops.joint_sweep(rows, method, state_, draw_.between(0, 7) == 0 ? 0.0 : 10.0)) {
      }
    check_constraints();
    std::vector<double> exact(static_cast<std::size_t>(problem_.n_slots * block_classes));
    state_.exact_weights = exact.data();
    while (!loops.joint_rebuild(rows, method, state_, 0.0)) {
    }
    check_rebuild(exact);
    while (!loops.joint_evaluate(rows, method, state_, 0.0)) {
    }
    require(state_.gap >= 0.0 && state_.loss_sum >= 0.0, "a negative gap or loss of all classes");
    loops.joint_grow(state_, 2.0);
    check_constraints();
  }

 private:
  void check_constraints() const {
    const auto n_classes = static_cast<std::size_t>(state_.n_classes);
    for (std::size_t i = 0; i < cost_.size(); ++i) {
      double sum = 0.0;
      for (std::size_t k = 0; k < n_classes; ++k) {
        const float beta = beta_[i * n_classes + k];
        require(beta <= (std::cmp_equal(k, labels_[i]) ? cost_[i] : 0.0f), "beta of a class out of its bounds");
        sum += static_cast<double>(beta);
      }
      require(std::abs(sum) <= 1e-5 * static_cast<double>(cost_[i]), "the beta of a row do not sum to zero");
    }
  }
  void check_rebuild(const std::vector<double>& exact) const {
    const std::size_t first = 0;  // the block that was summed
    std::vector<double> expected(static_cast<std::size_t>(problem_.n_slots) + 1), sizes(expected.size());
    for (std::int64_t i = 0; i < problem_.n; ++i)
      problem_.add_row(i, static_cast<double>(beta_[static_cast<std::size_t>(i * state_.n_classes) + first]),
                       expected.data(), sizes.data());
    for (std::size_t slot = 0; slot + 1 < expected.size(); ++slot)
      require_near(exact[slot * static_cast<std::size_t>(block_classes) + first], expected[slot], sizes[slot],
                   "a weight of a class");
  }

  Draw& draw_;
  DrawnProblem problem_;
  JointState state_;
  std::vector<std::int32_t> labels_, order_;
  std::vector<float> cost_, curvature_, beta_;
  std::vector<Rest> rests_;
  std::vector<double> intercepts_, sums_, centres_;
  AlignedFloats weights_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Draw draw(data, size);
  if (draw.byte() % 3 == 0) {
    JointCheck(draw).run();
  } else {
    DualCheck(draw).run();
  }
  return 0;
}
