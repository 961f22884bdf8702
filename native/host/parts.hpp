// One problem on many cores: parts of its rows at the same time.
//
// A round deals out the next rows of the epoch, some to each part. A part takes the weights, works on a replica of them,
// and returns its change; then all changes are added. To be safe, a part expects the others to do the same as it does: it
// sees its own change multiplied by sigma, the ratio of the squared norm of the sum of all changes to the sum of their
// squared norms, from 1 (orthogonal) to the number of parts (equal). Ma, Smith, Jaggi, Jordan, Richtarik, Takac, "Adding
// vs. averaging in distributed primal-dual optimization", ICML 2015; buckets of neighbouring rows and replicas: Ioannou,
// Mendler-Duenner, Parnell, "SySCD", NeurIPS 2019. Here sigma is measured in some rounds, and rounds are short.
//
// Results depend on the number of parts and the length of a round, never on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "host/aligned.hpp"
#include "views/loops.hpp"
#include "views/visit_order.hpp"

namespace kernline {

class Parts {
 public:
  Parts(int n_parts, std::int64_t rows_a_part, std::size_t n_weights, std::size_t n_scales)
      : n_parts_(n_parts),
        rows_a_part_(rows_a_part),
        n_weights_(n_weights),
        n_scales_(n_scales),
        sigma_(n_parts),
        scales_(n_scales),
        old_(aligned_zeros(n_weights)),
        rows_(static_cast<std::size_t>(n_parts * rows_a_part)),
        change_(rows_.size()),
        values_(rows_.size()),
        before_(rows_.size()) {
    for (int k = 0; k < n_parts; ++k) replicas_.push_back(aligned_zeros(n_weights));
  }

  // Continues the epoch of `whole` until it ends (true) or the time is up (false).
  bool sweep(const Loops& loops, const RowsView& rows, const MethodView& method, DualState& whole, int n_threads,
             double seconds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    if (!whole.in_epoch) begin_epoch(whole, whole.n_rows);
    Round round{loops, rows, method, whole};
    with_crew(std::min(n_threads, n_parts_), [&](int thread, int n, auto&& wait) {
      while (true) {
        if (thread == 0) {
          round.ended = whole.cursor >= whole.n_active || std::chrono::steady_clock::now() > deadline;
          if (!round.ended) begin(round);
        }
        wait();
        if (round.ended) return;
        for (int k = thread; k < n_parts_; k += n) work(round, k);
        wait();
        add(round, n_weights_ * thread / n, n_weights_ * (thread + 1) / n);
        wait();
        if (thread == 0) end(round);
      }
    });
    if (whole.cursor < whole.n_active) return false;
    whole.in_epoch = false;
    return true;
  }

 private:
  struct Round {
    const Loops& loops;
    const RowsView& rows;
    const MethodView& method;
    DualState& whole;
    std::int64_t length = 0;
    bool measured = false;
    bool ended = false;
  };

  // Calls f(thread, n_threads, wait) in every thread; `wait` returns when all have called it. Threads end with the call.
  template <class F>
  static void with_crew(int n_wanted, F&& f) {
    if (n_wanted <= 1) return f(0, 1, [] {});
    std::atomic<int> size{0};
    std::optional<std::barrier<>> barrier;
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(n_wanted));
    const auto run = [&](int thread) {
      size.wait(0);
      f(thread, size.load(), [&] { barrier->arrive_and_wait(); });
    };
    for (int thread = 1; thread < n_wanted; ++thread) {
      try {
        threads.emplace_back(run, thread);
      } catch (const std::system_error&) {
        break;  // the system cannot create more threads
      }
    }
    const int n = static_cast<int>(threads.size()) + 1;
    barrier.emplace(n);
    size.store(n);
    size.notify_all();
    run(0);
  }

  std::int64_t first(const Round& round, int k) const { return round.length * k / n_parts_; }

