// What Python calls to look at X, to encode it and to predict from it. Every result is the same for any number of threads.
#pragma once

#include <nanobind/stl/tuple.h>

#include <tuple>
#include <utility>

#include "bindings/bound_source.hpp"
#include "host/column_range.hpp"
#include "host/parallel.hpp"
#include "host/predict.hpp"

namespace kernline {

inline void column_range(const Source& source, Vector<double> minimum, Vector<double> maximum,
                         Vector<std::int64_t> n_nonzero, Vector<std::int64_t> row_nonzero, int n_threads) {
  const SourceView& view = source.view();
  const auto n = static_cast<std::size_t>(view.n_features);
  require(minimum.size() == n && maximum.size() == n && n_nonzero.size() == n, "range: one entry a feature");
  require(std::cmp_equal(row_nonzero.size(), view.n_rows), "range: one count a row");
  find_range(view, {minimum.data(), maximum.data(), n_nonzero.data()}, row_nonzero.data(), n_threads);
}

inline void row_nonzero(const Source& source, Vector<std::int64_t> out, int n_threads) {
  require(std::cmp_equal(out.size(), source.view().n_rows), "count: one entry a row");
  parallel_for(n_threads, source.view().n_rows, [&](std::int64_t begin, std::int64_t end) {
    RowReader reader(source.view());
    for (std::int64_t i = begin; i < end; ++i) {
      const RowReader::Values row = reader.values(i);
      out(static_cast<std::size_t>(i)) = count_nonzero(row.values, row.size);
    }
  });
}

inline std::tuple<double, double, bool> value_range(const Source& source, int n_threads) {
  const ValueRange found = find_values(source.view(), n_threads);
  return {found.low, found.high, found.finite};
}

inline void check_source(const CodeMap& map, const SourceView& source) {
  require(std::cmp_equal(source.n_features, map.n_features()), "encode: as many features as the encoder has");
}

// To one cell for each solver column. `out` must hold zeros, of which only the others are written over.
template <class Cell>
void encode_dense(const CodeMap& map, const Source& source, Matrix<Cell> out, int n_threads) {
  const SourceView& view = source.view();
  check_source(map, view);
  require(static_cast<std::int64_t>(out.shape(0)) == view.n_rows &&
              static_cast<std::int64_t>(out.shape(1)) == map.n_columns(),
          "encode: shapes differ");
  constexpr bool values = std::is_same_v<Cell, float>;
  require(values || map.grid().last_code <= std::numeric_limits<Cell>::max(), "encode: the codes need a wider type");
  parallel_for(n_threads, view.n_rows, [&](std::int64_t begin, std::int64_t end) {
    DenseSink<Cell> sink{out.data() + begin * map.n_columns(), map.n_columns()};
    if constexpr (values) {
      encode_rows(view, map.transform(), map.to_value(), sink, begin, end);
    } else {
      with_codes(map.grid(), [&](auto to_code) { encode_rows(view, map.transform(), to_code, sink, begin, end); });
    }
  });
}

// Fills a sparse sink from `position` on and returns the position after it. `row_end` comes with the most cells a row may
// have and goes with the place where it ends. Threads begin where so many cells would put them; should zeros have been
// left out, the parts are then moved together.
template <class MakeSink, class Encode, class Move>
std::int64_t fill_in_parts(std::int64_t n_rows, Vector<std::int64_t> row_end, std::int64_t position,
                           std::int64_t capacity, int n_threads, MakeSink make_sink, Encode encode, Move move) {
  require(std::cmp_equal(row_end.size(), n_rows) && position >= 0, "encode: one row end a row");
  const std::int64_t n_parts = std::clamp<std::int64_t>(std::min<std::int64_t>(n_threads, n_rows), 1, 256);
  std::vector<std::int64_t> start(static_cast<std::size_t>(n_parts) + 1, position),
      end(static_cast<std::size_t>(n_parts));
  const auto first_row = [&](std::int64_t part) { return n_rows * part / n_parts; };
  for (std::int64_t part = 0; part < n_parts; ++part) {
    auto& next = start[static_cast<std::size_t>(part) + 1] = start[static_cast<std::size_t>(part)];
    for (std::int64_t i = first_row(part); i < first_row(part + 1); ++i) {
      require(row_end(static_cast<std::size_t>(i)) >= 0, "encode: counts must not be negative");
      next += row_end(static_cast<std::size_t>(i));
    }
  }
  require(start.back() <= capacity, "encode: no room for as many non-zeros");
  parallel_for(n_threads, n_parts, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) {
      const auto p = static_cast<std::size_t>(part);
      auto sink = make_sink(SparseSink{row_end.data() + first_row(part), start[p], start[p + 1]});
      encode(sink, first_row(part), first_row(part + 1));
      end[p] = sink.position;
    }
  });
  std::int64_t filled = end[0];
  for (std::int64_t part = 1; part < n_parts; ++part) {
    const auto p = static_cast<std::size_t>(part);
    const std::int64_t gap = start[p] - filled;
    if (gap > 0) {
      move(filled, start[p], end[p] - start[p]);
      for (std::int64_t i = first_row(part); i < first_row(part + 1); ++i) row_end(static_cast<std::size_t>(i)) -= gap;
    }
    filled = end[p] - gap;
  }
  return filled;
}

