"""Losses ℓ(t, f): the cost of the value f for a row with target t.

Every solver solves

    min_f ½‖f‖² + Σ_i c_i ℓ(t_i, f(x_i)),        f = Σ_i β_i K(x_i, ·)

by way of its dual, max_β Σ_i d_i(β_i) − ½ βᵀKβ with d_i(β) = −c_i ℓ*(t_i, −β / c_i), where ℓ* is the convex conjugate
of ℓ in f. The optimum has β_i = −c_i ℓ′(t_i, f(x_i)). For a label t = ±1 and the hinge, t β is the α of the SVM.

| loss | ℓ(t, f) | d(β) | on |
|---|---|---|---|
| hinge | max(0, 1 − tf) | tβ | 0 ≤ tβ ≤ c |
| squared hinge | max(0, 1 − tf)² | tβ − β²/4c | tβ ≥ 0 |
| logistic | log(1 + exp(−tf)) | c H(tβ/c), the binary entropy | 0 ≤ tβ ≤ c |
| ε-insensitive | max(0, abs(t − f) − ε) | tβ − ε abs(β) | abs(β) ≤ c |
| squared ε-insensitive | max(0, abs(t − f) − ε)² | tβ − ε abs(β) − β²/4c | all β |
| squared error | (t − f)² | tβ − β²/4c | all β |

The dual coordinate steps are those of Hsieh et al. (ICML 2008) for the hinges, Yu, Huang and Lin (Machine Learning,
2011) for the logistic loss, and Ho and Lin (JMLR, 2012) for regression. These losses are also in the core
(native/loops/losses.hpp). A loss that is not, such as your own, is solved by Newton's method, which needs only NumPy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .array_types import Array


@dataclass(frozen=True)
class Loss(ABC):
    """A convex function ℓ(t, f) of a value f, with its conjugate. All methods take arrays, one entry per row.

    Examples
    --------
    >>> from kernline import losses
    >>> losses.get("hinge"), isinstance(losses.get("hinge"), losses.Loss)
    (Hinge(), True)
    """

    name: ClassVar[str]
    targets: ClassVar[Literal["labels", "numbers"]]  # t is ±1, or any number
    smooth: ClassVar[bool]  # whether ℓ has a derivative everywhere; if not, `step` makes it smooth
    in_core: ClassVar[bool] = False

    @abstractmethod
    def value(self, t: Array, f: Array) -> Array:
        """ℓ(t, f)."""

    @abstractmethod
    def gradient(self, t: Array, f: Array) -> Array:
        """dℓ/df; at a jump, the value of either side."""

    @abstractmethod
    def curvature(self, t: Array, f: Array) -> Array:
        """d²ℓ/df²; zero where ℓ is linear."""

    @abstractmethod
    def conjugate(self, t: Array, s: Array) -> Array:
        """ℓ*(t, s) = sup_f s f − ℓ(t, f), for s within the bounds."""

    @abstractmethod
    def bounds(self, t: Array, c: Array) -> tuple[Array, Array]:
        """Lowest and highest β for which the conjugate is finite."""

    @abstractmethod
    def unbounded_step(self, t: Array, c: Array, beta: Array, f: Array, K: Array) -> Array:
        """The exact coordinate step before it is cut to the bounds."""

    def step(self, t: Array, c: Array, beta: Array, f: Array, K: Array) -> Array:
        """The exact coordinate step: argmax over β′ of d(β′) − f (β′ − β) − ½ K (β′ − β)², for K > 0."""
        return np.clip(self.unbounded_step(t, c, beta, f, K), *self.bounds(t, c))

    def dual(self, t: Array, c: Array, beta: Array) -> Array:
        """d(β) = −c ℓ*(t, −β / c): each row's term of the dual objective."""
        return -c * self.conjugate(t, -beta / c)

    def gap(self, t: Array, c: Array, beta: Array, f: Array) -> Array:
        """Each row's share of primal − dual: c ℓ(t, f) − d(β) + β f. Not negative, by the Fenchel–Young inequality."""
        return np.maximum(c * self.value(t, f) - self.dual(t, c, beta) + beta * f, 0.0)

    def is_idle(self, t: Array, f: Array) -> NDArray[np.bool_]:
        """Rows whose loss and gradient are zero at f and at all values within 1 of it."""
        return np.zeros(f.shape, dtype=bool)

    @property
    def epsilon_or_zero(self) -> float:
        """The only parameter that losses of the core have."""
        return float(getattr(self, "epsilon", 0.0))


