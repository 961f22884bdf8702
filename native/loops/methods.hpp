// The two tables of an additive method, and what a row does with them:
//   read   f(x_i) = sum_j phi(u_ij) . W_j
//   write  W_j   += step s_j psi(u_ij)   for every j
// A table is dense (a row of `width` floats per code), a pair (two adjacent non-zeros: hat weights) or the value itself
// (the linear kernel). DualSolver::is_method lists the valid pairs.
#pragma once

#include <cstdint>
#include <cstring>

#include "loops/rows.hpp"

namespace kernline::KERNLINE_TARGET {

// fixed_width = 0: the width is known at run time.
template <int fixed_width>
struct DenseTable {
  explicit DenseTable(const TableView& view) : data(view.data), run_time_width(view.width) {}
  int width() const { return fixed_width ? fixed_width : run_time_width; }

  float dot(const float* weights, unsigned code) const {
    const float* entry = data + static_cast<std::int64_t>(code) * width();
    if (width() == 1) return entry[0] * weights[0];  // K(x, x): a loop of unknown length takes three times as long
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int k = 0; k < width(); ++k) sum += entry[k] * weights[k];
    return sum;
  }
  template <class Weight>
  void add(Weight* weights, unsigned code, Weight step) const {
    const float* entry = data + static_cast<std::int64_t>(code) * width();
#pragma omp simd
    for (int k = 0; k < width(); ++k) weights[k] += step * entry[k];
  }

  const float* data;
  int run_time_width;
};

// The code is position << shift | t: hat weights (1 - t/2^shift, t/2^shift) at `position` and the next slot. The last
// knot has t = 0, so its "next slot" is read with weight zero: W is padded by one float for it.
template <int fixed_width>
struct PairTable {
  explicit PairTable(const TableView& view)
      : pairs(view.data), run_time_width(view.width), run_time_shift(view.shift) {}
  int width() const { return fixed_width ? fixed_width : run_time_width; }
  int shift() const { return fixed_width == 16 ? 4 : run_time_shift; }

  float dot(const float* weights, unsigned code) const {
    const float* slot = weights + (code >> shift());
    const float* pair = pairs + 2 * (code & ((1u << shift()) - 1));
    return slot[0] * pair[0] + slot[1] * pair[1];
  }
  template <class Weight>
  void add(Weight* weights, unsigned code, Weight step) const {
    Weight* slot = weights + (code >> shift());
    const float* pair = pairs + 2 * (code & ((1u << shift()) - 1));
    slot[0] += step * pair[0];
    slot[1] += step * pair[1];
  }

  const float* pairs;
  int run_time_width;
  int run_time_shift;
};

struct ValueTable {
  explicit ValueTable(const TableView&) {}
  static constexpr int width() { return 1; }
  float dot(const float* weights, float value) const { return weights[0] * value; }
  template <class Weight>
  void add(Weight* weights, float value, Weight step) const {
    weights[0] += step * value;
  }
};

struct SquareTable {
  explicit SquareTable(const TableView&) {}
  static constexpr int width() { return 1; }
  float dot(const float* weights, float value) const { return weights[0] * value * value; }
};

// The papers' polynomial sum_k a_k l^k, by Horner's rule; W_j holds the coefficients a.
struct PowersTable {
  explicit PowersTable(const TableView& view) : run_time_width(view.width) {}
  int width() const { return run_time_width; }
  float dot(const float* weights, const float* payload) const {
    float sum = weights[width() - 1];
    for (int k = width() - 2; k >= 0; --k) sum = sum * payload[0] + weights[k];
    return sum;
  }
  int run_time_width;
};

// The papers' update: a += step X^-1 m, with m the kernel at the nodes; its first entry may be constant.
struct NodesTable {
  explicit NodesTable(const TableView& view)
      : run_time_width(view.width), n_constant(view.shift), constant(view.data[0]), inverse(view.data + 1) {}
  int width() const { return run_time_width; }
  template <class Weight>
  void add(Weight* weights, const float* payload, Weight step) const {
    for (int r = 0; r < width(); ++r) {
      const float* row = inverse + std::int64_t{r} * width();
      Weight sum = n_constant ? row[0] * constant : 0;
      for (int t = n_constant; t < width(); ++t) sum += row[t] * payload[1 + t - n_constant];
      weights[r] += step * sum;
    }
  }
  int run_time_width;
  int n_constant;
  float constant;
  const float* inverse;
};

