// The Python interface of the core. Arrays must have the exact type and be contiguous; nothing is copied.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "bindings/bound_arrays.hpp"
#include "bindings/bound_budgeted.hpp"
#include "bindings/bound_encode.hpp"
#include "bindings/bound_joint.hpp"
#include "bindings/bound_pairs.hpp"
#include "bindings/bound_products.hpp"
#include "bindings/bound_solver.hpp"
#include "bindings/bound_svmlight.hpp"
#include "host/dispatch.hpp"
#include "host/parallel.hpp"

#ifdef Py_GIL_DISABLED
#error "Kernline does not support free-threaded Python: use python3.13, not python3.13t"
#endif

using namespace nb::literals;

namespace kernline {
namespace {

using Release = nb::call_guard<nb::gil_scoped_release>;

void decision(const Rows& rows, const Table& table, Matrix<const float> weights, Vector<const double> intercepts,
              Matrix<double> out, int n_threads, std::int64_t first) {
  const RowsView& view = rows.view();
  table.check(rows);
  const WeightsView all = weights_view(weights, intercepts, view.n_features * table.view().width);
  const auto n_rows = static_cast<std::int64_t>(out.shape(0));
  require(std::cmp_equal(out.shape(1), all.n_problems) && first >= 0 && first + n_rows <= view.n_rows,
          "one row of output per row");
  parallel_for(n_threads, n_rows, [&](std::int64_t begin, std::int64_t end) {
    loops().decision(view, table.view(), all, first + begin, first + end, out.data() + begin * all.n_problems);
  });
}

// What each cell adds to f, (n_cells, n_problems).
void contributions(const Rows& rows, const Table& table, Matrix<const float> weights, Vector<const double> intercepts,
                   Matrix<float> out, int n_threads) {
  const RowsView& view = rows.view();
  table.check(rows);
  const WeightsView all = weights_view(weights, intercepts, view.n_features * table.view().width);
  const std::int64_t n_cells = view.row_start ? view.row_start[view.n_rows] : view.n_rows * view.n_features;
  require(std::cmp_equal(out.shape(0), n_cells) && std::cmp_equal(out.shape(1), all.n_problems),
          "one row of output per cell");
  parallel_for(n_threads, view.n_rows, [&](std::int64_t begin, std::int64_t end) {
    loops().contributions(view, table.view(), all, begin, end, out.data());
  });
}

GramKernel gram_kernel(const std::string& name, double p) {
  if (name == "chi2") return {GramKind::chi2, p};
  if (name == "intersection") return {GramKind::intersection, p};
  if (name == "js") return {GramKind::jensen_shannon, p};
  if (name == "power_mean") return {GramKind::power_mean, p};
  throw std::invalid_argument("the core has no kernel named " + name);
}

void gram_dense(const std::string& name, double p, Matrix<const double> x, Matrix<const double> x_companion,
                Matrix<const double> y, Matrix<const double> y_companion, Matrix<double> out, int n_threads) {
  require(x.shape(1) == y.shape(1) && x.size() == x_companion.size() && y.size() == y_companion.size(),
          "gram: shapes differ");
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
  for (std::size_t i = 1; i < row_start.size(); ++i)
    require(row_start(i - 1) <= row_start(i), "gram: indptr must not decrease");
  require(static_cast<std::size_t>(row_start(row_start.size() - 1)) <= values.size(),
          "gram: indptr runs past the data");
  require(columns.size() == values.size() && companions.size() == values.size(),
          "gram: one column and one companion per value");
  for (std::size_t k = 0; k < columns.size(); ++k)
    require(columns(k) >= 0 && columns(k) < n_features, "gram: a column index lies outside the shape");
  return {static_cast<std::int64_t>(row_start.size()) - 1,
          n_features,
          row_start.data(),
          columns.data(),
          values.data(),
          companions.data()};
}

void gram_sparse(const std::string& name, double p, std::int64_t n_features, Offsets x_start, Offsets x_columns,
                 Vector<const double> x, Vector<const double> x_companion, Offsets y_start, Offsets y_columns,
                 Vector<const double> y, Vector<const double> y_companion, Matrix<double> out, int n_threads) {
  const SparsePoints xs = sparse_points(x_start, x_columns, x, x_companion, n_features);
  const SparsePoints ys = sparse_points(y_start, y_columns, y, y_companion, n_features);
  require(std::cmp_equal(out.shape(0), xs.n_rows) && std::cmp_equal(out.shape(1), ys.n_rows),
          "gram: output of the wrong shape");
  const GramKernel kernel = gram_kernel(name, p);
  parallel_for(n_threads, xs.n_rows, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(static_cast<std::size_t>(2 * n_features), 0.0);
    loops().gram_sparse(kernel, xs, ys, begin, end, scratch.data(), out.data());
  });
}

}  // namespace
}  // namespace kernline