@dataclass(frozen=True)
class _LabelLoss(Loss):
    """A loss of the margin t f."""

    targets: ClassVar[Literal["labels", "numbers"]] = "labels"

    def bounds(self, t: Array, c: Array) -> tuple[Array, Array]:
        """0 ≤ t β ≤ c."""
        signed = t * c
        return np.minimum(signed, 0.0), np.maximum(signed, 0.0)


@dataclass(frozen=True)
class Hinge(_LabelLoss):
    """max(0, 1 − t f): the support vector machine.

    Examples
    --------
    >>> from kernline import losses
    >>> float(losses.Hinge().value(1.0, 0.5))
    0.5
    """

    name: ClassVar[str] = "hinge"
    smooth: ClassVar[bool] = False
    in_core: ClassVar[bool] = True

    def value(self, t: Array, f: Array) -> Array:
        """max(0, 1 − t f)."""
        return np.maximum(1.0 - t * f, 0.0)

    def gradient(self, t: Array, f: Array) -> Array:
        """−t where t f < 1."""
        return np.where(t * f < 1.0, -t, 0.0)

    def curvature(self, t: Array, f: Array) -> Array:
        """Zero."""
        return np.zeros_like(f)

    def conjugate(self, t: Array, s: Array) -> Array:
        """t s."""
        return t * s

    def gap(self, t: Array, c: Array, beta: Array, f: Array) -> Array:
        """(c − α) m for m = 1 − t f > 0, −α m otherwise."""
        margin, alpha = 1.0 - t * f, t * beta
        return np.where(margin > 0.0, c - alpha, -alpha) * margin

    def unbounded_step(self, t: Array, c: Array, beta: Array, f: Array, K: Array) -> Array:
        """α ← α + (1 − t f) / K, times t. In place: Newton's line search calls it often, on all rows."""
        step = t - f
        step /= K
        step += beta
        return step

    def is_idle(self, t: Array, f: Array) -> NDArray[np.bool_]:
        """t f ≥ 2."""
        return 1.0 - t * f <= -1.0


@dataclass(frozen=True)
class SquaredHinge(_LabelLoss):
    """max(0, 1 − t f)².

    Examples
    --------
    >>> from kernline import losses
    >>> float(losses.SquaredHinge().value(1.0, 0.5))
    0.25
    """

    name: ClassVar[str] = "squared_hinge"
    smooth: ClassVar[bool] = True
    in_core: ClassVar[bool] = True

    def value(self, t: Array, f: Array) -> Array:
        """max(0, 1 − t f)²."""
        return np.maximum(1.0 - t * f, 0.0) ** 2

    def gradient(self, t: Array, f: Array) -> Array:
        """−2 t max(0, 1 − t f)."""
        excess = np.maximum(1.0 - t * f, 0.0)
        excess *= -2.0 * t
        return excess

    def curvature(self, t: Array, f: Array) -> Array:
        """2 where t f < 1."""
        return np.where(t * f < 1.0, 2.0, 0.0)

    def conjugate(self, t: Array, s: Array) -> Array:
        """t s + s² / 4."""
        return t * s + 0.25 * s * s

    def bounds(self, t: Array, c: Array) -> tuple[Array, Array]:
        """t β ≥ 0."""
        return np.where(t > 0.0, 0.0, -np.inf), np.where(t > 0.0, np.inf, 0.0)

    def gap(self, t: Array, c: Array, beta: Array, f: Array) -> Array:
        """c (m − α/2c)² for m = 1 − t f > 0, α²/4c − α m otherwise."""
        margin, half = 1.0 - t * f, t * beta / (2.0 * c)
        return np.where(margin > 0.0, c * (margin - half) ** 2, t * beta * (0.5 * half - margin))

    def unbounded_step(self, t: Array, c: Array, beta: Array, f: Array, K: Array) -> Array:
        """α ← (K α + 1 − t f) / (K + 1/2c), times t."""
        return (K * beta + t - f) / (K + 0.5 / c)

    def is_idle(self, t: Array, f: Array) -> NDArray[np.bool_]:
        """t f ≥ 2."""
        return 1.0 - t * f <= -1.0


