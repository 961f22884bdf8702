"""Writes the golden files of the format's present version: ``python tests/golden/write.py``. Those of others stay."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernline
from kernline.io.model_files import FORMAT

MODELS = {
    "hats": kernline.AdditiveSVC(random_state=0),
    "rank": kernline.AdditiveSVC("intersection", scale="rank", random_state=0),
    "pmsvm": kernline.AdditiveSVC("chi2", "pmsvm", random_state=0),
    "pipeline": make_pipeline(StandardScaler(), kernline.NystromSVC(n_basis=10, random_state=0)),
}


def main() -> None:
    """Fit small models, and save them with rows and what they say of them."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:200, 18:24], np.array(["zero", "one", "two"])[y[:200] % 3]
    for name, model in MODELS.items():
        path = Path(__file__).parent / f"{FORMAT[0]}.{FORMAT[1]}-{name}.kern"
        kernline.save(model.fit(X, y), path)
        few = X[:20]
        np.savez(
            path.with_name(f"{path.stem}.npz"), X=few, scores=model.decision_function(few), labels=model.predict(few)
        )


if __name__ == "__main__":
    main()
