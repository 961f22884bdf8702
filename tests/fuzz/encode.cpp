// libFuzzer's target for the encoder: `make fuzz`. X of any number type, order and sparsity, also with offsets and columns
// that are wrong, becomes the codes that a plain search finds, in every form of rows, or an exception.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "drawn.hpp"
#include "host/column_range.hpp"
#include "host/predict.hpp"

using namespace kernline;
using namespace kernline::fuzz;

namespace {

// X in arrays without a byte to spare, and its values as doubles: NaN where nothing is stored.
struct DrawnSource {
  SourceView view{};
  std::vector<std::byte> bytes;
  std::vector<std::int32_t> start32, columns32;
  std::vector<std::int64_t> start64, columns64;
  struct Entry {
    std::int64_t column;
    double value;
  };
  std::vector<std::vector<Entry>> rows;
  bool valid = true;

  explicit DrawnSource(Draw& draw) {
    view.type = draw.between<Number>(0, 11);
    view.n_rows = draw.some(5, 20);
    view.n_features = draw.some(5, 20);
    rows.resize(static_cast<std::size_t>(view.n_rows));
    with_number(view.type, [&]<class T>(T) { draw.flip() ? fill_dense<T>(draw) : fill_sparse<T>(draw); });
    view.values = bytes.data();
  }
  DrawnSource(const DrawnSource&) = delete;

 private:
  template <class T>
  double put(Draw& draw, std::size_t at) {
    T value{};
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(draw.any_number());
    } else if (draw.flip()) {
      const std::uint64_t bits = draw.bits(sizeof(T));
      std::memcpy(&value, &bits, sizeof value);
    }
    std::memcpy(bytes.data() + at * sizeof(T), &value, sizeof value);
    return static_cast<double>(value);
  }
  template <class T>
  void fill_dense(Draw& draw) {
    const bool by_columns = draw.flip();
    const auto n = static_cast<std::size_t>(view.n_rows), m = static_cast<std::size_t>(view.n_features);
    bytes.resize(n * m * sizeof(T));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j)
        rows[i].push_back({static_cast<std::int64_t>(j), put<T>(draw, by_columns ? j * n + i : i * m + j)});
    view.row_stride = static_cast<std::int64_t>(sizeof(T) * (by_columns ? 1 : m));
    view.column_stride = static_cast<std::int64_t>(sizeof(T) * (by_columns ? n : 1));
    view.n_entries = view.n_rows * view.n_features;
  }
  template <class T>
  void fill_sparse(Draw& draw) {
    std::vector<std::int64_t> start = {0}, columns;
    for (std::int64_t i = 0; i < view.n_rows; ++i) {
      for (std::int64_t j = 0; j < view.n_features; ++j)
        if (draw.between(0, 3) == 0) columns.push_back(j);
      start.push_back(static_cast<std::int64_t>(columns.size()));
    }
    bytes.resize(columns.size() * sizeof(T));
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (auto k = static_cast<std::size_t>(start[i]); std::cmp_less(k, start[i + 1]); ++k)
        rows[i].push_back({columns[k], put<T>(draw, k)});
    if (draw.between(0, 7) == 0) {  // a lie
      auto& liar = draw.flip() && !columns.empty() ? columns : start;
      auto& number = liar[draw.byte() % liar.size()];
      const std::int64_t truth = number;
      number = draw.flip() ? draw.between(-1, 30) : static_cast<std::int64_t>(draw.bits(4));
      valid = number == truth;
    }
    view.wide_index = draw.flip();
    for (const std::int64_t number : start) start32.push_back(static_cast<std::int32_t>(number));
    for (const std::int64_t number : columns) columns32.push_back(static_cast<std::int32_t>(number));
    start64 = start;
    columns64 = columns;
    view.row_start = view.wide_index ? static_cast<const void*>(start64.data()) : start32.data();
    view.columns = view.wide_index ? static_cast<const void*>(columns64.data()) : columns32.data();
    view.column_stride = sizeof(T);
    view.n_entries = static_cast<std::int64_t>(columns.size());
  }
};