@dataclass(frozen=True)
class Logistic(_LabelLoss):
    """log(1 + exp(−t f)): f is the logarithm of the odds of t = 1.

    Examples
    --------
    >>> from kernline import losses
    >>> round(float(losses.Logistic().value(1.0, 0.0)), 3)
    0.693
    """

    name: ClassVar[str] = "log"
    smooth: ClassVar[bool] = True
    in_core: ClassVar[bool] = True

    def value(self, t: Array, f: Array) -> Array:
        """log(1 + exp(−t f)), at a third of the time of NumPy's logaddexp."""
        margin = t * f
        return np.log1p(np.exp(-np.abs(margin))) - np.minimum(margin, 0.0)

    def gradient(self, t: Array, f: Array) -> Array:
        """−t / (1 + exp(t f))."""
        with np.errstate(over="ignore"):
            return -t / (1.0 + np.exp(t * f))

    def curvature(self, t: Array, f: Array) -> Array:
        """P (1 − P) with P = 1 / (1 + exp(−f))."""
        odds = np.exp(-np.abs(f))
        return odds / np.square(1.0 + odds)

    def conjugate(self, t: Array, s: Array) -> Array:
        """−H(p) with p = −t s."""
        p = np.clip(-t * s, 0.0, 1.0)
        return _times_log(p) + _times_log(1.0 - p)

    def gap(self, t: Array, c: Array, beta: Array, f: Array) -> Array:
        """c KL(p ‖ q) with p = α / c and q = 1 / (1 + exp(t f))."""
        p = t * beta / c
        cross = p * np.logaddexp(0.0, t * f) + (1.0 - p) * np.logaddexp(0.0, -t * f)
        return c * np.maximum(_times_log(p) + _times_log(1.0 - p) + cross, 0.0)

    def unbounded_step(self, t: Array, c: Array, beta: Array, f: Array, K: Array) -> Array:
        """α ← c / (1 + exp(−s)) where s + K (α′ − α) + t f = 0; by bisection, to check the core's Newton steps."""
        constant = t * f - K * t * beta
        low, high = -constant - K * c, -constant + 0.0
        for _ in range(100):
            s = 0.5 * (low + high)
            below = s + constant + K * c * np.exp(-np.logaddexp(0.0, -s)) < 0.0
            low, high = np.where(below, s, low), np.where(below, high, s)
        return t * c * np.exp(-np.logaddexp(0.0, -0.5 * (low + high)))


@dataclass(frozen=True)
class _NumberLoss(Loss):
    """A loss of the residual t − f."""

    targets: ClassVar[Literal["labels", "numbers"]] = "numbers"

    def bounds(self, t: Array, c: Array) -> tuple[Array, Array]:
        """Every β."""
        return np.full(t.shape, -np.inf), np.full(t.shape, np.inf)


