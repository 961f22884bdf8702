"""A table with numbers, categories, gaps and pairs, and models of every approximation."""

import numpy as np
import pandas as pd

from kernline import AdditiveSVC

APPROXIMATIONS = {
    "hats": ("chi2", "hats"),
    "plame": ("js", "plame"),
    "pmsvm": ("chi2", "pmsvm"),
    "pmsvm-lut": ("chi2", "pmsvm-lut"),
    "feature-map": ("chi2", "feature-map"),
    "chebyshev": ("chi2", "chebyshev"),
    "low-dim": ("intersection", "low-dim"),
    "hik": ("intersection", "hik"),
    "linear": ("linear", "hats"),
}


def mixed(n=600):
    """Columns age (with gaps), colour, hours (five values) and job (with gaps), and labels."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "hours": rng.integers(0, 5, n).astype(float),
            "job": rng.choice(np.array(["baker", "clerk", None], dtype=object), n),
        }
    )
    y = np.where((frame.age > 40.0) ^ (frame.colour == "red"), "yes", "no")
    frame.loc[::7, "age"] = np.nan
    return frame, y


def fitted(name, X, y, scale="max"):
    kernel, approximation = APPROXIMATIONS[name]
    return AdditiveSVC(kernel, approximation, scale=scale, loss="hinge", C=1.0, random_state=0).fit(X, y)


def scores(model, X):
    return model.decision_function(X).reshape(X.shape[0], -1)