// A grid of codes and its table of buckets, which has thousands, so that grids are made once for all inputs.
struct DrawnGrid {
  std::vector<float> thresholds;  // and infinity
  std::vector<std::uint16_t> first;
  GridView view{};

  DrawnGrid(std::size_t n_codes, std::uint64_t seed, int shift) {
    Random random(seed);
    for (std::size_t k = 0; k < n_codes; ++k)
      thresholds.push_back(static_cast<float>(k + 1) / static_cast<float>(n_codes + (random.next() >> 63)));
    std::sort(thresholds.begin(), thresholds.end());
    const auto n_buckets = static_cast<std::size_t>((GridView::highest - GridView::lowest) >> shift) + 1;
    unsigned steps = 0;
    for (std::size_t bucket = 0; bucket < n_buckets; ++bucket) {
      const auto low = std::bit_cast<float>(GridView::lowest + (static_cast<std::int32_t>(bucket) << shift));
      first.push_back(
          static_cast<std::uint16_t>(std::upper_bound(thresholds.begin(), thresholds.end(), low) - thresholds.begin()));
    }
    first.back() = static_cast<std::uint16_t>(n_codes);
    for (std::size_t bucket = 1; bucket < n_buckets; ++bucket)
      steps = std::max(steps, static_cast<unsigned>(first[bucket] - first[bucket - 1]));
    thresholds.push_back(std::numeric_limits<float>::infinity());
    thresholds.shrink_to_fit();
    first.shrink_to_fit();
    view = {thresholds.data(), first.data(), static_cast<unsigned>(n_codes), shift, steps};
  }

  static const DrawnGrid& drawn(Draw& draw) {
    static const std::vector<DrawnGrid> all = [] {
      std::vector<DrawnGrid> made;
      made.reserve(64);  // views point into them
      for (const std::size_t n_codes : {1, 2, 3, 7, 16, 33, 100, 128, 200, 250, 254, 255, 256, 257, 299, 300})
        for (const int shift : {16, 14})
          for (const std::uint64_t seed : {1, 2}) made.emplace_back(n_codes, seed, shift);
      return made;
    }();
    return all[draw.byte() % all.size()];
  }
};

// A fitted encoder, and its codes by definition.
struct DrawnEncoder {
  const std::vector<float>& thresholds;
  std::vector<Affine> affine;
  std::vector<std::int64_t> edge_start = {0};
  std::vector<double> edges, levels_of_terms;
  std::vector<Level> levels;
  std::vector<ColumnTerm> terms;
  GridView grid;
  TransformView transform{};

  DrawnEncoder(Draw& draw, std::int64_t n_features) : DrawnEncoder(draw, n_features, DrawnGrid::drawn(draw)) {}
  DrawnEncoder(Draw& draw, std::int64_t n_features, const DrawnGrid& of) : thresholds(of.thresholds), grid(of.view) {
    const bool ranks = draw.flip();
    for (std::int64_t j = 0; j < n_features; ++j) {
      affine.push_back({static_cast<double>(draw.number()), static_cast<double>(draw.number())});
      if (ranks) add_edges(draw);
    }
    transform = {
        affine.data(), ranks ? edge_start.data() : nullptr, edges.data(), levels.data(), draw.flip() && !ranks, nullptr,
        n_features};
    if (transform.keeps_zeros)
      for (Affine& one : affine) one.offset = 0.0;
    if (draw.flip()) add_terms(draw, n_features);
  }
  DrawnEncoder(const DrawnEncoder&) = delete;

