// Which support vector to merge with (Glasmachers and Qaadan, "Speeding up budgeted stochastic gradient descent SVM
// training with precomputed golden section search", Algorithm 1).
//
// The pair a phi(x) + b phi(x'), 0 < a <= b, becomes one term c phi(z), z = h x + (1 - h) x'. With kappa = k(x, x') and
// m = a / (a + b), h maximises s(h) = m kappa^((1-h)^2) + (1 - m) kappa^(h^2), c = (a + b) s(h), and what is lost is
//
//   WD = a^2 + b^2 + 2 a b kappa - c^2 = (a + b)^2 (m^2 + (1 - m)^2 + 2 m (1 - m) kappa - s(h)^2).
//
// As m <= 1/2, s(h) >= s(1 - h) for h <= 1/2: the search ends at 1/2, and the line where h jumps, m = 1/2 with
// kappa < e^-2, is the edge of the tables and not within a cell.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "budget_state.hpp"
#include "vector_math.hpp"

namespace kernline::KERNLINE_TARGET {

constexpr int group = 16;  // candidates searched side by side

struct Candidates {
  int size = 0;
  double least = 0.0;             // a
  float weights[group];           // b
  float kernels[group];           // kappa
  float exponents[group];         // log2 kappa
  std::int64_t slots[group];
  float h[group];
  double degradations[group];
};

inline float look_up(const float* table, int size, float m, float kappa) {
  const float last = static_cast<float>(size - 1);
  const float u = 2.0f * m * last, v = kappa * last;
  int i = static_cast<int>(u), k = static_cast<int>(v);
  i = i > size - 2 ? size - 2 : i;
  k = k > size - 2 ? size - 2 : k;
  const float* cell = table + static_cast<std::int64_t>(i) * size + k;
  const float s = u - static_cast<float>(i), t = v - static_cast<float>(k);
  const float low = cell[0] + t * (cell[1] - cell[0]), high = cell[size] + t * (cell[size + 1] - cell[size]);
  return low + s * (high - low);
}

// c at a given h, and what merging loses.
inline double merged_weight(double a, double b, double exponent, double h) {
  return a * exp2_fast(exponent * (1.0 - h) * (1.0 - h)) + b * exp2_fast(exponent * h * h);
}
inline void degradations_at_h(Candidates& some) {
  const double a = some.least;
  for (int k = 0; k < group; ++k) {
    const double b = some.weights[k], c = merged_weight(a, b, some.exponents[k], some.h[k]);
    some.degradations[k] = a * a + b * b + 2.0 * a * b * some.kernels[k] - c * c;
  }
}

// Golden section search on [0, 1/2], all candidates at once: `steps` cuts, one new value of s each.
template <class Real, int steps>
inline void golden_section(Candidates& some) {
  constexpr Real golden = static_cast<Real>(0.6180339887498949);
  Real m[group], low[group], width[group], inner[group], outer[group];
  const auto value = [&](int k, Real h) {
    const Real exponent = some.exponents[k], other = 1 - h;
    return m[k] * exp2_fast(exponent * other * other) + (1 - m[k]) * exp2_fast(exponent * h * h);
  };
  for (int k = 0; k < group; ++k) {
    m[k] = static_cast<Real>(some.least / (some.least + some.weights[k]));
    low[k] = 0;
    width[k] = static_cast<Real>(0.5);
    inner[k] = value(k, (1 - golden) * width[k]);
    outer[k] = value(k, golden * width[k]);
  }
  for (int step = 0; step < steps; ++step) {
    for (int k = 0; k < group; ++k) {
      const bool upper = outer[k] > inner[k];
      low[k] = upper ? low[k] + (1 - golden) * width[k] : low[k];
      width[k] *= golden;
      const Real fresh = value(k, low[k] + (upper ? golden : 1 - golden) * width[k]);
      const Real kept = upper ? outer[k] : inner[k];
      inner[k] = upper ? kept : fresh;
      outer[k] = upper ? fresh : kept;
    }
  }
  for (int k = 0; k < group; ++k) some.h[k] = static_cast<float>(low[k] + static_cast<Real>(0.5) * width[k]);
  degradations_at_h(some);
}

inline void look_up_h(Candidates& some, const MergeTables& tables) {
  for (int k = 0; k < group; ++k) {
    const float a = static_cast<float>(some.least);
    some.h[k] = look_up(tables.h, tables.size, a / (a + some.weights[k]), some.kernels[k]);
  }
  degradations_at_h(some);
}

// Fills degradations, and h but for lookup-wd, which needs that of the winner only.
inline void search_group(Candidates& some, Search search, const MergeTables& tables) {
  // A full group is one straight loop; the rest is padded, with numbers that harm nobody.
  const int size = some.size;
  switch (search) {
    case Search::lookup_wd:
      for (int k = 0; k < size; ++k) {
        const float a = static_cast<float>(some.least), sum = a + some.weights[k];
        some.degradations[k] = sum * sum * look_up(tables.degradation, tables.size, a / sum, some.kernels[k]);
      }
      return;
    default: break;
  }
  for (int k = size; k < group; ++k) {
    some.weights[k] = static_cast<float>(some.least);
    some.kernels[k] = 1.0f;
    some.exponents[k] = 0.0f;
  }
  switch (search) {
    case Search::lookup_h: return look_up_h(some, tables);
    case Search::gss: return golden_section<float, 9>(some);             // to 0.01
    case Search::gss_precise: return golden_section<double, 47>(some);  // to 1e-10
    default: return;
  }
}

struct Partner {
  std::int64_t slot = -1;
  double h = 0.0;
  double degradation = std::numeric_limits<double>::infinity();
};

inline void take_best(Candidates& some, Search search, const MergeTables& tables, Partner& best) {
  if (some.size == 0) return;
  search_group(some, search, tables);
  int winner = -1;
  for (int k = 0; k < some.size; ++k) {
    if (some.degradations[k] < best.degradation) {
      best.degradation = some.degradations[k];
      winner = k;
    }
  }
  if (winner >= 0) {
    const float a = static_cast<float>(some.least);
    best.slot = some.slots[winner];
    best.h = search == Search::lookup_wd ? look_up(tables.h, tables.size, a / (a + some.weights[winner]), some.kernels[winner])
                                         : some.h[winner];
  }
  some.size = 0;
}

// The partner of a point of weight a, given its distances and kernel in the rows of the state, and for each slot a lower
// bound of sqrt(WD / 2) / a: infinite where the label differs, else
//
//   max{ (1 - kappa) (0.707 + 0.293 kappa) (1 - m),  min(0.707 - 0.56 kappa, 0.726 - 0.913 kappa) }:
//
// the limit for kappa -> 1 times what it is too large by at most, and two chords below the curve of m = 1/2, the least.
class PartnerSearch {
 public:
  PartnerSearch(const BudgetState& state, double least) : state_(state) { some_.least = least; }

