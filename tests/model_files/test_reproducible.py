"""The same fit gives the same model file, in other processes, with other hash seeds and numbers of threads."""

import hashlib
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernline
from kernline import AdditiveSVC, AdditiveSVCCV, BudgetedSVC, NystromSVC, tables
from kernline.feature_maps import AdditiveKernelMap, NystromMap

from ..cli.test_cli import run

NAMES = [f"digit {k}" for k in range(10)]


def models(n_jobs):
    shared = {"random_state": 0, "n_jobs": n_jobs}
    return {
        "hats": AdditiveSVC(**shared),
        "Newton": AdditiveSVC(C=1000.0, **shared),
        "linear": AdditiveSVC("linear", **shared),
        "rank": AdditiveSVC(scale="rank", class_weight={name: 1.0 + k for k, name in enumerate(NAMES)}, **shared),
        "pmsvm": AdditiveSVC(approximation=tables.PmSVM(), **shared),
        "generator": AdditiveSVC(random_state=np.random.RandomState(3), n_jobs=n_jobs),
        "AdditiveSVCCV": AdditiveSVCCV(kernel=["chi2", "intersection"], Cs=2, cv=2, **shared),
        "NystromSVC": NystromSVC(n_basis=40, **shared),
        "BudgetedSVC": BudgetedSVC(budget=20, passes=3, **shared),
        "NystromMap": NystromMap(n_basis=40, **shared),
        "AdditiveKernelMap": AdditiveKernelMap(),
        "pipeline": make_pipeline(StandardScaler(), AdditiveSVC(scale="minmax", **shared)),
    }


def digests(folder, n_jobs):
    """The digest of each model's file, without the parameter n_jobs."""
    X, y = load_digits(return_X_y=True)
    found = {}
    for name, model in models(n_jobs).items():
        model.fit(X[:120], np.array(NAMES)[y[:120]])
        model.set_params(**{key: None for key in model.get_params() if key.endswith("n_jobs")})
        kernline.save(model, Path(folder) / "model.kern")
        found[name] = hashlib.sha256((Path(folder) / "model.kern").read_bytes()).hexdigest()
    return found


def digests_elsewhere(folder, n_jobs, hash_seed):
    program = "import json, sys; from tests.model_files.test_reproducible import digests; "
    program += "print(json.dumps(digests(sys.argv[1], int(sys.argv[2]))))"
    command = [sys.executable, "-W", "ignore", "-c", program, str(folder), str(n_jobs)]
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed)}
    root = Path(__file__).parents[2]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_files_are_the_same_in_other_processes(tmp_path):
    one, other = (digests_elsewhere(tmp_path, n_jobs, hash_seed) for n_jobs, hash_seed in ((1, 0), (2, 4711)))
    assert len(set(one.values())) == len(one)
    assert one == other


@pytest.mark.parametrize("model", [AdditiveSVC(random_state=0), BudgetedSVC(budget=20, passes=3, random_state=0)])
def test_seconds_are_not_saved(tmp_path, model):
    begun = time.perf_counter()
    model.fit(*load_digits(return_X_y=True))
    elapsed = time.perf_counter() - begun
    kernline.save(model, tmp_path / "model.kern")
    loaded = kernline.load(tmp_path / "model.kern")
    for kept, read in zip(model.history_, loaded.history_, strict=True):
        assert all(0.0 < report.seconds <= elapsed for report in kept)
        assert all(math.isnan(report.seconds) for report in read)
        unknown = [report._replace(seconds=None) for report in kept]
        assert [report._replace(seconds=None) for report in read] == unknown
    kernline.save(loaded, tmp_path / "again.kern")
    assert (tmp_path / "again.kern").read_bytes() == (tmp_path / "model.kern").read_bytes()


@pytest.mark.parametrize("options", [(), ("--kernel", "rbf"), ("--scale", "rank", "-c", 1000)])
def test_kernline_train(folder, options):
    for name in ("one.kern", "other.kern"):
        assert run("train", "iris.csv", name, "--target", "species", *options).exit_code == 0
    assert (folder / "one.kern").read_bytes() == (folder / "other.kern").read_bytes()
