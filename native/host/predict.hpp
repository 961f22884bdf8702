// Encoding and decision in one go: a few rows become packed words in a scratch that stays in cache, and are read at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "host/dispatch.hpp"
#include "host/encode.hpp"

namespace kernline {

constexpr std::int64_t rows_a_block = 16;

// Room for the cells of rows [begin, end): what is stored of them, or all.
inline std::int64_t most_cells(const SourceView& source, std::int64_t begin, std::int64_t end) {
  const RowReader reader(source);
  std::int64_t cells = 0;
  for (std::int64_t i = begin; i < end; ++i) cells += reader.size(i);
  return cells;
}

template <class Word, int code_bits>
void predict_codes(const SourceView& source, const TransformView& transform, const GridView& grid, RowKind kind,
                   const TableView& table, const WeightsView& weights, std::int64_t begin, std::int64_t end,
                   double* out) {
  std::vector<Word> words;
  std::int64_t row_start[rows_a_block + 1] = {};
  for (std::int64_t block = begin; block < end; block += rows_a_block) {
    const std::int64_t n = std::min(rows_a_block, end - block);
    const std::int64_t capacity = most_cells(source, block, block + n);
    if (static_cast<std::int64_t>(words.size()) < capacity) words.resize(static_cast<std::size_t>(capacity));
    PackedSink<Word, code_bits> sink{{row_start + 1, 0, capacity}, words.data()};
    with_codes(grid, [&](auto to_code) { encode_rows(source, transform, to_code, sink, block, block + n); });
    const RowsView rows{kind, n, transform.n_columns, row_start, words.data(), nullptr, 0};
    loops().decision(rows, table, weights, 0, n, out + block * weights.n_problems);
  }
}

}  // namespace kernline
