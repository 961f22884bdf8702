// Row sources. A row offers size(), column(k) and cell(k); the loops are templates over it.
#pragma once

#include <cstdint>

#include "views/views.hpp"

namespace kernline::KERNLINE_TARGET {

// Asks for the first kilobyte of a row; the processor's own prefetcher takes over in longer ones.
template <class T>
inline void prefetch_first(const T* begin, std::int64_t n) {
  const auto* byte = reinterpret_cast<const char*>(begin);
  const std::int64_t n_bytes = n * std::int64_t{sizeof(T)};
  const std::int64_t limit = n_bytes < 1024 ? n_bytes : 1024;
  for (std::int64_t offset = 0; offset < limit; offset += 64) __builtin_prefetch(byte + offset);
}

// A cell is a code, a value, or a pointer to a payload, which is never null.
template <class Cell>
constexpr bool is_zero(Cell cell) {
  return cell == Cell{};
}

template <class Cell>
struct DenseRows {
  struct Row {
    const Cell* cells;
    std::int64_t length;
    std::int64_t size() const { return length; }
    std::int64_t column(std::int64_t k) const { return k; }
    Cell cell(std::int64_t k) const { return cells[k]; }
  };

  explicit DenseRows(const RowsView& view) : cells(static_cast<const Cell*>(view.cells)), n_features(view.n_features) {}
  Row row(std::int64_t i) const { return {cells + i * n_features, n_features}; }
  void prefetch_start(std::int64_t) const {}
  void prefetch(std::int64_t i) const { prefetch_first(cells + i * n_features, n_features); }

  const Cell* cells;
  std::int64_t n_features;
};

template <class Word, int code_bits>
struct PackedRows {
  struct Row {
    const Word* words;
    std::int64_t length;
    std::int64_t size() const { return length; }
    std::int64_t column(std::int64_t k) const { return static_cast<std::int64_t>(words[k] >> code_bits); }
    unsigned cell(std::int64_t k) const { return static_cast<unsigned>(words[k] & ((Word{1} << code_bits) - 1)); }
  };

  explicit PackedRows(const RowsView& view) : words(static_cast<const Word*>(view.cells)), start(view.row_start) {}
  Row row(std::int64_t i) const { return {words + start[i], start[i + 1] - start[i]}; }
  void prefetch_start(std::int64_t i) const { __builtin_prefetch(start + i); }
  void prefetch(std::int64_t i) const { prefetch_first(words + start[i], start[i + 1] - start[i]); }

  const Word* words;
  const std::int64_t* start;
};

template <class Index>
struct SparseRow {
  const float* values;
  const Index* columns;
  std::int64_t length;
  std::int64_t size() const { return length; }
  std::int64_t column(std::int64_t k) const { return columns[k]; }
  float cell(std::int64_t k) const { return values[k]; }
};

template <class Index>
struct SparseValueRows {
  using Row = SparseRow<Index>;

  explicit SparseValueRows(const RowsView& view)
      : values(static_cast<const float*>(view.cells)),
        columns(static_cast<const Index*>(view.columns)),
        start(view.row_start) {}
  Row row(std::int64_t i) const { return {values + start[i], columns + start[i], start[i + 1] - start[i]}; }
  void prefetch_start(std::int64_t i) const { __builtin_prefetch(start + i); }
  void prefetch(std::int64_t i) const {
    const std::int64_t size = start[i + 1] - start[i];
    prefetch_first(values + start[i], size);
    prefetch_first(columns + start[i], size);
  }

  const float* values;
  const Index* columns;
  const std::int64_t* start;
};

// A cell is a pointer to its payload.
struct PayloadRows {
  struct Row {
    const float* payload;
    const std::int32_t* columns;
    std::int64_t length;
    int n_payload;
    std::int64_t size() const { return length; }
    std::int64_t column(std::int64_t k) const { return columns[k]; }
    const float* cell(std::int64_t k) const { return payload + k * n_payload; }
  };

  explicit PayloadRows(const RowsView& view)
      : payload(static_cast<const float*>(view.cells)),
        columns(static_cast<const std::int32_t*>(view.columns)),
        start(view.row_start),
        n_payload(view.n_payload) {}
  Row row(std::int64_t i) const {
    return {payload + start[i] * n_payload, columns + start[i], start[i + 1] - start[i], n_payload};
  }
  void prefetch_start(std::int64_t i) const { __builtin_prefetch(start + i); }
  void prefetch(std::int64_t i) const {
    const std::int64_t size = start[i + 1] - start[i];
    prefetch_first(payload + start[i] * n_payload, size * n_payload);
    prefetch_first(columns + start[i], size);
  }

  const float* payload;
  const std::int32_t* columns;
  const std::int64_t* start;
  int n_payload;
};

}  // namespace kernline::KERNLINE_TARGET
