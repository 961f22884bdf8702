// What the fuzzer's bytes stand for, for targets whose input is arrays: choices first, then numbers. After the last byte a
// generator goes on, seeded by all of them, so that few bytes are enough for arrays of any size. Most inputs are small
// problems, ten microseconds each; a few, by a hash that the fuzzer cannot steer, are large.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "views/random.hpp"
#include "views/views.hpp"

namespace kernline::fuzz {

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// `size` is the sum of the sizes of the terms that `found` is made of, in single precision.
inline void require_near(double found, double expected, double size, const char* what) {
  if (std::abs(found - expected) <= 1e-4 * (1.0 + size)) return;
  std::fprintf(stderr, "%s: %.9g where %.9g is expected\n", what, found, expected);
  std::abort();
}

class Draw {
 public:
  Draw(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size), random_(0) {
    std::uint64_t seed = size;
    for (std::size_t k = 0; k < size; ++k) seed = (seed ^ data[k]) * 0x100000001b3u;
    random_ = Random(seed);
    large_ = random_.next() >> 57 == 0;  // one of 128
  }

  bool large() const { return large_; }
  // A number of things: up to `few`, or `many` if the problem is large.
  template <class T = std::int64_t>
  T some(std::int64_t few, std::int64_t many) {
    return between<T>(1, large_ ? many : few);
  }

  std::uint8_t byte() { return next_ < end_ ? *next_++ : static_cast<std::uint8_t>(random_.next() >> 56); }
  bool flip() { return byte() & 1; }
  // From `low` to `high`, both included, at most 256 apart.
  template <class T = std::int64_t>
  T between(std::int64_t low, std::int64_t high) {
    return static_cast<T>(low + byte() % (high - low + 1));
  }
  std::uint64_t bits(int n_bytes) {
    std::uint64_t word = 0;
    for (int k = 0; k < n_bytes; ++k) word = word << 8 | byte();
    return word;
  }
  // In steps of 1/64, from -2 to 2: sums of a few are exact, and equal ones are frequent.
  float number() { return static_cast<float>(static_cast<std::int8_t>(byte())) / 64.0f; }
  // Anything that a double can be.
  double any_number() {
    static constexpr double some[] = {0.0,
                                      -0.0,
                                      1.0,
                                      -1.0,
                                      0.5,
                                      1e-300,
                                      5e-324,
                                      1e18,
                                      -1e18,
                                      1e39,
                                      1.7e308,
                                      -1.7e308,
                                      std::numeric_limits<double>::quiet_NaN(),
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity()};
    const unsigned choice = byte();
    if (choice < 64) return some[choice % std::size(some)];
    return choice < 224 ? static_cast<double>(number()) : std::bit_cast<double>(bits(8));
  }
  std::vector<float> numbers(std::size_t n) {
    std::vector<float> drawn(n);
    for (float& value : drawn) value = number();
    return drawn;
  }

 private:
  const std::uint8_t *next_, *end_;
  Random random_;
  bool large_ = false;
};

// The slots of one feature.
struct Slots {
  std::array<double, 16> values{};
  std::size_t n;

  explicit Slots(int width) : n(static_cast<std::size_t>(width)) {}
  std::size_t size() const { return n; }
  double& operator[](std::size_t k) { return values[k]; }
  double operator[](std::size_t k) const { return values[k]; }
};

// phi of a cell in double precision, spread over all slots of its feature: what `methods.hpp` says, without its loops.
struct DrawnTable {
  TableView view{};
  std::vector<float> data;
  unsigned n_codes = 0;

