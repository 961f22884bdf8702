// X as Python hands it over, and the fitted map of its values to codes. Each holds on to its arrays.
#pragma once

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "bindings/bound_arrays.hpp"
#include "host/encode.hpp"

namespace kernline {

class Source {
 public:
  using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

  static Source dense(AnyArray x) {
    require(x.ndim() == 2, "X must have two dimensions");
    Source source(x, static_cast<std::int64_t>(x.shape(0)), static_cast<std::int64_t>(x.shape(1)));
    source.view_.row_stride = x.stride(0) * static_cast<std::int64_t>(x.itemsize());
    source.view_.column_stride = x.stride(1) * static_cast<std::int64_t>(x.itemsize());
    source.view_.n_entries = static_cast<std::int64_t>(x.size());
    return source;
  }

  // Rows that begin at row_start[i] of the columns and values, which may hold more rows than these.
  template <class Index>
  static Source csr(Vector<const Index> row_start, Vector<const Index> columns, AnyArray values,
                    std::int64_t n_features) {
    require(values.ndim() == 1 && row_start.size() > 0 && columns.size() == values.size(),
            "sparse X: indptr, indices and data do not fit");
    Source source(values, static_cast<std::int64_t>(row_start.size()) - 1, n_features);
    source.view_.column_stride = values.stride(0) * static_cast<std::int64_t>(values.itemsize());
    source.view_.row_start = row_start.data();
    source.view_.columns = columns.data();
    source.view_.wide_index = sizeof(Index) == 8;
    source.view_.n_entries = static_cast<std::int64_t>(values.size());
    source.row_start_ = nb::ndarray<>(row_start);
    source.columns_ = nb::ndarray<>(columns);
    return source;
  }

  const SourceView& view() const { return view_; }

 private:
  Source(const AnyArray& values, std::int64_t n_rows, std::int64_t n_features)
      : view_{number(values.dtype()),
              n_rows,
              n_features,
              static_cast<const std::byte*>(values.data()),
              0,
              0,
              nullptr,
              nullptr,
              false,
              0},
        values_(values) {
    const auto place = reinterpret_cast<std::uintptr_t>(values.data());
    require(place % std::min<std::size_t>(values.itemsize(), alignof(double)) == 0, "X: the values must be aligned");
  }

  static Number number(nb::dlpack::dtype type) {
    const auto code = static_cast<nb::dlpack::dtype_code>(type.code);
    const auto choose = [&](Number one, Number two, Number four, Number eight) {
      return type.bits == 8 ? one : type.bits == 16 ? two : type.bits == 32 ? four : eight;
    };
    switch (code) {
      case nb::dlpack::dtype_code::Float:
        require(type.bits >= 16 && type.bits <= 64, "X: floats of 16, 32 or 64 bits");
        return choose(Number::float16, Number::float16, Number::float32, Number::float64);
      case nb::dlpack::dtype_code::Int: return choose(Number::int8, Number::int16, Number::int32, Number::int64);
      case nb::dlpack::dtype_code::UInt: return choose(Number::uint8, Number::uint16, Number::uint32, Number::uint64);
      case nb::dlpack::dtype_code::Bool: return Number::boolean;
      default: throw std::invalid_argument("X: a type of number that the core does not read");
    }
  }

  SourceView view_;
  AnyArray values_;
  nb::ndarray<> row_start_, columns_;
};

// The fitted encoder as the core needs it.
class CodeMap {
 public:
  CodeMap(Vector<const float> thresholds, Vector<const double> offsets, Vector<const double> factors,
          Offsets edge_start, Vector<const double> edges, Vector<const double> levels, bool clip, bool keeps_zeros)
      : thresholds_(thresholds.data(), thresholds.data() + thresholds.size()),
        edge_start_(edge_start.data(), edge_start.data() + edge_start.size()),
        edges_(edges.data(), edges.data() + edges.size()),
        clip_(clip),
        keeps_zeros_(keeps_zeros) {
    require(thresholds_.size() < 65536, "at most 65536 codes");
    require(offsets.size() == factors.size() && edges_.size() == levels.size(),
            "one factor an offset, one level an edge");
    require(edge_start_.empty() || (edge_start_.size() == offsets.size() + 1 && edge_start_.front() == 0 &&
                                    std::cmp_equal(edge_start_.back(), edges_.size())),
            "edge_start must divide the edges among the features");
    for (std::size_t j = 1; j < edge_start_.size(); ++j)
      require(edge_start_[j - 1] < edge_start_[j], "edge_start: at least one edge a feature");
    require(std::is_sorted(thresholds_.begin(), thresholds_.end()), "thresholds must not decrease");
    for (float& threshold : thresholds_) threshold = std::max(threshold, std::bit_cast<float>(GridView::lowest + 1));
    for (std::size_t j = 0; j < offsets.size(); ++j) affine_.push_back({offsets(j), factors(j)});
    n_columns_ = static_cast<std::int64_t>(affine_.size());
    join_levels(levels);
    last_code_ = static_cast<unsigned>(thresholds_.size());
    choose_buckets();
    thresholds_.push_back(std::numeric_limits<float>::infinity());
  }

