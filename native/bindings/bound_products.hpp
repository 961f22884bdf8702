// The products of products.hpp for Python: with size checks, split among threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "bindings/bound_arrays.hpp"
#include "host/dispatch.hpp"
#include "host/parallel.hpp"

namespace kernline {

// `weights` has width floats per feature and one more.
inline void read_members_of(const Rows& rows, const Table& table, const float* weights,
                            Vector<const std::int32_t> members, Vector<double> out, int n_threads) {
  const RowsView& view = rows.view();
  check_members(members, view.n_rows);
  require(out.size() == members.size(), "one number per row of the list");
  parallel_for(n_threads, static_cast<std::int64_t>(members.size()), [&](std::int64_t begin, std::int64_t end) {
    loops().read_members(view, table.view(), weights, members.data() + begin, end - begin, out.data() + begin);
  });
}

inline void read_members(const Rows& rows, const Table& table, Vector<const float> weights,
                         Vector<const std::int32_t> members, Vector<double> out, int n_threads) {
  table.check(rows);
  require(static_cast<std::int64_t>(weights.size()) == rows.view().n_features * table.view().width + 1,
          "weights: width floats per feature and one more");
  read_members_of(rows, table, weights.data(), members, out, n_threads);
}

// Lists are split into parts whose number depends only on the length of the list and of the sums, and the parts' sums are
// added in order: the result is the same for any number of threads. `add(begin, end, sums, part)` computes one part.
constexpr std::int64_t most_parts = 16;

template <class Sum, class F>
void add_in_parts(std::int64_t n, std::span<double> sums, std::int64_t rows_a_part, int n_threads, F&& add) {
  // Wide data has few parts: the sums must not take more memory than the data.
  const std::int64_t affordable = (std::int64_t{1} << 22) / static_cast<std::int64_t>(sums.size());
  const std::int64_t n_parts = std::clamp<std::int64_t>(std::min(n / rows_a_part, affordable), 1, most_parts);
  std::vector<std::vector<Sum>> partial(static_cast<std::size_t>(n_parts));
  parallel_for(std::min<int>(n_threads, static_cast<int>(n_parts)), n_parts,
               [&](std::int64_t first, std::int64_t last) {
                 for (std::int64_t part = first; part < last; ++part) {
                   auto& into = partial[static_cast<std::size_t>(part)];
                   into.assign(sums.size(), Sum{0});
                   add(n * part / n_parts, n * (part + 1) / n_parts, into.data(), part);
                 }
               });
  for (const auto& part : partial) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += part[k];
  }
}

inline void check_adder(const Rows& rows, const Table& table, const Vector<const std::int32_t>& members) {
  table.check(rows);
  check_members(members, rows.view().n_rows);
  require(table.view().form != TableForm::powers && table.view().form != TableForm::square,
          "tables of this form cannot be added up");
}

inline void check_sums(const Rows& rows, const Table& table, const Vector<const std::int32_t>& members,
                       const Vector<double>& sums) {
  check_adder(rows, table, members);
  require(static_cast<std::int64_t>(sums.size()) == rows.view().n_features * table.view().width + 1,
          "sums: width numbers per feature and one more");
}

inline void add_members(const Rows& rows, const Table& table, Vector<const double> t,
                        Vector<const std::int32_t> members, Vector<double> sums, int n_threads) {
  check_sums(rows, table, members, sums);
  require(t.size() == members.size(), "one number per row of the list");
  add_in_parts<double>(static_cast<std::int64_t>(members.size()), {sums.data(), sums.size()}, 4096, n_threads,
                       [&](std::int64_t begin, std::int64_t end, double* into, std::int64_t) {
                         loops().add_members(rows.view(), table.view(), t.data() + begin, members.data() + begin,
                                             end - begin, into);
                       });
}

// The last entries of `weights` and `sums` belong to the intercept.
inline void add_image(const Rows& rows, const Table& table, Vector<const float> weights, Vector<const float> s,
                      Vector<const std::int32_t> members, Vector<double> sums, int n_threads) {
  check_sums(rows, table, members, sums);
  require(weights.size() == sums.size() && s.size() == members.size(),
          "one weight per sum, one factor per row of the list");
  double totals[most_parts] = {};
  add_in_parts<float>(static_cast<std::int64_t>(members.size()), {sums.data(), sums.size()}, 512, n_threads,
                      [&](std::int64_t begin, std::int64_t end, float* into, std::int64_t part) {
                        totals[part] = loops().add_image(rows.view(), table.view(), weights.data(),
                                                         weights.data()[weights.size() - 1], s.data() + begin,
                                                         members.data() + begin, end - begin, into);
                      });
  for (const double total : totals) sums.data()[sums.size() - 1] += total;
}

// `sums` has a row and a column for each slot and one more, for the intercept, which are left alone, as is all above the
// diagonal. Threads share its rows, by columns of the data: about as many products each, and no sum depends on how many.
inline void add_products(const Rows& rows, const Table& table, Vector<const double> t,
                         Vector<const std::int32_t> members, Matrix<double> sums, int n_threads) {
  check_adder(rows, table, members);
  require(t.size() == members.size(), "one number per row of the list");
  const std::int64_t n_columns = rows.view().n_features, size = n_columns * table.view().width + 1;
  require(std::cmp_equal(sums.shape(0), size) && std::cmp_equal(sums.shape(1), size),
          "sums: width numbers per feature and one more, squared");
  const std::int64_t n_shares = std::clamp<std::int64_t>(std::min<std::int64_t>(n_threads, n_columns), 1, 256);
  const auto first_column = [&](std::int64_t share) {
    const double below = std::sqrt(static_cast<double>(share) / static_cast<double>(n_shares));
    return static_cast<std::int64_t>(std::llround(static_cast<double>(n_columns) * below));
  };
  parallel_for(static_cast<int>(n_shares), n_shares, [&](std::int64_t begin, std::int64_t end) {
    loops().add_products(rows.view(), table.view(), t.data(), members.data(), static_cast<std::int64_t>(members.size()),
                         first_column(begin), first_column(end), size, sums.data());
  });
}

}  // namespace kernline
