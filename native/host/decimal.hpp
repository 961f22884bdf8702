// Exact conversion of decimal text: the double nearest to the text, like strtod and Python's float().
//
// Digits are read eight at a time without a branch on their number, which processors cannot predict. Integers up to 2^53
// and powers up to 10^22 are doubles, so m / 10^k is rounded once, and correctly (Clinger, 1990). Up to nineteen digits are
// multiplied by a reciprocal. Longer numbers, and results too close to a tie, go to std::from_chars.
//
// Text must be followed by a character that cannot be part of a number, and then by seven readable bytes.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>

namespace kernline {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

struct Digits {
  std::uint64_t value;
  int count;  // 0 to 8
};

inline Digits eight_digits(const char* p) {
  std::uint64_t bytes;
  std::memcpy(&bytes, p, 8);
  if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap64(bytes);
  bytes ^= 0x3030303030303030u;  // only digits are now 0 to 9
  const std::uint64_t others = ((bytes + 0x7676767676767676u) | bytes) & 0x8080808080808080u;
  const int count = others ? std::countr_zero(others) >> 3 : 8;
  if (count == 0) return {0, 0};
  bytes <<= 64 - 8 * count;  // leading zeros
  bytes = bytes * 10 + (bytes >> 8);
  const std::uint64_t low = bytes & 0x000000ff000000ffu, high = bytes >> 16 & 0x000000ff000000ffu;
  return {(low * 0x000f424000000064u + high * 0x0000271000000001u) >> 32, count};
}

// Reads the digits at p as an integer. Returns their end, or null if there are none or the integer exceeds int64.
inline const char* read_whole(const char* p, std::int64_t& out) {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const Digits first = eight_digits(p);
  std::uint64_t value = first.value;
  p += first.count;
  if (first.count == 8) {
    for (; is_digit(*p); ++p) {
      const auto digit = static_cast<std::uint64_t>(*p - '0');
      if (value > (largest - digit) / 10) return nullptr;
      value = 10 * value + digit;
    }
  }
  out = static_cast<std::int64_t>(value);
  return first.count ? p : nullptr;
}

// Whether the digits from p on (with or without a point), times 10^exponent, exceed 1. For numbers out of range.
inline bool is_large(const char* p, std::int64_t exponent) {
  std::int64_t place = 0;
  bool point = false, seen = false;
  for (; is_digit(*p) || *p == '.'; ++p) {
    if (*p == '.') {
      point = true;
      continue;
    }
    seen |= *p != '0';
    if (point && !seen) --place;
    if (!point && seen) ++place;
  }
  return seen && place + exponent > 0;
}

// Any decimal number: sign, digits with a point, exponent. Null if there is none at p; infinity if it exceeds a double.
inline const char* read_any_number(const char* p, double& out) {
  const bool negative = *p == '-';
  if (*p == '+' || *p == '-') ++p;
  const char* const begin = p;
  std::int64_t n_digits = 0;
  for (; is_digit(*p); ++p) ++n_digits;
  if (*p == '.') ++p;
  for (; is_digit(*p); ++p) ++n_digits;
  if (n_digits == 0) return nullptr;
  std::int64_t exponent = 0;
  if (*p == 'e' || *p == 'E') {
    const char* at = p + 1;
    const bool below = *at == '-';
    if (*at == '+' || *at == '-') ++at;
    if (!is_digit(*at)) return nullptr;
    constexpr std::int64_t enough = std::int64_t{1} << 40;  // more than any number of digits can compensate
    for (; is_digit(*at); ++at) {
      if (exponent < enough) exponent = 10 * exponent + (*at - '0');
    }
    if (below) exponent = -exponent;
    p = at;
  }
  double value = 0.0;
  const auto [end, error] = std::from_chars(begin, p, value);
  if (error == std::errc::result_out_of_range) {
    value = is_large(begin, exponent) ? std::numeric_limits<double>::infinity() : 0.0;
  } else if (error != std::errc{} || end != p) {
    return nullptr;
  }
  out = negative ? -value : value;
  return p;
}

// 2^(63 + b) / 5^k rounded down, where b is the number of bits of 5^k: 64 bits of the reciprocal.
struct Reciprocal {
  std::uint64_t value;
  int bits;
};
inline constexpr int most_decimals = 24;
inline constexpr std::array<Reciprocal, most_decimals + 1> reciprocals = [] {
  std::array<Reciprocal, most_decimals + 1> table{};
  std::uint64_t power = 1;
  for (std::size_t k = 1; k <= most_decimals; ++k) {
    power *= 5;
    const auto bits = static_cast<int>(std::bit_width(power));
    table[k] = {static_cast<std::uint64_t>((static_cast<unsigned __int128>(1) << (63 + bits)) / power), bits};
  }
  return table;
}();

// m / 10^k for m > 0, 0 < k <= 24, unless it is too close to the middle of two doubles to decide with 64 bits, as one in a
// few hundred is. After Lemire, "Number parsing at a gigabyte per second", 2021.
inline bool divide_by_power(std::uint64_t m, int k, double& out) {
  const Reciprocal reciprocal = reciprocals[static_cast<std::size_t>(k)];
  const int zeros = std::countl_zero(m);
  const auto product = static_cast<unsigned __int128>(m << zeros) * reciprocal.value;
  const auto high = static_cast<std::uint64_t>(product >> 64);  // the quotient is in [high, high + 2)
  const int n_extra = 11 - std::countl_zero(high);              // bits beyond a double's 53
  const std::uint64_t extra = high & ((std::uint64_t{1} << n_extra) - 1), half = std::uint64_t{1} << (n_extra - 1);
  if (extra == half || extra + 1 == half) return false;
  const auto rounded = static_cast<double>((high >> n_extra) + (extra > half));
  const int exponent = n_extra + 1 - zeros - k - reciprocal.bits;
  out = rounded * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
  return true;
}

// Reads the number at p. Returns its end, or null as above.
inline const char* read_number(const char* p, double& out) {
  static constexpr double ten_to[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  static constexpr std::uint64_t shift_by[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  const char* const begin = p;
  const bool negative = *p == '-';
  if (*p == '+' || *p == '-') ++p;
  Digits digits = eight_digits(p);
  std::uint64_t mantissa = digits.value;
  int n_digits = digits.count, n_decimals = 0;
  p += digits.count;
  if (*p == '.') {
    ++p;
    do {
      digits = eight_digits(p);
      p += digits.count;
      n_decimals += digits.count;
      mantissa = mantissa * shift_by[digits.count] + digits.value;
    } while (digits.count == 8 && n_decimals < most_decimals && mantissa < 100'000'000'000);  // so that 64 bits suffice
    n_digits += n_decimals;
  }
  int n_places = n_decimals;  // the number is mantissa / 10^n_places
  if (n_digits > 0 && (*p == 'e' || *p == 'E')) {
    const bool below = p[1] == '-';
    const char* const at = p + 1 + (p[1] == '-' || p[1] == '+');
    digits = eight_digits(at);
    if (digits.count == 0) return nullptr;
    const int exponent = digits.value < 1000 ? static_cast<int>(digits.value) : 1000;
    n_places += below ? exponent : -exponent;
    p = at + digits.count;
  }
  if (n_digits == 0 || is_digit(*p)) return read_any_number(begin, out);
  double value;
  if (mantissa <= std::uint64_t{1} << 53 && n_places >= -22 && n_places <= 22) {
    value = static_cast<double>(mantissa);
    if (n_places > 0) value /= ten_to[n_places];
    if (n_places < 0) value *= ten_to[-n_places];
  } else if (mantissa == 0 || n_places <= 0 || n_places > most_decimals ||
             !divide_by_power(mantissa, n_places, value)) {
    return read_any_number(begin, out);
  }
  out = negative ? -value : value;
  return p;
}

}  // namespace kernline
