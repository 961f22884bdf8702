// What Python sees of the core. Arrays come in typed, contiguous and without a copy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "bound_arrays.hpp"
#include "bound_products.hpp"
#include "bound_solver.hpp"
#include "dispatch.hpp"
#include "parallel.hpp"

using namespace nb::literals;

namespace kernline {
namespace {

using Release = nb::call_guard<nb::gil_scoped_release>;

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

  nb::set_leak_warnings(false);  // what lives on at the interpreter's end is Python's to free, and no news for a user

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
                    Vector<const double>, double, bool, std::optional<Vector<const std::int32_t>>, std::uint64_t, bool>(),
           "rows"_a, "read"_a, "write"_a, exact("scales"), exact("signed_cost"), exact("curvature"),
           "intercept_square"_a, "squared_hinge"_a, exact("members").none(), "seed"_a, "shuffle"_a)
      .def("sweep", &DualSolver::sweep, "seconds"_a, Release())
      .def("rebuild", &DualSolver::rebuild, "seconds"_a, Release())
      .def("evaluate", &DualSolver::evaluate, "seconds"_a, Release())
      .def("set_negligible", &DualSolver::set_negligible, "share"_a)
      .def("wake_all", &DualSolver::wake_all)
      .def("set_alpha", &DualSolver::set_alpha, exact("alpha"))
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
  m.def("read_members", read_members, "rows"_a, "table"_a, exact("weights"), exact("members"), exact("out"), "n_threads"_a, Release());
  m.def("add_members", add_members, "rows"_a, "table"_a, exact("t"), exact("members"), exact("sums"), "n_threads"_a, Release());
  m.def("add_image", add_image, "rows"_a, "table"_a, exact("weights"), exact("s"), exact("members"), exact("sums"), "n_threads"_a, Release());
  m.def("gram_dense", gram_dense, "name"_a, "p"_a, exact("x"), exact("x_companion"), exact("y"), exact("y_companion"), exact("out"), "n_threads"_a, Release());
  m.def("gram_sparse", gram_sparse, "name"_a, "p"_a, "n_features"_a, exact("x_start"), exact("x_columns"), exact("x"), exact("x_companion"),
        exact("y_start"), exact("y_columns"), exact("y"), exact("y_companion"), exact("out"), "n_threads"_a, Release());

  nb::class_<CodeMap>(m, "CodeMap")
      .def(nb::init<Vector<const float>, Vector<const double>, Vector<const double>, Offsets, Vector<const double>, Vector<const double>, bool>(),
           exact("thresholds"), exact("offsets"), exact("factors"), exact("edge_start"), exact("edges"), exact("levels"), "clip"_a);
  bind_sources<float>(m);
  bind_sources<double>(m);
}
