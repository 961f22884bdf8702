"""PmSVM that computes ln(x + 0.05) and M_p(c, x) in every epoch instead of storing them (Wu 2012, section 4.4).

Rows keep a value and a column, 8 bytes; a block of rows is computed, visited once and dropped. It is not an option of the
library, because PmSVM-LUT stores as little and computes nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernline import tables, training
from kernline.array_types import Matrix
from kernline.datasets import Dataset
from kernline.encoding import EncodedData
from kernline.kernels import AdditiveKernel
from kernline.solvers import Problem
from kernline.solvers.descent import core_solver, in_slices

COST = 0.01
ROWS_A_BLOCK = 1000


@dataclass
class BlockEpochs:
    """Algorithm 3 in the order of the rows, one block after another: β and W carry over from block to block."""

    problem: Problem
    block: Callable[[slice], EncodedData]  # rows with all that a visit needs
    n_bytes: int  # kept from one epoch to the next

    def __post_init__(self) -> None:
        """Start at zero."""
        self.beta = np.zeros(self.problem.n_rows)
        self.weights = np.zeros(self.problem.scales.size * self.problem.pair.width, np.float32)

    def run(self) -> None:
        """One epoch."""
        whole = self.problem
        for begin in range(0, whole.n_rows, ROWS_A_BLOCK):
            rows = slice(begin, min(begin + ROWS_A_BLOCK, whole.n_rows))
            part = replace(
                whole,
                data=self.block(rows),
                targets=whole.targets[rows],
                cost=whole.cost[rows],
                curvature=whole.curvature[rows],
            )
            core = core_solver(part, seed=0, shuffle=False)
            core.set_beta(self.beta[rows])
            core.set_weights(self.weights, 0.0)
            in_slices(core.sweep, threading.Event())
            core.copy_beta(self.beta[rows])
            core.copy_weights(self.weights)


def of_values(X: Matrix, kernel: AdditiveKernel, signs: NDArray[np.float64], *, store: bool) -> BlockEpochs:
    """PmSVM on X, whose columns have a maximum of one; what a visit needs is stored, or computed block by block."""
    values, pair = sp.csr_array(X, dtype=np.float32), tables.PmSVM(shortcut=True).build(kernel)
    data = EncodedData(values.shape, values.data, values.indptr.astype(np.int64), values.indices)
    payload = pair.payload
    assert payload is not None
    norms = np.add.reduceat(np.append(payload.norms(data.cells), 0.0), data.row_start[:-1]) * (
        np.diff(values.indptr) > 0
    )

    def complete(part: EncodedData) -> EncodedData:
        return replace(part, payload=payload.compute(part.cells, write=True))

    kept = complete(data) if store else data
    problem = Problem(kept, pair, np.ones(X.shape[1]), signs, np.full(signs.size, COST), norms, intercept_square=0.0)
    return BlockEpochs(problem, kept.__getitem__ if store else lambda rows: complete(kept[rows]), kept.nbytes)


def of_codes(X: Matrix, kernel: AdditiveKernel, signs: NDArray[np.float64]) -> BlockEpochs:
    """PmSVM-LUT on X."""
    intercept = training.Intercept(fit=False)
    settings = training.AdditiveSettings(kernel, tables.PolynomialGradient(), gamma=1.0, intercept=intercept)
    rows = training.encode(X, settings)
    return BlockEpochs(rows.problem(signs, np.full(signs.size, COST)), rows.data.__getitem__, rows.data.nbytes)


def measure_variants(data: Dataset, kernel: AdditiveKernel, n_epochs: int) -> dict[str, list[float]]:
    """By variant: seconds before the first epoch, and of an epoch (processor time), and bytes per non-zero value."""
    X, signs = data.X_train, np.where(data.y_train == np.unique(data.y_train)[0], 1.0, -1.0)
    variants: dict[str, Callable[[], BlockEpochs]] = {
        "stored": lambda: of_values(X, kernel, signs, store=True),
        "computed in every epoch": lambda: of_values(X, kernel, signs, store=False),
        "looked up (PmSVM-LUT)": lambda: of_codes(X, kernel, signs),
    }
    found = {}
    for name, begin in variants.items():
        start = time.process_time()
        epochs = begin()
        begun = time.process_time()
        for _ in range(n_epochs):
            epochs.run()
        seconds = (time.process_time() - begun) / n_epochs
        found[name] = [begun - start, seconds, epochs.n_bytes / np.count_nonzero(sp.csr_array(X).data)]
    return found
