// Where the centre of a free intercept goes, and what sum(beta) != 0 costs: src/kernline/solvers/intercept.py has the
// reasons, and the same rule for solvers that go from epoch to epoch in Python; the tests compare the two.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace kernline {

struct Centring {
  double s;            // the constant that the kernel gains
  double square_cost;  // balancing adds about square_cost / 2 total^2 + kink_cost |total| to the gap
  double kink_cost;
  double reach;  // the longest step of the centre, on the scale of the targets

  double cost_factor = 1.0;  // of both costs, learned
  struct Stop {
    double b, total;
  };
  std::optional<Stop> last;  // when the centre last moved
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();  // the best b is about within these

  // The new centre for an intercept b with sum(beta) = total; none if the sum is not what keeps the gap open.
  std::optional<double> next(double b, double total, double gap) {
    if (total == 0.0 || gap > imbalance(total)) return {};
    double factor = 0.0;  // to b itself
    if (last && last->total != total) {
      const double secant = (b - last->b) / (last->total - total);
      if (secant > 0.0) factor = std::min(secant / s, longest);  // otherwise the slopes are too inexact
    }
    last = Stop{b, total};
    bracket(b, total);
    const double target = b + std::clamp(factor * s * total, -reach, reach);
    return std::min(std::max(target, low), high);
  }

  // Forgets where the centre was: the problem has changed.
  void restart() {
    last.reset();
    low = -std::numeric_limits<double>::infinity();
    high = std::numeric_limits<double>::infinity();
  }

  double imbalance(double total) const {
    return cost_factor * (0.5 * square_cost * total * total + kink_cost * std::abs(total));
  }

  // Learns what balancing costs from an exact gap.
  void compare(double estimate, double total, double exact) {
    const double expected = imbalance(total);
    if (!(expected > 0.0)) return;
    const double change = std::clamp((exact - estimate) / expected, 1.0 / cost_change, cost_change);
    cost_factor = std::min(cost_factor * change, most_change);
  }

 private:
  static constexpr double longest = 20.0, cost_change = 100.0, most_change = 1e5;

  // The objective is convex in b: the best b is above this one if the sum is positive, and below it if it is negative. As
  // sums are inexact, a side that is met again gives way to the other.
  void bracket(double b, double total) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (total > 0.0) {
      if (!(high > b)) high = infinity;
      low = b;
    } else {
      if (!(low < b)) low = -infinity;
      high = b;
    }
  }
};

}  // namespace kernline
