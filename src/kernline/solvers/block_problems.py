"""Problems on rows that come in blocks, of which memory holds one or two at a time (blockwise.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..array_types import Array
from ..encoding import EncodedData
from ..losses import Loss
from ..tables import TablePair, linear_pair
from .intercept import Centring, MeanCurve, first_intercept_of_labels, free_square
from .problem import KernelMean, Problem

Features = Callable[[slice], NDArray[np.float32]]
Rows = slice | NDArray[np.int64]


class Targets(Protocol):
    """An array of t_i, or what computes those of some rows when it is indexed."""

    def __getitem__(self, rows: slice | NDArray[np.integer], /) -> Array: ...


class Block(NamedTuple):
    """Rows in memory. `norms` are K(x, x), centred if there is a mean, without the intercept's constant."""

    rows: Rows
    data: EncodedData
    norms: Array
    mean: KernelMean | None

    def some(self, places: NDArray[np.int64]) -> Block:
        """Some of the rows, by their place in the block."""
        rows = places + self.rows.start if isinstance(self.rows, slice) else self.rows[places]
        mean = None if self.mean is None else self.mean.of(places.astype(np.int32))
        return Block(rows, self.data[places], self.norms[places], mean)

    @staticmethod
    def joined(blocks: list[Block]) -> Block:
        """Rows of several blocks that `some` returned."""
        first = blocks[0].mean
        mean = None
        if first is not None:
            products = np.concatenate([block.mean.products for block in blocks if block.mean is not None])
            mean = KernelMean(products, first.square)
        return Block(
            np.concatenate([np.asarray(block.rows) for block in blocks]),
            EncodedData.joined([block.data for block in blocks]),
            np.concatenate([block.norms for block in blocks]),
            mean,
        )


# Blocks in this order, one at a time; the next one may be read ahead.
Visits = Callable[[Sequence[slice]], Iterator[Block]]


@dataclass(frozen=True)
class BlockProblems:
    """Problems on the same rows, each with its `targets` and loss, of a symmetric pair of tables.

    `mean_norm` is the mean of K(x, x), centred if there is a `mean` of the rows.
    """

    visits: Visits
    blocks: list[slice]
    pair: TablePair
    scales: Array
    targets: Sequence[Targets]
    cost: Targets
    n_rows: int
    intercept_square: float
    losses: Sequence[Loss]
    free_intercept: bool = False
    mean_norm: float = 1.0
    mean: MeanCurve | None = None
    beta_type: DTypeLike = np.float32

    @classmethod
    def of_features(
        cls,
        features: Features,
        blocks: list[slice],
        width: int,
        targets: Sequence[Targets],
        cost: Array,
        intercept_square: float,
        loss: Loss,
        free_intercept: bool = False,
        mean_norm: float = 1.0,
    ) -> BlockProblems:
        """Problems of a linear kernel on features that are computed one block at a time."""

        def visits(order: Sequence[slice]) -> Iterator[Block]:
            for rows in order:
                values = features(rows)
                norms = np.einsum("ij,ij->i", values, values).astype(np.float64)
                yield Block(rows, EncodedData(values.shape, values), norms, None)

        return cls(
            visits=visits,
            blocks=blocks,
            pair=linear_pair(),
            scales=np.ones(width),
            targets=targets,
            cost=cost,
            n_rows=cost.size,
            intercept_square=intercept_square,
            losses=[loss] * len(targets),
            free_intercept=free_intercept,
            mean_norm=mean_norm,
            beta_type=np.float64,
        )

    def problem(self, block: Block, number: int, factor: float) -> Problem:
        """One problem on one block of rows, with costs times a factor."""
        return Problem(
            data=block.data,
            pair=self.pair,
            scales=self.scales,
            targets=self.targets[number][block.rows],
            cost=factor * self.cost[block.rows],
            curvature=block.norms + self.square,
            intercept_square=self.square,
            loss=self.losses[number],
            mean=block.mean,
        )

    @property
    def square(self) -> float:
        """The constant that the kernel gains while blocks are solved (intercept.py)."""
        return free_square(np.array([self.mean_norm])) if self.free_intercept else self.intercept_square

    def weights(self, sums: Array) -> Array:
        """W of Σ_i β_i φ(x_i) = `sums`."""
        slots = sums[:-1].reshape(self.scales.size, -1)
        return ((slots if self.pair.gram is None else slots @ self.pair.gram) * self.scales[:, None]).ravel()

    def start(self, number: int) -> Centring | None:
        """Where the centre of a free intercept starts: at the best b for f = 0, if targets are labels."""
        if not self.free_intercept:
            return None
        centring, loss = Centring.of_norms(np.array([self.mean_norm])), self.losses[number]
        if loss.targets == "numbers":
            ends = [(float(t.min()), float(t.max())) for t in map(self.targets[number].__getitem__, self.blocks)]
            centring.reach = max(high for _, high in ends) - min(low for low, _ in ends) or 1.0
            return centring
        cost = np.zeros(2)
        for rows in self.blocks:
            is_positive = self.targets[number][rows] > 0.0
            cost += self.cost[rows][is_positive].sum(), self.cost[rows][~is_positive].sum()
        centring.first = first_intercept_of_labels(loss, cost)
        return centring
