// Values to cells: u = T_j(x), then the code of u on a grid that all features share, or u itself as float32. One loop
// over any source (dense, CSR), transform and sink (dense, packed words, values with columns).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>

#include "views.hpp"

namespace kernline {

// T_j: x -> u. Affine, u = (x - offset_j) * factor_j, or (scale="rank") linear between the points (edge, level) of
// feature j, which are edges[edge_start[j]] to edges[edge_start[j + 1] - 1].
struct TransformView {
  const double* offsets;
  const double* factors;
  const std::int64_t* edge_start;  // null when affine
  const double* edges;
  const double* levels;
};

// code(u) = number of thresholds <= u. `first` starts the search at the leading bits of the float, which grow with it.
struct GridView {
  static constexpr int bucket_shift = 17;                    // exponent and six bits of mantissa
  static constexpr std::uint32_t bucket_base = 0x30000000u >> bucket_shift;  // 2^-31: anything below counts as zero
  static constexpr std::uint32_t n_buckets = (0x3f800000u >> bucket_shift) - bucket_base + 1;

  const float* thresholds;     // n_codes - 1 of them, and infinity
  const std::uint16_t* first;  // n_buckets
  unsigned last_code;

  unsigned code(float u) const {
    if (!(u > 0x1p-31f)) return 0;
    if (u >= 1.0f) return last_code;
    unsigned c = first[(std::bit_cast<std::uint32_t>(u) >> bucket_shift) - bucket_base];
    while (thresholds[c] <= u) ++c;
    return c;
  }
};

struct AffineTransform {
  const TransformView& view;
  float operator()(double x, std::int64_t j) const {
    return static_cast<float>((x - view.offsets[j]) * view.factors[j]);
  }
};

struct RankTransform {
  const TransformView& view;
  float operator()(double x, std::int64_t j) const {
    const double* first = view.edges + view.edge_start[j];
    const double* last = view.edges + view.edge_start[j + 1];
    const double* right = std::upper_bound(first, last, x);
    if (right == first) return 0.0f;
    const double* level = view.levels + (right - view.edges);
    if (right == last) return static_cast<float>(level[-1]);
    const double fraction = (x - right[-1]) / (right[0] - right[-1]);
    return static_cast<float>(level[-1] + fraction * (level[0] - level[-1]));
  }
};

template <class F>
void with_transform(const TransformView& view, F&& f) {
  if (view.edge_start) {
    f(RankTransform{view});
  } else {
    f(AffineTransform{view});
  }
}

// Sources: for_each(i, f) calls f(j, x) for the entries of row i.
template <class Value>
struct DenseSource {
  std::int64_t n_rows;
  std::int64_t n_features;
  const Value* values;

  template <class F>
  void for_each(std::int64_t i, F&& f) const {
    const Value* row = values + i * n_features;
    for (std::int64_t j = 0; j < n_features; ++j) f(j, static_cast<double>(row[j]));
  }
};

template <class Value, class Index>
struct CsrSource {
  std::int64_t n_rows;
  std::int64_t n_features;
  std::int64_t n_entries;
  const Index* row_start;
  const Index* columns;
  const Value* values;

  // An index outside the data is an error, not a crash.
  template <class F>
  void for_each(std::int64_t i, F&& f) const {
    const std::int64_t begin = row_start[i], end = row_start[i + 1];
    if (begin < 0 || begin > end || end > n_entries) {
      throw std::invalid_argument("sparse X: indptr is not increasing within the data");
    }
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t j = columns[k];
      if (j < 0 || j >= n_features) throw std::invalid_argument("sparse X: a column index lies outside its shape");
      f(j, static_cast<double>(values[k]));
    }
  }
};

// Sinks: `put` is told of the cells of a row in turn, `end_row` closes it. The sparse ones leave zeros out.
template <class Cell>
struct DenseSink {
  Cell* cells;
  std::int64_t n_features;
  template <class T>
  void put(std::int64_t j, T cell) {
    cells[j] = static_cast<Cell>(cell);
  }
  void end_row() { cells += n_features; }
};

struct SparseSink {
  std::int64_t* row_end;
  std::int64_t position;
  std::int64_t capacity;
  void end_row() { *row_end++ = position; }

 protected:
  std::int64_t advance() {
    if (position >= capacity) throw std::length_error("encode: more non-zeros than counted; did the data change meanwhile?");
    return position++;
  }
};

template <class Word>
struct PackedSink : SparseSink {
  Word* words;
  int code_bits;
  void put(std::int64_t j, unsigned code) {
    if (code) words[advance()] = static_cast<Word>(j) << code_bits | static_cast<Word>(code);
  }
};

template <class Index>
struct ValueSink : SparseSink {
  float* values;
  Index* columns;
  void put(std::int64_t j, float value) {
    if (value == 0.0f) return;
    const std::int64_t k = advance();
    values[k] = value;
    columns[k] = static_cast<Index>(j);
  }
};

template <class Source, class Sink>
void encode_codes(const Source& source, const TransformView& view, const GridView& grid, Sink& sink) {
  with_transform(view, [&](const auto& transform) {
    for (std::int64_t i = 0; i < source.n_rows; ++i) {
      source.for_each(i, [&](std::int64_t j, double x) { sink.put(j, grid.code(transform(x, j))); });
      sink.end_row();
    }
  });
}

// For methods on exact values. `clip` keeps u within [0, 1]; without it, what float32 cannot square is cut off.
template <class Source, class Sink>
void encode_values(const Source& source, const TransformView& view, bool clip, Sink& sink) {
  const float low = clip ? 0.0f : -1e18f;
  const float high = clip ? 1.0f : 1e18f;
  with_transform(view, [&](const auto& transform) {
    for (std::int64_t i = 0; i < source.n_rows; ++i) {
      source.for_each(i, [&](std::int64_t j, double x) { sink.put(j, std::clamp(transform(x, j), low, high)); });
      sink.end_row();
    }
  });
}

// What an encoder has to know of a column: its range and how many values are not zero.
struct ColumnRange {
  double* minimum;
  double* maximum;
  std::int64_t* n_nonzero;
};

template <class Source>
void find_range(const Source& source, ColumnRange range) {
  for (std::int64_t i = 0; i < source.n_rows; ++i) {
    source.for_each(i, [&](std::int64_t j, double x) {
      range.minimum[j] = x < range.minimum[j] ? x : range.minimum[j];
      range.maximum[j] = x > range.maximum[j] ? x : range.maximum[j];
      range.n_nonzero[j] += x != 0.0;
    });
  }
}

}  // namespace kernline
