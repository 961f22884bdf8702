// Arrays as they come from Python, and what the core keeps of them between calls: rows and tables. Each
// holds on to the arrays it was made of, and checks their sizes once, so that the loops need not.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "host/aligned.hpp"
#include "views/views.hpp"

namespace nb = nanobind;

namespace kernline {

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// An argument that is taken as it is or not at all: nothing is copied on the way.
constexpr auto exact = [](const char* name) { return nb::arg(name).noconvert(); };

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

using Offsets = Vector<const std::int64_t>;

inline void check_members(const Vector<const std::int32_t>& members, std::int64_t n_rows) {
  std::int32_t smallest = 0, largest = -1;
  for (std::size_t k = 0; k < members.size(); ++k) {
    smallest = std::min(smallest, members.data()[k]);
    largest = std::max(largest, members.data()[k]);
  }
  require(smallest >= 0 && largest < n_rows, "members: a row lies outside the data");
}

// Encoded rows. Holds on to the arrays it was made of.
class Rows {
 public:
  template <class Code>
  static Rows dense_codes(Matrix<const Code> codes) {
    Rows rows(sizeof(Code) == 1 ? RowKind::dense_codes8 : RowKind::dense_codes16, codes.shape(0), codes.shape(1));
    rows.view_.cells = codes.data();
    Code largest = 0;
    for (std::size_t k = 0; k < codes.size(); ++k) largest = std::max(largest, codes.data()[k]);
    rows.largest_code_ = largest;
    rows.cells_ = nb::ndarray<>(codes);
    return rows;
  }

  template <class Word>
  static Rows packed(Vector<const std::int64_t> row_start, Vector<const Word> words, std::int64_t n_features,
                     int code_bits) {
    require(code_bits == 16 || (code_bits == 8 && sizeof(Word) == 4), "packed rows: 8 or 16 bits a code");
    const RowKind kind = sizeof(Word) == 8 ? RowKind::packed64_code16
                         : code_bits == 8  ? RowKind::packed32_code8
                                           : RowKind::packed32_code16;
    Rows rows(kind, checked_row_count(row_start, words.size()), n_features);
    rows.set_row_start(row_start);
    rows.view_.cells = words.data();
    Word largest = 0, largest_code = 0;
    const Word code_mask = (Word{1} << code_bits) - 1;
    for (std::size_t k = 0; k < words.size(); ++k) {
      largest = std::max(largest, words.data()[k]);
      largest_code = std::max(largest_code, words.data()[k] & code_mask);
    }
    require(words.size() == 0 || static_cast<std::int64_t>(largest >> code_bits) < n_features,
            "packed rows: a column lies outside the data");
    rows.largest_code_ = static_cast<unsigned>(largest_code);
    rows.cells_ = nb::ndarray<>(words);
    return rows;
  }

  static Rows dense_values(Matrix<const float> values) {
    Rows rows(RowKind::dense_values, values.shape(0), values.shape(1));
    rows.view_.cells = values.data();
    rows.cells_ = nb::ndarray<>(values);
    return rows;
  }

  template <class Index>
  static Rows sparse_values(Vector<const std::int64_t> row_start, Vector<const Index> columns,
                            Vector<const float> values, std::int64_t n_features) {
    require(columns.size() == values.size(), "sparse values: one column a value");
    const RowKind kind = sizeof(Index) == 4 ? RowKind::sparse_values32 : RowKind::sparse_values64;
    Rows rows(kind, checked_row_count(row_start, values.size()), n_features);
    rows.set_row_start(row_start);
    rows.view_.cells = values.data();
    rows.view_.columns = columns.data();
    check_columns(columns, n_features);
    rows.cells_ = nb::ndarray<>(values);
    rows.columns_ = nb::ndarray<>(columns);
    return rows;
  }

  static Rows payload(Vector<const std::int64_t> row_start, Vector<const std::int32_t> columns,
                      Matrix<const float> payload, std::int64_t n_features) {
    require(columns.size() == payload.shape(0) && payload.shape(1) > 0,
            "payload: one column and one payload a non-zero");
    Rows rows(RowKind::payload, checked_row_count(row_start, columns.size()), n_features);
    rows.set_row_start(row_start);
    rows.view_.cells = payload.data();
    rows.view_.columns = columns.data();
    rows.view_.n_payload = static_cast<int>(payload.shape(1));
    check_columns(columns, n_features);
    rows.cells_ = nb::ndarray<>(payload);
    rows.columns_ = nb::ndarray<>(columns);
    return rows;
  }

  const RowsView& view() const { return view_; }
  unsigned largest_code() const { return largest_code_; }

 private:
  Rows(RowKind kind, std::size_t n_rows, std::size_t n_features)
      : view_{kind, static_cast<std::int64_t>(n_rows), static_cast<std::int64_t>(n_features), nullptr, nullptr, nullptr,
              0} {}

