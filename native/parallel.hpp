// Splits [0, n) into equal ranges, one a thread. The thread count is always the caller's; threads end with the call,
// so that nothing is left behind for a fork to trip over. The first exception of a worker is thrown again here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace kernline {

template <class F>
void parallel_for(int n_threads, std::int64_t n, F&& f) {
  const std::int64_t n_parts = std::clamp<std::int64_t>(n_threads, 1, std::max<std::int64_t>(n, 1));
  if (n_parts == 1) return f(std::int64_t{0}, n);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(n_parts));
  std::vector<std::thread> threads;
  for (std::int64_t part = 0; part < n_parts; ++part) {
    threads.emplace_back([&, part] {
      try {
        f(n * part / n_parts, n * (part + 1) / n_parts);
      } catch (...) {
        errors[static_cast<std::size_t>(part)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace kernline