  DrawnTable() = default;
  DrawnTable(Draw& draw, TableForm form) {
    view.form = form;
    if (form == TableForm::dense) {
      view.width = draw.flip() ? 16 : draw.between<int>(1, 5);
      n_codes = draw.some<unsigned>(12, 200);
      data = draw.numbers(n_codes * static_cast<std::size_t>(view.width));
      for (int k = 0; k < view.width; ++k) data[static_cast<std::size_t>(k)] = 0.0f;  // phi(0) = 0
    } else if (form == TableForm::pair) {
      view.width = draw.flip() ? 16 : draw.between<int>(2, 8);
      view.shift = view.width == 16 && draw.flip() ? 4 : draw.between<int>(0, 4);
      const unsigned steps = 1u << view.shift;
      n_codes = static_cast<unsigned>(view.width - 1) * steps + 1;
      for (unsigned t = 0; t < steps; ++t) {
        const float share = static_cast<float>(t) / static_cast<float>(steps);
        data.insert(data.end(), {1.0f - share, share});
      }
    } else if (form == TableForm::nodes || form == TableForm::powers) {
      view.width = draw.between<int>(1, 4);
      if (form == TableForm::nodes) {
        view.shift = draw.flip();
        data = draw.numbers(1 + static_cast<std::size_t>(view.width * view.width));
      }
    } else {
      view.width = 1;
    }
    view.data = data.data();
  }
  DrawnTable(const DrawnTable& other) : view(other.view), data(other.data), n_codes(other.n_codes) {
    view.data = data.data();
  }
  DrawnTable& operator=(const DrawnTable&) = delete;

  Slots phi(unsigned code, const float* payload) const {
    Slots slots(view.width);
    switch (view.form) {
      case TableForm::dense:
        for (std::size_t k = 0; k < slots.size(); ++k) slots[k] = data[code * slots.size() + k];
        break;
      case TableForm::pair: {
        const std::size_t position = code >> view.shift, t = code & ((1u << view.shift) - 1);
        if (code == 0) break;  // zeros are left out
        slots[position] = data[2 * t];
        if (position + 1 < slots.size()) slots[position + 1] = data[2 * t + 1];
        break;
      }
      case TableForm::value: slots[0] = *payload; break;
      case TableForm::square: slots[0] = static_cast<double>(*payload) * *payload; break;
      case TableForm::powers:
        for (std::size_t k = 0; k < slots.size(); ++k) slots[k] = k ? slots[k - 1] * *payload : 1.0;
        break;
      case TableForm::nodes:
        for (std::size_t r = 0; r < slots.size(); ++r) {
          for (std::size_t t = 0; t < slots.size(); ++t) {
            const bool constant = view.shift && t == 0;
            const double m = constant ? data[0] : payload[1 + t - static_cast<std::size_t>(view.shift)];
            slots[r] += data[1 + r * slots.size() + t] * m;
          }
        }
        break;
    }
    return slots;
  }
};

// Rows of any kind that a table of this form reads, in arrays without a byte to spare.
struct DrawnRows {
  RowsView view{};
  std::vector<std::uint8_t> codes8;
  std::vector<std::uint16_t> codes16;
  std::vector<std::uint32_t> words32;
  std::vector<std::uint64_t> words64;
  std::vector<float> values;
  std::vector<std::int32_t> columns32;
  std::vector<std::int64_t> columns64, row_start;

  struct Cell {
    std::int64_t column;
    unsigned code;         // of a table of codes
    const float* payload;  // else
  };

  DrawnRows(Draw& draw, TableForm form, unsigned n_codes, int n_payload = 1) {
    const bool of_codes = form == TableForm::dense || form == TableForm::pair;
    const bool of_payloads = form == TableForm::powers || form == TableForm::nodes;
    view.kind = of_codes      ? draw.between<RowKind>(n_codes > 256 ? 3 : 0, 4)
                : of_payloads ? RowKind::payload
                              : draw.between<RowKind>(5, 7);
    if (n_codes > 256 && draw.flip()) view.kind = RowKind::dense_codes16;
    view.n_rows = draw.some(8, 160);
    view.n_features = draw.some(4, 20);
    view.n_payload = of_payloads ? n_payload : 0;
    const bool dense =
        view.kind == RowKind::dense_codes8 || view.kind == RowKind::dense_codes16 || view.kind == RowKind::dense_values;
    const std::int64_t most = draw.between(1, 4);  // one cell of so many is left out, or zero
    const auto most_cells = static_cast<std::size_t>(view.n_rows * view.n_features);
    cells_.reserve(most_cells);
    row_start.reserve(static_cast<std::size_t>(view.n_rows) + 1);
    row_start.push_back(0);
    for (std::int64_t i = 0; i < view.n_rows; ++i) {
      for (std::int64_t j = 0; j < view.n_features; ++j) {
        const bool zero = most > 1 && draw.between(1, most) == 1;
        if (zero && !dense) continue;
        add_cell(draw, j, zero, n_codes, n_payload);
      }
      row_start.push_back(static_cast<std::int64_t>(cells_.size()));
    }
    point(dense);
  }
  DrawnRows(const DrawnRows&) = delete;

