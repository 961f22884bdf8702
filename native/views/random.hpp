// A small generator (xoroshiro128+, Blackman and Vigna 2018): the same seed gives the same order of rows.
#pragma once

#include <cstdint>

namespace kernline {

struct Random {
  std::uint64_t a, b;

  explicit Random(std::uint64_t seed) : a(spread(seed)), b(spread(seed)) {}

  std::uint64_t next() {
    const std::uint64_t x = a, sum = a + b, y = b ^ x;
    a = (x << 24 | x >> 40) ^ y ^ (y << 16);
    b = y << 37 | y >> 27;
    return sum;
  }

  // Uniform in [0, bound) for bound <= 2^32; the bias of the multiply-shift is below bound / 2^32.
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>((next() >> 32) * static_cast<std::uint64_t>(bound) >> 32);
  }

 private:
  // splitmix64: turns any seed, including 0, into a well-mixed state.
  static std::uint64_t spread(std::uint64_t& seed) {
    std::uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
};

}  // namespace kernline
