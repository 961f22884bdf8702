// Which rows take part in a descent, which of them rest, and the order of an epoch's visits.
#pragma once

#include <cstdint>

#include "views/random.hpp"

namespace kernline {

// A row whose share of the gap was negligible at its last visits rests for 2, 8, 26, then 80 epochs.
struct Rest {
  static constexpr std::uint8_t lengths[] = {2, 8, 26, 80};
  std::uint8_t left = 0;   // epochs until the next visit
  std::uint8_t level = 0;  // negligible visits in a row, at most the last of `lengths`

  void begin() {
    left = lengths[level];
    if (level + 1 < static_cast<int>(sizeof lengths)) ++level;
  }
};

struct Visits {
  Visits(std::uint64_t seed, bool shuffle_) : random(seed), shuffle(shuffle_) {}

  Rest* rests = nullptr;
  std::int32_t* order = nullptr;          // this epoch's visits, the first `n_active`
  const std::int32_t* members = nullptr;  // the rows of the data that take part; null for all
  std::int64_t n_rows = 0;                // how many take part
  std::int64_t data_row(std::int64_t i) const { return members ? members[i] : i; }

  Random random;
  bool shuffle;  // else visit the rows in their order, as in some papers

  std::int64_t n_active = 0;
  std::int64_t n_visits = 0;  // of this epoch
  int most_repeats = 0;       // how often the rows of an epoch are visited again, if they are few
  int repeats = 0;            // the remaining ones of this epoch
  bool in_epoch = false;
  bool in_blocks = false;   // this epoch's order: blocks of neighbouring rows, or all rows
  std::int64_t cursor = 0;  // next position in `order`

  double negligible = 0.0;  // share of the gap at or below which a row rests
  double active_gap = 0.0;  // sum over this epoch's visits of each row's share of the gap, before its update
};

}  // namespace kernline
