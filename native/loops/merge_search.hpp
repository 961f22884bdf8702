// Which support vector to merge with (Glasmachers and Qaadan, "Speeding up budgeted stochastic gradient descent SVM
// training with precomputed golden section search", Algorithm 1).
//
// The pair a phi(x) + b phi(x'), 0 < a <= b, becomes one term c phi(z), z = h x + (1 - h) x'. With kappa = k(x, x') and
// m = a / (a + b), h maximises s(h) = m kappa^((1-h)^2) + (1 - m) kappa^(h^2), c = (a + b) s(h), and the loss is
//
//   WD = a^2 + b^2 + 2 a b kappa - c^2 = (a + b)^2 (m^2 + (1 - m)^2 + 2 m (1 - m) kappa - s(h)^2).
//
// The tables hold sqrt(WD / 2) / a, which is also what is compared. It is nearly (1 - kappa) (1 - m) for close points, so
// bilinear interpolation is exact there, where WD itself goes to 0 as (1 - kappa)^2 m^2. The published tables hold
// WD / (a + b)^2.
//
// Because m <= 1/2, s(h) >= s(1 - h) for h <= 1/2: the search ends at 1/2, and the line where h jumps, m = 1/2 with
// kappa < e^-2, is the edge of the tables and not inside a cell.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>

#include "loops/vector_math.hpp"
#include "views/budget_state.hpp"