template <class Word, int code_bits>
std::int64_t encode_packed(const CodeMap& map, const Source& source, Vector<Word> words, Vector<std::int64_t> row_end,
                           std::int64_t position, int n_threads) {
  check_source(map, source.view());
  require(map.grid().last_code < (1u << code_bits), "encode: the codes need more bits");
  require(map.n_columns() <= std::int64_t{1} << (std::min<int>(8 * sizeof(Word), 62) - code_bits),
          "encode: more columns than a word holds");
  using Sink = PackedSink<Word, code_bits>;
  return fill_in_parts(
      source.view().n_rows, row_end, position, static_cast<std::int64_t>(words.size()), n_threads,
      [&](const SparseSink& sink) { return Sink{sink, words.data()}; },
      [&](Sink& sink, std::int64_t begin, std::int64_t end) {
        with_codes(map.grid(),
                   [&](auto to_code) { encode_rows(source.view(), map.transform(), to_code, sink, begin, end); });
      },
      [&](std::int64_t to, std::int64_t from, std::int64_t n) {
        std::copy_n(words.data() + from, n, words.data() + to);
      });
}

template <class Index>
std::int64_t encode_sparse_values(const CodeMap& map, const Source& source, Vector<float> values, Vector<Index> columns,
                                  Vector<std::int64_t> row_end, std::int64_t position, int n_threads) {
  check_source(map, source.view());
  require(values.size() == columns.size(), "encode: one column a value");
  require(map.n_columns() <= std::numeric_limits<Index>::max(), "encode: more columns than the index holds");
  return fill_in_parts(
      source.view().n_rows, row_end, position, static_cast<std::int64_t>(values.size()), n_threads,
      [&](const SparseSink& sink) { return ValueSink<Index>{sink, values.data(), columns.data()}; },
      [&](ValueSink<Index>& sink, std::int64_t begin, std::int64_t end) {
        encode_rows(source.view(), map.transform(), map.to_value(), sink, begin, end);
      },
      [&](std::int64_t to, std::int64_t from, std::int64_t n) {
        std::copy_n(values.data() + from, n, values.data() + to);
        std::copy_n(columns.data() + from, n, columns.data() + to);
      });
}