// f(x_i) without intercept. Four partial sums, so that additions do not wait for each other.
template <class Row, class Table>
inline float read_row(const Row& row, const Table& table, const float* weights) {
  const std::int64_t size = row.size();
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  std::int64_t k = 0;
  for (; k + 4 <= size; k += 4) {
    for (int lane = 0; lane < 4; ++lane) {
      sum[lane] += table.dot(weights + row.column(k + lane) * table.width(), row.cell(k + lane));
    }
  }
  for (; k < size; ++k) sum[0] += table.dot(weights + row.column(k) * table.width(), row.cell(k));
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Four floats in one register, and two pairs of floats: loaded as doubles, they need no detour through other registers.
using Float4 = float __attribute__((vector_size(16)));
using Double2 = double __attribute__((vector_size(16)));
inline Float4 load4(const float* p) {
  Float4 floats;
  std::memcpy(&floats, p, sizeof floats);
  return floats;
}
inline double load_pair(const float* p) {
  double pair;
  std::memcpy(&pair, p, sizeof pair);
  return pair;
}
inline Float4 load_pairs(const float* p, const float* q) {
  return reinterpret_cast<Float4>(Double2{load_pair(p), load_pair(q)});
}
inline float sum_of(Float4 floats) { return (floats[0] + floats[1]) + (floats[2] + floats[3]); }

// The linear kernel on sparse rows. In registers, because compilers turn a loop over floats into products of vectors and
// sums of one float after the other, which takes half as long again.
template <class Index>
inline float read_row(const SparseRow<Index>& row, const ValueTable&, const float* weights) {
  Float4 sum[2] = {};
  std::int64_t k = 0;
  const auto term = [&](std::int64_t at) {
    const Index* column = row.columns + at;
    return load4(row.values + at) *
           Float4{weights[column[0]], weights[column[1]], weights[column[2]], weights[column[3]]};
  };
  for (; k + 8 <= row.length; k += 8) {
    sum[0] += term(k);
    sum[1] += term(k + 4);
  }
  if (k + 4 <= row.length) {
    sum[0] += term(k);
    k += 4;
  }
  float total = sum_of(sum[0] + sum[1]);
  for (; k < row.length; ++k) total += row.values[k] * weights[row.columns[k]];
  return total;
}

// The default method, arranged for speed: with `place` = column << 8 | position << 4 | t, place >> 4 is the index of the left
// weight in W, its right neighbour is next to it, and t gives the hat weights. A packed word is the place itself.
inline std::uint64_t place(const PackedRows<std::uint32_t, 8>::Row& row, std::int64_t k) { return row.words[k]; }
inline std::uint64_t place(const DenseRows<std::uint8_t>::Row& row, std::int64_t k) {
  return static_cast<std::uint64_t>(k) << 8 | row.cells[k];
}

inline float one_term(std::uint64_t place, const PairTable<16>& table, const float* weights) {
  const float *slot = weights + (place >> 4), *pair = table.pairs + 2 * (place & 15);
  return slot[0] * pair[0] + slot[1] * pair[1];
}

inline float read_row(const DenseRows<std::uint8_t>::Row& row, const PairTable<16>& table, const float* weights) {
  Float4 sum[2] = {};
  const auto term = [&](std::int64_t at) {
    const std::uint64_t p = place(row, at), q = place(row, at + 1);
    return load_pairs(weights + (p >> 4), weights + (q >> 4)) *
           load_pairs(table.pairs + 2 * (p & 15), table.pairs + 2 * (q & 15));
  };
  std::int64_t k = 0;
  for (; k + 4 <= row.length; k += 4) {
    sum[0] += term(k);
    sum[1] += term(k + 2);
  }
  float total = sum_of(sum[0] + sum[1]);
  for (; k < row.length; ++k) total += one_term(place(row, k), table, weights);
  return total;
}

// The hat weights of words are computed, four at a time: to load them takes 3 % more of a fit on texts. (For bytes, which
// compilers turn into floats one after the other, that was a fifth slower.)
inline float read_row(const PackedRows<std::uint32_t, 8>::Row& row, const PairTable<16>& table, const float* weights) {
  using Int4 = std::int32_t __attribute__((vector_size(16)));
  const Float4 at_zero = {1.0f, 0.0f, 1.0f, 0.0f}, slope = {-0.0625f, 0.0625f, -0.0625f, 0.0625f};
  Float4 sum[2] = {};
  const auto two = [&](std::int64_t k) {
    return load_pairs(weights + (row.words[k] >> 4), weights + (row.words[k + 1] >> 4));
  };
  std::int64_t k = 0;
  for (; k + 4 <= row.length; k += 4) {
    Int4 words;
    std::memcpy(&words, row.words + k, sizeof words);
    const Float4 t = __builtin_convertvector(words & 15, Float4);
    sum[0] += two(k) * (at_zero + slope * Float4{t[0], t[0], t[1], t[1]});
    sum[1] += two(k + 2) * (at_zero + slope * Float4{t[2], t[2], t[3], t[3]});
  }
  float total = sum_of(sum[0] + sum[1]);
  for (; k < row.length; ++k) total += one_term(row.words[k], table, weights);
  return total;
}

// Whether a read takes so little time that a function call per visit of a row would show. (In the linear kernel, inlined
// visits slowed down the read of sparse rows by 8 %.)
template <class Row, class Table>
constexpr bool reads_fast = false;
template <class Row>
  requires requires(const Row& row) { place(row, 0); }
constexpr bool reads_fast<Row, PairTable<16>> = true;

// Whether a write takes much less time without a scale to read for each cell, if all scales are equal: 8 % of a fit on texts.
template <class Row, class Table>
constexpr bool pays_without_scales = false;
template <class Index>
constexpr bool pays_without_scales<SparseRow<Index>, ValueTable> = true;

// The linear kernel on dense rows is a plain dot product.
inline float read_row(const DenseRows<float>::Row& row, const ValueTable&, const float* weights) {
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t k = 0; k < row.length; ++k) sum += weights[k] * row.cells[k];
  return sum;
}

