// libFuzzer's target for budgeted SGD: `make fuzz`. On any rows, weights, searches and ways to stay within the budget: there
// are never more support vectors than that, slots beyond the last are empty, and stored distances are those of the vectors.
#include <algorithm>

#include "drawn.hpp"
#include "host/aligned.hpp"
#include "views/loops.hpp"

using namespace kernline;
using namespace kernline::fuzz;

namespace {

const Loops& loops = baseline::loops;

class BudgetCheck {
 public:
  explicit BudgetCheck(Draw& draw)
      : draw_(draw),
        rows_(draw, TableForm::value, 0),
        state_(draw.bits(2)),
        gamma_(0.125 * draw.between<double>(1, 32)) {
    const RowsView& view = rows_.view;
    const bool equal = draw.flip();
    for (std::int64_t i = 0; i < view.n_rows; ++i)
      weights_.push_back((draw.flip() ? 1.0 : -1.0) * (equal ? 1.0 : 0.25 * draw.between<double>(1, 16)));
    state_.budget = 1 + draw.some(5, 39);
    state_.n_slots = (state_.budget + block_slots) / block_slots * block_slots;
    const auto n = static_cast<std::size_t>(state_.n_slots), d = static_cast<std::size_t>(view.n_features);
    vectors_ = aligned_zeros(n * d);
    counts_ = aligned_zeros(n);
    scratch_ = aligned_zeros(3 * n + n / static_cast<std::size_t>(block_slots));
    shrinks_.assign(n, 1.0f);
    norms_.assign(n, 0.0f);
    pasts_.assign(n, 0.0);
    born_.assign(n, 0);
    point_.assign(d, 0.0f);
    for (std::int64_t i = 0; i < view.n_rows; ++i) order_.push_back(static_cast<std::int32_t>(i));
    state_.n_features = view.n_features;
    state_.vectors = vectors_.get();
    state_.shrinks = shrinks_.data();
    state_.norms = norms_.data();
    state_.counts = counts_.get();
    state_.pasts = pasts_.data();
    state_.born = born_.data();
    state_.point = point_.data();
    state_.distance_row = scratch_.get();
    state_.kernel_row = scratch_.get() + n;
    state_.bounds = scratch_.get() + 2 * n;
    state_.block_bounds = scratch_.get() + 3 * n;
    state_.exponent = static_cast<float>(-gamma_ * 1.4426950408889634);
    choose(equal);
    state_.signed_weights = weights_.data();
    state_.order = order_.data();
    state_.n_rows = view.n_rows;
    state_.n_seen = static_cast<double>(view.n_rows);
    state_.dense = view.kind == RowKind::dense_values;
  }

  void run() {
    for (std::int64_t pass = draw_.some(2, 4); pass > 0; --pass) {
      if (pass == 1) state_.averaging = true;
      while (!loops.sgd_pass(rows_.view, state_, draw_.between(0, 7) == 0 ? 0.0 : 10.0)) {
      }
      check();
    }
    loops.recall(state_);
    check();
    std::vector<double> out(static_cast<std::size_t>(rows_.view.n_rows));
    AlignedFloats room = aligned_zeros(2 * static_cast<std::size_t>(state_.n_slots));
    loops.budgeted_decision(rows_.view, state_.blocks(), 0, rows_.view.n_rows, room.get(), out.data());
    for (std::int64_t i = 0; i < rows_.view.n_rows; ++i) check_decision(i, out[static_cast<std::size_t>(i)]);
  }

