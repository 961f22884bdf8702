// The products of class_products.hpp for Python: with size checks, split among threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "bindings/bound_products.hpp"
#include "views/pairs.hpp"

namespace kernline {

// The codes of rows on the axes of pairs, and the layout of the pairs' tables. Holds on to its arrays.
class Pairs {
 public:
  Pairs(const Pairs&) = delete;  // the view points into it
  Pairs& operator=(const Pairs&) = delete;
  Pairs(Matrix<const std::uint8_t> codes, Vector<const std::uint8_t> steps, Vector<const std::int32_t> sizes,
        Matrix<const std::int32_t> axes, Vector<const std::int64_t> start)
      : codes_(codes), steps_(steps), sizes_(sizes), axes_(axes), start_(start) {
    view_ = {codes.data(),
             static_cast<std::int64_t>(codes.shape(0)),
             static_cast<std::int64_t>(codes.shape(1)),
             nullptr,
             sizes.data(),
             axes.data(),
             start.data(),
             static_cast<std::int64_t>(axes.shape(0))};
    require(steps.size() == codes.shape(1) && sizes.size() == steps.size(), "steps and sizes: one per axis");
    require(axes.shape(1) == 2 && start.size() == axes.shape(0) + 1, "axes: two per pair; start: one more than pairs");
    for (std::size_t a = 0; a < steps.size(); ++a) {
      require(steps.data()[a] > 0 && sizes.data()[a] > 0, "steps and sizes must be positive");
    }
    check_tables();
    check_codes();
    tabulate_places();
  }
  const PairsView& view() const { return view_; }
  std::int64_t n_slots() const { return start_.data()[view_.n_pairs]; }

 private:
  void check_tables() const {
    require(start_.data()[0] == 0, "start: the first table begins at slot 0");
    for (std::int64_t k = 0; k < view_.n_pairs; ++k) {
      std::int64_t cells = 1;
      for (int side = 0; side < 2; ++side) {
        const std::int32_t axis = view_.axes[2 * k + side];
        require(axis >= 0 && axis < view_.n_axes, "axes: no such axis");
        cells *= view_.sizes[axis];
      }
      require(view_.start[k + 1] - view_.start[k] == cells, "start: a table has as many slots as cells");
    }
  }
  void check_codes() const {
    for (std::int64_t i = 0; i < view_.n_rows; ++i) {
      for (std::int64_t a = 0; a < view_.n_axes; ++a) {
        const unsigned code = view_.codes[i * view_.n_axes + a];
        const auto last = static_cast<unsigned>(view_.sizes[a] - 1) * steps_.data()[a];
        require(code == PairsView::none || code <= last, "codes: a code lies beyond the last point of its axis");
      }
    }
  }

  // A code is position * steps + share, or none.
  void tabulate_places() {
    places_.resize(256 * steps_.size());
    for (std::size_t a = 0; a < steps_.size(); ++a) {
      const unsigned steps = steps_.data()[a];
      for (unsigned code = 0; code < 256; ++code) {
        const auto share = static_cast<float>(code % steps) / static_cast<float>(steps);
        places_[256 * a + code] = {code == PairsView::none ? -1 : static_cast<std::int32_t>(code / steps), share};
      }
    }
    view_.places = places_.data();
  }

