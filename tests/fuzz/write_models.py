"""Writes the models that the fuzzer begins with: ``python tests/fuzz/write_models.py``. Its finds lie beside them."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

import kernline
from kernline import (
    AdditiveSVC,
    AdditiveSVCCV,
    AdditiveSVR,
    AdditiveSVRCV,
    BudgetedSVC,
    NystromMap,
    NystromSVC,
    kernels,
    tables,
)
from kernline.encoding import TermSpec
from kernline.feature_maps import AdditiveKernelMap

FEW = tables.Hats(4)

MODELS = {
    "hats": AdditiveSVC("chi2", FEW, random_state=np.random.RandomState(0)),
    "linear": AdditiveSVC("linear"),
    "plame": AdditiveSVC("js", tables.Plame(4)),
    "pmsvm": AdditiveSVC(kernels.PowerMean(-2.0), "pmsvm", class_weight={0: 1.0, 1: 2.0, 2: 1.0}),
    "rank": AdditiveSVC("intersection", FEW, scale="rank"),
    "minmax": AdditiveSVC("hellinger", FEW, scale="minmax"),
    "cv": AdditiveSVCCV(["chi2", kernels.Intersection()], FEW, Cs=[1.0], cv=2),
    "svr": AdditiveSVR("chi2", FEW),
    "svr_cv": AdditiveSVRCV(["chi2", kernels.Intersection()], FEW, Cs=[1.0], cv=2),
    "pairs": AdditiveSVC(interactions=[(0, 1), (1, 2)], categorical=[1]),
    "softmax": AdditiveSVC("intersection", scale="rank", loss="log", C=1.0),
    "rbf": NystromSVC(n_basis=3),
    "poly": NystromSVC("poly", 0.1, basis=np.eye(3), degree=2.0),
    "laplacian": NystromSVC("laplacian", n_basis=3, basis="random"),
    "chi2": NystromSVC("chi2", n_basis=3, basis="random"),
    "cosine": NystromSVC("cosine", n_basis=3, basis="random"),
    "scaled": NystromSVC(n_basis=3, scale="standard"),
    "budgeted": BudgetedSVC(budget=4, passes=2),
    "nystrom_map": NystromMap("sigmoid", 0.001, n_basis=3),
    "additive_map": AdditiveKernelMap("js", "hats", n_components=2),
    "terms": AdditiveSVC("chi2", FEW),
    "table": AdditiveSVC("intersection", FEW, scale="rank"),
    "steps": make_pipeline(
        ColumnTransformer(
            [
                ("number", SimpleImputer(), [0]),
                ("levels", OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist"), [1]),
                ("codes", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), [1]),
            ],
            remainder="passthrough",
        ),
        AdditiveSVC("intersection", FEW, scale="rank", loss="hinge"),
    ),
    "pipeline": make_pipeline(
        MaxAbsScaler(),
        Normalizer("l1"),
        MinMaxScaler(clip=True),
        StandardScaler(),
        NystromMap(n_basis=3),
        NystromSVC(n_basis=2),
    ),
}
SPARSE = ("chi2", "linear")
# Terms of the model of that name.
TERMS = (TermSpec("category", (0,)), TermSpec("missing", (1,)), TermSpec("pair", (1, 2), {"bins": (2, None)}))


def main() -> None:
    """Fit each to a few rows of three features."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (30, 3)).astype(np.float64), np.arange(30) % 3
    X[:, 0] += y
    mixed = np.where(np.arange(3) == 1, np.where(X > 3, None, np.char.mod("level %d", X)), X.astype(object))
    MODELS["terms"]._terms = lambda: TERMS  # type: ignore[method-assign]
    for name, model in MODELS.items():
        if "random_state" in model.get_params() and model.random_state is None:
            model.set_params(random_state=0)
        labels = y if name in ("pmsvm", "rank", "softmax", "svr", "svr_cv") else np.array(["no", "yes"])[y % 2]
        path = Path(__file__).parent / "models" / f"{name}.kern"
        rows = sp.csr_array(X) if name in SPARSE else mixed if name == "table" else X
        kernline.save(model.fit(rows, labels), path)


if __name__ == "__main__":
    main()