  // All that share the label.
  Partner among_all(Search search) {
    Partner best;
    for (std::int64_t slot = 0; slot < state_.n_vectors; ++slot) {
      if (state_.bounds[slot] < std::numeric_limits<float>::infinity()) add(slot, search, best);
    }
    take_best(some_, search, state_.tables, best);
    return best;
  }

  // The likeliest, and then those whose bound lets them win.
  Partner among_likely(Search search, std::int64_t likeliest) {
    Partner best;
    add(likeliest, search, best);
    take_best(some_, search, state_.tables, best);
    const double loss = best.degradation > 0.0 ? best.degradation : 0.0;
    const auto reach = static_cast<float>(std::sqrt(0.5 * loss) / some_.least);
    for (std::int64_t slot = 0; slot < state_.n_slots; slot += block_slots) {
      int any = 0;
#pragma omp simd reduction(| : any)
      for (std::int64_t l = 0; l < block_slots; ++l) any |= state_.bounds[slot + l] <= reach ? 1 : 0;
      if (!any) continue;
      for (std::int64_t l = 0; l < block_slots; ++l) {
        if (state_.bounds[slot + l] <= reach && slot + l != likeliest) add(slot + l, search, best);
      }
    }
    take_best(some_, search, state_.tables, best);
    return best;
  }

 private:
  void add(std::int64_t slot, Search search, Partner& best) {
    const int k = some_.size++;
    some_.slots[k] = slot;
    some_.weights[k] = std::fabs(state_.counts[slot]);
    some_.kernels[k] = state_.kernel_row[slot];
    some_.exponents[k] = state_.exponent * state_.distance_row[slot];
    if (some_.size == group) take_best(some_, search, state_.tables, best);
  }

  const BudgetState& state_;
  Candidates some_;
};

}  // namespace kernline::KERNLINE_TARGET
