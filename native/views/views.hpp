// Plain views of the arrays that Python owns. The bindings fill them; the loops read them.
#pragma once

#include <cstdint>

namespace kernline {

// How the cells of a row are stored.
enum class RowKind : std::uint8_t {
  dense_codes8,     // uint8 code for every feature
  dense_codes16,    // uint16 code for every feature
  packed32_code8,   // one uint32 per non-zero: column << 8 | code
  packed32_code16,  // one uint32 per non-zero: column << 16 | code
  packed64_code16,  // one uint64 per non-zero: column << 16 | code, if that does not fit into 32 bits
  dense_values,     // float32 for every feature
  sparse_values32,  // float32 per non-zero, with int32 columns
  sparse_values64,  // float32 per non-zero, with int64 columns
  payload,          // several float32 per non-zero, precomputed from its value, with int32 columns
};

struct RowsView {
  RowKind kind;
  std::int64_t n_rows;
  std::int64_t n_features;
  const std::int64_t* row_start;  // n_rows + 1 offsets; null when dense
  const void* cells;              // codes, packed words or values
  const void* columns;            // only for sparse values and payloads
  int n_payload;                  // floats per non-zero, only for payloads
};

// How a table gives the vector of a code c.
enum class TableForm : std::uint8_t {
  dense,   // row c of an (n_codes, width) array
  pair,    // two adjacent non-zeros: at c >> shift and the next, weights pairs[c & mask]
  value,   // width 1: the cell is the value itself
  square,  // width 1: the square of the cell's value (read only: the linear kernel's K(x, x))
  powers,  // 1, l, l^2 ... of the cell's first payload l
  nodes,   // A m, with m the cell's other payloads: the kernel at the nodes
};

struct TableView {
  TableForm form;
  int width;
  int shift;          // pair: see above; nodes: how many entries of m are constant, 0 or 1
  const float* data;  // dense: (n_codes, width); pair: (1 << shift, 2); nodes: the constant entry, then A
};

// The weights of one or more problems: slot s of problem p is data[s * stride + p]. There is one slot more than the features
// have, because a pair table may read it.
struct WeightsView {
  const float* data;
  std::int64_t stride;
  std::int64_t n_problems;
  const double* intercepts;
};

// A method is a pair of tables: read f_j(u) = phi(u) . W_j, write W_j += step psi(u).
struct MethodView {
  TableView read;
  TableView write;
};

}  // namespace kernline