// Two floats in one register.
using Float2 = float __attribute__((vector_size(8)));
inline Float2 load2(const float* p) {
  Float2 pair;
  std::memcpy(&pair, p, sizeof pair);
  return pair;
}

// Used if all scales are one.
struct NoScales {
  float operator[](std::int64_t) const { return 1.0f; }
};

// Table and scales by value: the compiler would read a reference again after each write.
template <class Row, class Table, class Weight, class Scales>
inline void write_row(const Row& row, Table table, Weight* weights, Weight step, Scales scales) {
  const std::int64_t size = row.size();
  for (std::int64_t k = 0; k < size; ++k) {
    const auto cell = row.cell(k);
    if (is_zero(cell)) continue;  // psi(0) = 0
    const std::int64_t column = row.column(k);
    table.add(weights + column * table.width(), cell, step * scales[column]);
  }
}

template <class Weight, class Scales>
inline void write_row(const DenseRows<float>::Row& row, const ValueTable&, Weight* weights, Weight step,
                      const Scales& scales) {
#pragma omp simd
  for (std::int64_t k = 0; k < row.length; ++k) weights[k] += step * scales[k] * row.cells[k];
}

template <class Index>
// NOLINTNEXTLINE(readability-non-const-parameter): the linter does not see that the weights change
inline void write_row(const SparseRow<Index>& row, const ValueTable&, float* weights, float step, const NoScales&) {
  for (std::int64_t k = 0; k < row.length; ++k) weights[row.columns[k]] += step * row.values[k];
}

// The same for adding the two hat weights of every cell. (A zero adds to the slot of u = 0, where psi is zero.)
template <class Row>
  requires requires(const Row& row) { place(row, 0); }
