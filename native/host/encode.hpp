// Values to cells: u = T_j(x), then the code of u on a grid that all columns share, or u itself as float32. One loop
// over rows of any source, for any transform and sink (dense, packed words, values with columns). A value of a category,
// or NaN, has a solver column of its own instead, at u = 1.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "host/source.hpp"
#include "views/views.hpp"

namespace kernline {

// T_j: x -> u. Affine, u = (x - offset_j) * factor_j, or (scale="rank") linear between the points (edge, level) of
// feature j, which are edges[edge_start[j]] to edges[edge_start[j + 1] - 1].
struct Affine {
  double offset, factor;
};

struct Level {
  double level, slope;  // at an edge, and from there to the next (0 after the last)
};

// What an input column is where not all are numbers. The bindings number the kinds.
enum class ColumnKind : std::uint8_t {
  number,
  category,
  other,  // of a term that is encoded in Python
};

struct ColumnTerm {
  ColumnKind kind;
  const double* levels_begin;  // of a category, in increasing order
  const double* levels_end;
  std::int64_t first;    // solver column of the first level
  std::int64_t missing;  // solver column of NaN; -1: NaN has no cell
};

struct TransformView {
  const Affine* affine;
  const std::int64_t* edge_start;  // null when affine
  const double* edges;
  const Level* levels;
  bool keeps_zeros;         // zero has no cell in any column
  const ColumnTerm* terms;  // null when all columns are numbers
  std::int64_t n_columns;   // solver columns
};

// code(u) = number of thresholds <= u. `first` starts the search at the leading bits of the float, which grow with it;
// from there `steps` comparisons are enough. No branch depends on u.
struct GridView {
  static constexpr std::int32_t lowest = 0x30000000;   // 2^-31: anything up to it counts as zero
  static constexpr std::int32_t highest = 0x3f800000;  // 1

  const float* thresholds;  // n_codes - 1 of them, above 2^-31, and infinity
  const std::uint16_t* first;
  unsigned last_code;
  int shift;
  unsigned steps;

  // The usual grids need one step at a shift that is known beforehand.
  static constexpr int usual_shift = 16;
  bool is_usual() const { return shift == usual_shift && steps <= 1; }

