// The order in which an epoch visits rows: those that do not rest, shuffled.
#pragma once

#include <algorithm>
#include <cstdint>

#include "views/visits.hpp"

namespace kernline {

// Random order waits for memory. If most rows are visited, blocks of neighbouring rows are shuffled, and the rows within
// each block: this is almost as random, and reads the data almost in order.
constexpr std::int64_t block_length = 64;

inline void shuffle_blocks(Visits& visits) {
  const std::int64_t n_blocks = visits.n_active / block_length;
  for (std::int64_t block = 0; block < n_blocks; ++block) {
    std::int32_t* here = visits.order + block * block_length;
    std::int32_t* there = here + visits.random.below(n_blocks - block) * block_length;
    if (here != there) std::swap_ranges(here, here + block_length, there);
  }
}

// Chooses the row to visit at `position` among the remaining rows, of its block or of all.
inline void draw(Visits& visits, std::int64_t position) {
  if (!visits.shuffle || position >= visits.n_active) return;
  std::int64_t end = visits.n_active;
  if (visits.in_blocks) end = std::min(end, (position / block_length + 1) * block_length);
  std::swap(visits.order[position], visits.order[position + visits.random.below(end - position)]);
}

// Lists the rows of an epoch; the first `n_drawn` are in their final order, the others must be drawn.
inline void begin_epoch(Visits& visits, std::int64_t n_drawn) {
  visits.in_epoch = true;
  visits.cursor = 0;
  visits.active_gap = 0.0;
  visits.n_active = 0;
  for (std::int64_t i = 0; i < visits.n_rows; ++i) {
    if (visits.rests[i].left == 0) {
      visits.order[visits.n_active++] = static_cast<std::int32_t>(i);
    } else {
      --visits.rests[i].left;
    }
  }
  visits.in_blocks = 2 * visits.n_active > visits.n_rows;
  if (visits.shuffle && visits.in_blocks) shuffle_blocks(visits);
  n_drawn = std::min(n_drawn, visits.n_active);
  for (std::int64_t position = 0; position < n_drawn; ++position) draw(visits, position);
}

}  // namespace kernline
