// Threads that work in step: all of them wait for one another, many thousand times a second.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace kernline {

// As std::barrier, which goes to sleep after about a microsecond; to be woken takes ten times as long as the work between
// two waits.
class SpinningBarrier {
 public:
  explicit SpinningBarrier(int n_threads) : n_threads_(n_threads) {}

  void wait() {
    const int phase = phase_.load(std::memory_order_relaxed);
    if (n_arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == n_threads_) {
      n_arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      phase_.notify_all();
      return;
    }
    for (int spin = 0; spin < spins_; ++spin) {
      if (phase_.load(std::memory_order_acquire) != phase) return;
      pause();
    }
    phase_.wait(phase, std::memory_order_acquire);
  }

 private:
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }

  static constexpr int spins_ = 2000;  // tens of microseconds
  const int n_threads_;
  alignas(64) std::atomic<int> n_arrived_{0};
  alignas(64) std::atomic<int> phase_{0};
};

// Whether to work in several threads, by what was measured: where the cores are busy with other things, threads that wait
// for one another are slower than one alone, a hundredfold if it gets worse. Only for work whose result does not depend
// on it.
class Crew {
 public:
  using Clock = std::chrono::steady_clock;
  struct Turn {
    int n_threads;
    Clock::time_point begin, deadline;
  };

  // The next turn of work, of at most so many threads and seconds; short if it is just a trial.
  Turn next(int n_threads, double seconds) {
    const bool is_trial = --until_trial_ <= 0;
    if (is_trial) until_trial_ = trial_interval_;
    const bool together = (speed_[1] >= speed_[0]) != is_trial;
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double> length(is_trial ? std::min(seconds, trial_seconds_) : seconds);
    return {together ? n_threads : 1, now, now + std::chrono::duration_cast<Clock::duration>(length)};
  }

  void done(const Turn& turn, std::int64_t n_rows) {
    const std::chrono::duration<double> length = Clock::now() - turn.begin;
    double& speed = speed_[turn.n_threads > 1];
    const double found = static_cast<double>(n_rows) / std::max(length.count(), 1e-7);
    speed = speed == 0.0 ? found : 0.5 * (speed + found);
  }

  // Calls f(thread, n_threads, wait) in every thread; `wait` returns when all have called it. Threads end with the call.
  // f must not throw.
  template <class F>
  static void work(int n_wanted, F&& f) {
    if (n_wanted <= 1) return f(0, 1, [] {});
    std::atomic<int> size{0};
    SpinningBarrier* barrier = nullptr;
    const auto run = [&](int thread) {
      size.wait(0);
      f(thread, size.load(), [&] { barrier->wait(); });
    };
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(n_wanted));
    for (int thread = 1; thread < n_wanted; ++thread) {
      try {
        threads.emplace_back(run, thread);
      } catch (const std::exception&) {
        break;  // the system cannot create more threads, or has no memory for them
      }
    }
    const int n = static_cast<int>(threads.size()) + 1;
    SpinningBarrier of_all(n);
    barrier = &of_all;
    size.store(n);
    size.notify_all();
    run(0);
    threads.clear();  // before the barrier ends
  }

 private:
  // Turns between two trials of the slower way, and how long these take.
  static constexpr int trial_interval_ = 16;
  static constexpr double trial_seconds_ = 0.002;
  double speed_[2] = {0.0, 0.0};  // rows a second: alone, together
  int until_trial_ = 2;
};

}  // namespace kernline