// f of every row of X and every problem, through codes that are never kept.
inline void predict(const CodeMap& map, const Source& source, const Table& table, Matrix<const float> weights,
                    Vector<const double> intercepts, Matrix<double> out, int n_threads) {
  const SourceView& rows = source.view();
  check_source(map, rows);
  require(table.reads_codes_to(map.grid().last_code), "the table lacks a code that the encoder gives");
  const WeightsView view = weights_view(weights, intercepts, map.n_columns() * table.view().width);
  require(std::cmp_equal(out.shape(0), rows.n_rows) && std::cmp_equal(out.shape(1), view.n_problems),
          "one row of output a row");
  const bool bytes = map.grid().last_code < 256;
  const bool narrow = map.n_columns() <= std::int64_t{1} << (bytes ? 24 : 16);
  parallel_for(n_threads, rows.n_rows, [&](std::int64_t begin, std::int64_t end) {
    const auto run = [&]<class Word, int code_bits>(RowKind kind) {
      predict_codes<Word, code_bits>(rows, map.transform(), map.grid(), kind, table.view(), view, begin, end,
                                     out.data());
    };
    if (!narrow) return run.template operator()<std::uint64_t, 16>(RowKind::packed64_code16);
    if (bytes) return run.template operator()<std::uint32_t, 8>(RowKind::packed32_code8);
    run.template operator()<std::uint32_t, 16>(RowKind::packed32_code16);
  });
}

inline void bind_encoding(nb::module_& m) {
  using namespace nb::literals;
  using Release = nb::call_guard<nb::gil_scoped_release>;

  nb::class_<Source>(m, "Source")
      .def_static("dense", &Source::dense, exact("x"))
      .def_static("csr", &Source::csr<std::int32_t>, exact("row_start"), exact("columns"), exact("values"),
                  "n_features"_a)
      .def_static("csr", &Source::csr<std::int64_t>, exact("row_start"), exact("columns"), exact("values"),
                  "n_features"_a);

  nb::class_<CodeMap>(m, "CodeMap")
      .def(nb::init<Vector<const float>, Vector<const double>, Vector<const double>, Offsets, Vector<const double>,
                    Vector<const double>, bool, bool>(),
           exact("thresholds"), exact("offsets"), exact("factors"), exact("edge_start"), exact("edges"),
           exact("levels"), "clip"_a, "keeps_zeros"_a)
      .def("set_terms", &CodeMap::set_terms, exact("kinds"), exact("first"), exact("level_start"), exact("levels"),
           exact("missing"), "n_columns"_a);

  m.def("column_range", column_range, "source"_a, exact("minimum"), exact("maximum"), exact("n_nonzero"),
        exact("row_nonzero"), "n_threads"_a, Release());
  m.def("row_nonzero", row_nonzero, "source"_a, exact("out"), "n_threads"_a, Release());
  m.def(
      "value_range",
      [](const Source& source, int n_threads) {
        std::tuple<double, double, bool> found;
        nb::gil_scoped_release release;
        found = value_range(source, n_threads);
        return found;
      },
      "source"_a, "n_threads"_a);
  m.def("predict", predict, "map"_a, "source"_a, "table"_a, exact("weights"), exact("intercepts"), exact("out"),
        "n_threads"_a, Release());

  const auto bind_dense = [&]<class Cell>(Cell) {
    m.def("encode", encode_dense<Cell>, "map"_a, "source"_a, exact("out"), "n_threads"_a, Release());
  };
  bind_dense(std::uint8_t{});
  bind_dense(std::uint16_t{});
  bind_dense(float{});
  const auto bind_packed = [&]<class Word>(Word) {
    m.def(
        "encode",
        [](const CodeMap& map, const Source& source, Vector<Word> words, Vector<std::int64_t> row_end,
           std::int64_t position, int code_bits, int n_threads) {
          require(code_bits == 16 || (code_bits == 8 && sizeof(Word) == 4), "encode: 8 or 16 bits a code");
          if constexpr (sizeof(Word) == 4) {
            if (code_bits == 8) return encode_packed<Word, 8>(map, source, words, row_end, position, n_threads);
          }
          return encode_packed<Word, 16>(map, source, words, row_end, position, n_threads);
        },
        "map"_a, "source"_a, exact("words"), exact("row_end"), "position"_a, "code_bits"_a, "n_threads"_a, Release());
  };
  bind_packed(std::uint32_t{});
  bind_packed(std::uint64_t{});
  const auto bind_values = [&]<class Index>(Index) {
    m.def("encode", encode_sparse_values<Index>, "map"_a, "source"_a, exact("values"), exact("columns"),
          exact("row_end"), "position"_a, "n_threads"_a, Release());
  };
  bind_values(std::int32_t{});
  bind_values(std::int64_t{});
}

}  // namespace kernline