@dataclass(frozen=True)
class EpsilonInsensitive(_NumberLoss):
    """max(0, abs(t − f) − ε): support vector regression.

    Parameters
    ----------
    epsilon : float, default=0.1
        Errors up to this cost nothing.

    Examples
    --------
    >>> from kernline import losses
    >>> float(losses.EpsilonInsensitive(0.25).value(1.0, 0.5))
    0.25
    """

    epsilon: float = 0.1
    name: ClassVar[str] = "epsilon_insensitive"
    smooth: ClassVar[bool] = False
    in_core: ClassVar[bool] = True

    def value(self, t: Array, f: Array) -> Array:
        """max(0, abs(t − f) − ε)."""
        return np.maximum(np.abs(t - f) - self.epsilon, 0.0)

    def gradient(self, t: Array, f: Array) -> Array:
        """The sign of f − t outside the tube."""
        return np.where(np.abs(t - f) > self.epsilon, np.sign(f - t), 0.0)

    def curvature(self, t: Array, f: Array) -> Array:
        """Zero."""
        return np.zeros_like(f)

    def conjugate(self, t: Array, s: Array) -> Array:
        """t s + ε abs(s)."""
        return t * s + self.epsilon * np.abs(s)

    def bounds(self, t: Array, c: Array) -> tuple[Array, Array]:
        """−c ≤ β ≤ c."""
        return -c, c

    def unbounded_step(self, t: Array, c: Array, beta: Array, f: Array, K: Array) -> Array:
        """β ← shrink(K β + t − f, ε) / K."""
        return _shrink(K * beta + t - f, self.epsilon) / K


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(_NumberLoss):
    """max(0, abs(t − f) − ε)².

    Parameters
    ----------
    epsilon : float, default=0.1
        Errors up to this cost nothing.

    Examples
    --------
    >>> from kernline import losses
    >>> float(losses.SquaredEpsilonInsensitive(0.25).value(1.0, 0.5))
    0.0625
    """

    epsilon: float = 0.1
    name: ClassVar[str] = "squared_epsilon_insensitive"
    smooth: ClassVar[bool] = True
    in_core: ClassVar[bool] = True

    def value(self, t: Array, f: Array) -> Array:
        """max(0, abs(t − f) − ε)²."""
        return np.maximum(np.abs(t - f) - self.epsilon, 0.0) ** 2

    def gradient(self, t: Array, f: Array) -> Array:
        """2 shrink(f − t, ε)."""
        return 2.0 * _shrink(f - t, self.epsilon)

    def curvature(self, t: Array, f: Array) -> Array:
        """2 outside the tube."""
        return np.where(np.abs(t - f) > self.epsilon, 2.0, 0.0)

    def conjugate(self, t: Array, s: Array) -> Array:
        """t s + ε abs(s) + s² / 4."""
        return t * s + self.epsilon * np.abs(s) + 0.25 * s * s

    def unbounded_step(self, t: Array, c: Array, beta: Array, f: Array, K: Array) -> Array:
        """β ← shrink(K β + t − f, ε) / (K + 1/2c)."""
        return _shrink(K * beta + t - f, self.epsilon) / (K + 0.5 / c)


@dataclass(frozen=True)
class SquaredError(_NumberLoss):
    """(t − f)²: kernel ridge regression with penalty 1 / 2c.

    Examples
    --------
    >>> from kernline import losses
    >>> float(losses.SquaredError().value(1.0, 0.5))
    0.25
    """

    name: ClassVar[str] = "squared_error"
    smooth: ClassVar[bool] = True
    in_core: ClassVar[bool] = True

    def value(self, t: Array, f: Array) -> Array:
        """(t − f)²."""
        return (t - f) ** 2

    def gradient(self, t: Array, f: Array) -> Array:
        """2 (f − t)."""
        return 2.0 * (f - t)

    def curvature(self, t: Array, f: Array) -> Array:
        """2."""
        return np.full(f.shape, 2.0)

    def conjugate(self, t: Array, s: Array) -> Array:
        """t s + s² / 4."""
        return t * s + 0.25 * s * s

    def gap(self, t: Array, c: Array, beta: Array, f: Array) -> Array:
        """c (t − f − β/2c)²."""
        return c * (t - f - beta / (2.0 * c)) ** 2

    def unbounded_step(self, t: Array, c: Array, beta: Array, f: Array, K: Array) -> Array:
        """β ← (K β + t − f) / (K + 1/2c)."""
        return (K * beta + t - f) / (K + 0.5 / c)


BY_NAME: dict[str, Loss] = {}


def register(loss: Loss) -> Loss:
    """Register `loss`, with its parameters, under its name.

    Parameters
    ----------
    loss : Loss
        An instance of the loss.

    Returns
    -------
    Loss
        The same loss.

    Examples
    --------
    >>> from kernline import losses
    >>> losses.register(losses.Hinge())  # known already, and replaced by itself
    Hinge()
    """
    BY_NAME[loss.name] = loss
    return loss


for _loss in (Hinge(), SquaredHinge(), Logistic(), EpsilonInsensitive(), SquaredEpsilonInsensitive(), SquaredError()):
    register(_loss)


def get(loss: str | Loss) -> Loss:
    """The loss of a name, or the loss itself."""
    if isinstance(loss, Loss):
        return loss
    if loss not in BY_NAME:
        raise ValueError(
            f"loss={loss!r} is not known. Choose one of {', '.join(map(repr, BY_NAME))}, or pass a Loss object."
        )
    return BY_NAME[loss]


def _shrink(v: Array, distance: float) -> Array:
    """The value nearest to zero within `distance` of v."""
    return np.sign(v) * np.maximum(np.abs(v) - distance, 0.0)


def _times_log(p: Array) -> Array:
    """Return p log p, 0 at p = 0."""
    return p * np.log(np.where(p > 0.0, p, 1.0))
