"""A fit to a Dataset that is larger than memory: its parts are read one by one (solvers/blockwise.py)."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..array_types import Array
from ..class_signs import costs
from ..encoding import EncodedData
from ..mapped.dataset import Dataset
from ..memory import check_memory
from ..native import row_norms
from ..solvers import BlockProblems, Blockwise, SolveResult, Targets
from ..solvers.block_problems import Block
from ..solvers.intercept import MeanCurve, centred, mean_curve, saves
from ..training import (
    AdditiveRows,
    AdditiveSettings,
    KernelScaling,
    KernelSummary,
    kernel_scaling,
    pair_of_encoded,
    relative_scales,
)
from .importances import sampled_rows
from .progress import FitProgress

if TYPE_CHECKING:
    from ..mapped.checkpoint import CheckpointFile
    from ..tables import TablePair
    from .training_data import AnyTrainingData


class PartsFit:
    """The problems of `data`, whose X is a Dataset, and a sample of its rows for what a model keeps of them."""

    def __init__(self, data: AnyTrainingData, settings: AdditiveSettings) -> None:
        assert isinstance(data.X, Dataset)
        self.data, self.settings, self.dataset = data, settings, data.X
        sample = self.dataset[:1]
        self.pair: TablePair = pair_of_encoded(sample, settings)
        if not self.pair.symmetric:
            raise ValueError(
                f"approximation={settings.approximation!r} cannot be trained part by part. Use approximation='hats', "
                "an explicit map or kernel='linear', or pass dataset.rows, all codes in memory, and dataset.y."
            )
        self.encoder = self.dataset.encoder
        n_rows, n_problems = self.dataset.n_rows, data.n_problems
        check_memory(
            f"Training {n_problems:,} problems on {n_rows:,} rows, part by part,",
            4.0 * n_rows * (1 + n_problems) + 8.0 * self.dataset.part_bytes,
            "Train fewer classes, or fewer rows.",
        )
        # K(x, x), which takes longer than to visit a row: 4 bytes per row, as the core has them.
        self.norms = np.empty(self.dataset.n_rows, dtype=np.float32)
        self.sample, self.scaling = self._first_pass()
        self.mean = self._mean()

    def _first_pass(self) -> tuple[EncodedData, KernelScaling]:
        """The mean of K(x, x), and a sample of the rows."""
        scales, weight = relative_scales(self.encoder), self.data.weight
        chosen = sampled_rows(self.dataset.n_rows)
        chosen = np.arange(self.dataset.n_rows) if isinstance(chosen, slice) else chosen
        found, sample = KernelSummary(), []

        def prepare(rows: slice, data: EncodedData) -> tuple[slice, EncodedData, Array]:
            return rows, data, row_norms(data, self.pair, scales, self.settings.n_threads)

        for rows, data, norms in self.dataset.read_ahead(self.dataset.parts, prepare):
            self.norms[rows] = norms
            found = found.merged(KernelSummary.of(norms, None if weight is None else weight[rows]))
            here = chosen[(chosen >= rows.start) & (chosen < rows.stop)] - rows.start
            sample.append(data[here])
        scaling = kernel_scaling(self.encoder, self.pair, self.settings, found)
        self.norms *= np.float32(scaling.factor)
        return EncodedData.joined(sample), scaling

    def _mean(self) -> MeanCurve | None:
        """The mean of the sample, if it helps (intercept.py)."""
        if not self.scaling.free_intercept:
            return None
        norms = row_norms(self.sample, self.pair, self.scaling.scales, 1)
        curve = mean_curve(self.sample, self.pair, self.scaling.scales, norms)
        return curve if curve is not None and saves(curve.of(self.sample, self.pair), norms) else None

    @property
    def rows(self) -> AdditiveRows:
        """The sample, as rows of a fit."""
        norms = row_norms(self.sample, self.pair, self.scaling.scales, 1) + self.scaling.intercept_square
        limits, booleans = self.dataset.limits
        return AdditiveRows(
            data=self.sample,
            encoder=self.encoder,
            pair=self.pair,
            gamma=self.scaling.gamma,
            scales=self.scaling.scales,
            norms=norms,
            intercept_square=self.scaling.intercept_square,
            free_intercept=self.scaling.free_intercept,
            mean=None,
            loss=self.settings.loss,
            limits=limits,
            booleans=booleans,
            sample_of=self.dataset.n_rows,
        )

    def solve(self, C: float, solver: Blockwise, progress: FitProgress) -> list[SolveResult]:
        """Solve all problems."""
        weights = self.data.weights
        cost = costs(C, weights[:1] if weights.strides == (0,) else weights)
        cost = np.broadcast_to(cost, weights.shape)
        norms = row_norms(self.sample, self.pair, self.scaling.scales, 1)
        if self.mean is not None:
            norms = centred(norms, self.mean.of(self.sample, self.pair).products, self.mean.square)
        problems = BlockProblems(
            visits=self._visits,
            blocks=self.dataset.parts,
            pair=self.pair,
            scales=self.scaling.scales,
            targets=self.data.targets,
            cost=cost,
            n_rows=self.dataset.n_rows,
            intercept_square=self.scaling.intercept_square,
            losses=self.data.losses_of(self.settings.loss),
            free_intercept=self.scaling.free_intercept,
            mean_norm=float(norms.mean()) or 1.0,
            mean=self.mean,
        )
        watches = [progress.problem(index) for index in range(self.data.n_problems)]
        checkpoint = self._checkpoint(C, solver, problems)
        results = solver.solve(problems, watches, threading.Event(), checkpoint)
        for watch, result in zip(watches, results, strict=True):
            watch.end(result)
        if checkpoint is not None and not any(result.stopped for result in results):
            checkpoint.remove()
        return results

    def _checkpoint(self, C: float, solver: Blockwise, problems: BlockProblems) -> CheckpointFile | None:
        """The file that the Dataset names; the fit is identified by all that its result depends on but tolerances."""
        if self.dataset.checkpoint is None:
            return None
        from ..mapped.checkpoint import CheckpointFile

        settings, blocks = self.settings, problems.blocks
        fit = {
            "data": self.dataset.digest,
            "part_bytes": self.dataset.part_bytes,
            "kernel": repr(settings.kernel),
            "approximation": repr(settings.approximation),
            "gamma": settings.gamma,
            "C": C,
            "loss": repr(problems.losses),
            "intercept": repr(settings.intercept),
            "random_state": solver.seed,
            "y": _digest(problems.targets, blocks),
            "class_weight or sample_weight": _digest([problems.cost], blocks),
        }
        return CheckpointFile(self.dataset.checkpoint, fit)

    def _visits(self, order: Sequence[slice]) -> Iterator[Block]:
        return self.dataset.read_ahead(order, self._block)

    def _block(self, rows: slice, data: EncodedData) -> Block:
        """Codes with K(x, x), centred if there is a mean."""
        norms = self.norms[rows].astype(np.float64)
        if self.mean is None:
            return Block(rows, data, norms, None)
        mean = self.mean.of(data, self.pair, self.settings.n_threads)
        return Block(rows, data, centred(norms, mean.products, mean.square), mean)


def _digest(vectors: Sequence[Targets], blocks: Sequence[slice]) -> str:
    """A SHA-256 of vectors that are read block by block."""
    hashed = hashlib.sha256()
    for rows in blocks:
        for values in vectors:
            hashed.update(np.ascontiguousarray(values[rows]).data)
    return hashed.hexdigest()