inline void write_row(const Row& row, const PairTable<16>& table, float* weights, float step, const NoScales&) {
  for (std::int64_t k = 0; k < row.length; ++k) {
    const std::uint64_t p = place(row, k);
    float* slot = weights + (p >> 4);
    const Float2 sum = load2(slot) + step * load2(table.pairs + 2 * (p & 15));
    std::memcpy(slot, &sum, sizeof sum);
  }
}

// Calls f(rows, read, write) with the types given by the views.
template <class F>
void with_code_rows(const RowsView& view, F&& f) {
  switch (view.kind) {
    case RowKind::dense_codes8: return f(DenseRows<std::uint8_t>(view));
    case RowKind::dense_codes16: return f(DenseRows<std::uint16_t>(view));
    case RowKind::packed32_code8: return f(PackedRows<std::uint32_t, 8>(view));
    case RowKind::packed32_code16: return f(PackedRows<std::uint32_t, 16>(view));
    case RowKind::packed64_code16: return f(PackedRows<std::uint64_t, 16>(view));
    default: return;
  }
}

template <class F>
void with_value_rows(const RowsView& view, F&& f) {
  switch (view.kind) {
    case RowKind::dense_values: return f(DenseRows<float>(view));
    case RowKind::sparse_values32: return f(SparseValueRows<std::int32_t>(view));
    case RowKind::sparse_values64: return f(SparseValueRows<std::int64_t>(view));
    default: return;
  }
}

template <class F>
void with_table(const TableView& view, F&& f) {
  switch (view.form) {
    case TableForm::dense:
      if (view.width == 16) return f(DenseTable<16>(view));
      if (view.width == 3) return f(DenseTable<3>(view));
      return f(DenseTable<0>(view));
    case TableForm::pair:
      if (view.width == 16 && view.shift == 4) return f(PairTable<16>(view));
      return f(PairTable<0>(view));
    default: return;
  }
}

// For loops that only read.
template <class F>
void with_reader(const RowsView& rows, const TableView& table, F&& f) {
  if (table.form == TableForm::value) {
    return with_value_rows(rows, [&](const auto& typed_rows) { f(typed_rows, ValueTable(table)); });
  }
  if (table.form == TableForm::square) {
    return with_value_rows(rows, [&](const auto& typed_rows) { f(typed_rows, SquareTable(table)); });
  }
  if (table.form == TableForm::powers) return f(PayloadRows(rows), PowersTable(table));
  with_code_rows(rows, [&](const auto& typed_rows) {
    with_table(table, [&](const auto& typed_table) { f(typed_rows, typed_table); });
  });
}

// For loops that add up a method's read vectors.
template <class F>
void with_adder(const RowsView& rows, const TableView& table, F&& f) {
  if (table.form == TableForm::value) {
    return with_value_rows(rows, [&](const auto& typed_rows) { f(typed_rows, ValueTable(table)); });
  }
  with_code_rows(rows, [&](const auto& typed_rows) {
    with_table(table, [&](const auto& typed_table) { f(typed_rows, typed_table); });
  });
}

// For loops that read and write. Only pairs that a method uses are compiled.
template <class F>
void with_method(const RowsView& rows, const MethodView& method, F&& f) {
  const TableView &read = method.read, &write = method.write;
  if (read.form == TableForm::value) {
    return with_value_rows(rows, [&](const auto& r) { f(r, ValueTable(read), ValueTable(write)); });
  }
  if (read.form == TableForm::powers) return f(PayloadRows(rows), PowersTable(read), NodesTable(write));
  with_code_rows(rows, [&](const auto& r) {
    if (read.form == TableForm::pair) {
      if (read.width == 16 && read.shift == 4) return f(r, PairTable<16>(read), DenseTable<16>(write));
      return f(r, PairTable<0>(read), DenseTable<0>(write));
    }
    if (write.form == TableForm::pair) {
      if (write.width == 16 && write.shift == 4) return f(r, DenseTable<16>(read), PairTable<16>(write));
      return f(r, DenseTable<0>(read), PairTable<0>(write));
    }
    if (read.width == 3) return f(r, DenseTable<3>(read), DenseTable<3>(write));
    return f(r, DenseTable<0>(read), DenseTable<0>(write));
  });
}

}  // namespace kernline::KERNLINE_TARGET
