"""An intercept that is not penalised: min ½‖f‖² + Σ_i c_i ℓ(t_i, f(x_i) + b) over f and b.

Its dual has the constraint Σ β_i = 0, which coordinate steps cannot keep. So b is solved for by the proximal point method
(Rockafellar 1976): coordinate descent runs on the problem with the penalty (b − b0)² / 2s, whose kernel is K + s and whose
intercept is b = b0 + s Σ β_i. When that problem is solved well enough, b becomes the new centre b0. At the fixed point
Σ β_i = 0, whatever s is. A small s keeps the rows from sharing one long direction, along which coordinate descent is slow.

With h(b) the optimum over f for this b, each solved problem gives h′(b) = −Σ β_i. Two of them give the secant, and with it
a better centre than b alone.

The gap of a dual point is certified after `balance`, which makes Σ β_i = 0 by the smallest changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..array_types import Array
from .problem import Problem

# s as a fraction of the mean of K(x, x).
_SQUARE = 0.05
# The centre moves when the gap is at most this multiple of the penalty: more exact solutions are not worth their cost.
_SOLVED = 1.0
_GOAL = 1.0
# Longest step of the centre, in multiples of b − b0.
_LONGEST = 20.0


def penalty_scale(problem: Problem) -> float:
    """s: the constant that the kernel of coordinate descent gains."""
    if not problem.free_intercept:
        return problem.intercept_square
    return _SQUARE * (float(np.mean(problem.curvature)) or 1.0)


@dataclass
class Centring:
    """When the centre moves, and where to."""

    s: float
    energy: float  # K of a short row: what balancing costs
    last: tuple[float, float] | None = None  # b and Σβ when it last moved

    def next_centre(self, b: float, total: float, gap: float, goal: float) -> float | None:
        """The new centre for an intercept b with Σβ = `total`, or None if the problem is not solved well enough."""
        step = self.s * total  # b − b0
        if gap > max(_SOLVED * 0.5 * abs(step * total), _GOAL * goal) or total == 0.0:
            return None
        factor = 1.0
        if self.last is not None and self.last[1] != total:
            slope = (b - self.last[0]) / (self.last[1] - total)  # db / dΣβ, positive for a convex h
            if slope > 0.0:
                factor = min(max(slope / self.s, 0.0), _LONGEST)
        self.last = (b, total)
        return b + factor * step

    def infeasibility(self, total: float) -> float:
        """About how much the gap gains by balancing."""
        return 0.5 * self.energy * total * total

    def checked(self, estimate: float, total: float, exact: float) -> None:
        """Learn from an exact gap what balancing costs."""
        if total != 0.0:
            self.energy = float(np.clip(2.0 * (exact - estimate) / total**2, 0.1 * self.energy, 10.0 * self.energy))


def balance(beta: Array, low: Array, high: Array, K: Array) -> Array:
    """Return β with Σ β_i = 0 by changes that move f little: free rows first, each by at most λ / K(x_i, x_i)."""
    total = float(beta.sum())
    sign = np.sign(total)
    room = np.maximum(sign * beta, 0.0)  # towards zero
    free = (beta != 0.0) & (beta > low) & (beta < high)
    widen = np.where(np.isfinite(low if sign > 0 else high), np.abs(beta - (low if sign > 0 else high)), np.abs(beta))
    room = np.where(free, widen, 0.0)
    if room.sum() < abs(total):
        room = np.maximum(sign * beta, 0.0)
    return beta - sign * _fill(abs(total), room, 1.0 / np.maximum(K, 1e-30))


def _fill(total: float, room: Array, rate: Array) -> Array:
    """min(room_i, λ rate_i) with λ such that the sum is `total`."""
    if total <= 0.0:
        return np.zeros_like(room)
    order = np.argsort(room / rate)
    filled = np.append(0.0, np.cumsum(room[order]))
    open_rate = np.append(np.cumsum(rate[order][::-1])[::-1], 0.0)
    level = (room / rate)[order]
    reach = filled[:-1] + level * open_rate[:-1]
    k = min(int(np.searchsorted(reach, total)), room.size - 1)
    return np.minimum(room, rate * max(total - filled[k], 0.0) / open_rate[k])
