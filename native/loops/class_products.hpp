// The products that a joint method needs, for all problems at once: X' R for any rows and read table phi, and X W and X' R
// for tables of pairs of columns. R and W have `stride` floats per row and slot, as in class_sums.hpp.
#pragma once

#include "loops/class_sums.hpp"
#include "loops/methods.hpp"
#include "views/pairs.hpp"

namespace kernline::KERNLINE_TARGET {

// into_p += factor * r_p
inline void add_row(float factor, const float* r, std::int64_t stride, float* into) {
#pragma omp simd
  for (std::int64_t p = 0; p < stride; ++p) into[p] += factor * r[p];
}

// sums[slot][p] += sum_i r_ip phi(u_i) over the rows of a range. `r` starts with row `begin`.
inline void add_classes(const RowsView& view, const TableView& table, const float* r, std::int64_t stride,
                        std::int64_t begin, std::int64_t end, float* sums) {
  with_adder(view, table, [&](const auto& rows, const auto& read) {
    using Table = std::decay_t<decltype(read)>;
    const int length = run_of<Table> ? run_of<Table> : read.width();
    TermList list;
    for (std::int64_t i = begin; i < end; ++i, r += stride) {
      const auto row = rows.row(i);
      const auto& terms = terms_of(row, read, static_cast<const float*>(sums), stride, list);
      for (std::int64_t k = 0; k < terms.size(); ++k) {
        const Term term = terms[k];
        float* into = sums + (term.weights - sums);
        for (int s = 0; s < length; ++s, into += stride) add_row(term.phi[s], r, stride, into);
      }
    }
  });
}

// The corners of a row's cell in the table of a pair, and their shares; none if a value has no position.
struct Corners {
  std::int64_t slot[4];
  float share[4];
  int count = 0;

  Corners(const PairsView& pairs, const std::uint8_t* codes, std::int64_t pair) {
    const std::int32_t first = pairs.axes[2 * pair], second = pairs.axes[2 * pair + 1];
    const unsigned a = codes[first], b = codes[second];
    if (a == PairsView::none || b == PairsView::none) return;
    const Place row(a, pairs.steps[first]), column(b, pairs.steps[second]);
    const std::int64_t width = pairs.sizes[second];
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        const float weight = (i ? row.share : 1.0f - row.share) * (j ? column.share : 1.0f - column.share);
        if (weight == 0.0f) continue;
        slot[count] = pairs.start[pair] + (row.position + i) * width + column.position + j;
        share[count++] = weight;
      }
    }
  }

 private:
  struct Place {
    std::int64_t position;
    float share;
    Place(unsigned code, unsigned steps)
        : position(code / steps), share(static_cast<float>(code % steps) / static_cast<float>(steps)) {}
  };
};

// out[i][p] += the tables' values at the rows of a range. `out` starts with row `begin`.
inline void read_pairs(const PairsView& pairs, const float* weights, std::int64_t stride, std::int64_t n_problems,
                       std::int64_t begin, std::int64_t end, double* out) {
  Scratch<float> scratch;
  float* sums = scratch.room(stride);
  for (std::int64_t i = begin; i < end; ++i, out += n_problems) {
    for (std::int64_t p = 0; p < stride; ++p) sums[p] = 0.0f;
    const std::uint8_t* codes = pairs.codes + i * pairs.n_axes;
    for (std::int64_t pair = 0; pair < pairs.n_pairs; ++pair) {
      const Corners corners(pairs, codes, pair);
      for (int k = 0; k < corners.count; ++k) {
        add_row(corners.share[k], weights + corners.slot[k] * stride, stride, sums);
      }
    }
    for (std::int64_t p = 0; p < n_problems; ++p) out[p] += static_cast<double>(sums[p]);
  }
}

// sums[slot][p] += sum_i r_ip times the row's shares. `r` starts with row `begin`.
inline void add_pairs(const PairsView& pairs, const float* r, std::int64_t stride, std::int64_t begin, std::int64_t end,
                      float* sums) {
  for (std::int64_t i = begin; i < end; ++i, r += stride) {
    const std::uint8_t* codes = pairs.codes + i * pairs.n_axes;
    for (std::int64_t pair = 0; pair < pairs.n_pairs; ++pair) {
      const Corners corners(pairs, codes, pair);
      for (int k = 0; k < corners.count; ++k) add_row(corners.share[k], r, stride, sums + corners.slot[k] * stride);
    }
  }
}

// histogram[cell][p] += r_ip, where the cell is that of two columns of bins. `r` starts with row `begin`.
inline void add_cells(const std::uint8_t* first, const std::uint8_t* second, std::int64_t width, const float* r,
                      std::int64_t stride, std::int64_t n_rows, float* histogram) {
  for (std::int64_t i = 0; i < n_rows; ++i) {
    add_row(1.0f, r + i * stride, stride, histogram + (first[i] * width + second[i]) * stride);
  }
}

}  // namespace kernline::KERNLINE_TARGET
