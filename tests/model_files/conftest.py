"""Data and saved models that several files of tests use."""

import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

import kernline

from .models import MODELS, REGRESSORS, seeded


@pytest.fixture(scope="session")
def data():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


@pytest.fixture(scope="session")
def files(data, tmp_path_factory):
    """The bytes of saved models, one for each way in which the core uses them."""
    X, y = data
    folder = tmp_path_factory.mktemp("files")
    content = {}
    for name in ("hats", "rank", "plame", "pmsvm", "linear", "rbf", "chi2 landmarks", "svr"):
        X_kind = sp.csr_array(X) if name == "chi2 landmarks" else X
        model = seeded((MODELS | REGRESSORS)[name]).set_params(n_jobs=1)
        kernline.save(model.fit(X_kind[:60], y[:60] % 3), folder / "model.kern")
        content[name] = (folder / "model.kern").read_bytes()
    return content
