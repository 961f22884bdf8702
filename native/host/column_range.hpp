// What is asked of X before it is encoded: the range of each column, and how many values are not zero.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "host/parallel.hpp"
#include "host/source.hpp"

namespace kernline {

struct ColumnRange {
  double* minimum;
  double* maximum;
  std::int64_t* n_nonzero;
};

// Two doubles at a time, as every processor has them. Plain loops over minima do not vectorise: which zero or NaN they
// end with would change.
using Double2 = double __attribute__((vector_size(16)));
using Int2 = std::int64_t __attribute__((vector_size(16)));

template <class T>
void load(T& to, const void* from) {
  std::memcpy(&to, from, sizeof to);
}

inline std::int64_t count_nonzero(const double* values, std::int64_t n) {
  Int2 counts = {};
  std::int64_t k = 0;
  for (; k + 2 <= n; k += 2) {
    Double2 x;
    load(x, values + k);
    counts -= x != 0.0;  // a comparison that holds is -1
  }
  std::int64_t count = counts[0] + counts[1];
  for (; k < n; ++k) count += values[k] != 0.0;
  return count;
}

inline void look(ColumnRange range, std::int64_t j, double x) {
  range.minimum[j] = x < range.minimum[j] ? x : range.minimum[j];
  range.maximum[j] = x > range.maximum[j] ? x : range.maximum[j];
  range.n_nonzero[j] += x != 0.0;
}

// Several dense rows at once, so that the columns' ranges are loaded and stored once for all of them.
template <int n_rows>
void look_at_rows(ColumnRange range, const double* const* rows, std::int64_t n_features) {
  std::int64_t j = 0;
  for (; j + 2 <= n_features; j += 2) {
    Double2 low, high;
    Int2 count;
    load(low, range.minimum + j);
    load(high, range.maximum + j);
    load(count, range.n_nonzero + j);
    for (int r = 0; r < n_rows; ++r) {
      Double2 x;
      load(x, rows[r] + j);
      low = x < low ? x : low;
      high = x > high ? x : high;
      count -= x != 0.0;
    }
    std::memcpy(range.minimum + j, &low, sizeof low);
    std::memcpy(range.maximum + j, &high, sizeof high);
    std::memcpy(range.n_nonzero + j, &count, sizeof count);
  }
  for (; j < n_features; ++j) {
    for (int r = 0; r < n_rows; ++r) look(range, j, rows[r][j]);
  }
}

// `row_nonzero` gets the count of each row.
inline void find_range(const SourceView& source, ColumnRange range, std::int64_t* row_nonzero, std::int64_t begin,
                       std::int64_t end) {
  constexpr int at_once = 4;
  RowReader readers[at_once] = {RowReader(source), RowReader(source), RowReader(source), RowReader(source)};
  std::int64_t i = begin;
  for (; !source.row_start && i + at_once <= end; i += at_once) {
    const double* rows[at_once];
    for (int r = 0; r < at_once; ++r) {
      rows[r] = readers[r].values(i + r).values;
      row_nonzero[i + r] = count_nonzero(rows[r], source.n_features);
    }
    look_at_rows<at_once>(range, rows, source.n_features);
  }
  for (; i < end; ++i) {
    const RowReader::Entries row = readers[0].row(i);
    for (std::int64_t k = 0; k < row.size; ++k) look(range, row.columns ? row.columns[k] : k, row.values[k]);
    row_nonzero[i] = count_nonzero(row.values, row.size);
  }
}

// Threads look at rows of their own; minimum, maximum and sum do not depend on how the rows were divided. Each needs a
// copy of the columns' ranges, which wide and short data is not worth.
inline void find_range(const SourceView& source, ColumnRange range, std::int64_t* row_nonzero, int n_threads) {
  const std::int64_t n_features = source.n_features;
  const std::int64_t worth = source.n_entries / std::max<std::int64_t>(1, 8 * n_features);
  const std::int64_t n_parts = std::clamp<std::int64_t>(std::min<std::int64_t>(n_threads, worth), 1, 256);
  if (n_parts == 1) return find_range(source, range, row_nonzero, 0, source.n_rows);
  const auto n = static_cast<std::size_t>(n_parts * n_features);
  std::vector<double> minimum(n, std::numeric_limits<double>::infinity());
  std::vector<double> maximum(n, -std::numeric_limits<double>::infinity());
  std::vector<std::int64_t> n_nonzero(n, 0);
  parallel_for(n_threads, n_parts, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) {
      const std::int64_t at = part * n_features;
      find_range(source, {minimum.data() + at, maximum.data() + at, n_nonzero.data() + at}, row_nonzero,
                 source.n_rows * part / n_parts, source.n_rows * (part + 1) / n_parts);
    }
  });
  for (std::size_t k = 0; k < n; ++k) {
    const auto j = static_cast<std::int64_t>(k) % n_features;
    range.minimum[j] = std::min(range.minimum[j], minimum[k]);
    range.maximum[j] = std::max(range.maximum[j], maximum[k]);
    range.n_nonzero[j] += n_nonzero[k];
  }
}

// The least and the largest stored value, and whether all are finite: one pass where NumPy needs three.
struct ValueRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool finite = true;
};

inline void widen(ValueRange& range, const double* values, std::int64_t n) {
  const auto look = [&](double low, double high, bool is_nan) {
    range.low = std::min(range.low, low);
    range.high = std::max(range.high, high);
    range.finite = range.finite && !is_nan && low - low == 0.0 && high - high == 0.0;
  };
  std::int64_t k = 0;
  if (n >= 2) {
    Double2 low, high, x;
    Int2 nan = {};
    load(low, values);
    high = low;
    for (; k + 2 <= n; k += 2) {
      load(x, values + k);
      low = x < low ? x : low;
      high = x > high ? x : high;
      nan |= x != x;
    }
    for (int lane = 0; lane < 2; ++lane) look(low[lane], high[lane], nan[lane] != 0);
  }
  for (; k < n; ++k) look(values[k], values[k], false);
}

inline ValueRange find_values(const SourceView& source, std::int64_t begin, std::int64_t end) {
  RowReader reader(source);
  ValueRange found;
  for (std::int64_t i = begin; i < end; ++i) {
    const RowReader::Values row = reader.values(i);
    widen(found, row.values, row.size);
  }
  return found;
}

inline ValueRange find_values(const SourceView& source, int n_threads) {
  const std::int64_t n_parts = std::clamp<std::int64_t>(std::min<std::int64_t>(n_threads, source.n_rows), 1, 256);
  std::vector<ValueRange> parts(static_cast<std::size_t>(n_parts));
  parallel_for(n_threads, n_parts, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) {
      parts[static_cast<std::size_t>(part)] =
          find_values(source, source.n_rows * part / n_parts, source.n_rows * (part + 1) / n_parts);
    }
  });
  ValueRange found;
  for (const ValueRange& part : parts) {
    found = {std::min(found.low, part.low), std::max(found.high, part.high), found.finite && part.finite};
  }
  return found;
}

}  // namespace kernline
