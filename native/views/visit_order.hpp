// The order in which an epoch visits rows: those that do not rest, shuffled.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

// Late epochs visit few rows, and take as long to find as to visit them: look at several at once. If they all rest, this
// counts an epoch of their rests.
constexpr std::int64_t rests_at_once = sizeof(std::uint64_t) / sizeof(Rest);
inline bool all_rest(Rest* rests) {
  static_assert(sizeof(Rest) == 2 && offsetof(Rest, left) == 0);
  constexpr std::uint64_t ones = 0x0001000100010001, left_bytes = 0x00ff00ff00ff00ff, signs = 0x8000800080008000;
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word;
  std::memcpy(&word, rests, sizeof word);
  const std::uint64_t left = word & left_bytes;
  if ((left - ones) & signs) return false;  // one of them is zero
  word -= ones;
  std::memcpy(static_cast<void*>(rests), &word, sizeof word);
  return true;
}

// Lists the rows of an epoch; the first `n_drawn` are in their final order, the others must be drawn.
inline void begin_epoch(Visits& visits, std::int64_t n_drawn) {
  visits.in_epoch = true;
  visits.cursor = 0;
  visits.active_gap = 0.0;
  visits.n_active = 0;
  std::int64_t i = 0;
  while (i < visits.n_rows) {
    if (i + rests_at_once <= visits.n_rows && all_rest(visits.rests + i)) {
      i += rests_at_once;
      continue;
    }
    if (visits.rests[i].left == 0) {
      visits.order[visits.n_active++] = static_cast<std::int32_t>(i);
    } else {
      --visits.rests[i].left;
    }
    ++i;
  }
  visits.n_visits = visits.n_active;
  visits.in_blocks = 2 * visits.n_active > visits.n_rows;
  if (visits.shuffle && visits.in_blocks) shuffle_blocks(visits);
  n_drawn = std::min(n_drawn, visits.n_active);
  for (std::int64_t position = 0; position < n_drawn; ++position) draw(visits, position);
}

// Lists the rows of the epoch that did not begin to rest, to visit them once more; returns whether there are any. An epoch
// of few rows is as short as what is done between two epochs.
inline bool visit_again(Visits& visits, std::int64_t n_drawn) {
  if (visits.repeats == 0 || visits.in_blocks || !visits.shuffle) return false;
  --visits.repeats;
  std::int64_t n_left = 0;
  for (std::int64_t k = 0; k < visits.n_active; ++k) {
    const std::int32_t i = visits.order[k];
    if (visits.rests[i].left == 0) visits.order[n_left++] = i;
  }
  if (n_left == 0) return false;
  visits.n_active = n_left;
  visits.n_visits += n_left;
  visits.cursor = 0;
  visits.active_gap = 0.0;
  n_drawn = std::min(n_drawn, visits.n_active);
  for (std::int64_t position = 0; position < n_drawn; ++position) draw(visits, position);
  return true;
}

}  // namespace kernline
