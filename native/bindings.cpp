// The only file that knows Python. Arrays come in typed, contiguous and without a copy; sizes are checked here, so
// that the loops need not.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "encode.hpp"
#include "loops.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace kernline {
namespace {

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using Release = nb::call_guard<nb::gil_scoped_release>;

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

const Loops& choose_loops() {
  const char* wanted = std::getenv("KERNLINE_TARGET");
#ifdef KERNLINE_HAS_AVX2
  const bool allowed = wanted == nullptr || std::strcmp(wanted, "avx2") == 0;
  if (allowed && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::loops;
#endif
  (void)wanted;
  return baseline::loops;
}

const Loops& loops() {
  static const Loops& chosen = choose_loops();
  return chosen;
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
    require(words.size() == 0 || static_cast<std::int64_t>(largest >> code_bits) < n_features, "packed rows: a column lies outside the data");
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
    require(columns.size() == payload.shape(0) && payload.shape(1) > 0, "payload: one column and one payload a non-zero");
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
      : view_{kind, static_cast<std::int64_t>(n_rows), static_cast<std::int64_t>(n_features), nullptr, nullptr, nullptr, 0} {}

  static std::size_t checked_row_count(const Vector<const std::int64_t>& row_start, std::size_t n_cells) {
    require(row_start.size() > 0 && row_start(0) == 0, "row_start must begin with 0");
    for (std::size_t i = 1; i < row_start.size(); ++i) require(row_start(i - 1) <= row_start(i), "row_start must not decrease");
    require(static_cast<std::size_t>(row_start(row_start.size() - 1)) <= n_cells, "row_start runs past the cells");
    return row_start.size() - 1;
  }
  template <class Index>
  static void check_columns(const Vector<const Index>& columns, std::int64_t n_features) {
    Index smallest = 0, largest = 0;
    for (std::size_t k = 0; k < columns.size(); ++k) {
      smallest = std::min(smallest, columns.data()[k]);
      largest = std::max(largest, columns.data()[k]);
    }
    require(columns.size() == 0 || (smallest >= 0 && largest < n_features), "sparse rows: a column lies outside the data");
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
  static Table dense(Matrix<const float> rows) {
    Table table(TableForm::dense, static_cast<int>(rows.shape(1)), rows.shape(0));
    table.view_.data = rows.data();
    table.data_ = nb::ndarray<>(rows);
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
  static Table value() { return Table(TableForm::value, 1, 0); }
  static Table square() { return Table(TableForm::square, 1, 0); }
  static Table powers(int width) {
    require(width >= 1, "powers: at least one");
    return Table(TableForm::powers, width, 0);
  }
  // `data` is the constant entry of m followed by the matrix A, width x width.
  static Table nodes(Vector<const float> data, int width, bool first_is_constant) {
    require(width >= 1 && data.size() == 1 + static_cast<std::size_t>(width) * static_cast<std::size_t>(width), "nodes: a constant and a square matrix");
    Table table(TableForm::nodes, width, 0);
    table.view_.shift = first_is_constant;
    table.view_.data = data.data();
    table.data_ = nb::ndarray<>(data);
    return table;
  }

  const TableView& view() const { return view_; }
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
        require(kind >= RowKind::dense_values && kind < RowKind::payload, "the table reads values, and the rows hold none");
        break;
      case TableForm::powers:
        require(kind == RowKind::payload, "the table reads payloads, and the rows hold none");
        break;
      case TableForm::nodes:
        require(kind == RowKind::payload && rows.view().n_payload == 1 + view_.width - view_.shift, "the payload must be l and the kernel at the nodes");
        break;
    }
  }

 private:
  Table(TableForm form, int width, std::size_t n_codes) : view_{form, width, 0, nullptr}, n_codes_(n_codes) {}

  TableView view_;
  std::size_t n_codes_;
  nb::ndarray<> data_;
};

// Sixteen floats a feature are one cache line, if they begin on one.
struct AlignedDelete {
  void operator()(float* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using AlignedFloats = std::unique_ptr<float[], AlignedDelete>;

AlignedFloats aligned_zeros(std::size_t n) {
  AlignedFloats floats(static_cast<float*>(::operator new[](n * sizeof(float), std::align_val_t{64})));
  std::fill_n(floats.get(), n, 0.0f);
  return floats;
}

// One problem under way. Each call goes on for at most `seconds`, without the GIL.
class DualSolver {
 public:
  DualSolver(const Rows& rows, const Table& read, const Table& write, Vector<const float> scales,
             Vector<const double> signed_cost, Vector<const double> curvature, double intercept_square, bool squared_hinge,
             std::uint64_t seed, bool shuffle)
      : rows_(rows),
        method_{read.view(), write.view()},
        read_(read),
        write_(write),
        scales_(scales),
        state_(seed, shuffle, squared_hinge ? Loss::squared_hinge : Loss::hinge, static_cast<float>(intercept_square)) {
    const RowsView& view = rows_.view();
    const std::size_t n = static_cast<std::size_t>(view.n_rows);
    read.check(rows);
    write.check(rows);
    require(read.view().width == write.view().width, "read and write tables must be of one width");
    require(is_method(read.view().form, write.view().form), "no method reads one of these tables and writes the other");
    require(scales.size() == static_cast<std::size_t>(view.n_features), "one scale a feature");
    require(signed_cost.size() == n && curvature.size() == n, "one cost and one curvature a row");
    require(n < (std::size_t{1} << 31), "more than 2^31 rows: train on a part of them");

    coordinates_.resize(n);
    order_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double cost = std::abs(signed_cost(i));
      require(cost >= 1e-35 && cost <= 1e35 && curvature(i) >= 0.0 && curvature(i) <= 1e35, "costs and curvatures must be within the range of float32");
      coordinates_[i] = {0.0, static_cast<float>(curvature(i)), static_cast<float>(signed_cost(i))};
      order_[i] = static_cast<std::int32_t>(i);
    }
    n_weights_ = static_cast<std::size_t>(view.n_features) * static_cast<std::size_t>(read.view().width);
    weights_ = aligned_zeros(n_weights_ + 1);
    state_.coordinates = coordinates_.data();
    state_.order = order_.data();
    state_.n_rows = state_.n_active = view.n_rows;
    state_.weights = weights_.get();
    state_.scales = scales_.data();
  }
  DualSolver(const DualSolver&) = delete;

  // The pairs that `with_method` knows.
  static bool is_method(TableForm read, TableForm write) {
    switch (read) {
      case TableForm::dense: return write == TableForm::dense || write == TableForm::pair;
      case TableForm::pair: return write == TableForm::dense;
      case TableForm::value: return write == TableForm::value;
      case TableForm::powers: return write == TableForm::nodes;
      default: return false;
    }
  }

  bool sweep(double seconds) { return loops().sweep(rows_.view(), method_, state_, seconds); }
  bool rebuild(double seconds) {
    if (exact_weights_.empty()) {
      exact_weights_.assign(n_weights_ + 1, 0.0);
      state_.exact_weights = exact_weights_.data();
      state_.exact_intercept = 0.0;
      state_.rebuilt = 0;
    }
    if (!loops().rebuild(rows_.view(), method_, state_, seconds)) return false;
    for (std::size_t k = 0; k < n_weights_; ++k) weights_[k] = static_cast<float>(exact_weights_[k]);
    state_.intercept = static_cast<float>(state_.exact_intercept);
    std::vector<double>().swap(exact_weights_);
    return true;
  }
  bool evaluate(double seconds) { return loops().evaluate(rows_.view(), method_, state_, seconds); }

  // Brings back the rows set aside, and forgets the bounds that set them aside.
  void activate_all() {
    state_.n_active = state_.n_rows;
    state_.upper = std::numeric_limits<double>::infinity();
    state_.lower = -std::numeric_limits<double>::infinity();
  }

  void copy_weights(Vector<float> out) const {
    require(out.size() == n_weights_, "weights: one float a slot");
    std::copy_n(weights_.get(), n_weights_, out.data());
  }
  void copy_alpha(Vector<double> out) const {
    require(out.size() == coordinates_.size(), "alpha: one a row");
    for (std::size_t i = 0; i < coordinates_.size(); ++i) out(i) = coordinates_[i].alpha;
  }
  const DualState& state() const { return state_; }

 private:
  Rows rows_;
  MethodView method_;
  Table read_, write_;
  Vector<const float> scales_;
  DualState state_;
  std::vector<Coordinate> coordinates_;
  std::vector<std::int32_t> order_;
  std::size_t n_weights_;
  AlignedFloats weights_;
  std::vector<double> exact_weights_;  // only while a rebuild is under way
};

// `weights` is (n_problems, n_features * width + 1): each problem padded by the float that a pair table may touch.
void decision(const Rows& rows, const Table& table, Matrix<const float> weights, Vector<const float> intercepts,
              Matrix<double> out, int n_threads) {
  const RowsView& view = rows.view();
  table.check(rows);
  require(static_cast<std::int64_t>(weights.shape(1)) == view.n_features * table.view().width + 1, "weights: width floats a feature and one more");
  require(intercepts.size() == weights.shape(0) && out.shape(1) == weights.shape(0), "one intercept a problem");
  require(static_cast<std::int64_t>(out.shape(0)) == view.n_rows, "one row of output a row");
  parallel_for(n_threads, view.n_rows, [&](std::int64_t begin, std::int64_t end) {
    loops().decision(view, table.view(), weights.data(), static_cast<std::int64_t>(weights.shape(1)), intercepts.data(),
                     static_cast<std::int64_t>(weights.shape(0)), begin, end, out.data());
  });
}

GramKernel gram_kernel(const std::string& name, double p) {
  if (name == "chi2") return {GramKind::chi2, p};
  if (name == "intersection") return {GramKind::intersection, p};
  if (name == "js") return {GramKind::jensen_shannon, p};
  if (name == "power_mean") return {GramKind::power_mean, p};
  throw std::invalid_argument("the core has no kernel of this name: " + name);
}

void gram_dense(const std::string& name, double p, Matrix<const double> x, Matrix<const double> x_companion,
                Matrix<const double> y, Matrix<const double> y_companion, Matrix<double> out, int n_threads) {
  require(x.shape(1) == y.shape(1) && x.size() == x_companion.size() && y.size() == y_companion.size(), "gram: shapes differ");
  require(out.shape(0) == x.shape(0) && out.shape(1) == y.shape(0), "gram: output of the wrong shape");
  const auto n_features = static_cast<std::int64_t>(x.shape(1));
  const DensePoints xs{static_cast<std::int64_t>(x.shape(0)), n_features, x.data(), x_companion.data()};
  const DensePoints ys{static_cast<std::int64_t>(y.shape(0)), n_features, y.data(), y_companion.data()};
  const GramKernel kernel = gram_kernel(name, p);
  parallel_for(n_threads, xs.n_rows, [&](std::int64_t begin, std::int64_t end) {
    loops().gram_dense(kernel, xs, ys, begin, end, out.data());
  });
}

using Offsets = Vector<const std::int64_t>;

SparsePoints sparse_points(const Offsets& row_start, const Offsets& columns, const Vector<const double>& values,
                           const Vector<const double>& companions, std::int64_t n_features) {
  require(row_start.size() > 0 && row_start(0) == 0, "gram: indptr must begin with 0");
  for (std::size_t i = 1; i < row_start.size(); ++i) require(row_start(i - 1) <= row_start(i), "gram: indptr must not decrease");
  require(static_cast<std::size_t>(row_start(row_start.size() - 1)) <= values.size(), "gram: indptr runs past the data");
  require(columns.size() == values.size() && companions.size() == values.size(), "gram: one column and one companion a value");
  for (std::size_t k = 0; k < columns.size(); ++k) require(columns(k) >= 0 && columns(k) < n_features, "gram: a column index lies outside the shape");
  return {static_cast<std::int64_t>(row_start.size()) - 1, n_features, row_start.data(), columns.data(), values.data(), companions.data()};
}

void gram_sparse(const std::string& name, double p, std::int64_t n_features, Offsets x_start, Offsets x_columns,
                 Vector<const double> x, Vector<const double> x_companion, Offsets y_start, Offsets y_columns,
                 Vector<const double> y, Vector<const double> y_companion, Matrix<double> out, int n_threads) {
  const SparsePoints xs = sparse_points(x_start, x_columns, x, x_companion, n_features);
  const SparsePoints ys = sparse_points(y_start, y_columns, y, y_companion, n_features);
  require(static_cast<std::int64_t>(out.shape(0)) == xs.n_rows && static_cast<std::int64_t>(out.shape(1)) == ys.n_rows, "gram: output of the wrong shape");
  const GramKernel kernel = gram_kernel(name, p);
  parallel_for(n_threads, xs.n_rows, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(static_cast<std::size_t>(2 * n_features), 0.0);
    loops().gram_sparse(kernel, xs, ys, begin, end, scratch.data(), out.data());
  });
}

// The fitted encoder as the core needs it. Holds on to its arrays.
class CodeMap {
 public:
  CodeMap(Vector<const float> thresholds, Vector<const double> offsets, Vector<const double> factors,
          Offsets edge_start, Vector<const double> edges, Vector<const double> levels, bool clip)
      : thresholds_(thresholds.data(), thresholds.data() + thresholds.size()),
        offsets_(offsets.data(), offsets.data() + offsets.size()),
        factors_(factors.data(), factors.data() + factors.size()),
        edge_start_(edge_start.data(), edge_start.data() + edge_start.size()),
        edges_(edges.data(), edges.data() + edges.size()),
        levels_(levels.data(), levels.data() + levels.size()),
        first_(GridView::n_buckets),
        clip_(clip) {
    require(thresholds_.size() < 65536, "at most 65536 codes");
    require(offsets_.size() == factors_.size() && edges_.size() == levels_.size(), "one factor an offset, one level an edge");
    require(edge_start_.empty() || (edge_start_.size() == offsets_.size() + 1 && edge_start_.front() == 0 &&
                                    edge_start_.back() == static_cast<std::int64_t>(edges_.size()) &&
                                    std::is_sorted(edge_start_.begin(), edge_start_.end())),
            "edge_start must divide the edges among the features");
    require(std::is_sorted(thresholds_.begin(), thresholds_.end()), "thresholds must not decrease");
    for (std::uint32_t bucket = 0; bucket < GridView::n_buckets; ++bucket) {
      const float low = std::bit_cast<float>((bucket + GridView::bucket_base) << GridView::bucket_shift);
      first_[bucket] = static_cast<std::uint16_t>(std::upper_bound(thresholds_.begin(), thresholds_.end(), low) - thresholds_.begin());
    }
    last_code_ = static_cast<unsigned>(thresholds_.size());
    thresholds_.push_back(std::numeric_limits<float>::infinity());
  }

  std::size_t n_features() const { return offsets_.size(); }
  bool clips() const { return clip_; }
  GridView grid() const { return {thresholds_.data(), first_.data(), last_code_}; }
  TransformView transform() const {
    return {offsets_.data(), factors_.data(), edge_start_.empty() ? nullptr : edge_start_.data(), edges_.data(), levels_.data()};
  }

 private:
  std::vector<float> thresholds_;
  std::vector<double> offsets_, factors_;
  std::vector<std::int64_t> edge_start_;
  std::vector<double> edges_, levels_;
  std::vector<std::uint16_t> first_;
  bool clip_;
  unsigned last_code_;
};

template <class Value>
DenseSource<Value> source(const Matrix<const Value>& x) {
  return {static_cast<std::int64_t>(x.shape(0)), static_cast<std::int64_t>(x.shape(1)), x.data()};
}

template <class Value, class Index>
CsrSource<Value, Index> source(const Vector<const Index>& row_start, const Vector<const Index>& columns,
                               const Vector<const Value>& values, std::size_t n_features) {
  require(row_start.size() > 0 && columns.size() == values.size(), "sparse X: indptr, indices and data do not fit");
  return {static_cast<std::int64_t>(row_start.size()) - 1, static_cast<std::int64_t>(n_features),
          static_cast<std::int64_t>(values.size()), row_start.data(), columns.data(), values.data()};
}

template <class Source>
void column_range(const Source& rows, Vector<double> minimum, Vector<double> maximum, Vector<std::int64_t> n_nonzero) {
  const auto n = static_cast<std::size_t>(rows.n_features);
  require(minimum.size() == n && maximum.size() == n && n_nonzero.size() == n, "range: one entry a feature");
  find_range(rows, {minimum.data(), maximum.data(), n_nonzero.data()});
}

// To one cell a feature. From a sparse source `out` must hold zeros: the code of what is not stored.
template <class Source, class Cell>
void encode_dense(const CodeMap& map, const Source& rows, Matrix<Cell> out) {
  require(rows.n_features == static_cast<std::int64_t>(map.n_features()), "encode: as many features as the encoder has");
  require(static_cast<std::int64_t>(out.shape(0)) == rows.n_rows && static_cast<std::int64_t>(out.shape(1)) == rows.n_features, "encode: shapes differ");
  DenseSink<Cell> sink{out.data(), rows.n_features};
  if constexpr (std::is_same_v<Cell, float>) {
    encode_values(rows, map.transform(), map.clips(), sink);
  } else {
    require(map.grid().last_code <= std::numeric_limits<Cell>::max(), "encode: the codes need a wider type");
    encode_codes(rows, map.transform(), map.grid(), sink);
  }
}

template <class Source>
SparseSink sparse_sink(const CodeMap& map, const Source& rows, Vector<std::int64_t> row_end, std::int64_t position, std::size_t capacity) {
  require(rows.n_features == static_cast<std::int64_t>(map.n_features()), "encode: as many features as the encoder has");
  require(static_cast<std::int64_t>(row_end.size()) == rows.n_rows && position >= 0, "encode: one row end a row");
  return {row_end.data(), position, static_cast<std::int64_t>(capacity)};
}

// To packed words from `position` on; returns the position after them.
template <class Source, class Word>
std::int64_t encode_packed(const CodeMap& map, const Source& rows, Vector<Word> words, Vector<std::int64_t> row_end,
                           std::int64_t position, int code_bits) {
  require(code_bits == 8 || code_bits == 16, "encode: 8 or 16 bits a code");
  require(map.grid().last_code < (1u << code_bits), "encode: the codes need more bits");
  require(rows.n_features <= std::int64_t{1} << (std::min<int>(8 * sizeof(Word), 62) - code_bits), "encode: more columns than a word holds");
  PackedSink<Word> sink{sparse_sink(map, rows, row_end, position, words.size()), words.data(), code_bits};
  encode_codes(rows, map.transform(), map.grid(), sink);
  return sink.position;
}

template <class Source, class Index>
std::int64_t encode_sparse_values(const CodeMap& map, const Source& rows, Vector<float> values, Vector<Index> columns,
                                  Vector<std::int64_t> row_end, std::int64_t position) {
  require(values.size() == columns.size(), "encode: one column a value");
  require(rows.n_features <= std::numeric_limits<Index>::max(), "encode: more columns than the index holds");
  ValueSink<Index> sink{sparse_sink(map, rows, row_end, position, values.size()), values.data(), columns.data()};
  encode_values(rows, map.transform(), map.clips(), sink);
  return sink.position;
}

constexpr auto exact = [](const char* name) { return nb::arg(name).noconvert(); };

// Every sink for one kind of source. `In` are the arrays of the source, `make` makes it of them.
template <class... In, class Make, class... Names>
void bind_source(nb::module_& m, Make make, Names... names) {
  m.def("column_range", [make](In... in, Vector<double> low, Vector<double> high, Vector<std::int64_t> n_nonzero) {
          column_range(make(in..., low.size()), low, high, n_nonzero);
        }, names..., exact("minimum"), exact("maximum"), exact("n_nonzero"), Release());

  const auto bind_dense = [&]<class Cell>(Cell) {
    m.def("encode", [make](const CodeMap& map, In... in, Matrix<Cell> out) {
            encode_dense(map, make(in..., map.n_features()), out);
          }, "map"_a, names..., exact("out"), Release());
  };
  bind_dense(std::uint8_t{});
  bind_dense(std::uint16_t{});
  bind_dense(float{});

  const auto bind_packed = [&]<class Word>(Word) {
    m.def("encode", [make](const CodeMap& map, In... in, Vector<Word> words, Vector<std::int64_t> row_end, std::int64_t position, int code_bits) {
            return encode_packed(map, make(in..., map.n_features()), words, row_end, position, code_bits);
          }, "map"_a, names..., exact("words"), exact("row_end"), "position"_a, "code_bits"_a, Release());
  };
  bind_packed(std::uint32_t{});
  bind_packed(std::uint64_t{});

  const auto bind_values = [&]<class Index>(Index) {
    m.def("encode", [make](const CodeMap& map, In... in, Vector<float> values, Vector<Index> columns, Vector<std::int64_t> row_end, std::int64_t position) {
            return encode_sparse_values(map, make(in..., map.n_features()), values, columns, row_end, position);
          }, "map"_a, names..., exact("values"), exact("columns"), exact("row_end"), "position"_a, Release());
  };
  bind_values(std::int32_t{});
  bind_values(std::int64_t{});
}

template <class Value>
void bind_sources(nb::module_& m) {
  bind_source<Matrix<const Value>>(
      m, [](const Matrix<const Value>& x, std::size_t) { return source<Value>(x); }, exact("x"));
  const auto bind_csr = [&]<class Index>(Index) {
    bind_source<Vector<const Index>, Vector<const Index>, Vector<const Value>>(
        m, [](const Vector<const Index>& start, const Vector<const Index>& columns, const Vector<const Value>& values, std::size_t n_features) {
          return source<Value, Index>(start, columns, values, n_features);
        }, exact("row_start"), exact("columns"), exact("values"));
  };
  bind_csr(std::int32_t{});
  bind_csr(std::int64_t{});
}

}  // namespace
}  // namespace kernline

