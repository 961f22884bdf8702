"""The arithmetic that a step of budgeted SGD cannot do without, in plain C: a matrix-vector product and exponentials."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# Support vectors lie by features, so that the inner loop runs over them whatever their number; `room` has one float for each.
SOURCE = """
#include <math.h>
float rows(const float *X, long n, long d, const float *A, long B, float gamma, float *restrict room) {
  float total = 0;
  for (long i = 0; i < n; ++i) {
    for (long b = 0; b < B; ++b) room[b] = 0;
    for (long j = 0; j < d; ++j) {
      const float x = X[i * d + j];
      const float *column = A + j * B;
      for (long b = 0; b < B; ++b) room[b] += x * column[b];
    }
    for (long b = 0; b < B; ++b) total += expf(-gamma * fabsf(room[b]));
  }
  return total;
}
"""


class Arithmetic:
    """One product of `vectors` with every row, and the exponentials of its values."""

    def __init__(self, X: NDArray[np.float32], vectors: NDArray[np.float32]) -> None:
        self._X, self._columns = X, np.ascontiguousarray(vectors.T)
        # Exponents of about -1: those that underflow take some libraries ten times as long.
        self._gamma = 1.0 / max(1e-30, float(np.abs(X[:1000] @ self._columns).mean()))
        self._room = np.empty(len(vectors), np.float32)
        self._rows = _compiled().rows
        self._rows.restype = ctypes.c_float

    def run(self) -> float:
        """Return a sum of all, so that nothing is left out."""
        pointer = ctypes.POINTER(ctypes.c_float)
        X, columns, room = (array.ctypes.data_as(pointer) for array in (self._X, self._columns, self._room))
        n, d = (ctypes.c_long(size) for size in self._X.shape)
        return float(self._rows(X, n, d, columns, ctypes.c_long(self._room.size), ctypes.c_float(self._gamma), room))


def _compiled() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "step.c", Path(folder) / "step.so"
        source.write_text(SOURCE)
        command = [os.environ.get("CC", "cc"), "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
        subprocess.run([*command, "-o", str(library), str(source), "-lm"], check=True)
        return ctypes.CDLL(str(library))
