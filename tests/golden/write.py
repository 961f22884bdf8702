"""Writes the golden files of the format's present version that are not there yet: ``python tests/golden/write.py``.

Those that are there stay: they are what earlier versions wrote.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernline
from kernline.encoding import TermSpec
from kernline.feature_maps import AdditiveKernelMap, NystromMap
from kernline.model_files.files import FORMAT, FORMAT_OF_TERMS

# One term of each kind besides numbers, which a model of the name "terms" has.
TERMS = (TermSpec("category", (0,)), TermSpec("missing", (1,)), TermSpec("pair", (2, 3), {"bins": (3, None)}))
MODELS = {
    "hats": kernline.AdditiveSVC(random_state=0),
    "rank": kernline.AdditiveSVC("intersection", scale="rank", random_state=0),
    "pmsvm": kernline.AdditiveSVC("chi2", "pmsvm", random_state=0),
    "pipeline": make_pipeline(StandardScaler(), kernline.NystromSVC(n_basis=10, random_state=0)),
    "svr": kernline.AdditiveSVR(random_state=0),
    "svr-outputs": kernline.AdditiveSVR("intersection", scale="rank", loss="epsilon_insensitive", random_state=0),
    "svr-cv": kernline.AdditiveSVRCV(["chi2", "linear"], Cs=[1.0, 10.0], cv=2, random_state=0),
    "cv": kernline.AdditiveSVCCV(["chi2", "linear"], Cs=[1.0, 10.0], cv=2, random_state=0),
    "nystrom": kernline.NystromSVC(n_basis=10, random_state=0),
    "nystrom-sparse": kernline.NystromSVC("exp-chi2", n_basis=10, basis="random", random_state=0),
    "budgeted": kernline.BudgetedSVC(budget=10, random_state=0),
    "additive-map": AdditiveKernelMap("js", "hats"),
    "nystrom-map": NystromMap(n_basis=10, random_state=0),
    "terms": kernline.AdditiveSVC(random_state=0),
    "table": kernline.AdditiveSVC("intersection", scale="rank", random_state=0),
}


def main() -> None:
    """Fit small models, and save them with rows and what they say of them."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:200, 18:24], np.array(["zero", "one", "two"])[y[:200] % 3]
    numbers = X
    for name, model in MODELS.items():
        major, minor = FORMAT_OF_TERMS if name in ("terms", "table") else FORMAT
        path = Path(__file__).parent / f"{major}.{minor}-{name}.kern"
        if path.exists():
            continue
        X = numbers
        if name == "terms":
            model._terms = lambda: TERMS
            X = np.where(np.arange(X.shape[1]) == 1, np.where(X == 0.0, np.nan, X), X)
        if name == "table":  # text, which np.load reads without pickle: levels, numbers with gaps, and numbers
            X = np.char.mod("%g", numbers)
            X[:, 0] = np.char.add("level ", X[:, 0])
            X[X[:, 1] == "0", 1] = ""
        target = numbers[:, ::2] if name == "svr-outputs" else numbers.sum(axis=1) if name.startswith("svr") else y
        kernline.save(model.fit(sp.csr_array(X) if name.endswith("sparse") else X, target), path)
        few = X[:20]
        if name.startswith("svr"):
            said = {"predictions": model.predict(few)}
        elif hasattr(model, "predict"):
            said = {"scores": model.decision_function(few), "labels": model.predict(few)}
        else:
            said = {"mapped": model.transform(few)}
        np.savez(path.with_name(f"{path.stem}.npz"), X=few, **said)


if __name__ == "__main__":
    main()
