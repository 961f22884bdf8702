"""Fuzz exported models: `make fuzz-exports`, or a few models from the tests.

A model of any kernel, method, scale and number of classes is exported as C, compiled with sanitizers, and as ONNX, and
both score hostile rows: NaN, infinity, huge, tiny and negative numbers. Rows that Python scores must get its scores;
what Python refuses must do no harm.

    python tests/fuzz/exports.py --seconds 600
    python tests/fuzz/exports.py --first 17 --models 1
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HOSTILE = [0.0, -0.0, 1.0, -1.0, 5.0, 1e-300, 5e-324, -5e-324, 1e18, -1e18, 1e39, 1.7e308, -1.7e308]
HOSTILE += [float("nan"), float("inf"), float("-inf"), 0.1, 2.0**-31, 255.0, 3.3]
KERNELS, SCALES = ("chi2", "intersection", "js", "hellinger", "linear"), ("max", "minmax", "rank")
METHODS = ("hats", "plame", "pmsvm-lut", "feature-map")
MAIN = """#include <stdio.h>
#include "model.h"
int main(void) {
  double x[%(d)d], scores[%(k)d];
  while (fread(x, sizeof x, 1, stdin) == 1) {
    model_predict(x, scores);
    fwrite(scores, sizeof scores, 1, stdout);
  }
  return 0;
}
"""


def model_of(rng: np.random.Generator) -> Any:
    """A fitted model of three columns, one of which may have levels and gaps."""
    from kernline import AdditiveSVC, AdditiveSVR

    X = rng.integers(0, 9, (60, 3)).astype(np.float64)
    parameters: dict[str, Any] = {"kernel": str(rng.choice(KERNELS)), "scale": str(rng.choice(SCALES))}
    if parameters["kernel"] != "linear":
        parameters["approximation"] = str(rng.choice(METHODS))
    if rng.random() < 0.4:
        parameters["categorical"] = [2]
        X[rng.random(60) < 0.2, 1] = np.nan
    kind, n_classes = (AdditiveSVR, 0) if rng.random() < 0.3 else (AdditiveSVC, int(rng.integers(2, 5)))
    y = np.nan_to_num(X).sum(axis=1) if not n_classes else np.arange(60) % n_classes
    return kind(**parameters, C=1.0, max_iter=50, tol=1e-2, random_state=0).fit(X, y)


def hostile_rows(rng: np.random.Generator, n_rows: int = 40) -> np.ndarray:
    """Mostly ordinary rows with some hostile values."""
    rows = rng.integers(0, 9, (n_rows, 3)).astype(np.float64)
    places = rng.random(rows.shape) < 0.4
    rows[places] = rng.choice(HOSTILE, int(places.sum()))
    return rows


def scores_of(model: Any, rows: np.ndarray) -> np.ndarray:
    """What Python says, row by row; NaN for rows that it refuses."""
    score = getattr(model, "decision_function", model.predict)
    said = []
    for row in rows:
        try:
            said.append(np.atleast_1d(np.squeeze(score(row[None]))))
        except ValueError:
            said.append(np.full(1, np.nan))
    width = max(one.size for one in said)
    return np.array([np.broadcast_to(one, width) if one.size == 1 and np.isnan(one[0]) else one for one in said])


def c_scores(model: Any, rows: np.ndarray, width: int, folder: Path) -> np.ndarray:
    """Scores of the compiled header, under AddressSanitizer and UBSan."""
    from kernline import export

    export.to_c(model, folder / "model.h", name="model")
    (folder / "main.c").write_text(MAIN % {"d": rows.shape[1], "k": width})
    sanitized = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    command = ["cc", "-O1", *sanitized, "main.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([folder / "main"], input=rows.tobytes(), capture_output=True, check=False)
    if done.returncode:
        raise AssertionError(done.stderr.decode(errors="replace")[:2000])
    return np.frombuffer(done.stdout, dtype=np.float64).reshape(len(rows), width)


def onnx_scores(model: Any, rows: np.ndarray, folder: Path) -> np.ndarray:
    """Scores of onnxruntime."""
    import onnxruntime

    from kernline import export

    export.to_onnx(model, folder / "model.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    wanted = "scores" if "scores" in names else names[0]
    return np.asarray(session.run([wanted], {"X": rows})[0]).reshape(len(rows), -1)


def check(seed: int, folder: Path) -> str:
    """Compare the exports of one model; returns what is wrong."""
    rng = np.random.default_rng(seed)
    warnings.simplefilter("ignore")
    model = model_of(rng)
    rows = hostile_rows(rng)
    expected = scores_of(model, rows)
    known = np.isfinite(expected).all(axis=1)
    tolerance = 1e-4 * np.maximum(1.0, np.abs(np.nan_to_num(expected)).max(axis=1, keepdims=True))
    for name, found in (
        ("C", c_scores(model, rows, expected.shape[1], folder)),
        ("ONNX", onnx_scores(model, rows, folder)),
    ):
        wrong = known & ~(np.abs(found - expected) <= tolerance).all(axis=1)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            return f"{name}: row {rows[i].tolist()} has {found[i].tolist()}, not {expected[i].tolist()}; {model}"
    return ""


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--models", type=int, default=1 << 62)
    parser.add_argument("--first", type=int, default=0, help="the number of the first model")
    given = parser.parse_args()
    begun, n_bad, n_tried = time.monotonic(), 0, 0
    for seed in range(given.first, given.first + given.models):
        if time.monotonic() - begun > given.seconds:
            break
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(seed, Path(folder))
        n_tried += 1
        if wrong:
            n_bad += 1
            print(f"{seed}: {wrong}", flush=True)
    print(f"{n_tried} models, {n_bad} of which broke the rule")
    sys.exit(min(n_bad, 1))


if __name__ == "__main__":
    main()
