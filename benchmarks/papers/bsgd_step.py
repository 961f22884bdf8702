"""The minimum arithmetic of a step of budgeted SGD, in plain C: a matrix-vector product and exponentials."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# Support vectors are stored in blocks of 32, by feature, so that the sums of a block stay in registers.
SOURCE = """
#include <math.h>
#include <string.h>
typedef float Eight __attribute__((vector_size(32)));
float rows(const float *X, long n, long d, const float *A, long blocks, float gamma) {
  float total = 0;
  for (long i = 0; i < n; ++i) {
    for (long k = 0; k < blocks; ++k) {
      Eight sums[4] = {0};
      float products[32];
      for (long j = 0; j < d; ++j) {
        for (int v = 0; v < 4; ++v) {
          Eight cells;
          memcpy(&cells, A + (k * d + j) * 32 + 8 * v, sizeof cells);
          sums[v] += X[i * d + j] * cells;
        }
      }
      memcpy(products, sums, sizeof products);
      for (int b = 0; b < 32; ++b) total += expf(-gamma * fabsf(products[b]));
    }
  }
  return total;
}
"""


class Arithmetic:
    """One product of `vectors` with every row, and the exponentials of its values."""

    def __init__(self, X: NDArray[np.float32], vectors: NDArray[np.float32]) -> None:
        self._X = X
        n_blocks, d = -(-len(vectors) // 32), X.shape[1]
        padded = np.zeros((32 * n_blocks, d), np.float32)
        padded[: len(vectors)] = vectors
        self._blocks = np.ascontiguousarray(padded.reshape(n_blocks, 32, d).transpose(0, 2, 1))
        # Exponents of about -1: exponents that underflow take some libraries ten times as long.
        self._gamma = 1.0 / max(1e-30, float(np.abs(X[:1000] @ vectors.T).mean()))
        self._rows = _compiled().rows
        self._rows.restype = ctypes.c_float

    def run(self) -> float:
        """Return the sum of all results, so that the compiler removes nothing."""
        X, blocks = (array.ctypes.data_as(ctypes.POINTER(ctypes.c_float)) for array in (self._X, self._blocks))
        n, d, n_blocks = (ctypes.c_long(size) for size in (*self._X.shape, len(self._blocks)))
        return float(self._rows(X, n, d, blocks, n_blocks, ctypes.c_float(self._gamma)))


def _compiled() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        source, compiled, library = (Path(folder) / f"step.{ending}" for ending in ("c", "o", "so"))
        source.write_text(SOURCE)
        compiler = os.environ.get("CC", "cc")
        options = ["-O3", "-march=native", "-ffast-math", "-fPIC", "-c"]
        subprocess.run([compiler, *options, "-o", str(compiled), str(source)], check=True)
        # Linked without -ffast-math, with which GCC adds code that rounds subnormal numbers of the whole process to zero.
        subprocess.run([compiler, "-shared", "-o", str(library), str(compiled), "-lm"], check=True)
        return ctypes.CDLL(str(library))
