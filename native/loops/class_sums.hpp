// f_p(x) for many problems p at once: sum over the row's cells of phi(u) . W_j, with W laid out [feature][slot][problem],
// so that the weights of all problems are adjacent for a cell. For any rows and table, a cell becomes a term (a pointer to
// its weights, and phi). The sums are then one loop, with the sums of some problems in registers.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "loops/methods.hpp"
#include "loops/scratch.hpp"

namespace kernline::KERNLINE_TARGET {

struct Term {
  const float* weights;
  const float* phi;
};

// Numbers of phi per term; 0 if known only at run time.
template <class Table>
constexpr int run_of = 0;
template <int width>
constexpr int run_of<PairTable<width>> = 2;
template <>
constexpr int run_of<ValueTable> = 1;
template <>
constexpr int run_of<SquareTable> = 1;

// The terms of a row. phi(0) adds nothing to f in any method, so zeros are left out.
class TermList {
 public:
  template <class Row, class Table>
  void of(const Row& row, const Table& table, const float* weights, std::int64_t stride) {
    const std::int64_t n = row.size();
    begin_ = terms_.room(n);
    computed_ = numbers_.room(computes<Table> ? n * table.width() : 0);
    Term* next = begin_;
    for (std::int64_t k = 0; k < n; ++k) {
      const auto cell = row.cell(k);
      if (is_zero(cell)) continue;
      *next++ = term(table, cell, weights + row.column(k) * table.width() * stride, stride);
    }
    size_ = next - begin_;
  }
  // One term, whose phi is valid until the next.
  template <class Table, class Cell>
  Term one(const Table& table, Cell cell, const float* weights, std::int64_t stride) {
    computed_ = numbers_.room(computes<Table> ? table.width() : 0);
    return term(table, cell, weights, stride);
  }
  const Term& operator[](std::int64_t k) const { return begin_[k]; }
  std::int64_t size() const { return size_; }

 private:
  template <int width>
  Term term(const DenseTable<width>& table, unsigned code, const float* weights, std::int64_t) {
    return {weights, table.data + static_cast<std::int64_t>(code) * table.width()};
  }
  template <int width>
  Term term(const PairTable<width>& table, unsigned code, const float* weights, std::int64_t stride) {
    return {weights + (code >> table.shift()) * stride, table.pairs + 2 * (code & ((1u << table.shift()) - 1))};
  }
  Term term(const ValueTable&, float value, const float* weights, std::int64_t) { return {weights, keep(value)}; }
  Term term(const SquareTable&, float value, const float* weights, std::int64_t) {
    return {weights, keep(value * value)};
  }
  Term term(const PowersTable& table, const float* payload, const float* weights, std::int64_t) {
    const float* phi = keep(1.0f);
    for (int k = 1; k < table.width(); ++k) keep(computed_[-1] * payload[0]);
    return {weights, phi};
  }

  // If phi is not in a table, it is computed and stored as long as the terms.
  template <class Table>
  static constexpr bool computes = run_of<Table> == 1 || std::is_same_v<Table, PowersTable>;
  const float* keep(float x) {
    *computed_ = x;
    return computed_++;
  }

  Scratch<Term> terms_;
  Scratch<float> numbers_;
  Term* begin_ = nullptr;
  float* computed_ = nullptr;
  std::int64_t size_ = 0;
};

// If a term is as fast to compute as to look up, no list is stored: hats in packed words, whose leading bits are the slot...
struct PackedTerms {
  const PackedRows<std::uint32_t, 8>::Row& row;
  const PairTable<16>& table;
  const float* weights;
  std::int64_t stride;
  Term operator[](std::int64_t k) const {
    return {weights + (row.words[k] >> 4) * stride, table.pairs + std::size_t{2} * (row.words[k] & 15)};
  }
  std::int64_t size() const { return row.length; }
};

// ... and the linear kernel on dense values.
struct ValueTerms {
  const DenseRows<float>::Row& row;
  const float* weights;
  std::int64_t stride;
  Term operator[](std::int64_t k) const { return {weights + k * stride, row.cells + k}; }
  std::int64_t size() const { return row.length; }
};

template <class Row, class Table>
const TermList& terms_of(const Row& row, const Table& table, const float* weights, std::int64_t stride,
                         TermList& list) {
  list.of(row, table, weights, stride);
  return list;
}
inline PackedTerms terms_of(const PackedRows<std::uint32_t, 8>::Row& row, const PairTable<16>& table,
                            const float* weights, std::int64_t stride, TermList&) {
  return {row, table, weights, stride};
}
inline ValueTerms terms_of(const DenseRows<float>::Row& row, const ValueTable&, const float* weights,
                           std::int64_t stride, TermList&) {
  return {row, weights, stride};
}

template <int lanes>
struct Lanes {
  // GCC ignores this attribute of an alias declaration, because the size depends on a template parameter.
  typedef float Vector __attribute__((vector_size(4 * lanes)));  // NOLINT(modernize-use-using)
  static_assert(sizeof(Vector) == sizeof(float[lanes]));
};

// Sums of `lanes * vectors` problems. Terms alternate between a few sets of sums, so that additions do not wait.
template <int lanes, int vectors, int run, class Terms>
void add_terms(const Terms& terms, int run_time_run, std::int64_t stride, std::int64_t offset, float* out) {
  using Vector = typename Lanes<lanes>::Vector;
  constexpr int sets = vectors >= 4 ? 8 / vectors : 4;
  const int length = run ? run : run_time_run;
  Vector sum[sets][vectors] = {};
  const auto add = [&](const Term& term, Vector* into) {
    const float* weights = term.weights + offset;
    for (int r = 0; r < length; ++r, weights += stride) {
      for (int v = 0; v < vectors; ++v) {
        Vector w;
        std::memcpy(&w, weights + std::int64_t{v} * lanes, sizeof w);
        into[v] += w * term.phi[r];
      }
    }
  };
  const std::int64_t n = terms.size();
  std::int64_t k = 0;
  for (; k + sets <= n; k += sets) {
    for (int s = 0; s < sets; ++s) add(terms[k + s], sum[s]);
  }
  for (; k < n; ++k) add(terms[k], sum[0]);
  for (int v = 0; v < vectors; ++v) {
    for (int s = 1; s < sets; ++s) sum[0][v] += sum[s][v];
    std::memcpy(out + std::int64_t{v} * lanes, &sum[0][v], sizeof(Vector));
  }
}

// The sums of all problems, `stride` floats: a multiple of eight, or four.
template <int run, class Terms>
void class_sums(const Terms& terms, int run_time_run, std::int64_t stride, float* out) {
  std::int64_t p = 0;
  const auto add = [&]<int lanes, int vectors>() {
    constexpr std::int64_t at_once = std::int64_t{lanes} * vectors;
    for (; p + at_once <= stride; p += at_once) {
      add_terms<lanes, vectors, run>(terms, run_time_run, stride, p, out + p);
    }
  };
  add.template operator()<8, 8>();
  add.template operator()<8, 4>();
  add.template operator()<8, 2>();
  add.template operator()<8, 1>();
  add.template operator()<4, 1>();
}

}  // namespace kernline::KERNLINE_TARGET