  std::span<const Cell> cells(std::int64_t i) const {
    const auto row = static_cast<std::size_t>(i);
    return {cells_.data() + row_start[row], cells_.data() + row_start[row + 1]};
  }

 private:
  void add_cell(Draw& draw, std::int64_t j, bool zero, unsigned n_codes, int n_payload) {
    const auto code = static_cast<unsigned>(zero || n_codes == 0 ? 0 : draw.bits(n_codes > 256 ? 2 : 1) % n_codes);
    switch (view.kind) {
      case RowKind::dense_codes8: codes8.push_back(static_cast<std::uint8_t>(code)); break;
      case RowKind::dense_codes16: codes16.push_back(static_cast<std::uint16_t>(code)); break;
      case RowKind::packed32_code8: words32.push_back(static_cast<std::uint32_t>(j << 8 | code)); break;
      case RowKind::packed32_code16: words32.push_back(static_cast<std::uint32_t>(j << 16 | code)); break;
      case RowKind::packed64_code16: words64.push_back(static_cast<std::uint64_t>(j) << 16 | code); break;
      default:
        for (int k = 0; k < n_payload; ++k) values.push_back(zero ? 0.0f : draw.number());
        columns32.push_back(static_cast<std::int32_t>(j));
        columns64.push_back(j);
    }
    cells_.push_back({j, code, nullptr});
  }

  // Once nothing moves any more.
  void point(bool dense) {
    const std::size_t n_payload = view.n_payload ? static_cast<std::size_t>(view.n_payload) : 1;
    codes8.shrink_to_fit();
    codes16.shrink_to_fit();
    words32.shrink_to_fit();
    words64.shrink_to_fit();
    values.shrink_to_fit();
    columns32.shrink_to_fit();
    columns64.shrink_to_fit();
    if (!values.empty())
      for (std::size_t k = 0; k < cells_.size(); ++k) cells_[k].payload = values.data() + k * n_payload;
    view.row_start = dense ? nullptr : row_start.data();
    switch (view.kind) {
      case RowKind::dense_codes8: view.cells = codes8.data(); break;
      case RowKind::dense_codes16: view.cells = codes16.data(); break;
      case RowKind::packed32_code8:
      case RowKind::packed32_code16: view.cells = words32.data(); break;
      case RowKind::packed64_code16: view.cells = words64.data(); break;
      case RowKind::sparse_values64: view.columns = columns64.data(); [[fallthrough]];
      default: view.cells = values.data();
    }
    if (view.kind == RowKind::sparse_values32 || view.kind == RowKind::payload) view.columns = columns32.data();
  }

  std::vector<Cell> cells_;
};

// Weights for all slots and one more. Those of u = 0 are zero, as psi(0) is: some loops read them.
inline std::vector<float> drawn_weights(Draw& draw, const DrawnRows& rows, const DrawnTable& table,
                                        std::int64_t stride) {
  const std::int64_t n_slots = rows.view.n_features * table.view.width;
  std::vector<float> weights = draw.numbers(static_cast<std::size_t>((n_slots + 1) * stride));
  if (table.view.form == TableForm::pair)
    for (std::int64_t slot = 0; slot < n_slots; slot += table.view.width)
      for (std::int64_t p = 0; p < stride; ++p) weights[static_cast<std::size_t>(slot * stride + p)] = 0.0f;
  return weights;
}

// f of row i in double precision, and the sum of the sizes of its terms. `stride` and `problem` as in WeightsView.
struct Value {
  double f = 0.0, size = 0.0;
};
template <class Weight>
Value value_of(const DrawnRows& rows, const DrawnTable& table, std::int64_t i, const Weight* weights,
               std::int64_t stride = 1, std::int64_t problem = 0) {
  Value value;
  for (const auto& cell : rows.cells(i)) {
    const Slots phi = table.phi(cell.code, cell.payload);
    for (std::size_t k = 0; k < phi.size(); ++k) {
      const auto slot = cell.column * table.view.width + static_cast<std::int64_t>(k);
      const double term = phi[k] * static_cast<double>(weights[slot * stride + problem]);
      value.f += term;
      value.size += std::abs(term);
    }
  }
  return value;
}

}  // namespace kernline::fuzz