namespace kernline::KERNLINE_TARGET {

constexpr int group = static_cast<int>(block_slots);  // candidates searched side by side

struct Candidates {
  int size = 0;
  double least = 0.0;      // a
  float weights[group];    // b
  float kernels[group];    // kappa
  float exponents[group];  // log2 kappa
  std::int64_t slots[group];
  float h[group];
  double losses[group];  // sqrt(WD / 2) / a; of published tables WD
};

// In vectors of four, because compilers generate scalar code for a running minimum.
inline float least_of_block(const float* values) {
  using Four = float __attribute__((vector_size(16)));
  Four quarters[4];
  static_assert(sizeof quarters == sizeof(float) * block_slots);
  std::memcpy(quarters, values, sizeof quarters);
  const Four low = quarters[0] < quarters[1] ? quarters[0] : quarters[1];
  const Four high = quarters[2] < quarters[3] ? quarters[2] : quarters[3];
  const Four least = low < high ? low : high;
  const float one = least[0] < least[1] ? least[0] : least[1], other = least[2] < least[3] ? least[2] : least[3];
  return one < other ? one : other;
}

// Points of a table per unit of m and of kappa.
inline float points_per_m(const MergeTables& tables) {
  return static_cast<float>(tables.published ? tables.size - 1 : 2 * (tables.size - 1));
}
inline float points_per_kappa(const MergeTables& tables) { return static_cast<float>(tables.size - 1); }

inline float look_up(const MergeTables& tables, const float* table, float m, float kappa) {
  const int size = tables.size;
  const float u = points_per_m(tables) * (m > 0.0f ? m : 0.0f);  // NaN becomes 0 too
  const float v = points_per_kappa(tables) * (kappa > 0.0f ? kappa : 0.0f);
  int i = static_cast<int>(u), k = static_cast<int>(v);
  i = i > size - 2 ? size - 2 : i;
  k = k > size - 2 ? size - 2 : k;
  const int cell = i * size + k;  // tables have at most 10,000 points per axis
  const float s = u - static_cast<float>(i), t = v - static_cast<float>(k);
  const float low = table[cell] + t * (table[cell + 1] - table[cell]);
  const float high = table[cell + size] + t * (table[cell + size + 1] - table[cell + size]);
  return low + s * (high - low);
}

// The losses of a block's pairs from the table, in steps that the compiler can vectorise. kappa below 0 marks a slot that is
// not a partner; its result is arbitrary.
inline void look_up_losses(const MergeTables& tables, float a, const float* b, const float* kappa, float* losses) {
  const int size = tables.size;
  const float per_m = points_per_m(tables), per_kappa = points_per_kappa(tables);
  float u[group], v[group], corners[4][group];
  int cells[group];
  for (int k = 0; k < group; ++k) {
    const float m = a / (a + std::fabs(b[k]));
    u[k] = per_m * (m > 0.0f ? m : 0.0f);  // NaN becomes 0 too
    v[k] = per_kappa * (kappa[k] > 0.0f ? kappa[k] : 0.0f);
    const int i = static_cast<int>(u[k]), j = static_cast<int>(v[k]);
    const int row = i > size - 2 ? size - 2 : i, column = j > size - 2 ? size - 2 : j;
    u[k] -= static_cast<float>(row);
    v[k] -= static_cast<float>(column);
    cells[k] = row * size + column;
  }
  for (int k = 0; k < group; ++k) {
    const float* cell = tables.loss + cells[k];
    corners[0][k] = cell[0];
    corners[1][k] = cell[1];
    corners[2][k] = cell[size];
    corners[3][k] = cell[size + 1];
  }
  for (int k = 0; k < group; ++k) {
    const float low = corners[0][k] + v[k] * (corners[1][k] - corners[0][k]);
    const float high = corners[2][k] + v[k] * (corners[3][k] - corners[2][k]);
    losses[k] = low + u[k] * (high - low);
  }
  if (!tables.published) return;
  for (int k = 0; k < group; ++k) losses[k] *= (a + std::fabs(b[k])) * (a + std::fabs(b[k]));
}

// c at a given h, and the loss of merging.
inline double merged_weight(double a, double b, double exponent, double h) {
  return a * exp2_fast(exponent * (1.0 - h) * (1.0 - h)) + b * exp2_fast(exponent * h * h);
}
inline void losses_at_h(Candidates& some) {
  const double a = some.least;
  for (int k = 0; k < group; ++k) {
    // The kernel in double: in float32 the difference would vanish for close points.
    const double b = some.weights[k], kappa = exp2_fast(static_cast<double>(some.exponents[k]));
    const double c = merged_weight(a, b, some.exponents[k], some.h[k]);
    const double degradation = a * a + b * b + 2.0 * a * b * kappa - c * c;
    some.losses[k] = std::sqrt(0.5 * (degradation > 0.0 ? degradation : 0.0)) / a;
  }
}

constexpr double golden_ratio = 0.6180339887498949;

// Golden section search from 0 to `end`, all candidates at once: `steps` cuts, each with one new value of s; h is the middle
// of the last cut. For a precision of 0.01, float32 suffices: double changed the losses by at most 1 % on four data sets, and
// took up to twice the time.
template <class Real, int steps>
inline void golden_section(Candidates& some, Real end) {
  constexpr Real golden = static_cast<Real>(golden_ratio);
  Real m[group], low[group], width[group], inner[group], outer[group];
  const auto value = [&](int k, Real h) {
    const Real exponent = some.exponents[k], other = 1 - h;
    return m[k] * exp2_fast(exponent * other * other) + (1 - m[k]) * exp2_fast(exponent * h * h);
  };
  for (int k = 0; k < group; ++k) {
    m[k] = static_cast<Real>(some.least / (some.least + some.weights[k]));
    low[k] = 0;
    width[k] = end;
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
  losses_at_h(some);
}

// h of one pair to 0.001. The middle of a cut of 0.01 is up to 0.005 away from the best h, which for a large b is itself
// smaller than that: z would be moved too far by every merge. Points farther apart than kappa = e^-2 have two modes, near 0 and
// 1, and merging them is dropping the smaller: h = 0 if that is better, or kappa^(h^2) would remove some of b too.
inline double refined_h(double m, double exponent, double end) {
  const auto value = [&](double h) {
    return m * exp2_fast(exponent * (1.0 - h) * (1.0 - h)) + (1.0 - m) * exp2_fast(exponent * h * h);
  };
  double low = 0.0, width = end, inner = value((1.0 - golden_ratio) * end), outer = value(golden_ratio * end);
  while (width > 0.001) {
    const bool upper = outer > inner;
    low = upper ? low + (1.0 - golden_ratio) * width : low;
    width *= golden_ratio;
    const double fresh = value(low + (upper ? golden_ratio : 1.0 - golden_ratio) * width);
    const double kept = upper ? outer : inner;
    inner = upper ? kept : fresh;
    outer = upper ? fresh : kept;
  }
  const double h = low + 0.5 * width;
  const bool far = end < 1.0 && exponent < -2.0 * std::numbers::log2e;  // not as published
  return far && value(0.0) >= value(h) ? 0.0 : h;
}

inline void look_up_h(Candidates& some, const MergeTables& tables) {
  for (int k = 0; k < group; ++k) {
    const auto a = static_cast<float>(some.least);
    some.h[k] = look_up(tables, tables.h, a / (a + some.weights[k]), some.kernels[k]);
  }
  losses_at_h(some);
}

// Computes h and the losses, for all searches except lookup-wd.
inline void search_group(Candidates& some, Search search, const MergeTables& tables) {
  // A full group is one loop; an incomplete one is padded with harmless numbers.
  for (int k = some.size; k < group; ++k) {
    some.weights[k] = static_cast<float>(some.least);
    some.kernels[k] = 1.0f;
    some.exponents[k] = 0.0f;
  }
  switch (search) {
    case Search::lookup_h: return look_up_h(some, tables);
    case Search::gss:  // to 0.01
      return tables.published ? golden_section<float, 10>(some, 1.0f) : golden_section<float, 9>(some, 0.5f);
    case Search::gss_precise:  // to 1e-10
      return tables.published ? golden_section<double, 48>(some, 1.0) : golden_section<double, 47>(some, 0.5);
    default: return;
  }
}

struct Partner {
  std::int64_t slot = -1;  // -1: no other point has the label
  double h = 0.0;
  double loss = std::numeric_limits<double>::infinity();  // sqrt(WD / 2) / a; of published tables WD
};

inline void take_best(Candidates& some, Search search, const MergeTables& tables, Partner& best) {
  if (some.size == 0) return;
  search_group(some, search, tables);
  int winner = -1;
  for (int k = 0; k < some.size; ++k) {
    if (some.losses[k] < best.loss) {
      best.loss = some.losses[k];
      winner = k;
    }
  }
  if (winner >= 0) {
    best.slot = some.slots[winner];
    best.h = some.h[winner];
  }
  some.size = 0;
}

// Finds the partner of a point of weight a, given its distances and kernel in the rows of the state, and for each slot a
// lower bound of sqrt(WD / 2) / a: infinite if the label differs, else
//
//   max{ (1 - kappa) (0.707 + 0.293 kappa) (1 - m),  min(0.707 - 0.56 kappa, 0.726 - 0.913 kappa),  0.7071 - 12 kappa^2 }:
//
// the limit for kappa -> 1 times a factor that makes it a lower bound; two chords below the curve of m = 1/2, the lowest one;
// and, for points so far apart that dropping one loses hardly more than merging, a parabola.
class PartnerSearch {
 public:
  PartnerSearch(const BudgetState& state, double least) : state_(state) { some_.least = least; }

  // All slots with the same label.
  Partner among_all(Search search) {
    Partner best;
    search_within(std::numeric_limits<float>::max(), search, best);
    return best;
  }

  // The likeliest slot, then those whose bound allows them to win.
  Partner among_likely(Search search, std::int64_t likeliest) {
    Partner best;
    if (likeliest < 0) return best;
    if (search == Search::lookup_wd) {
      best.slot = likeliest;
      best.loss = looked_up(state_.tables.loss, likeliest);
    } else {
      add(likeliest, search, best);
      take_best(some_, search, state_.tables, best);
    }
    search_within(static_cast<float>(best.loss), search, best);
    return best;
  }

  // The partner with h as it is merged.
  Partner refined(Search search, Partner partner) const {
    if (search != Search::gss || !state_.refine || partner.slot < 0) return partner;
    const double m = some_.least / (some_.least + std::fabs(state_.counts[partner.slot]));
    partner.h = refined_h(m, state_.pair_exponent(partner.slot), state_.published ? 1.0 : 0.5);
    return partner;
  }

 private:
  float least() const { return static_cast<float>(some_.least); }
  float looked_up(const float* table, std::int64_t slot) const {
    return look_up(state_.tables, table, least() / (least() + std::fabs(state_.counts[slot])), state_.kernel_row[slot]);
  }

  void search_within(float reach, Search search, Partner& best) {
    for (std::int64_t slot = 0; slot < state_.n_slots; slot += block_slots) {
      if (!(state_.block_bounds[slot / block_slots] <= reach)) continue;
      if (search == Search::lookup_wd) {
        look_up_block(slot, reach, best);
        continue;
      }
      for (std::int64_t l = 0; l < block_slots; ++l) {
        if (state_.bounds[slot + l] <= reach) add(slot + l, search, best);
      }
    }
    take_best(some_, search, state_.tables, best);
    if (search == Search::lookup_wd && best.slot >= 0) {
      best.h = looked_up(state_.tables.h, best.slot);
    }
  }

  // A look-up is so cheap that all slots of a block are looked up, even those that cannot win.
  void look_up_block(std::int64_t slot, float reach, Partner& best) {
    constexpr float infinite = std::numeric_limits<float>::infinity();
    float losses[group];
    look_up_losses(state_.tables, least(), state_.counts + slot, state_.kernel_row + slot, losses);
    for (int k = 0; k < group; ++k) losses[k] = state_.bounds[slot + k] <= reach ? losses[k] : infinite;
    const float lowest = least_of_block(losses);
    if (!(lowest < best.loss)) return;
    best.loss = lowest;
    best.slot = slot;
    while (losses[best.slot - slot] != lowest) ++best.slot;
  }

  void add(std::int64_t slot, Search search, Partner& best) {
    const int k = some_.size++;
    some_.slots[k] = slot;
    some_.weights[k] = std::fabs(state_.counts[slot]);
    some_.kernels[k] = state_.kernel_row[slot];
    some_.exponents[k] = state_.pair_exponent(slot);
    if (some_.size == group) take_best(some_, search, state_.tables, best);
  }

  const BudgetState& state_;
  Candidates some_;
};

}  // namespace kernline::KERNLINE_TARGET
