"""Random numbers from the parameter `random_state`."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np
from sklearn.utils import check_random_state

RandomState: TypeAlias = int | np.random.RandomState | None


def random_of(random_state: RandomState) -> np.random.RandomState:
    """The generator of a `random_state`. That of None is seeded from NumPy's global state, which is read only once.

    The global state has a lock, and a fork in another thread may leave it locked in the child.
    """
    random: np.random.RandomState = check_random_state(random_state)
    return np.random.RandomState(seed_from(random)) if random_state is None else random


def seed_of(random_state: RandomState) -> int:
    """A seed for the core; that of a number is found once, as its generator takes a fiftieth of a small fit."""
    if isinstance(random_state, (int, np.integer)):
        return _seed_of_number(int(random_state))
    return seed_from(random_of(random_state))


@lru_cache(maxsize=256)
def _seed_of_number(number: int) -> int:
    return seed_from(random_of(number))


def seed_from(random: np.random.RandomState) -> int:
    """A seed for the core."""
    return int(random.randint(2**31 - 1))
