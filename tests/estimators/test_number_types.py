"""The same numbers in any type and layout give the same model."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits

from kernline import AdditiveSVC, AdditiveSVCCV, AdditiveSVR, BudgetedSVC, NystromSVC
from kernline.feature_maps import AdditiveKernelMap, NystromMap

X, Y = load_digits(return_X_y=True)
X, Y = X[:60, 20:44], Y[:60] % 3
TYPES = [np.bool_, *(np.dtype(kind) for kind in "bBhHiIlLefdg")]
# Squares of the first leave int8, as does the magnitude of −128; those of the second leave int16, and take all the
# digits of float32.
BYTES, SHORTS = np.minimum(X * 16.0, 255.0) - 128.0, X * 1021.0

MODELS = {
    "chi2": AdditiveSVC(),
    "linear": AdditiveSVC("linear"),
    "minmax": AdditiveSVC("intersection", scale="minmax"),
    "rank": AdditiveSVC("intersection", scale="rank"),
    "pmsvm": AdditiveSVC(approximation="pmsvm"),
    "cv": AdditiveSVCCV(Cs=[1.0, 10.0], cv=2),
    "budgeted": BudgetedSVC(budget=20, passes=2, scale=None),
    "budgeted-narrow": BudgetedSVC(1e-4, budget=20, passes=2),  # sparse rows of SHORTS are written out
    "nystrom": NystromSVC(n_basis=20, tol=1e-4, scale=None),
    "nystrom-scaled": NystromSVC(n_basis=20, tol=1e-4, scale="standard"),
    "nystrom-random": NystromSVC(n_basis=20, basis="random", tol=1e-4),
    "nystrom-blocks": NystromSVC(n_basis=20, store_features=False, tol=1e-4),
    "nystrom-exp-chi2": NystromSVC("exp-chi2", n_basis=20, tol=1e-4),
    "nystrom-map": NystromMap(n_basis=20, basis="random"),
    "additive-map": AdditiveKernelMap("intersection", "hik"),
}
NONNEGATIVE = {"chi2", "pmsvm", "cv", "nystrom-exp-chi2", "additive-map"}
DENSE_ONLY = {"minmax", "rank"}  # with negative values


def dense_layouts(values):
    wide = np.zeros((2 * values.shape[0], 3 * values.shape[1]), dtype=values.dtype)
    wide[::2, 1::3] = values
    yield "C", np.ascontiguousarray(values)
    yield "Fortran", np.asfortranarray(values)
    yield "strided", wide[::2, 1::3]
    yield "reversed", np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1]
    if values.dtype != np.longdouble:
        yield "frame", pd.DataFrame(values)


def sparse_layouts(values):
    csr = sp.csr_array(values.astype(np.float64))
    csr.data = csr.data.astype(values.dtype)
    yield "CSR", csr
    yield "CSR, int64", sp.csr_array((csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)), csr.shape)
    yield "csr_matrix", sp.csr_matrix(csr)
    if values.dtype != np.float16:  # SciPy converts none of that type
        yield "CSC", csr.tocsc()
        yield "COO", csr.tocoo()


def holds(kind, values):
    """Whether a type holds these numbers exactly."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array_equal(values.astype(kind).astype(np.float64), values)


def output(model, rows):
    model = clone(model).fit(rows, Y)
    result = model.transform(rows) if hasattr(model, "transform") else model.decision_function(rows)
    return np.asarray(result.toarray() if sp.issparse(result) else result, dtype=np.float64)


@pytest.mark.parametrize("layouts", [dense_layouts, sparse_layouts])
@pytest.mark.parametrize("values", [X > 7, BYTES, SHORTS], ids=["bool", "bytes", "shorts"])
@pytest.mark.parametrize("name", MODELS)
def test_equal_results(name, values, layouts):
    """Each type in the first layout, and in one of the others: over all models, in each of them."""
    values = values.astype(np.float64)
    if name in NONNEGATIVE or (layouts is sparse_layouts and name in DENSE_ONLY):
        values = np.maximum(values, 0.0)
    expected = output(MODELS[name], next(layouts(values))[1])
    for number, kind in enumerate(TYPES, start=list(MODELS).index(name)):
        # Rows of float32 are predicted in float32. So are those of sparse float16, and longdouble is rounded elsewhere.
        exact = kind not in (np.float32, np.longdouble) and (layouts is dense_layouts or kind != np.float16)
        if not holds(kind, values):
            continue
        first, *others = layouts(values.astype(kind))
        for layout, rows in (first, others[number % len(others)]):
            tolerance = 1e-5 if exact else 0.05
            np.testing.assert_allclose(
                output(MODELS[name], rows), expected, rtol=0.0, atol=tolerance, err_msg=f"{np.dtype(kind)}, {layout}"
            )


@pytest.mark.parametrize("name", ["budgeted", "nystrom", "linear"])
def test_sparse_is_dense(name):
    """What is sparse is not centred, and may take other sums: solutions within tol of one another."""
    model = clone(MODELS[name]).set_params(tol=1e-4)
    dense, sparse = output(model, BYTES.astype(np.int16)), output(model, sp.csr_array(BYTES.astype(np.int16)))
    np.testing.assert_allclose(sparse, dense, atol=0.05)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize(
    "estimator", [AdditiveSVC(), AdditiveSVCCV(), AdditiveSVR(), NystromSVC(), BudgetedSVC(), NystromMap()]
)
def test_matrices_are_refused(estimator):
    """As scikit-learn does: their products and slices are others than those of arrays."""
    fitted = clone(estimator).fit(X, Y)
    use = fitted.transform if hasattr(fitted, "transform") else fitted.predict
    for call in (lambda: clone(estimator).fit(np.matrix(X), Y), lambda: use(np.matrix(X))):
        with pytest.raises(TypeError, match=r"np\.matrix is not supported"):
            call()
    if hasattr(fitted, "partial_fit"):
        with pytest.raises(TypeError, match=r"np\.matrix is not supported"):
            clone(estimator).partial_fit(X, Y, classes=np.matrix([0, 1, 2]))
