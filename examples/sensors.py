"""Sensor windows: what does a phone's accelerometer say about its owner? ``python -m examples.sensors``

With wisdm.npz in the folder KERNLINE_DATA, the windows are those of WISDM (Kwapisz, Weiss, Moore, 2010): six
activities of 36 people, 43 features of windows of ten seconds. Without it, windows are simulated, and the example says
so: a gait of some frequency and strength, gravity in some direction, and noise.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupShuffleSplit

from examples.common import data_file, options, save
from kernline import AdditiveSVC
from kernline.display import ConvergenceDisplay, ImportanceDisplay, ShapeDisplay

AXES = ("x", "y", "z")
# Activity: steps per second, strength of a step, and where gravity points; a phone in a trouser pocket.
ACTIVITIES = {
    "walking": (1.9, 4.0, (0.0, 9.0, 2.0)),
    "jogging": (2.7, 9.0, (0.0, 9.0, 2.0)),
    "upstairs": (1.5, 3.6, (0.0, 8.0, 4.5)),
    "downstairs": (1.8, 5.0, (0.0, 8.5, 3.5)),
    "sitting": (0.0, 0.1, (2.0, 2.0, 9.0)),
    "standing": (0.0, 0.15, (0.0, 9.6, 1.0)),
}


def main() -> None:
    """Fit windows of some people, test on those of others."""
    asked = options(__doc__ or "")
    X, y, users = windows(asked.quick)
    train, test = next(GroupShuffleSplit(1, test_size=0.3, random_state=0).split(X, y, users))
    model = AdditiveSVC(loss="hinge", C=10).fit(X.iloc[train], y[train])
    print(f"{len(X):,} windows of {len(set(users))} people, {X.shape[1]} features")
    print(f"accuracy on people that training did not see: {100 * model.score(X.iloc[test], y[test]):.1f} %\n")
    save(ShapeDisplay.from_estimator(model, top=6), asked.out / "sensors-curves.png")
    save(ImportanceDisplay.from_estimator(model, class_name=model.classes_[0]), asked.out / "sensors-importance.png")
    save(ConvergenceDisplay.from_estimator(model), asked.out / "sensors-convergence.png")


def windows(quick: bool) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Features of windows, activities, and people."""
    file = data_file("wisdm.npz")
    if file is None:
        print("there is no wisdm.npz in KERNLINE_DATA: using simulated windows instead")
        return simulated(12 if quick else 36, 5 if quick else 20)
    with np.load(file) as stored:
        X, y, users = stored["X"].astype(np.float64), stored["classes"][stored["y"]], stored["users"]
    names = [f"share of {axis} in tenth {k}" for axis in AXES for k in range(10)]
    for what in ("mean of", "ms between peaks of", "mean deviation of", "standard deviation of"):
        names += [f"{what} {axis}" for axis in AXES]
    kept = slice(None, None, 5 if quick else 1)
    return pd.DataFrame(X[kept], columns=[*names, "mean length"]), y[kept], users[kept]


def simulated(n_users: int, n_windows: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """As `windows`, of so many people and windows of each activity; 200 samples in ten seconds."""
    rng = np.random.default_rng(0)
    seconds = np.arange(200) / 20.0
    X, y, users = [], [], []
    for user in range(n_users):
        pace, force, tilt = rng.normal(1.0, 0.08), rng.normal(1.0, 0.2), rng.normal(0.0, 1.2, 3)
        for activity, (steps, strength, gravity) in ACTIVITIES.items():
            for _ in range(n_windows):
                phase = 2.0 * np.pi * (steps * pace * seconds + rng.random())
                gait = strength * force * np.stack([np.sin(phase / 2), np.sin(phase), np.sin(phase + 1.0)])
                signal = np.add(gravity, tilt)[:, None] + gait * rng.uniform(0.7, 1.3, (3, 1))
                X.append(features(signal + rng.normal(0.0, 0.3, signal.shape)))
                y.append(activity)
                users.append(user)
    names = [f"{what} {axis}" for what in ("mean of", "spread of", "jerk of") for axis in AXES]
    names += ["mean length", "steps per second"]
    return pd.DataFrame(np.array(X), columns=names), np.array(y), np.array(users)


def features(signal: np.ndarray) -> np.ndarray:
    """Mean, standard deviation and mean change of each axis, the mean length, and the strongest frequency."""
    length = np.linalg.norm(signal, axis=0)
    spectrum = np.abs(np.fft.rfft(signal[1] - signal[1].mean()))
    frequency = spectrum.argmax() / 10.0
    jerk = np.abs(np.diff(signal, axis=1)).mean(axis=1)
    return np.concatenate([signal.mean(axis=1), signal.std(axis=1), jerk, [length.mean(), frequency]])


if __name__ == "__main__":
    main()
