// The state of one budgeted SGD, kept between calls so that Python gets control back while it runs.
#pragma once

#include <cstdint>

#include "views/random.hpp"

namespace kernline {

// Support vectors are stored in blocks of 16: the values of a block for one feature are one cache line.
constexpr std::int64_t block_slots = 16;

enum class Search : std::uint8_t { lookup_wd, lookup_h, gss, gss_precise };
enum class Maintenance : std::uint8_t { merge, remove, project };

// h and the loss sqrt(WD / 2) / m over (m, kappa), m from 0 to 1/2 and kappa from 0 to 1, `size` points per axis. As
// published, m goes from 0 to 1 and the loss is WD itself.
struct MergeTables {
  int size;
  const float* h;
  const float* loss;
  bool published;
};

// What the loops need from the support vectors, for the model in training and for a fitted one.
struct BlocksView {
  std::int64_t n_features;
  std::int64_t n_slots;  // a multiple of block_slots
  const float* vectors;  // [block][feature][slot], divided by `shrinks`
  const float* shrinks;  // one per slot, so that merging with a sparse row touches only its columns; 1 for dense rows
  const float* norms;    // squared; only sparse rows need them
  const float* counts;   // 0 in an empty slot
  float exponent;        // -gamma log2(e)
};

// The mean of sampled times, without interrupted ones.
struct MeanTime {
  double sum = 0.0;
  std::int64_t n = 0;

  void add(double seconds) {
    constexpr double too_long = 1e-3;
    if (seconds > too_long) return;
    sum += seconds;
    ++n;
  }
  double mean() const { return n ? sum / static_cast<double>(n) : 0.0; }
};

// f(x) = scale (sum_b count_b k(x, b) + bias): counts are the coefficients without the common factor eta_t. A step without
// violation changes only this factor.
struct BudgetState {
  BudgetState(std::uint64_t seed) : random(seed) {}

  std::int64_t budget = 0;
  std::int64_t n_features = 0;
  std::int64_t n_slots = 0;
  std::int64_t n_vectors = 0;  // the first slots; the others are empty
  float* vectors = nullptr;
  float* shrinks = nullptr;
  float* norms = nullptr;
  float* counts = nullptr;
  double* pasts = nullptr;       // averaging: sum over steps of weight * count = weight_sum * count - past
  std::int64_t* born = nullptr;  // the violation that filled a slot, to find the oldest
  float* distances = nullptr;    // squared, [slot][slot]; null where nothing needs them
  double* inverse = nullptr;     // of the kernel matrix of the support vectors; projection only
  std::int64_t n_downdates = 0;  // of the inverse since it was last recomputed
  float exponent = 0.0f;
  MergeTables tables{};
  Search search = Search::lookup_wd;
  Maintenance maintenance = Maintenance::merge;
  bool published = false;        // Algorithm 1 exactly: kernels are computed again, every partner is considered
  bool refine = true;            // gss finds h of the merged pair to 0.001
  bool any_label = false;        // published only: labels are ignored by a merge
  int merged_at_once = 1;        // partners that a new point is merged with, if all rows have the same weight
  bool newest_is_least = false;  // all rows have the same weight, and no count is smaller
  bool dense = true;             // else the rows are sparse
  bool intercept = false;

  const double* signed_weights = nullptr;  // y_i times the weight of row i
  std::int32_t* order = nullptr;
  std::int64_t n_rows = 0;
  std::int64_t cursor = 0;
  bool in_pass = false;
  bool shuffle = true;
  Random random;

  double C = 1.0;
  double n_seen = 0.0;  // n in lambda = 1 / (n C)
  bool stream = false;  // every step adds to n
  std::int64_t n_steps = 0;
  double bias = 0.0, bias_past = 0.0;
  bool averaging = false;
  // Averages weight a step by a factor that grows with every step, and more with every maintenance: the average of a slot
  // stays with the slot, and the slot moves when it is merged.
  double weight = 1.0, growth = 1.0;
  double window_passes =
      20.0;                 // the factor of a step is 1 + window_passes / n: averages reach back a twentieth of a pass
  double weight_sum = 0.0;  // sum over averaged steps of weight * scale
  double average_norm = 0.0;  // sum over averaged steps of weight

  // For the current pass.
  double loss_sum = 0.0;
  std::int64_t n_violations = 0, n_maintained = 0;
  std::int64_t n_repeated = 0;  // violations by a point that is already a support vector, with a full budget
  // The weight of the rows that the last iterate and the average got wrong before their step, one step in `judged`.
  static constexpr std::int64_t judged = 16;
  std::int64_t n_judged = 0;
  double judged_last = 0.0, judged_average = 0.0;

  // One maintenance in `sampled` is timed, if not 0: the whole, the search for h or WD, and an empty interval, which is the
  // cost of reading the clock.
  std::int64_t sampled = 0;
  std::int64_t n_timed_over = 0;  // maintenances of all passes
  MeanTime whole, searching, nothing;

  // If searches are compared: equal decisions of lookup-wd and gss; the total loss of each, as WD / a^2; and the sums of
  // their factors, over merges that lose enough for a factor.
  bool compare = false;
  std::int64_t n_compared = 0, n_equal = 0, n_factors = 0;
  double least_loss = 0.0, loss_gss = 0.0, loss_lookup = 0.0;
  double factors_gss = 0.0, factors_lookup = 0.0;

  // Scratch memory: a row of squared distances, of the kernel and of the bounds of merging, n_slots each; the smallest bound
  // of every block; and a support vector.
  float* distance_row = nullptr;
  float* kernel_row = nullptr;
  float* bounds = nullptr;
  float* block_bounds = nullptr;
  float* point = nullptr;

  // log2 k(x, b) of the point whose distances are in the row: finite, because it is multiplied by h^2, which may be 0.
  float pair_exponent(std::int64_t slot) const {
    const float product = exponent * distance_row[slot];
    return product > -1e6f ? product : -1e6f;
  }
  // For all maintenances, estimated from the timed ones.
  double seconds_of(const MeanTime& time) const {
    const double seconds = time.mean() - nothing.mean();
    return seconds > 0.0 ? seconds * static_cast<double>(n_timed_over) : 0.0;
  }
  double scale() const { return n_steps ? C * n_seen / static_cast<double>(n_steps) : 0.0; }
  BlocksView blocks() const { return {n_features, n_slots, vectors, shrinks, norms, counts, exponent}; }
};

}  // namespace kernline