  void begin(Round& round) {
    DualState& whole = round.whole;
    round.length = std::min(n_parts_ * rows_a_part_, whole.n_active - whole.cursor);
    round.measured = n_rounds_ % (n_rounds_ < often_ ? short_interval_ : interval_) == 0;
    ++n_rounds_;
    for (std::size_t j = 0; j < n_scales_; ++j) scales_[j] = static_cast<float>(sigma_ * whole.scales[j]);
    states_.assign(static_cast<std::size_t>(n_parts_), whole);
    for (int k = 0; k < n_parts_; ++k) {
      DualState& part = states_[static_cast<std::size_t>(k)];
      part.weights = replicas_[static_cast<std::size_t>(k)].get();
      part.scales = scales_.data();
      part.order = whole.order + whole.cursor + first(round, k);
      part.n_active = first(round, k + 1) - first(round, k);
      part.cursor = 0;
      part.shuffle = false;  // it is the order of this epoch already
      part.sigma = sigma_;
      part.dual = part.active_gap = 0.0;
    }
    if (!round.measured) return;
    std::copy_n(whole.weights, n_weights_, old_.get());
    for (std::int64_t r = 0; r < round.length; ++r) {
      const std::int32_t i = whole.order[whole.cursor + r];
      rows_[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(whole.data_row(i));
      change_[static_cast<std::size_t>(r)] = -whole.coordinates[i].beta;
    }
  }

  void work(const Round& round, int k) {
    DualState& part = states_[static_cast<std::size_t>(k)];
    std::copy_n(round.whole.weights, n_weights_, part.weights);
    round.loops.sweep(round.rows, round.method, part, 1e9);
  }

  void add(const Round& round, std::size_t begin, std::size_t end) {
    const auto factor = static_cast<float>(1.0 / sigma_);
    float* weights = round.whole.weights;
    for (std::size_t s = begin; s < end; ++s) {
      float change = 0.0f;
      for (const AlignedFloats& replica : replicas_) change += replica[s] - weights[s];
      weights[s] += factor * change;
    }
  }

  void end(Round& round) {
    DualState& whole = round.whole;
    const double intercept = whole.intercept, beta_sum = whole.beta_sum;
    for (const DualState& part : states_) {
      whole.intercept += (part.intercept - intercept) / sigma_;
      whole.beta_sum += (part.beta_sum - beta_sum) / sigma_;
      whole.dual += part.dual;  // at least; the changes are less alike than sigma allows for
      whole.active_gap += part.active_gap;
    }
    if (round.measured) measure(round, intercept, beta_sum);
    whole.cursor += round.length;
  }

  // sigma of this round: the squared norm of a sum of changes of beta is the sum of each times the change of f there.
  void measure(const Round& round, double intercept, double beta_sum) {
    const DualState& whole = round.whole;
    DualState old = whole;
    old.intercept = intercept;
    old.beta_sum = beta_sum;
    const auto read = [&](const float* weights, const DualState& state, std::int64_t from, std::int64_t to, double* out) {
      round.loops.read_members(round.rows, round.method.read, weights, rows_.data() + from, to - from, out + from);
      for (std::int64_t r = from; r < to; ++r) out[r] += state.offset(whole.order[whole.cursor + r]);
    };
    for (std::int64_t r = 0; r < round.length; ++r)
      change_[static_cast<std::size_t>(r)] += whole.coordinates[whole.order[whole.cursor + r]].beta;
    read(old_.get(), old, 0, round.length, before_.data());
    double together = 0.0, alone = 0.0;
    for (int k = 0; k < n_parts_; ++k) {
      const DualState& part = states_[static_cast<std::size_t>(k)];
      read(part.weights, part, first(round, k), first(round, k + 1), values_.data());
    }
    for (std::size_t r = 0; r < static_cast<std::size_t>(round.length); ++r)
      alone += change_[r] * (values_[r] - before_[r]) / sigma_;
    read(whole.weights, whole, 0, round.length, values_.data());
    for (std::size_t r = 0; r < static_cast<std::size_t>(round.length); ++r)
      together += change_[r] * (values_[r] - before_[r]);
    if (!(alone > 0.0)) return;
    const double wanted = margin_ * together / alone;
    sigma_ = std::clamp(std::max(wanted, slowest_fall_ * sigma_), 1.0, static_cast<double>(n_parts_));
  }

  // Rounds that are measured: one of 4 at first, later one of 32.
  static constexpr std::int64_t often_ = 128, short_interval_ = 4, interval_ = 32;
  // sigma is this much larger than measured, and falls at most by this factor at a time.
  static constexpr double margin_ = 1.2, slowest_fall_ = 0.7;

  int n_parts_;
  std::int64_t rows_a_part_;
  std::size_t n_weights_, n_scales_;
  double sigma_;
  std::int64_t n_rounds_ = 0;
  std::vector<float> scales_;
  std::vector<AlignedFloats> replicas_;
  std::vector<DualState> states_;
  // Of a round that is measured: the weights before it, and by row its number, the change of beta, and values of f.
  AlignedFloats old_;
  std::vector<std::int32_t> rows_;
  std::vector<double> change_, values_, before_;
};

}  // namespace kernline
