// Tables of pairs of columns: bilinear between the points of two axes.
#pragma once

#include <cstdint>

namespace kernline {

// Where a code lies on an axis: at `position`, or `share` of the way to the next. The position is negative for none.
struct Place {
  std::int32_t position;
  float share;
};

// `codes` is [row][axis]. places[256 * a + code] are the places of axis a, which has sizes[a] points. A pair's table has the
// points of its first axis as rows, and begins at slot start[pair].
struct PairsView {
  static constexpr unsigned none = 255;
  const std::uint8_t* codes;
  std::int64_t n_rows, n_axes;
  const Place* places;
  const std::int32_t* sizes;
  const std::int32_t* axes;  // two per pair
  const std::int64_t* start;
  std::int64_t n_pairs;
};

}  // namespace kernline