NB_MODULE(_core, m) {
  using namespace kernline;

  m.def("target", [] { return loops().target; }, "The instruction set in use.");

  nb::class_<Rows>(m, "Rows")
      .def_static("dense_codes", &Rows::dense_codes<std::uint8_t>, exact("codes"))
      .def_static("dense_codes", &Rows::dense_codes<std::uint16_t>, exact("codes"))
      .def_static("packed", &Rows::packed<std::uint32_t>, exact("row_start"), exact("words"), "n_features"_a, "code_bits"_a)
      .def_static("packed", &Rows::packed<std::uint64_t>, exact("row_start"), exact("words"), "n_features"_a, "code_bits"_a)
      .def_static("payload", &Rows::payload, exact("row_start"), exact("columns"), exact("payload"), "n_features"_a)
      .def_static("dense_values", &Rows::dense_values, exact("values"))
      .def_static("sparse_values", &Rows::sparse_values<std::int32_t>, exact("row_start"), exact("columns"), exact("values"), "n_features"_a)
      .def_static("sparse_values", &Rows::sparse_values<std::int64_t>, exact("row_start"), exact("columns"), exact("values"), "n_features"_a);

  nb::class_<Table>(m, "Table")
      .def_static("dense", &Table::dense, exact("rows"))
      .def_static("pair", &Table::pair, exact("pairs"), "width"_a)
      .def_static("value", &Table::value)
      .def_static("square", &Table::square)
      .def_static("powers", &Table::powers, "width"_a)
      .def_static("nodes", &Table::nodes, exact("data"), "width"_a, "first_is_constant"_a);

  nb::class_<DualSolver>(m, "DualSolver")
      .def(nb::init<const Rows&, const Table&, const Table&, Vector<const float>, Vector<const double>,
                    Vector<const double>, double, bool, std::uint64_t, bool>(),
           "rows"_a, "read"_a, "write"_a, exact("scales"), exact("signed_cost"), exact("curvature"),
           "intercept_square"_a, "squared_hinge"_a, "seed"_a, "shuffle"_a)
      .def("sweep", &DualSolver::sweep, "seconds"_a, Release())
      .def("rebuild", &DualSolver::rebuild, "seconds"_a, Release())
      .def("evaluate", &DualSolver::evaluate, "seconds"_a, Release())
      .def("activate_all", &DualSolver::activate_all)
      .def("copy_weights", &DualSolver::copy_weights, exact("out"))
      .def("copy_alpha", &DualSolver::copy_alpha, exact("out"))
      .def_prop_ro("intercept", [](const DualSolver& s) { return s.state().intercept; })
      .def_prop_ro("n_active", [](const DualSolver& s) { return s.state().n_active; })
      .def_prop_ro("dual", [](const DualSolver& s) { return s.state().dual; })
      .def_prop_ro("active_gap", [](const DualSolver& s) { return s.state().active_gap; })
      .def_prop_ro("gap", [](const DualSolver& s) { return s.state().gap; })
      .def_prop_ro("loss_sum", [](const DualSolver& s) { return s.state().loss_sum; })
      .def_prop_ro("squared_norm", [](const DualSolver& s) { return s.state().squared_norm; });

  m.def("decision", decision, "rows"_a, "table"_a, exact("weights"), exact("intercepts"), exact("out"), "n_threads"_a, Release());
  m.def("gram_dense", gram_dense, "name"_a, "p"_a, exact("x"), exact("x_companion"), exact("y"), exact("y_companion"), exact("out"), "n_threads"_a, Release());
  m.def("gram_sparse", gram_sparse, "name"_a, "p"_a, "n_features"_a, exact("x_start"), exact("x_columns"), exact("x"), exact("x_companion"),
        exact("y_start"), exact("y_columns"), exact("y"), exact("y_companion"), exact("out"), "n_threads"_a, Release());

  nb::class_<CodeMap>(m, "CodeMap")
      .def(nb::init<Vector<const float>, Vector<const double>, Vector<const double>, Offsets, Vector<const double>, Vector<const double>, bool>(),
           exact("thresholds"), exact("offsets"), exact("factors"), exact("edge_start"), exact("edges"), exact("levels"), "clip"_a);
  bind_sources<float>(m);
  bind_sources<double>(m);
}
