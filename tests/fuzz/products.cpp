// libFuzzer's target for the loops that read: `make fuzz`. Decisions, contributions, products, tables of pairs and Gram
// matrices of any rows and tables are what a plain sum in double precision says.
#include <array>

#include "drawn.hpp"
#include "views/loops.hpp"

using namespace kernline;
using namespace kernline::fuzz;

namespace {

const Loops& loops = baseline::loops;

std::int64_t drawn_stride(Draw& draw, std::int64_t n_problems) {
  if (n_problems == 1 && draw.flip()) return 1;
  return n_problems <= 4 ? 4 : (n_problems + 7) / 8 * 8;
}

void check_decisions(Draw& draw, const DrawnRows& rows, const DrawnTable& table) {
  const std::int64_t n = rows.view.n_rows, n_problems = draw.flip() ? 1 : draw.some(10, 70);
  const std::int64_t stride = drawn_stride(draw, n_problems);
  const std::vector<float> weights = drawn_weights(draw, rows, table, stride);
  std::vector<double> intercepts(static_cast<std::size_t>(n_problems), 0.25);
  const WeightsView all{weights.data(), stride, n_problems, intercepts.data()};
  const std::int64_t begin = draw.between(0, n - 1);
  std::vector<double> out(static_cast<std::size_t>((n - begin) * n_problems));
  loops.decision(rows.view, table.view, all, begin, n, out.data());
  const std::int64_t n_cells = rows.row_start.back();
  std::vector<float> parts(static_cast<std::size_t>(n_cells * n_problems), 0.0f);
  loops.contributions(rows.view, table.view, all, 0, n, parts.data());
  for (std::int64_t i = begin; i < n; ++i)
    for (std::int64_t p = 0; p < n_problems; ++p) {
      const Value expected = value_of(rows, table, i, weights.data(), stride, p);
      require_near(out[static_cast<std::size_t>((i - begin) * n_problems + p)], 0.25 + expected.f, expected.size,
                   "decision");
      double sum = 0.0;
      for (auto k = rows.row_start[static_cast<std::size_t>(i)]; k < rows.row_start[static_cast<std::size_t>(i) + 1];
           ++k)
        sum += parts[static_cast<std::size_t>(k * n_problems + p)];
      require_near(sum, expected.f, expected.size, "contributions");
    }
}

std::vector<std::int32_t> drawn_members(Draw& draw, std::int64_t n_rows) {
  std::vector<std::int32_t> members(draw.some<std::size_t>(9, 41) - 1);
  for (auto& member : members) member = draw.between<std::int32_t>(0, n_rows - 1);
  return members;
}

void check_read_members(Draw& draw, const DrawnRows& rows, const DrawnTable& table) {
  const std::vector<float> weights = drawn_weights(draw, rows, table, 1);
  const std::vector<std::int32_t> members = drawn_members(draw, rows.view.n_rows);
  std::vector<double> out(members.size());
  loops.read_members(rows.view, table.view, weights.data(), members.data(), static_cast<std::int64_t>(members.size()),
                     out.data());
  for (std::size_t k = 0; k < members.size(); ++k) {
    const Value expected = value_of(rows, table, members[k], weights.data());
    require_near(out[k], expected.f, expected.size, "read_members");
  }
}

// X' t and X' S X w by the sums that define them, and X' R.
void check_sums(Draw& draw, const DrawnRows& rows, const DrawnTable& table) {
  const auto n_slots = static_cast<std::size_t>(rows.view.n_features * table.view.width);
  const std::vector<float> weights = drawn_weights(draw, rows, table, 1);
  const std::vector<std::int32_t> members = drawn_members(draw, rows.view.n_rows);
  const auto n = static_cast<std::int64_t>(members.size());
  const std::vector<float> s = draw.numbers(members.size());
  const std::vector<double> t(s.begin(), s.end());
  std::vector<double> sums(n_slots + 1), expected(n_slots + 1), size(n_slots + 1), image(n_slots + 1),
      image_size(n_slots + 1);
  loops.add_members(rows.view, table.view, t.data(), members.data(), n, sums.data());
  std::vector<float> images(n_slots + 1);
  const double total =
      loops.add_image(rows.view, table.view, weights.data(), 0.5f, s.data(), members.data(), n, images.data());
  double expected_total = 0.0, total_size = 0.0;
  for (std::size_t k = 0; k < members.size(); ++k) {
    const Value v = value_of(rows, table, members[k], weights.data());
    const double factor = t[k] * (v.f + 0.5);
    expected_total += factor;
    total_size += std::abs(t[k]) * (v.size + 0.5);
    for (const auto& cell : rows.cells(members[k])) {
      const Slots phi = table.phi(cell.code, cell.payload);
      for (std::size_t q = 0; q < phi.size(); ++q) {
        const std::size_t slot = static_cast<std::size_t>(cell.column * table.view.width) + q;
        expected[slot] += t[k] * phi[q];
        size[slot] += std::abs(t[k] * phi[q]);
        image[slot] += factor * phi[q];
        image_size[slot] += std::abs(t[k]) * (v.size + 0.5) * std::abs(phi[q]);
      }
    }
  }
  require_near(total, expected_total, total_size, "total of add_image");
  for (std::size_t slot = 0; slot < n_slots; ++slot) {
    // The slot of u = 0 is written where that is faster than to leave it out; nothing reads it.
    const bool free_slot = table.view.form == TableForm::pair && slot % static_cast<std::size_t>(table.view.width) == 0;
    if (free_slot) continue;
    require_near(sums[slot], expected[slot], size[slot], "add_members");
    require_near(images[slot], image[slot], image_size[slot], "add_image");
  }
  const std::int64_t stride = drawn_stride(draw, draw.some(9, 40)), begin = draw.between(0, rows.view.n_rows - 1);
  const std::vector<float> r = draw.numbers(static_cast<std::size_t>((rows.view.n_rows - begin) * stride));
  std::vector<float> by_class((n_slots + 1) * static_cast<std::size_t>(stride));
  loops.add_classes(rows.view, table.view, r.data(), stride, begin, rows.view.n_rows, by_class.data());
}

// X' T X of the slots of some columns, on and below the diagonal.
void check_products(Draw& draw, const DrawnRows& rows, const DrawnTable& table) {
  const std::int64_t width = table.view.width, n_columns = rows.view.n_features, n_slots = n_columns * width;
  if (n_slots > 100) return;
  const std::vector<std::int32_t> members = drawn_members(draw, rows.view.n_rows);
  const std::vector<float> numbers = draw.numbers(members.size());
  const std::vector<double> t(numbers.begin(), numbers.end());
  const std::int64_t first = draw.between<std::int64_t>(0, n_columns), end = draw.between(first, n_columns);
  const auto stride = static_cast<std::size_t>(n_slots + 1);
  std::vector<double> sums(stride * stride), expected(stride * stride), size(stride * stride);
  loops.add_products(rows.view, table.view, t.data(), members.data(), static_cast<std::int64_t>(members.size()), first,
                     end, n_slots + 1, sums.data());
  for (std::size_t k = 0; k < members.size(); ++k) {
    std::vector<double> phi(stride);
    for (const auto& cell : rows.cells(members[k])) {
      const Slots slots = table.phi(cell.code, cell.payload);
      for (std::size_t q = 0; q < slots.size(); ++q) phi[static_cast<std::size_t>(cell.column * width) + q] = slots[q];
    }
    for (auto a = static_cast<std::size_t>(first * width); a < static_cast<std::size_t>(end * width); ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        expected[a * stride + b] += t[k] * phi[a] * phi[b];
        size[a * stride + b] += std::abs(t[k] * phi[a] * phi[b]);
      }
  }
  for (std::size_t k = 0; k < sums.size(); ++k) require_near(sums[k], expected[k], size[k], "add_products");
}

void check_rows(Draw& draw) {
  const auto form = draw.between<TableForm>(0, 4);
  const DrawnTable table(draw, form);
  const DrawnRows rows(draw, form, table.n_codes);
  check_decisions(draw, rows, table);
  check_read_members(draw, rows, table);
  if (form != TableForm::powers && form != TableForm::square) {
    check_sums(draw, rows, table);
    check_products(draw, rows, table);
  }
}

// The tables of pairs, against bilinear interpolation; `places` are those of codes that the bindings allow.
void check_pairs(Draw& draw) {
  const std::int64_t n_rows = draw.some(6, 20), n_axes = draw.between(1, 4), n_pairs = draw.some(3, 5);
  std::vector<std::int32_t> sizes(static_cast<std::size_t>(n_axes)), axes(static_cast<std::size_t>(2 * n_pairs));
  std::vector<unsigned> steps(static_cast<std::size_t>(n_axes));
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    sizes[a] = draw.between<std::int32_t>(1, 6);
    steps[a] = draw.between<unsigned>(1, 8);
  }
  for (auto& axis : axes) axis = draw.between<std::int32_t>(0, n_axes - 1);
  std::vector<Place> places(256 * sizes.size());
  for (std::size_t a = 0; a < sizes.size(); ++a)
    for (unsigned code = 0; code < 256; ++code)
      places[256 * a + code] = {code == PairsView::none ? -1 : static_cast<std::int32_t>(code / steps[a]),
                                static_cast<float>(code % steps[a]) / static_cast<float>(steps[a])};
  std::vector<std::int64_t> start = {0};
  for (std::size_t k = 0; std::cmp_less(k, n_pairs); ++k)
    start.push_back(start.back() + std::int64_t{sizes[static_cast<std::size_t>(axes[2 * k])]} *
                                       sizes[static_cast<std::size_t>(axes[2 * k + 1])]);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(n_rows * n_axes));
  for (std::size_t k = 0; k < codes.size(); ++k) {
    const std::size_t a = k % sizes.size();
    const unsigned last = static_cast<unsigned>(sizes[a] - 1) * steps[a];
    codes[k] = draw.between(0, 9) == 0 ? PairsView::none : draw.between<std::uint8_t>(0, last);
  }
  const PairsView pairs{codes.data(), n_rows, n_axes, places.data(), sizes.data(), axes.data(), start.data(), n_pairs};
  const std::int64_t n_problems = draw.some(9, 20), stride = drawn_stride(draw, n_problems);
  const std::vector<float> weights = draw.numbers(static_cast<std::size_t>((start.back() + 1) * stride));
  std::vector<double> out(static_cast<std::size_t>(n_rows * n_problems));
  loops.read_pairs(pairs, weights.data(), stride, n_problems, 0, n_rows, out.data());
  const std::vector<float> r = draw.numbers(static_cast<std::size_t>(n_rows * stride));
  std::vector<float> sums(static_cast<std::size_t>((start.back() + 1) * stride));
  loops.add_pairs(pairs, r.data(), stride, 0, n_rows, sums.data());
  // X' R and X W are adjoint: the inner products <X W, R> and <W, X' R> are equal.
  double one = 0.0, other = 0.0, size = 0.0;
  for (std::int64_t i = 0; i < n_rows; ++i)
    for (std::int64_t p = 0; p < n_problems; ++p)
      one += out[static_cast<std::size_t>(i * n_problems + p)] *
             static_cast<double>(r[static_cast<std::size_t>(i * stride + p)]);
  for (std::int64_t slot = 0; slot < start.back(); ++slot)
    for (std::int64_t p = 0; p < n_problems; ++p) {
      const auto at = static_cast<std::size_t>(slot * stride + p);
      other += static_cast<double>(weights[at]) * static_cast<double>(sums[at]);
      size += std::abs(static_cast<double>(weights[at]) * static_cast<double>(sums[at]));
    }
  require_near(one, other, size, "read_pairs and add_pairs");
  const std::int64_t width = draw.between(1, 5);
  std::vector<std::uint8_t> first(static_cast<std::size_t>(n_rows)), second(static_cast<std::size_t>(n_rows));
  for (auto& bin : first) bin = draw.between<std::uint8_t>(0, 3);
  for (auto& bin : second) bin = draw.between<std::uint8_t>(0, width - 1);
  std::vector<float> histogram(static_cast<std::size_t>(4 * width * stride));
  loops.add_cells(first.data(), second.data(), width, r.data(), stride, n_rows, histogram.data());
}

