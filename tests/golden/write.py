"""Writes the golden files of the format's present versions that are not there yet: ``python tests/golden/write.py``.

Those that are there stay: they are what earlier versions wrote.
"""

import dataclasses
import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernline
from kernline.encoding import TermSpec
from kernline.feature_maps import AdditiveKernelMap, NystromMap
from kernline.mapped.file import FORMAT, ChunkFile
from kernline.model_files.tensor_file import TensorFile

# One term of each kind besides numbers, which a model of the name "terms" has.
TERMS = (TermSpec("category", (0,)), TermSpec("missing", (1,)), TermSpec("pair", (2, 3), {"bins": (3, None)}))
HINGE = {"loss": "hinge", "C": 1.0, "random_state": 0}
MODELS = {
    "auto": kernline.AdditiveSVC(random_state=0),
    "softmax": kernline.AdditiveSVC("intersection", scale="rank", loss="log", C=3.0, random_state=0),
    "pairs": kernline.AdditiveSVC(interactions=[(0, 1), (2, 3), (4, 5)], categorical=[2, 4], random_state=0),
    "svr-pairs": kernline.AdditiveSVR(interactions=3, random_state=0),
    "hats": kernline.AdditiveSVC("chi2", scale="max", **HINGE),
    "edited": kernline.AdditiveSVC("chi2", scale="max", **HINGE),
    "rank": kernline.AdditiveSVC("intersection", scale="rank", **HINGE),
    "pmsvm": kernline.AdditiveSVC("chi2", "pmsvm", scale="max", **HINGE),
    "pipeline": make_pipeline(StandardScaler(), kernline.NystromSVC(n_basis=10, random_state=0)),
    "svr": kernline.AdditiveSVR("chi2", scale="max", C=1.0, random_state=0),
    "svr-outputs": kernline.AdditiveSVR(
        "intersection", scale="rank", loss="epsilon_insensitive", C=1.0, random_state=0
    ),
    "svr-cv": kernline.AdditiveSVRCV(["chi2", "linear"], scale="max", Cs=[1.0, 10.0], cv=2, random_state=0),
    "cv": kernline.AdditiveSVCCV(["chi2", "linear"], scale="max", loss="hinge", Cs=[1.0, 10.0], cv=2, random_state=0),
    "cv-auto": kernline.AdditiveSVCCV(cv=2, random_state=0),
    "svr-cv-auto": kernline.AdditiveSVRCV(cv=2, random_state=0),
    "nystrom-scaled": kernline.NystromSVC(n_basis=10, scale="standard", random_state=0),
    "nystrom": kernline.NystromSVC(n_basis=10, random_state=0),
    "nystrom-sparse": kernline.NystromSVC("exp-chi2", n_basis=10, basis="random", random_state=0),
    "budgeted": kernline.BudgetedSVC(budget=10, random_state=0),
    "additive-map": AdditiveKernelMap("js", "hats"),
    "nystrom-map": NystromMap(n_basis=10, random_state=0),
    "terms": kernline.AdditiveSVC("chi2", scale="max", **HINGE),
    "table": kernline.AdditiveSVC("intersection", scale="rank", **HINGE),
}
HERE = Path(__file__).parent


def main() -> None:
    """Write the models and the encoded rows that are missing."""
    write_models()
    write_datasets()


def write_datasets() -> None:
    """Encode rows of every kind, in chunks of few rows, and save them with their values and codes."""
    X, y = load_digits(return_X_y=True)
    numbers, weight = X[:200, 18:24], np.linspace(0.5, 2.0, 200)
    labels, text = np.array(["zero", "one", "two"])[y[:200] % 3], table(numbers)
    sources = {
        "dense": (kernline.Dataset(numbers, labels, weight), numbers),
        "sparse": (kernline.Dataset(sp.csr_array(numbers), labels, kernel="chi2", scale="max"), numbers),
        "linear": (kernline.Dataset(numbers, numbers.sum(axis=1), kernel="linear", scale="max"), numbers),
        "table": (kernline.Dataset(text, labels, scale="rank"), text),
    }
    for name, (data, values) in sources.items():
        path = HERE / f"{FORMAT[0]}.{FORMAT[1]}-{name}.kdata"
        if not path.exists():
            data._described = dataclasses.replace(data._described, chunk_rows=80)
            data.save(path)
            np.savez(path.with_name(f"{path.name}.npz"), X=values, y=data.y, **chunks_of(path))


def chunks_of(path: Path) -> dict[str, np.ndarray]:
    """The cells of a file as they are stored."""
    file = ChunkFile(path)
    cells = {f"cells{k}": file.chunk(k).cells for k in range(file.described.n_chunks)}
    file.close()
    return cells


def write_models() -> None:
    """Fit small models, and save them with rows and what they say of them."""
    X, y = load_digits(return_X_y=True)
    numbers, y = X[:200, 18:24], np.array(["zero", "one", "two"])[y[:200] % 3]
    with_gaps = np.where((np.arange(6) == 1) & (numbers == 0.0), np.nan, numbers)
    MODELS["terms"]._terms = lambda: TERMS
    for name, model in MODELS.items():
        X = with_gaps if name in ("terms", "pairs", "svr-pairs") else table(numbers) if name == "table" else numbers
        target = numbers[:, ::2] if name == "svr-outputs" else numbers.sum(axis=1) if name.startswith("svr") else y
        model.fit(sp.csr_array(X) if name.endswith("sparse") else X, target)
        if name == "edited":
            model = model.with_shapes(model.shapes_.edit(2, smooth=0.2).edit(3, clip=(-0.1, 0.1)))
        kernline.save(model, HERE / "new.kern")
        path = HERE / f"{version(HERE / 'new.kern')}-{name}.kern"
        if path.exists():
            (HERE / "new.kern").unlink()
            continue
        (HERE / "new.kern").rename(path)
        np.savez(path.with_name(f"{path.stem}.npz"), X=X[:20], **said(model, X[:20]))


def table(numbers: np.ndarray) -> np.ndarray:
    """Text, which np.load reads without pickle: levels, numbers with gaps, and numbers."""
    X = np.char.mod("%g", numbers)
    X[:, 0] = np.char.add("level ", X[:, 0])
    X[X[:, 1] == "0", 1] = ""
    return X


def version(path: Path) -> str:
    """The format of a model file."""
    with TensorFile(path) as file:
        return json.loads(file.metadata["kernline"])["format"]


def said(model: object, rows: np.ndarray) -> dict[str, np.ndarray]:
    """What a model says of rows, by the names that the tests know."""
    methods = {"transform": "mapped", "predict": "predictions"}
    if hasattr(model, "decision_function"):
        methods = {"decision_function": "scores", "predict": "labels", "predict_proba": "probabilities"}
    return {key: getattr(model, method)(rows) for method, key in methods.items() if hasattr(model, method)}


if __name__ == "__main__":
    main()