NB_MODULE(_core, m) {
  using namespace kernline;

  nb::set_leak_warnings(false);  // objects that are alive at exit are Python's to free, not the user's concern

  loops();  // reports an unavailable KERNLINE_TARGET when the module is imported
  m.def("target", [] { return loops().target; }, "The instruction set in use.");
  m.def(
      "targets",
      [] {
        std::vector<std::string> names;
        for (const Loops* runnable : runnable_loops()) names.emplace_back(runnable->target);
        return names;
      },
      "The available instruction sets, the best last.");

  nb::class_<Rows>(m, "Rows")
      .def_static("dense_codes", &Rows::dense_codes<std::uint8_t>, exact("codes"))
      .def_static("dense_codes", &Rows::dense_codes<std::uint16_t>, exact("codes"))
      .def_static("packed", &Rows::packed<std::uint32_t>, exact("row_start"), exact("words"), "n_features"_a,
                  "code_bits"_a)
      .def_static("packed", &Rows::packed<std::uint64_t>, exact("row_start"), exact("words"), "n_features"_a,
                  "code_bits"_a)
      .def_static("payload", &Rows::payload, exact("row_start"), exact("columns"), exact("payload"), "n_features"_a)
      .def_static("dense_values", &Rows::dense_values, exact("values"))
      .def_static("sparse_values", &Rows::sparse_values<std::int32_t>, exact("row_start"), exact("columns"),
                  exact("values"), "n_features"_a)
      .def_static("sparse_values", &Rows::sparse_values<std::int64_t>, exact("row_start"), exact("columns"),
                  exact("values"), "n_features"_a);

  nb::class_<Table>(m, "Table")
      .def_static("dense", &Table::dense, exact("rows"))
      .def_static("pair", &Table::pair, exact("pairs"), "width"_a)
      .def_static("value", &Table::value)
      .def_static("square", &Table::square)
      .def_static("powers", &Table::powers, "width"_a)
      .def_static("nodes", &Table::nodes, exact("data"), "width"_a, "first_is_constant"_a);

  nb::class_<DualSolver>(m, "DualSolver")
      .def(nb::init<const Rows&, const Table&, const Table&, Vector<const float>, Vector<const double>,
                    Vector<const double>, Vector<const double>, double, const std::string&, double,
                    std::optional<Vector<const std::int32_t>>, std::optional<Vector<const float>>, double,
                    std::uint64_t, bool>(),
           "rows"_a, "read"_a, "write"_a, exact("scales"), exact("targets"), exact("cost"), exact("curvature"),
           "intercept_square"_a, "loss"_a, "epsilon"_a, exact("members").none(), exact("means").none(), "mean_square"_a,
           "seed"_a, "shuffle"_a)
      .def("set_parts", &DualSolver::set_parts, "most_parts"_a, "least_rows"_a)
      .def("sweep", &DualSolver::sweep, "seconds"_a, "n_threads"_a = 1, Release())
      .def("set_centring", &DualSolver::set_centring, "first"_a, "square_cost"_a, "kink_cost"_a, "reach"_a)
      .def("set_may_repeat", &DualSolver::set_may_repeat, "may_repeat"_a)
      .def("begin_epochs", &DualSolver::begin_epochs, "most_epochs"_a, "first_check"_a, "most_visits"_a, "tol"_a)
      .def("run_epochs", &DualSolver::run_epochs, "seconds"_a, "n_threads"_a = 1, Release())
      .def("epochs", &DualSolver::epochs)
      .def("let_rest", &DualSolver::let_rest, "tol"_a, "gap"_a)
      .def("balance", &DualSolver::balance, "exact"_a, Release())
      .def("certify", &DualSolver::certify, exact("values"), Release())
      .def("rebuild", &DualSolver::rebuild, "seconds"_a, Release())
      .def("read", &DualSolver::read, exact("members"), exact("out"), "n_threads"_a, Release())
      .def("evaluate", &DualSolver::evaluate, "seconds"_a, Release())
      .def("set_negligible", &DualSolver::set_negligible, "share"_a)
      .def("wake_all", &DualSolver::wake_all)
      .def("wake_by_shares", &DualSolver::wake_by_shares)
      .def("save", &DualSolver::save)
      .def("restore", &DualSolver::restore)
      .def("grow", &DualSolver::grow, "factor"_a, Release())
      .def("set_beta", &DualSolver::set_beta, exact("beta"))
      .def("set_weights", &DualSolver::set_weights, exact("weights"), "intercept"_a, "beta_sum"_a = 0.0,
           "sigma"_a = 1.0)
      .def("set_dual", &DualSolver::set_dual, "dual"_a)
      .def("set_centre", &DualSolver::set_centre, "centre"_a)
      .def("copy_weights", &DualSolver::copy_weights, exact("out"))
      .def("copy_beta", &DualSolver::copy_beta, exact("out"))
      .def_prop_ro("check_is_due", &DualSolver::check_is_due)
      .def_prop_ro("imbalance", &DualSolver::imbalance)
      .def_prop_ro("beta_sum", [](const DualSolver& s) { return s.state().beta_sum; })
      .def_prop_ro("centre", [](const DualSolver& s) { return s.state().centre; })
      .def_prop_ro("intercept", [](const DualSolver& s) { return s.state().intercept; })
      .def_prop_ro("n_visits", [](const DualSolver& s) { return s.state().n_visits; })
      .def_prop_ro("dual", [](const DualSolver& s) { return s.state().dual; })
      .def_prop_ro("active_gap", [](const DualSolver& s) { return s.state().active_gap; })
      .def_prop_ro("gap", [](const DualSolver& s) { return s.state().gap; })
      .def_prop_ro("loss_sum", [](const DualSolver& s) { return s.state().loss_sum; })
      .def_prop_ro("squared_norm", [](const DualSolver& s) { return s.state().squared_norm; });

  m.def("decision", decision, "rows"_a, "table"_a, exact("weights"), exact("intercepts"), exact("out"), "n_threads"_a,
        "first"_a = 0, Release());
  m.def("contributions", contributions, "rows"_a, "table"_a, exact("weights"), exact("intercepts"), exact("out"),
        "n_threads"_a, Release());
  m.def("read_members", read_members, "rows"_a, "table"_a, exact("weights"), exact("members"), exact("out"),
        "n_threads"_a, Release());
  m.def("add_members", add_members, "rows"_a, "table"_a, exact("t"), exact("members"), exact("sums"), "n_threads"_a,
        Release());
  m.def("add_image", add_image, "rows"_a, "table"_a, exact("weights"), exact("s"), exact("members"), exact("sums"),
        "n_threads"_a, Release());
  m.def("add_products", add_products, "rows"_a, "table"_a, exact("t"), exact("members"), exact("sums"), "n_threads"_a,
        Release());
  m.def("gram_dense", gram_dense, "name"_a, "p"_a, exact("x"), exact("x_companion"), exact("y"), exact("y_companion"),
        exact("out"), "n_threads"_a, Release());
  m.def("gram_sparse", gram_sparse, "name"_a, "p"_a, "n_features"_a, exact("x_start"), exact("x_columns"), exact("x"),
        exact("x_companion"), exact("y_start"), exact("y_columns"), exact("y"), exact("y_companion"), exact("out"),
        "n_threads"_a, Release());

  bind_encoding(m);
  bind_joint(m);
  bind_pairs(m);
  bind_svmlight<float>(m, "SvmlightReader32");
  bind_svmlight<double>(m, "SvmlightReader64");
  bind_budgeted(m);
#ifdef KERNLINE_PLANTED_RACE  // to see that ThreadSanitizer finds it, see tests/hard/races.py
  m.def("race", [] {
    std::int64_t sum = 0;
    parallel_for(2, 1000, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) sum += i;
    });
    return sum;
  });
#endif
}
