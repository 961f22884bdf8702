// Keeps the number of support vectors within the budget: slots are filled, merged, removed or projected.
//
// Squared distances between support vectors are stored where needed, so that maintenance evaluates no kernel:
//
//   |z - l|^2 = h |a - l|^2 + (1 - h) |b - l|^2 - h (1 - h) |a - b|^2   for z = h a + (1 - h) b.
//
// Often they are not needed. Coefficients are counts times a common factor, a new point counts its own weight, and merging
// never lowers a count. So if all rows have the same weight, a new point is always one of the smallest. Algorithm 1 merges
// it, and its distances are already known from its margin.
#pragma once

#include <algorithm>
#include <chrono>

#include "loops/kernel_row.hpp"
#include "loops/merge_search.hpp"

namespace kernline::KERNLINE_TARGET {

// A multiplier below this is applied to the vector.
constexpr float least_shrink = 0x1p-12f;
// Added to the diagonal of the kernel matrix before it is inverted.
constexpr double ridge = 1e-6;

inline float* slot_values(const BudgetState& state, std::int64_t slot) {
  return state.vectors + slot / block_slots * state.n_features * block_slots + slot % block_slots;
}

// Every slot may be a partner, whatever its label. Returns one of them, -1 if there is none.
inline std::int64_t fill_no_bounds(BudgetState& state, const float* kernel) {
  std::int64_t found = -1;
  std::fill_n(state.block_bounds, state.n_slots / block_slots, 0.0f);
  for (std::int64_t s = 0; s < state.n_slots; ++s) {
    const bool partner = s < state.n_vectors && kernel[s] >= 0.0f;
    state.bounds[s] = partner ? 0.0f : std::numeric_limits<float>::infinity();
    found = partner ? s : found;
  }
  return found;
}

// For a point with the label and size of `count`, given its kernel row: a lower bound of the loss of merging with each slot
// (see PartnerSearch), infinite if the label differs or the kernel is negative. Returns the slot of the smallest bound, -1
// if there is none.
inline std::int64_t fill_bounds(BudgetState& state, double count, const float* __restrict kernel) {
  constexpr float infinite = std::numeric_limits<float>::infinity();
  if (state.any_label) return fill_no_bounds(state, kernel);
  const float label = count > 0.0 ? 1.0f : -1.0f, a = static_cast<float>(std::fabs(count));
  const float* __restrict const counts = state.counts;
  float* __restrict const bounds = state.bounds;
  const std::int64_t n_slots = state.n_slots;
#pragma omp simd
  for (std::int64_t s = 0; s < n_slots; ++s) {
    const float b = counts[s] * label, kappa = kernel[s];
    const float near = (1.0f - kappa) * (0.707f + 0.293f * kappa) * b / (a + b);
    const float low = 0.707f - 0.56f * kappa, high = 0.726f - 0.913f * kappa, flat = 0.7071f - 12.0f * kappa * kappa;
    const float chords = low < high ? low : high, far = chords > flat ? chords : flat;
    bounds[s] = b > 0.0f && kappa >= 0.0f ? (near > far ? near : far) : infinite;
  }
  float found = infinite;
  std::int64_t slot = -1;
  for (std::int64_t s = 0; s < n_slots; s += block_slots) {
    const float least = least_of_block(bounds + s);
    state.block_bounds[s / block_slots] = least;
    slot = least < found ? s : slot;
    found = least < found ? least : found;
  }
  if (slot >= 0) {
    while (bounds[slot] != found) ++slot;
  }
  return slot;
}

// The support vector of a slot as a row, valid until the next call.
inline DenseRows<float>::Row slot_point(const BudgetState& state, std::int64_t slot) {
  const float* values = slot_values(state, slot);
  for (std::int64_t j = 0; j < state.n_features; ++j) state.point[j] = state.shrinks[slot] * values[j * block_slots];
  return {state.point, state.n_features};
}

// Whether a support vector equals this point. Distances from products are inexact, so the cells are compared.
template <class Row>
inline bool is_point(const BudgetState& state, const Row& row, std::int64_t slot) {
  if (state.dense) return state.distance_row[slot] == 0.0f;
  if (state.shrinks[slot] != 1.0f || state.distance_row[slot] > 1e-5f * state.norms[slot]) return false;
  const auto point = slot_point(state, slot);
  std::int64_t n_zeros = 0;
  for (std::int64_t j = 0; j < point.size(); ++j) n_zeros += point.cell(j) == 0.0f;
  for (std::int64_t k = 0; k < row.size(); ++k) {
    if (row.cell(k) != point.cell(row.column(k))) return false;
    n_zeros += row.cell(k) != 0.0f;
  }
  return n_zeros == point.size();
}

// Squared distances and kernel of a slot to all others: stored, or computed.
inline void slot_row(BudgetState& state, std::int64_t slot) {
  if (state.distances && !state.published) {
    std::copy_n(state.distances + slot * state.n_slots, state.n_slots, state.distance_row);
  } else {
    squared_distances(slot_point(state, slot), state.blocks(), state.dense, state.distance_row);
  }
  kernel_values(state.blocks(), state.distance_row, state.kernel_row);
}

inline void keep_distances(BudgetState& state, std::int64_t slot, const float* row) {
  if (!state.distances) return;
  for (std::int64_t b = 0; b < state.n_slots; ++b) {
    state.distances[slot * state.n_slots + b] = row[b];
    state.distances[b * state.n_slots + slot] = row[b];
  }
  state.distances[slot * state.n_slots + slot] = 0.0f;
}

// The inverse of the kernel matrix grows by a row, given the kernel of the new slot, n, with the others:
// with u = P k and s = 1 - k.u, P <- [P + u u'/s, -u/s; -u'/s, 1/s].
inline void extend_inverse(BudgetState& state, std::int64_t n, const float* kernel) {
  double* u = state.inverse + n * state.n_slots;  // the new row itself
  double schur = 1.0 + ridge;
  for (std::int64_t i = 0; i < n; ++i) {
    const double* row = state.inverse + i * state.n_slots;
    double sum = 0.0;
    for (std::int64_t k = 0; k < n; ++k) sum += row[k] * kernel[k];
    u[i] = sum;
    schur -= sum * kernel[i];
  }
  schur = std::max(schur, ridge);
  for (std::int64_t i = 0; i < n; ++i) {
    double* row = state.inverse + i * state.n_slots;
    const double factor = u[i] / schur;
    for (std::int64_t k = 0; k < n; ++k) row[k] += factor * u[k];
  }
  for (std::int64_t i = 0; i < n; ++i) {
    u[i] /= -schur;
    state.inverse[i * state.n_slots + n] = u[i];
  }
  u[n] = 1.0 / schur;
}

// Errors of many updates add up, so the inverse is recomputed from time to time.
inline void renew_inverse(BudgetState& state) {
  for (std::int64_t slot = 0; slot < state.n_vectors; ++slot) {
    slot_row(state, slot);
    extend_inverse(state, slot, state.kernel_row);
  }
  state.n_downdates = 0;
}

// Computes what is stored with the support vectors, for those of an earlier run.
inline void recall(BudgetState& state) {
  if (state.distances) {
    float* kept = state.distances;
    state.distances = nullptr;  // computed, this once
    for (std::int64_t slot = 0; slot < state.n_vectors; ++slot) {
      slot_row(state, slot);
      for (std::int64_t b = 0; b < state.n_slots; ++b) kept[slot * state.n_slots + b] = state.distance_row[b];
      kept[slot * state.n_slots + slot] = 0.0f;
    }
    state.distances = kept;
  }
  if (state.inverse) renew_inverse(state);
}

// A new support vector in the first empty slot; its distances and kernel are in the rows of the state.
template <class Row>
inline void insert(BudgetState& state, const Row& row, double count) {
  const std::int64_t slot = state.n_vectors++;
  float* values = slot_values(state, slot);
  if constexpr (!is_dense<Row>) {
    for (std::int64_t j = 0; j < state.n_features; ++j) values[j * block_slots] = 0.0f;
  }
  for (std::int64_t k = 0; k < row.size(); ++k) values[row.column(k) * block_slots] = row.cell(k);
  state.shrinks[slot] = 1.0f;
  if (!state.dense) state.norms[slot] = squared_norm(row);
  state.counts[slot] = static_cast<float>(count);
  state.pasts[slot] = state.weight_sum * count;
  state.born[slot] = state.n_steps;
  keep_distances(state, slot, state.distance_row);
  if (state.inverse) extend_inverse(state, slot, state.kernel_row);
}

// Empties a slot and moves the last one into it.
inline void remove_slot(BudgetState& state, std::int64_t slot) {
  const std::int64_t last = --state.n_vectors;
  if (slot != last) {
    float *to = slot_values(state, slot), *from = slot_values(state, last);
    for (std::int64_t j = 0; j < state.n_features; ++j) to[j * block_slots] = from[j * block_slots];
    state.shrinks[slot] = state.shrinks[last];
    state.norms[slot] = state.norms[last];
    state.counts[slot] = state.counts[last];
    state.pasts[slot] = state.pasts[last];
    state.born[slot] = state.born[last];
    if (state.distances) {
      std::copy_n(state.distances + last * state.n_slots, state.n_slots, state.distance_row);
      state.distance_row[slot] = 0.0f;
      keep_distances(state, slot, state.distance_row);
    }
  }
  state.counts[last] = 0.0f;
}

// The smallest count, of one label if `sign` is not 0. Among equal ones the newest, or the oldest.
inline std::int64_t least_slot(const BudgetState& state, double sign, bool oldest) {
  std::int64_t found = -1;
  for (std::int64_t b = 0; b < state.n_vectors; ++b) {
    if (sign * state.counts[b] < 0.0) continue;
    const float count = std::fabs(state.counts[b]), least = found < 0 ? 0.0f : std::fabs(state.counts[found]);
    const bool before = found < 0 || count < least || (count == least && (state.born[b] < state.born[found]) == oldest);
    found = before ? b : found;
  }
  return found;
}

// Merges the counts and pasts of a pair into one term.
inline void merge_terms(BudgetState& state, std::int64_t slot, double count, double past, float exponent, float h) {
  const double one = exp2_fast(exponent * (1.0f - h) * (1.0f - h)), other = exp2_fast(exponent * h * h);
  state.counts[slot] = static_cast<float>(one * count + other * state.counts[slot]);
  state.pasts[slot] = one * past + other * state.pasts[slot];
  state.born[slot] = state.n_steps;
}

// Replaces b with z = h x + (1 - h) b, for a row x that never had a slot.
template <class Row>
inline void merge_row(BudgetState& state, const Row& row, double count, const Partner& partner) {
  const std::int64_t slot = partner.slot;
  const auto h = static_cast<float>(partner.h);
  const float distance = state.distance_row[slot], exponent = state.pair_exponent(slot);
  float* values = slot_values(state, slot);
  if constexpr (is_dense<Row>) {
    for (std::int64_t j = 0; j < state.n_features; ++j) {
      values[j * block_slots] += h * (row.cell(j) - values[j * block_slots]);
    }
  } else {
    float shrink = state.shrinks[slot] * (1.0f - h);
    if (shrink < least_shrink) {
      for (std::int64_t j = 0; j < state.n_features; ++j) values[j * block_slots] *= shrink;
      shrink = 1.0f;
    }
    const float factor = h / shrink;
    for (std::int64_t k = 0; k < row.size(); ++k) values[row.column(k) * block_slots] += factor * row.cell(k);
    state.shrinks[slot] = shrink;
    const float norm = h * squared_norm(row) + (1.0f - h) * state.norms[slot] - h * (1.0f - h) * distance;
    state.norms[slot] = std::max(norm, 0.0f);
  }
  merge_terms(state, slot, count, state.weight_sum * count, exponent, h);
}

// Replaces b with z = h a + (1 - h) b; the slot of a is freed.
inline void merge_slots(BudgetState& state, std::int64_t a, const Partner& partner) {
  const std::int64_t b = partner.slot;
  const auto h = static_cast<float>(partner.h);
  const float distance = state.distance_row[b], exponent = state.pair_exponent(b);
  float *from = slot_values(state, a), *to = slot_values(state, b);
  const float of_a = h * state.shrinks[a], of_b = (1.0f - h) * state.shrinks[b];
  float norm = 0.0f;
  for (std::int64_t j = 0; j < state.n_features; ++j) {
    const float value = of_a * from[j * block_slots] + of_b * to[j * block_slots];
    to[j * block_slots] = value;
    norm += value * value;
  }
  state.shrinks[b] = 1.0f;
  state.norms[b] = norm;
  if (state.distances) {
    const float* row_b = state.distances + b * state.n_slots;
    for (std::int64_t l = 0; l < state.n_slots; ++l) {
      const float squared = h * state.distance_row[l] + (1.0f - h) * row_b[l] - h * (1.0f - h) * distance;
      state.distance_row[l] = squared > 0.0f ? squared : 0.0f;
    }
    keep_distances(state, b, state.distance_row);
  }
  merge_terms(state, b, state.counts[a], state.pasts[a], exponent, h);
  remove_slot(state, a);
}

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

// Merges the slots `one` and `other`, given nothing but their points, and returns the slot of the result.
inline std::int64_t merge_pair(BudgetState& state, std::int64_t one, std::int64_t other) {
  if (std::fabs(state.counts[one]) > std::fabs(state.counts[other])) std::swap(one, other);
  const float *a = slot_values(state, one), *b = slot_values(state, other);
  float squared = 0.0f;
  for (std::int64_t j = 0; j < state.n_features; ++j) {
    const float difference = state.shrinks[one] * a[j * block_slots] - state.shrinks[other] * b[j * block_slots];
    squared += difference * difference;
  }
  state.distance_row[other] = squared;
  const double least = std::fabs(state.counts[one]), m = least / (least + std::fabs(state.counts[other]));
  merge_slots(state, one, {other, refined_h(m, state.pair_exponent(other), 0.5)});
  return other == state.n_vectors ? one : other;  // the last slot has moved into the one that was freed
}

// Multi-merge (Qaadan and Glasmachers, "Multi-merge budget maintenance for stochastic gradient descent SVM training", 2018): a
// row is merged with its best partners, one after the other, so that the next violations find free slots.
template <class Row>
inline void merge_several(BudgetState& state, const Row& row, double count, PartnerSearch& search, Partner first) {
  constexpr int most = 8;
  std::int64_t others[most];
  int n_others = 0;
  state.bounds[first.slot] = std::numeric_limits<float>::infinity();
  while (n_others < most && n_others < state.merged_at_once - 1) {
    const Partner next = search.among_all(state.search);
    if (next.slot < 0) break;
    others[n_others++] = next.slot;
    state.bounds[next.slot] = std::numeric_limits<float>::infinity();
  }
  merge_row(state, row, count, first);
  std::int64_t merged = first.slot;
  for (int k = 0; k < n_others; ++k) {
    const std::int64_t last = state.n_vectors - 1, one = merged, other = others[k];
    merged = merge_pair(state, one, other);
    const std::int64_t freed = merged == one ? other : one;
    for (int l = k + 1; l < n_others; ++l) others[l] = others[l] == last ? freed : others[l];
  }
}

// Counts how often lookup-wd and gss choose the same partner, and sums the losses of both and of gss-precise.
inline void compare_searches(BudgetState& state, double least) {
  constexpr double sound = 1e-3, measurable = 1e-6;
  // Interpolated across its jump, h of equal weights far apart is 1/2, and the merged one next to nothing.
  if (least < sound) return;
  PartnerSearch search(state, least);
  const Partner looked_up = search.among_all(Search::lookup_wd), golden = search.among_all(Search::gss);
  const Partner precise = search.among_all(Search::gss_precise);
  if (looked_up.slot < 0 || golden.slot < 0 || precise.slot < 0) return;
  const auto loss = [&](const Partner& partner) {
    const double b = std::fabs(state.counts[partner.slot]), exponent = state.pair_exponent(partner.slot);
    const double c = merged_weight(least, b, exponent, partner.h);
    return (least * least + b * b + 2.0 * least * b * exp2_fast(exponent) - c * c) / (least * least);
  };
  const double lost = loss(precise), by_gss = loss(golden), by_lookup = loss(looked_up);
  ++state.n_compared;
  state.n_equal += looked_up.slot == golden.slot;
  state.least_loss += lost;
  state.loss_gss += by_gss;
  state.loss_lookup += by_lookup;
  if (lost < measurable) return;  // rounding changes smaller losses
  ++state.n_factors;
  state.factors_gss += by_gss / lost;
  state.factors_lookup += by_lookup / lost;
}

// Algorithm 1 on the slots: merges the smallest coefficient with its best partner. With two labels in three or more slots,
// one label has a pair.
inline void merge_least(BudgetState& state) {
  std::int64_t least = least_slot(state, 0.0, false);
  slot_row(state, least);
  const auto others = [&] {
    state.kernel_row[least] = -1.0f;
    return fill_bounds(state, state.counts[least], state.kernel_row);
  };
  std::int64_t likeliest = others();
  if (likeliest < 0) {
    const std::int64_t other = least_slot(state, -state.counts[least], false);
    if (other < 0 || other == least) return remove_slot(state, least);
    least = other;
    slot_row(state, least);
    likeliest = others();
  }
  const double weight = std::fabs(state.counts[least]);
  const bool timed =
      state.sampled && state.n_maintained % state.sampled == state.sampled / 4;  // not where the whole is timed
  const Clock::time_point begun = timed ? Clock::now() : Clock::time_point{};
  PartnerSearch search(state, weight);
  const Partner found = state.published ? search.among_all(state.search) : search.among_likely(state.search, likeliest);
  const Partner partner = search.refined(state.search, found);
  if (timed) state.searching.add(seconds_since(begun));
  if (partner.slot < 0) return remove_slot(state, least);
  if (state.compare) compare_searches(state, weight);
  // As if labels did not exist: the pair is merged by the sizes of its counts, and the label is that of the smaller one.
  if (state.any_label) state.counts[partner.slot] = std::copysign(state.counts[partner.slot], state.counts[least]);
  merge_slots(state, least, partner);
}

// The support vector that the others can best replace: with P the inverse of the kernel matrix, removing r and projecting
// it onto the rest, count_l -= count_r P_lr / P_rr, loses count_r^2 / P_rr.
inline void project(BudgetState& state) {
  if (state.n_downdates >= 4 * state.n_vectors) renew_inverse(state);
  ++state.n_downdates;
  const std::int64_t n = state.n_vectors, stride = state.n_slots;
  double* P = state.inverse;
  const auto loss = [&](std::int64_t r) { return state.counts[r] * state.counts[r] / P[r * stride + r]; };
  std::int64_t removed = 0;
  for (std::int64_t r = 1; r < n; ++r) removed = loss(r) < loss(removed) ? r : removed;
  const double* column = P + removed * stride;  // the matrix is symmetric
  const double pivot = column[removed], count = state.counts[removed], past = state.pasts[removed];
  for (std::int64_t l = 0; l < n; ++l) {
    if (l == removed) continue;
    const double part = -column[l] / pivot;
    state.counts[l] = static_cast<float>(state.counts[l] + part * count);
    state.pasts[l] += part * past;
    double* row = P + l * stride;
    for (std::int64_t k = 0; k < n; ++k) row[k] += part * column[k];
  }
  const std::int64_t last = n - 1;
  for (std::int64_t k = 0; k < n; ++k) P[removed * stride + k] = P[last * stride + k];
  for (std::int64_t k = 0; k < n; ++k) P[k * stride + removed] = P[k * stride + last];
  remove_slot(state, removed);
}

}  // namespace kernline::KERNLINE_TARGET
