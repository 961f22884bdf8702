"""A table with numbers, text, categories, booleans and gaps, as a data frame of pandas and of other libraries."""

import numpy as np
import pandas as pd


def people(n_rows=400, seed=0):
    """Five columns, four of which have gaps, and labels that depend on all of them but the first category's last."""
    rng = np.random.default_rng(seed)
    grades = ["low", "middle", "high", "never"]
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows).astype(np.float64),
            "city": rng.choice(["Paris", "Rome", "NA", "?"], n_rows),
            "grade": pd.Categorical(rng.choice(grades[:3], n_rows), categories=grades, ordered=True),
            "member": rng.random(n_rows) < 0.5,
            "zone": pd.Categorical(rng.choice([10, 20, 30], n_rows)),
        }
    )
    score = (frame.age > 50) * 1.0 + 2.0 * (frame.city == "Rome") - (frame.grade == "low") + (frame.zone == 20)
    for column, share in (("age", 0.1), ("city", 0.1), ("zone", 0.05)):
        frame.loc[rng.random(n_rows) < share, column] = None
    score += 2.0 * frame.city.isna() + 0.3 * rng.standard_normal(n_rows) - frame.member
    return frame, np.where(score > 0.8, "yes", "no")


def indicators(frame, like):
    """The categories and gaps of `like` as columns of 0 and 1, beside its numbers, in which gaps are zero."""
    parts = [frame.age.fillna(0.0), frame.member.astype(float), frame.age.isna(), frame.city.isna(), frame.zone.isna()]
    for name in ("city", "grade", "zone"):
        parts += [frame[name] == level for level in sorted(set(like[name].dropna()), key=str)]
    return np.column_stack([np.asarray(part, dtype=np.float64) for part in parts])


class Frame:
    """The least that a data frame of an unknown library has: names, and columns by name."""

    def __init__(self, frame):
        self.columns = list(frame.columns)
        self.shape = frame.shape
        self._of = {name: frame[name].to_numpy() for name in frame}

    def __getitem__(self, name):
        return self._of[name]

    def __len__(self):
        return self.shape[0]
