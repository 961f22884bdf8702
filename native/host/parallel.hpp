// Splits [0, n) into equal ranges, one per thread. The caller chooses the number of threads. Threads end with the call, so
// that a later fork is safe. The first exception of a worker is rethrown here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace kernline {

template <class F>
void parallel_for(int n_threads, std::int64_t n, F&& f) {
  const std::int64_t n_parts = std::clamp<std::int64_t>(std::min(n_threads, 256), 1, std::max<std::int64_t>(n, 1));
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(n_parts));
  const auto run = [&](std::int64_t part) {
    try {
      f(n * part / n_parts, n * (part + 1) / n_parts);
    } catch (...) {
      errors[static_cast<std::size_t>(part)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;  // joined at the end of the scope, even after an exception
    threads.reserve(static_cast<std::size_t>(n_parts));
    for (std::int64_t part = 1; part < n_parts; ++part) {
      try {
        threads.emplace_back(run, part);
      } catch (const std::system_error&) {
        run(part);  // the system cannot create a thread: do the work here
      }
    }
    run(0);
  }
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace kernline
