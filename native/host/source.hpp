// X as Python holds it: dense, of any number type and in any order, or CSR. A row is read as doubles, which hold every
// value of the other types that a code can tell apart; only where X is not double already, a row at a time is converted.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

namespace kernline {

enum class Number : std::uint8_t {
  float64,
  float32,
  float16,
  boolean,
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  uint64,
  int64
};

struct SourceView {
  Number type;
  std::int64_t n_rows;
  std::int64_t n_features;
  const std::byte* values;
  std::int64_t row_stride;  // in bytes, as the next: dense only
  std::int64_t column_stride;
  const void* row_start;  // CSR only; null when dense
  const void* columns;
  bool wide_index;         // int64 offsets and columns, else int32
  std::int64_t n_entries;  // stored values
};

// IEEE half precision in a type of its own, as not every compiler has one.
struct Half {
  std::uint16_t bits;
  operator double() const {
    const double sign = bits & 0x8000u ? -1.0 : 1.0;
    const int exponent = bits >> 10 & 31;
    const double mantissa = bits & 1023u;
    if (exponent == 0) return sign * mantissa * 0x1p-24;
    if (exponent == 31)
      return mantissa != 0.0 ? std::bit_cast<double>(0x7ff8000000000000u)
                             : sign * std::bit_cast<double>(0x7ff0000000000000u);
    return sign * (1024.0 + mantissa) * std::bit_cast<double>(static_cast<std::uint64_t>(exponent - 25 + 1023) << 52);
  }
};

template <class F>
void with_number(Number type, F&& f) {
  switch (type) {
    case Number::float64: return f(double{});
    case Number::float32: return f(float{});
    case Number::float16: return f(Half{});
    case Number::boolean:
    case Number::uint8: return f(std::uint8_t{});
    case Number::int8: return f(std::int8_t{});
    case Number::uint16: return f(std::uint16_t{});
    case Number::int16: return f(std::int16_t{});
    case Number::uint32: return f(std::uint32_t{});
    case Number::int32: return f(std::int32_t{});
    case Number::uint64: return f(std::uint64_t{});
    case Number::int64: return f(std::int64_t{});
  }
}

// Reads rows; keeps the space for a converted one, so each thread has its own.
class RowReader {
 public:
  explicit RowReader(const SourceView& source) : source_(source) {}

  struct Entries {
    std::int64_t size;
    const double* values;
    const std::int64_t* columns;  // null: every column in turn
  };

  Entries row(std::int64_t i) {
    if (!source_.row_start) return {source_.n_features, values(i).values, nullptr};
    const auto [begin, end] = bounds(i);
    if (static_cast<std::int64_t>(columns_.size()) < end - begin)
      columns_.resize(static_cast<std::size_t>(end - begin));
    source_.wide_index ? copy_columns<std::int64_t>(begin, end) : copy_columns<std::int32_t>(begin, end);
    return {end - begin, converted(source_.values + begin * source_.column_stride, source_.column_stride, end - begin),
            columns_.data()};
  }

  // How many values of row i are stored.
  std::int64_t size(std::int64_t i) const {
    if (!source_.row_start) return source_.n_features;
    const auto [begin, end] = bounds(i);
    return end - begin;
  }

  // The stored values of row i. Size and values come from one read of the offsets, which may change between two.
  struct Values {
    std::int64_t size;
    const double* values;
  };
  Values values(std::int64_t i) {
    if (!source_.row_start)
      return {source_.n_features,
              converted(source_.values + i * source_.row_stride, source_.column_stride, source_.n_features)};
    const auto [begin, end] = bounds(i);
    return {end - begin, converted(source_.values + begin * source_.column_stride, source_.column_stride, end - begin)};
  }

 private:
  struct Bounds {
    std::int64_t begin, end;
  };

  // An index outside the data is an error, not a crash. Each offset is read once: a thread of the caller's may be writing.
  Bounds bounds(std::int64_t i) const {
    const auto at = [&](std::int64_t k) -> std::int64_t {
      // Atomic, so that the compiler does not read it a second time after the check.
      if (source_.wide_index)
        return __atomic_load_n(static_cast<const std::int64_t*>(source_.row_start) + k, __ATOMIC_RELAXED);
      return __atomic_load_n(static_cast<const std::int32_t*>(source_.row_start) + k, __ATOMIC_RELAXED);
    };
    const Bounds found{at(i), at(i + 1)};
    if (found.begin < 0 || found.begin > found.end || found.end > source_.n_entries) {
      throw std::invalid_argument("sparse X: indptr is not increasing within the data");
    }
    return found;
  }

  template <class Index>
  void copy_columns(std::int64_t begin, std::int64_t end) {
    // Copied first: the numbers that are checked must be those that are used, whatever another thread writes here.
    const Index* columns = static_cast<const Index*>(source_.columns) + begin;
    std::copy(columns, columns + (end - begin), columns_.begin());
    // The leading bit of `column | (last - column)` is set if column < 0 or column > last. Unlike a maximum of 64-bit
    // integers, this is vectorised on every processor.
    const auto last = static_cast<std::uint64_t>(source_.n_features) - 1;
    std::uint64_t bits = 0;
    for (std::int64_t k = 0; k < end - begin; ++k) {
      const auto column = static_cast<std::uint64_t>(columns_[static_cast<std::size_t>(k)]);
      bits |= column | (last - column);
    }
    if (bits >> 63) {
      throw std::invalid_argument("sparse X: a column index lies outside its shape");
    }
  }

  const double* converted(const std::byte* from, std::int64_t stride, std::int64_t n) {
    if (source_.type == Number::float64 && stride == sizeof(double)) return reinterpret_cast<const double*>(from);
    if (std::cmp_less(buffer_.size(), n)) buffer_.resize(static_cast<std::size_t>(n));
    with_number(source_.type, [&]<class T>(T) {
      if (stride == sizeof(T)) {
        const T* values = reinterpret_cast<const T*>(from);
        for (std::int64_t k = 0; k < n; ++k) buffer_[static_cast<std::size_t>(k)] = static_cast<double>(values[k]);
      } else {
        for (std::int64_t k = 0; k < n; ++k) {
          buffer_[static_cast<std::size_t>(k)] = static_cast<double>(*reinterpret_cast<const T*>(from + k * stride));
        }
      }
    });
    return buffer_.data();
  }

  SourceView source_;
  std::vector<double> buffer_;
  std::vector<std::int64_t> columns_;
};

}  // namespace kernline
