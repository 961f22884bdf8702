// The core without Python, for processors that the other tests do not run on: `make arm` runs it under qemu-user.
// Gram matrices and decisions are compared with their formulas, and the parser reads the corpus of its fuzzer.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "views/loops.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace kernline::baseline {
extern const Loops loops;
}

using namespace kernline;

namespace {

void require_near(double found, double expected, const char* what) {
  if (std::abs(found - expected) <= 1e-5 * (1.0 + std::abs(expected))) return;
  std::fprintf(stderr, "%s: %.9g where %.9g is expected\n", what, found, expected);
  std::exit(1);
}

double scalar(GramKernel kernel, double u, double v) {
  if (u == 0.0 || v == 0.0) return 0.0;
  switch (kernel.kind) {
    case GramKind::chi2: return 2.0 * u * v / (u + v);
    case GramKind::intersection: return std::fmin(u, v);
    case GramKind::jensen_shannon: return 0.5 * u * std::log2((u + v) / u) + 0.5 * v * std::log2((u + v) / v);
    case GramKind::power_mean: return std::pow(0.5 * (std::pow(u, kernel.p) + std::pow(v, kernel.p)), 1.0 / kernel.p);
  }
  return 0.0;
}

// What the loop needs from each value alone, as kernels.py defines it.
double companion(GramKernel kernel, double u) {
  const bool needs_log = kernel.kind == GramKind::jensen_shannon || kernel.kind == GramKind::power_mean;
  return !needs_log ? u : u > 0.0 ? std::log2(u) : 0.0;
}

void test_gram(GramKernel kernel) {
  constexpr std::int64_t n = 7, m = 37;
  std::mt19937 random(1);
  std::vector<double> x(n * m), companions(n * m), out(n * n);
  for (std::size_t k = 0; k < x.size(); ++k) {
    x[k] = random() % 3 ? static_cast<double>(random() % 1000) / 500.0 : 0.0;
    companions[k] = companion(kernel, x[k]);
  }
  const DensePoints points{n, m, x.data(), companions.data()};
  baseline::loops.gram_dense(kernel, points, points, 0, n, out.data());
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < m; ++k)
        sum += scalar(kernel, x[static_cast<std::size_t>(i * m + k)], x[static_cast<std::size_t>(j * m + k)]);
      require_near(out[static_cast<std::size_t>(i * n + j)], sum, "gram");
    }
}

// f(x) of dense codes and a dense table: the sum of table[code] . W over the features.
void test_decision(std::int64_t n_problems) {
  constexpr std::int64_t n = 5, m = 11;
  constexpr int width = 4, codes = 32;
  std::mt19937 random(2);
  const auto uniform = [&] { return static_cast<float>(random() % 2000) / 1000.0f - 1.0f; };
  std::vector<std::uint8_t> cells(n * m);
  for (auto& cell : cells) cell = static_cast<std::uint8_t>(random() % codes);
  std::vector<float> table(codes * width);
  for (auto& value : table) value = uniform();
  for (int k = 0; k < width; ++k) table[static_cast<std::size_t>(k)] = 0.0f;  // code 0 is the value zero
  const std::int64_t stride = (n_problems + 15) / 16 * 16;
  std::vector<float> weights(static_cast<std::size_t>((m * width + 1) * stride + 16));
  for (auto& weight : weights) weight = uniform();
  std::vector<double> intercepts(static_cast<std::size_t>(n_problems), 0.25);
  std::vector<double> out(static_cast<std::size_t>(n * n_problems));
  const RowsView rows{RowKind::dense_codes8, n, m, nullptr, cells.data(), nullptr, 0};
  const WeightsView all{weights.data(), stride, n_problems, intercepts.data()};
  baseline::loops.decision(rows, {TableForm::dense, width, 0, table.data()}, all, 0, n, out.data());
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t p = 0; p < n_problems; ++p) {
      double sum = 0.25;
      for (std::int64_t j = 0; j < m; ++j)
        for (int k = 0; k < width; ++k)
          sum += static_cast<double>(
                     table[static_cast<std::size_t>(cells[static_cast<std::size_t>(i * m + j)] * width + k)]) *
                 static_cast<double>(weights[static_cast<std::size_t>((j * width + k) * stride + p)]);
      require_near(out[static_cast<std::size_t>(i * n_problems + p)], sum, "decision");
    }
}

}  // namespace

int main(int argc, char** argv) {
  for (const GramKind kind : {GramKind::chi2, GramKind::intersection, GramKind::jensen_shannon, GramKind::power_mean})
    test_gram({kind, -8.0});
  for (const std::int64_t n_problems : {1, 3, 10, 40}) test_decision(n_problems);
  for (int k = 1; k < argc; ++k) {
    std::ifstream file(argv[k], std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("the core works, with the loops for %s; %d files were parsed\n", baseline::loops.target, argc - 1);
}