  Matrix<const std::uint8_t> codes_;
  Vector<const std::uint8_t> steps_;
  Vector<const std::int32_t> sizes_;
  Matrix<const std::int32_t> axes_;
  Vector<const std::int64_t> start_;
  std::vector<Place> places_;
  PairsView view_{};
};

// Adds up in float32 within a part, and in double precision between parts; `add(begin, end, sums)` computes one part.
template <class F>
void add_floats(std::int64_t n_rows, Matrix<double> sums, int n_threads, F&& add) {
  // No array of Python's is created here, as the GIL is released.
  add_in_parts<float>(n_rows, {sums.data(), sums.size()}, 512, n_threads,
                      [&](std::int64_t begin, std::int64_t end, float* into, std::int64_t) { add(begin, end, into); });
}

inline void add_classes(const Rows& rows, const Table& table, Matrix<const float> r, std::int64_t begin,
                        Matrix<double> sums, int n_threads) {
  table.check(rows);
  require(table.view().form != TableForm::powers && table.view().form != TableForm::square,
          "tables of this form cannot be added up");
  const auto n = static_cast<std::int64_t>(r.shape(0));
  require(begin >= 0 && begin + n <= rows.view().n_rows, "r: more rows than the data has");
  require(std::cmp_equal(sums.shape(0), rows.view().n_features * table.view().width + 1) && sums.shape(1) == r.shape(1),
          "sums: width slots per feature and one more, as wide as r");
  const auto stride = static_cast<std::int64_t>(r.shape(1));
  add_floats(n, sums, n_threads, [&](std::int64_t first, std::int64_t last, float* into) {
    loops().add_classes(rows.view(), table.view(), r.data() + first * stride, stride, begin + first, begin + last,
                        into);
  });
}

inline void read_pairs(const Pairs& pairs, Matrix<const float> weights, Matrix<double> out, int n_threads) {
  const auto stride = static_cast<std::int64_t>(weights.shape(1)), n_problems = static_cast<std::int64_t>(out.shape(1));
  require(std::cmp_equal(weights.shape(0), pairs.n_slots() + 1), "weights: one row per slot, and one more");
  require(std::cmp_equal(out.shape(0), pairs.view().n_rows) && n_problems <= stride,
          "out: one row per row, no wider than weights");
  parallel_for(n_threads, pairs.view().n_rows, [&](std::int64_t begin, std::int64_t end) {
    loops().read_pairs(pairs.view(), weights.data(), stride, n_problems, begin, end, out.data() + begin * n_problems);
  });
}

inline void add_pairs(const Pairs& pairs, Matrix<const float> r, Matrix<double> sums, int n_threads) {
  const auto stride = static_cast<std::int64_t>(r.shape(1));
  require(std::cmp_equal(r.shape(0), pairs.view().n_rows), "r: one row per row");
  require(std::cmp_equal(sums.shape(0), pairs.n_slots() + 1) && sums.shape(1) == r.shape(1),
          "sums: one row per slot, and one more, as wide as r");
  add_floats(pairs.view().n_rows, sums, n_threads, [&](std::int64_t first, std::int64_t last, float* into) {
    loops().add_pairs(pairs.view(), r.data() + first * stride, stride, first, last, into);
  });
}

// For each pair (a, b) of columns of `bins`, (n_columns, n_rows) with sizes[a] bins each:
// out[pair] = sum over problems and cells of (sum r)² / (sum h + prior) - sum h / (sum h + prior), for r and h per row.
inline void pair_scores(Matrix<const std::uint8_t> bins, Vector<const std::int32_t> sizes,
                        Matrix<const std::int32_t> pairs, Matrix<const float> r_and_h, double prior, Vector<double> out,
                        int n_threads) {
  const auto n_rows = static_cast<std::int64_t>(bins.shape(1)), stride = static_cast<std::int64_t>(r_and_h.shape(1));
  require(sizes.size() == bins.shape(0) && std::cmp_equal(r_and_h.shape(0), n_rows) && stride % 2 == 0,
          "one size per column of bins; r and h of every row");
  require(pairs.shape(1) == 2 && out.size() == pairs.shape(0), "one score per pair");
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    require(pairs.data()[k] >= 0 && std::cmp_less(pairs.data()[k], bins.shape(0)), "pairs: no such column");
  }
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    const std::uint8_t* column = bins.data() + a * bins.shape(1);
    require(std::all_of(column, column + n_rows, [&](std::uint8_t bin) { return std::cmp_less(bin, sizes.data()[a]); }),
            "bins: a bin lies beyond the last of its column");
  }
  parallel_for(n_threads, static_cast<std::int64_t>(out.size()), [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> histogram;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t a = pairs.data()[2 * k], b = pairs.data()[2 * k + 1];
      const std::int64_t width = sizes.data()[b], cells = sizes.data()[a] * width;
      histogram.assign(static_cast<std::size_t>(cells * stride), 0.0f);
      loops().add_cells(bins.data() + a * n_rows, bins.data() + b * n_rows, width, r_and_h.data(), stride, n_rows,
                        histogram.data());
      double score = 0.0;
      for (std::int64_t cell = 0; cell < cells; ++cell) {
        const float* r = histogram.data() + cell * stride;
        for (std::int64_t p = 0; p < stride / 2; ++p) {
          const double total = r[p], curvature = r[stride / 2 + p];
          score += (total * total - curvature) / (curvature + prior);
        }
      }
      out.data()[k] = score;
    }
  });
}

inline void bind_pairs(nb::module_& m) {
  using nb::literals::operator""_a;
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Pairs>(m, "Pairs")
      .def(nb::init<Matrix<const std::uint8_t>, Vector<const std::uint8_t>, Vector<const std::int32_t>,
                    Matrix<const std::int32_t>, Vector<const std::int64_t>>(),
           exact("codes"), exact("steps"), exact("sizes"), exact("axes"), exact("start"));
  m.def("add_classes", add_classes, "rows"_a, "table"_a, exact("r"), "begin"_a, exact("sums"), "n_threads"_a,
        Release());
  m.def("read_pairs", read_pairs, "pairs"_a, exact("weights"), exact("out"), "n_threads"_a, Release());
  m.def("add_pairs", add_pairs, "pairs"_a, exact("r"), exact("sums"), "n_threads"_a, Release());
  m.def("pair_scores", pair_scores, exact("bins"), exact("sizes"), exact("pairs"), exact("r_and_h"), "prior"_a,
        exact("out"), "n_threads"_a, Release());
}

}  // namespace kernline