  // u of a number, in single precision as the core rounds it.
  float unit(double x, std::int64_t j) const {
    if (!transform.edge_start) {
      const Affine& one = affine[static_cast<std::size_t>(j)];
      return static_cast<float>((x - one.offset) * one.factor);
    }
    const auto begin = edges.begin() + edge_start[static_cast<std::size_t>(j)];
    const auto end = edges.begin() + edge_start[static_cast<std::size_t>(j) + 1];
    const auto after = std::upper_bound(begin, end, x);
    if (x != x || after == begin) return 0.0f;
    const auto at = static_cast<std::size_t>(after - 1 - edges.begin());
    return static_cast<float>(levels[at].level + (x - edges[at]) * levels[at].slope);
  }
  unsigned code(float u) const {
    if (u <= std::bit_cast<float>(GridView::lowest)) return 0;
    return static_cast<unsigned>(std::upper_bound(thresholds.begin(), thresholds.end() - 1, std::min(u, 1.0f)) -
                                 thresholds.begin());
  }
  // Infinity, and NaN without a term of its own, are refused before values come here.
  bool takes(double x) const { return std::isfinite(x) || (x != x && transform.terms); }
  // The solver column of a value and its code; column -1 for none.
  std::pair<std::int64_t, unsigned> cell(double x, std::int64_t j) const {
    if (!transform.terms) return {j, code(unit(x, j))};
    const ColumnTerm& term = terms[static_cast<std::size_t>(j)];
    if (x != x) return {term.missing, grid.last_code};
    if (term.kind == ColumnKind::number) return {j, code(unit(x, j))};
    if (term.kind == ColumnKind::other) return {-1, 0};
    const double* level = std::find(term.levels_begin, term.levels_end, x);
    return {level == term.levels_end ? -1 : term.first + (level - term.levels_begin), grid.last_code};
  }

 private:
  void add_edges(Draw& draw) {
    std::vector<double> some(draw.between<std::size_t>(1, 6));
    for (double& edge : some) edge = static_cast<double>(draw.number());
    std::sort(some.begin(), some.end());
    some.erase(std::unique(some.begin(), some.end()), some.end());
    for (std::size_t k = 0; k < some.size(); ++k) {
      const double step = 1.0 / static_cast<double>(some.size());
      const double slope = k + 1 < some.size() ? step / (some[k + 1] - some[k]) : 0.0;
      levels.push_back({static_cast<double>(k) * step, slope});
    }
    edges.insert(edges.end(), some.begin(), some.end());
    edge_start.push_back(static_cast<std::int64_t>(edges.size()));
  }
  void add_terms(Draw& draw, std::int64_t n_features) {
    levels_of_terms = {-1.0, 0.0, 0.5, 1.0};
    for (std::int64_t j = 0; j < n_features; ++j) {
      const double* begin = levels_of_terms.data();
      terms.push_back({draw.between<ColumnKind>(0, 2), begin, begin + draw.between(0, 4), transform.n_columns, -1});
      transform.n_columns += terms.back().levels_end - begin;
      if (draw.flip()) terms.back().missing = transform.n_columns++;
    }
    transform.keeps_zeros = false;
    transform.terms = terms.data();
  }
};

void check_range(const DrawnSource& source, int n_threads) {
  const auto m = static_cast<std::size_t>(source.view.n_features);
  std::vector<double> low(m, std::numeric_limits<double>::infinity()), high(m, -low[0]);
  std::vector<std::int64_t> n_nonzero(m), row_nonzero(source.rows.size());
  find_range(source.view, {low.data(), high.data(), n_nonzero.data()}, row_nonzero.data(), n_threads);
  const ValueRange all = find_values(source.view, n_threads);
  if (!source.valid) return;  // other values were read, without harm
  bool finite = true;
  std::vector<std::int64_t> counted(m);
  for (const auto& row : source.rows)
    for (const auto& entry : row) {
      const auto j = static_cast<std::size_t>(entry.column);
      counted[j] += entry.value != 0.0;
      finite = finite && std::isfinite(entry.value);
      require(entry.value != entry.value || (low[j] <= entry.value && entry.value <= high[j]), "a value out of range");
    }
  require(counted == n_nonzero, "the counts of a column");
  require(all.finite == finite, "whether all values are finite");
}

