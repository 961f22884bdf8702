// log2 and exp2 without branches or calls, so that loops over them vectorise. Relative error below 1e-15; 2e-7 in float32.
#pragma once

#include <bit>
#include <cstdint>
#include <numbers>

namespace kernline::KERNLINE_TARGET {

// (2 / ln 2) atanh s = log2((1 + s)/(1 - s)), for |s| <= 0.1716.
inline double log2_series(double s) {
  const double q = s * s;
  double series = 1.0 / 19.0;
  series = series * q + 1.0 / 17.0;
  series = series * q + 1.0 / 15.0;
  series = series * q + 1.0 / 13.0;
  series = series * q + 1.0 / 11.0;
  series = series * q + 1.0 / 9.0;
  series = series * q + 1.0 / 7.0;
  series = series * q + 1.0 / 5.0;
  series = series * q + 1.0 / 3.0;
  series = series * q + 1.0;
  return 2.8853900817779268 * s * series;
}

// log2(1 + r) for 0 <= r <= 1, with all digits of a small r.
inline double log2_1p_fast(double r) {
  const bool high = r > 0.4142135623730951;
  const double s = (high ? r - 1.0 : r) / (high ? r + 3.0 : r + 2.0);
  return (high ? 1.0 : 0.0) + log2_series(s);
}

// For positive, normal x: x = 2^e m, and log2 m by the series at s = (m - 1)/(m + 1).
inline double log2_fast(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  double e = std::bit_cast<double>((bits >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
  const bool high = m > std::numbers::sqrt2;
  m = high ? 0.5 * m : m;
  e = high ? e + 1.0 : e;
  return e + log2_series((m - 1.0) / (m + 1.0));
}

// 2^x for x <= 1000; below -1000 it is zero. Taylor's series on [-1/2, 1/2].
inline double exp2_fast(double x) {
  const double bounded = x < -1000.0 ? -1000.0 : x;
  const double shifted = bounded + 0x1.8p52;
  const double r = (bounded - (shifted - 0x1.8p52)) * std::numbers::ln2;
  double series = 1.0 / 6227020800.0;
  series = series * r + 1.0 / 479001600.0;
  series = series * r + 1.0 / 39916800.0;
  series = series * r + 1.0 / 3628800.0;
  series = series * r + 1.0 / 362880.0;
  series = series * r + 1.0 / 40320.0;
  series = series * r + 1.0 / 5040.0;
  series = series * r + 1.0 / 720.0;
  series = series * r + 1.0 / 120.0;
  series = series * r + 1.0 / 24.0;
  series = series * r + 1.0 / 6.0;
  series = series * r + 0.5;
  series = series * r + 1.0;
  series = series * r + 1.0;
  const auto power = std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023u) << 52);
  return x < -1000.0 ? 0.0 : series * power;
}

// The same in float32, for x <= 100; zero if x rounds to -127 or less, as the bits of the power then are.
inline float exp2_fast(float x) {
  const float bounded = x < -127.0f ? -127.0f : x;
  const float shifted = bounded + 0x1.8p23f;
  const float r = (bounded - (shifted - 0x1.8p23f)) * std::numbers::ln2_v<float>;
  float series = 1.0f / 5040.0f;
  series = series * r + 1.0f / 720.0f;
  series = series * r + 1.0f / 120.0f;
  series = series * r + 1.0f / 24.0f;
  series = series * r + 1.0f / 6.0f;
  series = series * r + 0.5f;
  series = series * r + 1.0f;
  series = series * r + 1.0f;
  const auto power = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 127u) << 23);
  return series * power;
}

}  // namespace kernline::KERNLINE_TARGET