  template <bool usual>
  unsigned code(float u) const {
    const std::int32_t bits = std::clamp(std::bit_cast<std::int32_t>(u), lowest, highest);
    unsigned c = first[(bits - lowest) >> (usual ? usual_shift : shift)];
    const auto clipped = std::bit_cast<float>(bits);
    for (unsigned step = 0; step < (usual ? 1 : steps); ++step) c += thresholds[c] <= clipped;
    return c;
  }
};

struct AffineTransform {
  TransformView view;
  float operator()(double x, std::int64_t j) const {
    return static_cast<float>((x - view.affine[j].offset) * view.affine[j].factor);
  }
};

struct RankTransform {
  TransformView view;
  // The search halves the edges without a branch on x: where x falls is what no processor can predict.
  float operator()(double x, std::int64_t j) const {
    const std::int64_t begin = view.edge_start[j];
    const double* edge = view.edges + begin;
    std::int64_t at = 0;
    for (std::int64_t n = view.edge_start[j + 1] - begin; n > 1;) {
      const std::int64_t half = n / 2;
      at += edge[at + half] <= x ? half : 0;
      n -= half;
    }
    const Level level = view.levels[begin + at];
    const double u = level.level + (x - edge[at]) * level.slope;
    return x >= edge[at] ? static_cast<float>(u) : 0.0f;
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

// The entries of a row that may be other than zero after the transform.
class Candidates {
 public:
  Candidates(const SourceView& source, bool keeps_zeros) : reader_(source), keeps_zeros_(keeps_zeros) {}

  RowReader::Entries row(std::int64_t i) {
    const RowReader::Entries all = reader_.row(i);
    return all.columns || !keeps_zeros_ ? all : nonzeros(all);
  }

 private:
  // Branch-free within eight values; eight zeros, as images and histograms have them, are passed over.
  RowReader::Entries nonzeros(const RowReader::Entries& all) {
    if (static_cast<std::int64_t>(values_.size()) < all.size + 1) {
      values_.resize(static_cast<std::size_t>(all.size) + 1);
      columns_.resize(static_cast<std::size_t>(all.size) + 1);
    }
    double* values = values_.data();
    std::int64_t* columns = columns_.data();
    std::int64_t n = 0;
    const auto look = [&](std::int64_t j) {
      values[n] = all.values[j];
      columns[n] = j;
      n += all.values[j] != 0.0;
    };
    std::int64_t j = 0;
    for (; j + 8 <= all.size; j += 8) {
      std::uint64_t bits = 0;
      for (int lane = 0; lane < 8; ++lane) bits |= std::bit_cast<std::uint64_t>(all.values[j + lane]);
      if (bits == 0) continue;
      for (int lane = 0; lane < 8; ++lane) look(j + lane);
    }
    for (; j < all.size; ++j) look(j);
    return {n, values, columns};
  }

  RowReader reader_;
  bool keeps_zeros_;
  std::vector<double> values_;
  std::vector<std::int64_t> columns_;
};

// Sinks: `begin_row` gets the number of cells that may come, `put` takes them in turn, `end_row` closes it. The sparse ones
// leave zeros out.
template <class CellType>
struct DenseSink {
  using Cell = CellType;
  Cell* cells;  // zeros
  std::int64_t n_columns;
  void begin_row(std::int64_t) {}
  void put(std::int64_t j, Cell cell) { cells[j] = cell; }
  void end_row() { cells += n_columns; }
};

struct SparseSink {
  std::int64_t* row_end;
  std::int64_t position;
  std::int64_t capacity;
  // Zeros are written and then overwritten, so that no branch depends on the data: there must be room for them too.
  void begin_row(std::int64_t n) const {
    if (position + n > capacity)
      throw std::length_error("encode: more non-zeros than counted; did the data change meanwhile?");
  }
  void end_row() { *row_end++ = position; }
};

template <class Word, int code_bits>
struct PackedSink : SparseSink {
  using Cell = unsigned;
  Word* words;
  void put(std::int64_t j, unsigned code) {
    words[position] = static_cast<Word>(j) << code_bits | static_cast<Word>(code);
    position += code != 0;
  }
};

template <class Index>
struct ValueSink : SparseSink {
  using Cell = float;
  float* values;
  Index* columns;
  void put(std::int64_t j, float value) {
    values[position] = value;
    columns[position] = static_cast<Index>(j);
    position += value != 0.0f;
  }
};

// How a u becomes a cell.
template <bool usual>
struct ToCode {
  GridView grid;
  unsigned operator()(float u) const { return grid.code<usual>(u); }
};

template <class F>
void with_codes(const GridView& grid, F&& f) {
  if (grid.is_usual()) {
    f(ToCode<true>{grid});
  } else {
    f(ToCode<false>{grid});
  }
}

// For methods on exact values. `clip` keeps u within [0, 1]; without it, what float32 cannot square is cut off.
struct ToValue {
  bool clip;
  float operator()(float u) const { return clip ? std::clamp(u, 0.0f, 1.0f) : std::clamp(u, -1e18f, 1e18f); }
};

// How a value of input column j reaches the sink: a number goes to solver column j.
template <class Transform, class ToCell>
struct NumberCells {
  Transform transform;
  ToCell to_cell;

  template <class Sink>
  void put(Sink& sink, double x, std::int64_t j) const {
    sink.put(j, static_cast<typename Sink::Cell>(to_cell(transform(x, j))));
  }
};

// The same where some columns are not numbers. One cell for each value at most, as the sinks have room for.
template <class Transform, class ToCell>
struct TermCells {
  NumberCells<Transform, ToCell> numbers;
  const ColumnTerm* terms;

  template <class Sink>
  void put(Sink& sink, double x, std::int64_t j) const {
    const ColumnTerm& term = terms[j];
    const auto one = static_cast<typename Sink::Cell>(numbers.to_cell(1.0f));
    if (x != x) {
      if (term.missing >= 0) sink.put(term.missing, one);
    } else if (term.kind == ColumnKind::number) {
      numbers.put(sink, x, j);
    } else if (term.kind == ColumnKind::category) {
      const double* level = std::lower_bound(term.levels_begin, term.levels_end, x);
      if (level != term.levels_end && *level == x) sink.put(term.first + (level - term.levels_begin), one);
    }
  }
};

template <class Cells, class Sink>
void encode_cells(Candidates& candidates, Cells cells, Sink& sink, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const RowReader::Entries row = candidates.row(i);
    Sink local = sink;  // kept in registers: the compiler must assume that `put` could write anywhere
    local.begin_row(row.size);
    if (row.columns) {
      for (std::int64_t k = 0; k < row.size; ++k) cells.put(local, row.values[k], row.columns[k]);
    } else {
      for (std::int64_t j = 0; j < row.size; ++j) cells.put(local, row.values[j], j);
    }
    local.end_row();
    sink = local;
  }
}

// Not inlined, so that the loop over numbers is compiled as if there were no other.
template <class Cells, class Sink>
[[gnu::noinline]] void encode_terms(Candidates& candidates, Cells cells, Sink& sink, std::int64_t begin,
                                    std::int64_t end) {
  encode_cells(candidates, cells, sink, begin, end);
}

// Appends rows begin to end of the source to the sink.
template <class ToCell, class Sink>
void encode_rows(const SourceView& source, const TransformView& view, ToCell to_cell, Sink& sink, std::int64_t begin,
                 std::int64_t end) {
  Candidates candidates(source, view.keeps_zeros);
  with_transform(view, [&](auto transform) {
    const NumberCells<decltype(transform), ToCell> numbers{transform, to_cell};
    if (view.terms) {
      encode_terms(candidates, TermCells<decltype(transform), ToCell>{numbers, view.terms}, sink, begin, end);
    } else {
      encode_cells(candidates, numbers, sink, begin, end);
    }
  });
}

}  // namespace kernline
