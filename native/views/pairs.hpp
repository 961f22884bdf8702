// Tables of pairs of columns: bilinear between the points of two axes.
#pragma once

#include <cstdint>

namespace kernline {

// `codes` is [row][axis]. A code of axis a is position * steps[a] + share, or `none`. Axis a has sizes[a] points; a pair's
// table has the points of its first axis as rows, and begins at slot start[pair].
struct PairsView {
  static constexpr unsigned none = 255;
  const std::uint8_t* codes;
  std::int64_t n_rows, n_axes;
  const std::uint8_t* steps;
  const std::int32_t* sizes;
  const std::int32_t* axes;  // two per pair
  const std::int64_t* start;
  std::int64_t n_pairs;
};

}  // namespace kernline