  // For each input column its kind, the solver column of its first level, where its levels begin in `levels`, and the
  // solver column of NaN (-1: none).
  void set_terms(Vector<const std::uint8_t> kinds, Offsets first, Offsets level_start, Vector<const double> levels,
                 Offsets missing, std::int64_t n_columns) {
    const std::size_t n = n_features();
    require(kinds.size() == n && first.size() == n && missing.size() == n && level_start.size() == n + 1,
            "terms: one entry for each column");
    require(
        std::cmp_greater_equal(n_columns, n) && level_start(0) == 0 && std::cmp_equal(level_start(n), levels.size()),
        "terms: level_start must divide the levels among the columns");
    for (std::size_t j = 0; j < n; ++j)
      require(level_start(j) <= level_start(j + 1), "terms: level_start must not decrease");
    level_values_.assign(levels.data(), levels.data() + levels.size());
    std::vector<ColumnTerm> terms;
    for (std::size_t j = 0; j < n; ++j) {
      const std::int64_t n_levels = level_start(j + 1) - level_start(j);
      require(kinds(j) <= static_cast<std::uint8_t>(ColumnKind::other), "terms: a kind that the core does not know");
      require(first(j) >= 0 && first(j) <= n_columns - n_levels && missing(j) >= -1 && missing(j) < n_columns,
              "terms: a column lies outside the solver's");
      const double* begin = level_values_.data() + level_start(j);
      require(
          std::adjacent_find(begin, begin + n_levels, [](double a, double b) { return !(a < b); }) == begin + n_levels,
          "terms: levels must increase");
      terms.push_back({static_cast<ColumnKind>(kinds(j)), begin, begin + n_levels, first(j), missing(j)});
    }
    terms_ = std::move(terms);
    n_columns_ = n_columns;
  }

  std::size_t n_features() const { return affine_.size(); }
  std::int64_t n_columns() const { return n_columns_; }
  ToValue to_value() const { return {clip_}; }
  GridView grid() const { return {thresholds_.data(), first_.data(), last_code_, shift_, steps_}; }
  TransformView transform() const {
    return {affine_.data(), edge_start_.empty() ? nullptr : edge_start_.data(), edges_.data(), levels_.data(),
            keeps_zeros_,   terms_.empty() ? nullptr : terms_.data(),           n_columns_};
  }

 private:
  void join_levels(const Vector<const double>& levels) {
    for (std::size_t k = 0; k < edges_.size(); ++k) levels_.push_back({levels(k), 0.0});
    for (std::size_t j = 1; j < edge_start_.size(); ++j) {
      for (auto k = static_cast<std::size_t>(edge_start_[j - 1]); k + 1 < static_cast<std::size_t>(edge_start_[j]);
           ++k) {
        const double slope = (levels(k + 1) - levels(k)) / (edges_[k + 1] - edges_[k]);
        levels_[k].slope = std::isfinite(slope) ? slope : 0.0;  // edges that nothing lies between
      }
    }
  }

  // Buckets as wide as leave one threshold in each, from 8 to 32 KB.
  void choose_buckets() {
    for (shift_ = GridView::usual_shift; shift_ >= 14; --shift_) {
      const auto n_buckets = static_cast<std::size_t>((GridView::highest - GridView::lowest) >> shift_) + 1;
      first_.assign(n_buckets, 0);
      for (std::size_t bucket = 0; bucket < n_buckets; ++bucket) {
        const auto low = std::bit_cast<float>(GridView::lowest + (static_cast<std::int32_t>(bucket) << shift_));
        first_[bucket] = static_cast<std::uint16_t>(std::upper_bound(thresholds_.begin(), thresholds_.end(), low) -
                                                    thresholds_.begin());
      }
      first_.back() = static_cast<std::uint16_t>(last_code_);  // of u >= 1
      steps_ = 0;
      for (std::size_t bucket = 1; bucket < n_buckets; ++bucket) {
        steps_ = std::max(steps_, static_cast<unsigned>(first_[bucket] - first_[bucket - 1]));
      }
      if (steps_ <= 1) return;
    }
    ++shift_;
  }

  std::vector<float> thresholds_;
  std::vector<Affine> affine_;
  std::vector<std::int64_t> edge_start_;
  std::vector<double> edges_;
  std::vector<Level> levels_;
  std::vector<std::uint16_t> first_;
  std::vector<double> level_values_;
  std::vector<ColumnTerm> terms_;  // empty when all columns are numbers
  std::int64_t n_columns_ = 0;
  bool clip_, keeps_zeros_;
  unsigned last_code_, steps_;
  int shift_;
};

}  // namespace kernline