void check_codes(const DrawnSource& source, const DrawnEncoder& encoder) {
  const std::int64_t n = source.view.n_rows, n_columns = encoder.transform.n_columns;
  std::vector<std::uint16_t> dense(static_cast<std::size_t>(n * n_columns)), expected(dense.size());
  DenseSink<std::uint16_t> sink{dense.data(), n_columns};
  with_codes(encoder.grid, [&](auto to_code) { encode_rows(source.view, encoder.transform, to_code, sink, 0, n); });
  std::vector<std::uint64_t> words(static_cast<std::size_t>(std::max<std::int64_t>(1, source.view.n_entries)));
  std::vector<std::int64_t> row_start(static_cast<std::size_t>(n) + 1);
  PackedSink<std::uint64_t, 16> packed{{row_start.data() + 1, 0, source.view.n_entries}, words.data()};
  if (source.view.n_entries)
    with_codes(encoder.grid, [&](auto to_code) { encode_rows(source.view, encoder.transform, to_code, packed, 0, n); });
  std::vector<float> values(static_cast<std::size_t>(n * n_columns));
  DenseSink<float> exact{values.data(), n_columns};
  encode_rows(source.view, encoder.transform, ToValue{true}, exact, 0, n);
  if (!source.valid) return;
  for (const float value : values)
    require(value != value || (value >= 0.0f && value <= 1.0f), "a value is not clipped");
  for (std::int64_t i = 0; i < n; ++i)
    for (const auto& entry : source.rows[static_cast<std::size_t>(i)]) {
      if (encoder.transform.keeps_zeros && entry.value == 0.0) continue;
      if (!encoder.takes(entry.value)) continue;
      const auto [column, code] = encoder.cell(entry.value, entry.column);
      if (column < 0) continue;
      const auto at = static_cast<std::size_t>(i * n_columns + column);
      require(dense[at] == code, "a code differs from the search");
      if (code == 0 || source.view.n_entries == 0) continue;
      const auto begin = words.begin() + row_start[static_cast<std::size_t>(i)];
      const auto end = words.begin() + row_start[static_cast<std::size_t>(i) + 1];
      require(std::count(begin, end, static_cast<std::uint64_t>(column) << 16 | code) == 1, "a packed word is missing");
    }
}

void check_prediction(Draw& draw, const DrawnSource& source, const DrawnEncoder& encoder) {
  const int width = draw.between<int>(1, 3);
  std::vector<float> table = draw.numbers((encoder.grid.last_code + std::size_t{1}) * static_cast<std::size_t>(width));
  std::fill_n(table.begin(), width, 0.0f);
  const std::vector<float> weights = draw.numbers(static_cast<std::size_t>(encoder.transform.n_columns * width + 1));
  const double intercept = 0.5;
  std::vector<double> out(source.rows.size());
  predict_codes<std::uint32_t, 16>(source.view, encoder.transform, encoder.grid, RowKind::packed32_code16,
                                   {TableForm::dense, width, 0, table.data()}, {weights.data(), 1, 1, &intercept}, 0,
                                   source.view.n_rows, out.data());
  for (std::size_t i = 0; source.valid && i < out.size(); ++i) {
    double sum = intercept, size = 0.0;
    bool known = true;
    for (const auto& entry : source.rows[i]) {
      known = known && encoder.takes(entry.value);
      if (encoder.transform.keeps_zeros && entry.value == 0.0) continue;
      const auto [column, code] = encoder.cell(entry.value, entry.column);
      for (int k = 0; column >= 0 && k < width; ++k) {
        const double term =
            static_cast<double>(table[code * static_cast<std::size_t>(width) + static_cast<std::size_t>(k)]) *
            static_cast<double>(weights[static_cast<std::size_t>(column * width + k)]);
        sum += term;
        size += std::abs(term);
      }
    }
    if (known) require_near(out[i], sum, size, "a prediction");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Draw draw(data, size);
  const DrawnSource source(draw);
  const DrawnEncoder encoder(draw, source.view.n_features);
  const int n_threads = draw.large() ? 2 : 1;
  try {
    check_range(source, n_threads);
    check_codes(source, encoder);
    check_prediction(draw, source, encoder);
  } catch (const std::invalid_argument&) {
    require(!source.valid, "rows without fault are refused");
  } catch (const std::length_error&) {
    require(!source.valid, "rows without fault do not fit");
  }
  return 0;
}