double kernel_value(GramKernel kernel, double u, double v) {
  if (u == 0.0 || v == 0.0) return 0.0;
  switch (kernel.kind) {
    case GramKind::chi2: return 2.0 * u * v / (u + v);
    case GramKind::intersection: return std::fmin(u, v);
    case GramKind::jensen_shannon: return 0.5 * u * std::log2((u + v) / u) + 0.5 * v * std::log2((u + v) / v);
    case GramKind::power_mean: return std::pow(0.5 * (std::pow(u, kernel.p) + std::pow(v, kernel.p)), 1.0 / kernel.p);
  }
  return 0.0;
}

void check_gram(Draw& draw) {
  const GramKernel kernel{draw.between<GramKind>(0, 3), -static_cast<double>(draw.between(1, 16))};
  const std::int64_t n = draw.some(4, 6), m = draw.some(9, 20);
  std::vector<double> x(static_cast<std::size_t>(n * m)), companions(x.size()), out(static_cast<std::size_t>(n * n));
  std::vector<std::int64_t> row_start = {0}, columns;
  std::vector<double> values, value_companions;
  for (std::size_t k = 0; k < x.size(); ++k) {
    x[k] = draw.flip() ? std::abs(static_cast<double>(draw.number())) : 0.0;
    companions[k] = x[k] > 0.0 ? std::log2(x[k]) : 0.0;
    if (x[k] > 0.0) {
      columns.push_back(static_cast<std::int64_t>(k) % m);
      values.push_back(x[k]);
      value_companions.push_back(companions[k]);
    }
    if (std::cmp_equal(k % static_cast<std::size_t>(m), m - 1))
      row_start.push_back(static_cast<std::int64_t>(columns.size()));
  }
  const DensePoints dense{n, m, x.data(), companions.data()};
  const SparsePoints sparse{n, m, row_start.data(), columns.data(), values.data(), value_companions.data()};
  loops.gram_dense(kernel, dense, dense, 0, n, out.data());
  std::vector<double> scratch(static_cast<std::size_t>(2 * m)), by_columns(out.size());
  loops.gram_sparse(kernel, sparse, sparse, 0, n, scratch.data(), by_columns.data());
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < n; ++k) {
      double sum = 0.0;
      for (std::int64_t j = 0; j < m; ++j)
        sum += kernel_value(kernel, x[static_cast<std::size_t>(i * m + j)], x[static_cast<std::size_t>(k * m + j)]);
      require_near(out[static_cast<std::size_t>(i * n + k)], sum, sum, "gram_dense");
      require_near(by_columns[static_cast<std::size_t>(i * n + k)], sum, sum, "gram_sparse");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Draw draw(data, size);
  const unsigned choice = draw.byte() % 8;
  if (choice == 0) {
    check_gram(draw);
  } else if (choice == 1) {
    check_pairs(draw);
  } else {
    check_rows(draw);
  }
  return 0;
}