  static std::size_t checked_row_count(const Vector<const std::int64_t>& row_start, std::size_t n_cells) {
    require(row_start.size() > 0 && row_start(0) == 0, "row_start must begin with 0");
    for (std::size_t i = 1; i < row_start.size(); ++i)
      require(row_start(i - 1) <= row_start(i), "row_start must not decrease");
    require(std::cmp_less_equal(row_start(row_start.size() - 1), n_cells), "row_start runs past the cells");
    return row_start.size() - 1;
  }
  template <class Index>
  static void check_columns(const Vector<const Index>& columns, std::int64_t n_features) {
    Index smallest = 0, largest = 0;
    for (std::size_t k = 0; k < columns.size(); ++k) {
      smallest = std::min(smallest, columns.data()[k]);
      largest = std::max(largest, columns.data()[k]);
    }
    require(columns.size() == 0 || (smallest >= 0 && largest < n_features),
            "sparse rows: a column lies outside the data");
  }
  void set_row_start(const Vector<const std::int64_t>& row_start) {
    view_.row_start = row_start.data();
    row_start_ = nb::ndarray<>(row_start);
  }

  RowsView view_;
  unsigned largest_code_ = 0;
  nb::ndarray<> cells_, columns_, row_start_;
};

// phi or psi of a method. Holds on to its array.
class Table {
 public:
  // Its rows are copied to where they begin at a cache line, if they are as long as one: NumPy's arrays do not, and a fit on
  // texts took 5 % longer.
  static Table dense(Matrix<const float> rows) {
    Table table(TableForm::dense, static_cast<int>(rows.shape(1)), rows.shape(0));
    table.rows_ = aligned_zeros(rows.size());
    std::copy_n(rows.data(), rows.size(), table.rows_.get());
    table.view_.data = table.rows_.get();
    return table;
  }
  static Table pair(Matrix<const float> pairs, int width) {
    require(pairs.shape(1) == 2 && std::has_single_bit(pairs.shape(0)), "a pair table is (2^shift, 2)");
    require(width >= 2, "a pair table has at least two slots");
    Table table(TableForm::pair, width, (static_cast<std::size_t>(width) - 1) * pairs.shape(0) + 1);
    table.view_.shift = std::countr_zero(pairs.shape(0));
    table.view_.data = pairs.data();
    table.data_ = nb::ndarray<>(pairs);
    return table;
  }
  static Table value() { return {TableForm::value, 1, 0}; }
  static Table square() { return {TableForm::square, 1, 0}; }
  static Table powers(int width) {
    require(width >= 1, "powers: at least one");
    return {TableForm::powers, width, 0};
  }
  // `data` is the constant entry of m followed by the matrix A, width x width.
  static Table nodes(Vector<const float> data, int width, bool first_is_constant) {
    require(width >= 1 && data.size() == 1 + static_cast<std::size_t>(width) * static_cast<std::size_t>(width),
            "nodes: a constant and a square matrix");
    Table table(TableForm::nodes, width, 0);
    table.view_.shift = first_is_constant;
    table.view_.data = data.data();
    table.data_ = nb::ndarray<>(data);
    return table;
  }

  const TableView& view() const { return view_; }
  bool reads_codes_to(unsigned last_code) const {
    return (view_.form == TableForm::dense || view_.form == TableForm::pair) && last_code < n_codes_;
  }
  void check(const Rows& rows) const {
    const RowKind kind = rows.view().kind;
    switch (view_.form) {
      case TableForm::dense:
      case TableForm::pair:
        require(kind < RowKind::dense_values, "the table reads codes, and the rows hold none");
        require(rows.largest_code() < n_codes_, "the rows hold a code that the table lacks");
        break;
      case TableForm::value:
      case TableForm::square:
        require(kind >= RowKind::dense_values && kind < RowKind::payload,
                "the table reads values, and the rows hold none");
        break;
      case TableForm::powers:
        require(kind == RowKind::payload, "the table reads payloads, and the rows hold none");
        break;
      case TableForm::nodes:
        require(kind == RowKind::payload && rows.view().n_payload == 1 + view_.width - view_.shift,
                "the payload must be l and the kernel at the nodes");
        break;
    }
  }

 private:
  Table(TableForm form, int width, std::size_t n_codes) : view_{form, width, 0, nullptr}, n_codes_(n_codes) {}

  TableView view_;
  std::size_t n_codes_;
  std::shared_ptr<float[]> rows_;  // of a dense table
  nb::ndarray<> data_;             // of another
};

// `weights` is (slots + 1, stride): see WeightsView. The problems of a slot are padded to 1, 4 or a multiple of 8.
inline WeightsView weights_view(const Matrix<const float>& weights, const Vector<const double>& intercepts,
                                std::int64_t n_slots) {
  const auto stride = static_cast<std::int64_t>(weights.shape(1)),
             n_problems = static_cast<std::int64_t>(intercepts.size());
  require(static_cast<std::int64_t>(weights.shape(0)) == n_slots + 1, "weights: width slots a feature and one more");
  require(n_problems >= 1 && n_problems <= stride, "one intercept a problem");
  require((stride == 1) || (stride % 4 == 0), "weights: the problems of a slot must be padded to a multiple of four");
  return {weights.data(), stride, n_problems, intercepts.data()};
}

}  // namespace kernline