 private:
  void choose(bool equal) {
    state_.search = draw_.between<Search>(0, 3);
    state_.maintenance = draw_.between<Maintenance>(0, 2);
    state_.published = draw_.between(0, 3) == 0;
    state_.any_label = state_.published && draw_.flip();
    state_.refine = draw_.flip();
    state_.merged_at_once = draw_.between<int>(1, std::min<std::int64_t>(8, state_.budget - 1));
    state_.newest_is_least = equal;
    state_.intercept = draw_.flip();
    state_.shuffle = draw_.flip();
    state_.stream = draw_.flip();
    state_.compare = draw_.flip();
    state_.sampled = draw_.between(0, 3);
    state_.C = 0.0625 * draw_.between<double>(1, 255);
    state_.growth = 1.0 + 1.0 / (0.3 * static_cast<double>(state_.budget));
    const int size = draw_.between<int>(2, 9);
    for (int k = 0; k < size * size; ++k) {  // h from 0 to 1/2; any loss
      h_.push_back(0.5f * static_cast<float>(draw_.byte()) / 255.0f);
      loss_.push_back(static_cast<float>(draw_.byte()) / 255.0f);
    }
    state_.tables = {size, h_.data(), loss_.data(), state_.published};
    const auto n = static_cast<std::size_t>(state_.n_slots);
    if (state_.maintenance == Maintenance::merge && !equal && !state_.published) {
      distances_.assign(n * n, 0.0f);
      state_.distances = distances_.data();
    }
    if (state_.maintenance == Maintenance::project) {
      inverse_.assign(n * n, 0.0);
      state_.inverse = inverse_.data();
    }
  }

  double coordinate(std::int64_t slot, std::int64_t j) const {
    const std::int64_t at = slot / block_slots * state_.n_features * block_slots + j * block_slots + slot % block_slots;
    return static_cast<double>(shrinks_[static_cast<std::size_t>(slot)]) *
           static_cast<double>(vectors_[static_cast<std::size_t>(at)]);
  }

  void check() const {
    require(state_.n_vectors >= 0 && state_.n_vectors <= state_.budget, "more support vectors than the budget");
    for (std::int64_t slot = 0; slot < state_.n_slots; ++slot) {
      const float count = counts_[static_cast<std::size_t>(slot)];
      require(slot < state_.n_vectors ? std::isfinite(count) : count == 0.0f, "a count of an empty slot, or none");
    }
    if (!state_.distances) return;
    for (std::int64_t a = 0; a < state_.n_vectors; ++a)
      for (std::int64_t b = 0; b < state_.n_vectors; ++b) {
        double squared = 0.0, size = 1.0;
        for (std::int64_t j = 0; j < state_.n_features; ++j) {
          const double x = coordinate(a, j), y = coordinate(b, j);
          squared += (x - y) * (x - y);
          size += x * x + y * y;
        }
        // Each merge derives new distances from stored ones, so errors add up.
        const double found = distances_[static_cast<std::size_t>(a * state_.n_slots + b)];
        require(std::abs(found - squared) <= 1e-2 * size, "a stored distance is not that of the vectors");
      }
  }

  void check_decision(std::int64_t i, double found) const {
    double expected = 0.0, size = 0.0;
    std::vector<double> x(static_cast<std::size_t>(state_.n_features));
    for (const auto& cell : rows_.cells(i)) x[static_cast<std::size_t>(cell.column)] = *cell.payload;
    for (std::int64_t slot = 0; slot < state_.n_vectors; ++slot) {
      double squared = 0.0;
      double norms = 1.0;
      for (std::int64_t j = 0; j < state_.n_features; ++j) {
        const double difference = x[static_cast<std::size_t>(j)] - coordinate(slot, j);
        squared += difference * difference;
        norms += x[static_cast<std::size_t>(j)] * x[static_cast<std::size_t>(j)];
      }
      const double count = counts_[static_cast<std::size_t>(slot)], kernel = std::exp(-gamma_ * squared);
      expected += count * kernel;
      size += std::abs(count) * (kernel + (state_.dense ? 0.0 : 0.1 * gamma_ * norms));
    }
    require_near(found, expected, size, "a decision value");
  }

  Draw& draw_;
  DrawnRows rows_;
  BudgetState state_;
  double gamma_;
  std::vector<double> weights_, pasts_, inverse_;
  std::vector<float> shrinks_, norms_, point_, distances_, h_, loss_;
  std::vector<std::int64_t> born_;
  std::vector<std::int32_t> order_;
  AlignedFloats vectors_, counts_, scratch_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Draw draw(data, size);
  BudgetCheck(draw).run();
  return 0;
}
