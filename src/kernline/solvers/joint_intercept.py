"""Intercepts of a joint problem that are not penalised: one for each class.

As for one problem (intercept.py), descent runs with the penalty Σ_k (b_k − b0_k)² / 2s, and the centres b0 follow b.
The dual constraint is Σ_i β_ik = 0 for every class. `balance` makes a point that satisfies it from the current one, for
the certificate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..array_types import Array
from .intercept import Centring

# Newton's method in `balance`: most steps, the longest step of a logarithm, and the imbalance left, relative to Σ|β|.
_STEPS, _LONGEST, _PRECISION = 50, 2.0, 1e-9
# Where rows between their bounds do not suffice, rows at a bound leave it by this fraction of their cost.
_LEAVE = 1e-2


def first_intercepts(labels: NDArray[np.int32], cost: Array, n_classes: int) -> Array:
    """The best b for f = 0: a class with more than half of the costs is ahead of the others by 1."""
    mass = np.bincount(labels, weights=cost, minlength=n_classes)
    b = np.where(mass > 0.5 * mass.sum(), 1.0, 0.0)
    return b - b.mean()


class Centrings:
    """Where the centres of all classes go, and what Σ_i β_ik ≠ 0 costs."""

    def __init__(self, norms: Array, cost: Array, n_classes: int) -> None:
        self.each = [Centring.of_norms(norms, float(np.mean(cost))) for _ in range(n_classes)]
        self.s = self.each[0].s

    def next_centres(self, b: Array, totals: Array, gap: float) -> Array | None:
        """The new centres for intercepts b with Σ_i β_ik = `totals`, or None if these do not keep the gap open."""
        if gap > self.imbalance(totals):
            return None
        moved = [each.next_centre(b[k], totals[k], 0.0) for k, each in enumerate(self.each)]
        return np.array([b[k] if centre is None else centre for k, centre in enumerate(moved)])

    def restart(self) -> None:
        """Forget where the centres were: the problem has changed."""
        for each in self.each:
            each.restart()

    def imbalance(self, totals: Array) -> float:
        """About how much balancing adds to the gap."""
        return float(sum(each.imbalance(total) for each, total in zip(self.each, totals, strict=True)))

    def compare(self, estimate: float, totals: Array, exact: float) -> None:
        """Learn from an exact gap, after balancing, what that costs."""
        length = float(np.sqrt(totals @ totals))
        for each in self.each:
            each.compare(estimate, length, exact)


def balance(beta: NDArray[np.float32], labels: NDArray[np.int32], cost: Array) -> NDArray[np.float32]:
    """Return β with Σ_i β_ik = 0 for every class k, within the bounds and with Σ_k β_ik = 0, near the given β.

    With p_ik = c_i [k = y_i] − β_ik ≥ 0, which sum to c_i over the classes, the p of every class are multiplied by a
    number and those of every row divided by their sum: of all p with the right sums, these are nearest in relative
    entropy. Where p is zero it stays zero, unless that makes the sums impossible.
    """
    totals = beta.sum(axis=0, dtype=np.float64)
    allowed = _PRECISION * float(np.abs(beta).sum(dtype=np.float64))
    if not np.isfinite(totals).all() or np.abs(totals).max() <= allowed:
        return beta
    for leave in (0.0, _LEAVE):
        found = _scaled(beta, labels, cost, totals, leave, allowed)
        if found is not None:
            return found
    return np.zeros_like(beta)


def _scaled(
    beta: NDArray[np.float32], labels: NDArray[np.int32], cost: Array, totals: Array, leave: float, allowed: float
) -> NDArray[np.float32] | None:
    """β balanced by Newton's method on the logarithms of the factors; None if that fails."""
    rows = np.flatnonzero(beta[np.arange(labels.size), labels] > 0.0)  # the others have β = 0
    number = np.arange(rows.size)
    p = -beta[rows].astype(np.float64)
    p[number, labels[rows]] += cost[rows]
    goal = p.sum(axis=0) + totals
    np.maximum(p, 0.0, out=p)
    p[number, labels[rows]] = np.maximum(p[number, labels[rows]], leave * cost[rows])
    share = p / cost[rows, None]  # of a row's cost
    share /= share.sum(axis=1, keepdims=True)
    logs = np.zeros(totals.size)
    for _ in range(_STEPS):
        factors = np.exp(logs - logs.max())
        q = share * factors
        q /= q.sum(axis=1, keepdims=True)
        weighted = q * cost[rows, None]
        excess = weighted.sum(axis=0) - goal
        if np.abs(excess).max() <= allowed:
            balanced = np.zeros_like(beta)
            weighted[number, labels[rows]] = 0.0
            balanced[rows] = -weighted
            balanced[rows, labels[rows]] = weighted.sum(axis=1)
            return balanced
        hessian = np.diag(weighted.sum(axis=0)) - weighted.T @ q
        step = np.linalg.lstsq(hessian, -excess, rcond=1e-12)[0]
        longest = float(np.abs(step).max())
        if not 0.0 < longest < np.inf:
            return None
        logs += step * min(1.0, _LONGEST / longest)
    return None
