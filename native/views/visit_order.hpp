// The order in which an epoch visits rows: those that do not rest, shuffled.
#pragma once

#include <algorithm>
#include <cstdint>

#include "views/dual_state.hpp"

namespace kernline {

// Random order waits for memory. If most rows are visited, blocks of neighbouring rows are shuffled, and the rows within
// each block: this is almost as random, and reads the data almost in order.
constexpr std::int64_t block_length = 64;

inline void shuffle_blocks(DualState& state) {
  const std::int64_t n_blocks = state.n_active / block_length;
  for (std::int64_t block = 0; block < n_blocks; ++block) {
    std::int32_t* here = state.order + block * block_length;
    std::int32_t* there = here + state.random.below(n_blocks - block) * block_length;
    if (here != there) std::swap_ranges(here, here + block_length, there);
  }
}

// Chooses the row to visit at `position` among the remaining rows, of its block or of all.
inline void draw(DualState& state, std::int64_t position) {
  if (!state.shuffle || position >= state.n_active) return;
  std::int64_t end = state.n_active;
  if (state.in_blocks) end = std::min(end, (position / block_length + 1) * block_length);
  std::swap(state.order[position], state.order[position + state.random.below(end - position)]);
}

// Lists the rows of an epoch; the first `n_drawn` are in their final order, the others must be drawn.
inline void begin_epoch(DualState& state, std::int64_t n_drawn) {
  state.in_epoch = true;
  state.cursor = 0;
  state.active_gap = 0.0;
  state.n_active = 0;
  for (std::int64_t i = 0; i < state.n_rows; ++i) {
    if (state.rests[i].left == 0) {
      state.order[state.n_active++] = static_cast<std::int32_t>(i);
    } else {
      --state.rests[i].left;
    }
  }
  state.in_blocks = 2 * state.n_active > state.n_rows;
  if (state.shuffle && state.in_blocks) shuffle_blocks(state);
  n_drawn = std::min(n_drawn, state.n_active);
  for (std::int64_t position = 0; position < n_drawn; ++position) draw(state, position);
}

}  // namespace kernline
