"""How close the loops are to what the machine allows: ``python -m benchmarks.roofline`` writes docs/roofline.md.

Two bounds are measured in the same run, on one thread: how fast memory is read in order, and an empty loop, a pass over
the same cells that only adds them up. Each loop of the core is then timed on the same rows: on few rows that fit into
the cache, where instructions are the bound, and on all rows, where memory is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kernline import _core, datasets, kernels
from kernline.native import decision, native_table, slots_of
from kernline.solvers.descent import core_solver
from kernline.training import AdditiveRows, AdditiveSettings, encode

from .measure import machine, table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "roofline.md"
NOTES = Path(__file__).with_name("roofline_notes.md")
_FEW_ROWS = 500
# Short loops are repeated until the cache and the branch predictor are warm.
_ROUNDS, _ROUNDS_OF_FEW = 5, 100


def main() -> None:
    """Measure, print and write the page."""
    lines = [machine(), "", *_bounds()]
    data = datasets.load("mnist")
    for kernel in ("chi2", "linear"):
        prepared = encode(data.X_train, AdditiveSettings(kernels.get(kernel)))
        lines += [
            "",
            f"### {_title(kernel, prepared)}",
            "",
            _table_of(prepared, np.where(data.y_train == 8, 1.0, -1.0)),
        ]
    text = "\n".join(lines)
    print(text)
    PAGE.write_text("# What limits the loops\n\n" + _INTRODUCTION + "\n" + text + "\n\n" + NOTES.read_text())


_INTRODUCTION = """Written by `python -m benchmarks.roofline`, which measures all numbers in the tables on one thread.
"""


def _title(kernel: str, prepared: AdditiveRows) -> str:
    layout = "words of 4 bytes" if prepared.data.columns is None else "float32 values with int32 columns, 8 bytes"
    return f"MNIST, {kernel}: {prepared.data.n_rows:,} rows, {prepared.data.n_cells:,} non-zeros, {layout} per non-zero"


def _bounds() -> list[str]:
    large = np.ones(50_000_000, dtype=np.uint32)
    stream = large.nbytes / _best(large.sum) / 1e9
    order = np.random.default_rng(0).permutation(large.size // 160).astype(np.int64)
    rows = large[: order.size * 160].reshape(-1, 160)
    random = rows.nbytes / _best(lambda: rows[order[:100_000]].sum(), 3) / 1e9 * 100_000 / order.size
    return [
        f"- memory read in order: {stream:.1f} GB/s",
        f"- rows of 640 bytes copied and read in random order (NumPy): {random:.1f} GB/s",
    ]


def _best(work: Callable[[], Any], rounds: int = _ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _table_of(prepared: AdditiveRows, signs: np.ndarray) -> str:
    n_rows, few = prepared.data.n_rows, np.arange(_FEW_ROWS, dtype=np.int32)
    assert prepared.data.row_start is not None
    cells = {"few": int(prepared.data.row_start[_FEW_ROWS]), "all": prepared.data.n_cells}
    every = np.arange(n_rows, dtype=np.int32)
    shuffled = np.random.default_rng(0).permutation(every)
    rows = []
    for name, make in _loops(signs).items():
        in_cache = _best(make(prepared, few), _ROUNDS_OF_FEW) / cells["few"]
        in_order = _best(make(prepared, every)) / cells["all"]
        at_random = _best(make(prepared, shuffled)) / cells["all"] if name not in _ORDERED else np.nan
        bytes_moved = prepared.data.nbytes / cells["all"]
        rows.append(
            [
                name,
                *("" if np.isnan(value) else f"{1e9 * value:.2f}" for value in (in_cache, in_order, at_random)),
                f"{bytes_moved:.1f}",
                f"{bytes_moved / in_order / 1e9:.1f}",
            ]
        )
    return table(["loop", "ns in cache", "ns in order", "ns at random", "bytes per non-zero", "GB/s in order"], rows)


# Loops that only run over rows in order.
_ORDERED = ("empty loop", "predict, ten classes", "first epoch (own order)")


def _loops(signs: np.ndarray) -> dict[str, Callable[[AdditiveRows, np.ndarray], Callable[[], Any]]]:
    return {
        "empty loop": _empty,
        "read f(x)": _read,
        "write into W (float64)": _write(signs),
        "add φ up (float64)": _add,
        "image: read and add (float32)": _image,
        "first epoch (own order)": _epoch(signs),
        "predict, ten classes": _predict,
    }


def _empty(prepared: AdditiveRows, members: np.ndarray) -> Callable[[], Any]:
    assert prepared.data.row_start is not None
    stop = int(prepared.data.row_start[members.size])
    cells = prepared.data.cells[:stop].view(np.uint32)
    columns = prepared.data.columns
    return lambda: (cells.sum(), columns is not None and columns[:stop].view(np.uint32).sum())


def _weights(prepared: AdditiveRows) -> np.ndarray:
    size = prepared.data.n_columns * prepared.pair.width + 1
    return np.random.default_rng(0).normal(size=size).astype(np.float32)


def _read(prepared: AdditiveRows, members: np.ndarray) -> Callable[[], Any]:
    native, weights, out = native_table(prepared.pair.read), _weights(prepared), np.empty(members.size)
    return lambda: _core.read_members(prepared.data.native, native, weights, members, out, 1)


def _add(prepared: AdditiveRows, members: np.ndarray) -> Callable[[], Any]:
    native, t = native_table(prepared.pair.read), np.ones(members.size)
    sums = np.zeros(_weights(prepared).size)
    return lambda: _core.add_members(prepared.data.native, native, t, members, sums, 1)


def _image(prepared: AdditiveRows, members: np.ndarray) -> Callable[[], Any]:
    native, weights = native_table(prepared.pair.read), _weights(prepared)
    sums, factors = np.zeros(weights.size), np.ones(members.size, dtype=np.float32)
    return lambda: _core.add_image(prepared.data.native, native, weights, factors, members, sums, 1)


def _write(signs: np.ndarray) -> Callable[[AdditiveRows, np.ndarray], Callable[[], Any]]:
    def make(prepared: AdditiveRows, members: np.ndarray) -> Callable[[], Any]:
        core = core_solver(prepared.problem(signs[members], np.ones(members.size), members), 0, True)
        core.set_beta(0.5 * signs[members])
        return lambda: core.rebuild(1e9)

    return make


def _epoch(signs: np.ndarray) -> Callable[[AdditiveRows, np.ndarray], Callable[[], Any]]:
    def make(prepared: AdditiveRows, members: np.ndarray) -> Callable[[], Any]:
        problem = prepared.problem(signs[members], np.ones(members.size), members)
        cores = iter(
            [core_solver(problem, 0, True) for _ in range(_ROUNDS if members.size > _FEW_ROWS else _ROUNDS_OF_FEW)]
        )
        return lambda: next(cores).sweep(1e9)

    return make


def _predict(prepared: AdditiveRows, members: np.ndarray) -> Callable[[], Any]:
    assert prepared.data.row_start is not None
    n_rows, columns = members.size, prepared.data.columns
    stop = int(prepared.data.row_start[n_rows])
    part = replace(
        prepared.data,
        shape=(n_rows, prepared.data.n_columns),
        cells=prepared.data.cells[:stop],
        row_start=prepared.data.row_start[: n_rows + 1],
        columns=None if columns is None else columns[:stop],
    )
    weights = np.random.default_rng(0).normal(size=(10, part.n_columns, prepared.pair.width)).astype(np.float32)
    slots = slots_of(weights)
    return lambda: decision(part, prepared.pair.read, slots, np.zeros(10), 1)


if __name__ == "__main__":
    main()
