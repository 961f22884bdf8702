"""Arrays in memory layouts of all kinds give what a plain copy of them gives."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernline import AdditiveSVC, AdditiveSVCCV, BudgetedSVC, NystromSVC, kernels
from kernline.feature_maps import AdditiveKernelMap, NystromMap
from kernline.sources import plain_array, value_range


def field(X):
    """A field of packed records: strides are no multiple of the item size."""
    records = np.zeros(X.shape, dtype=[("flag", "u1"), ("value", X.dtype)])
    records["value"] = X
    return records["value"]


def padded_rows(X):
    """Rows one byte apart."""
    records = np.zeros(X.shape[0], dtype=[("row", X.dtype, X.shape[1:]), ("pad", "u1")])
    records["row"] = X
    return records["row"]


def at_odd_address(X):
    return np.frombuffer(b"\0" + X.tobytes(), dtype=X.dtype, offset=1).reshape(X.shape)


def swapped(X):
    return X.astype(X.dtype.newbyteorder())


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


LAYOUTS = {
    "field": field,
    "padded rows": padded_rows,
    "odd address": at_odd_address,
    "byte-swapped": swapped,
    "byte-swapped at an odd address": lambda X: at_odd_address(swapped(X)),
    "read-only": read_only,
    "columns first": np.asfortranarray,
    "rows backwards": lambda X: X[::-1].copy()[::-1],
    "columns backwards": lambda X: X[:, ::-1].copy()[:, ::-1],
    "every other": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "a row repeated": lambda X: np.broadcast_to(X[0], X.shape),
    "a column repeated": lambda X: np.broadcast_to(X[:, :1], X.shape),
}
USES = {
    "AdditiveSVC": AdditiveSVC(random_state=0),
    "linear": AdditiveSVC("linear", random_state=0),
    "linear minmax": AdditiveSVC("linear", scale="minmax", random_state=0),
    "rank": AdditiveSVC(scale="rank", random_state=0),
    "pmsvm": AdditiveSVC(approximation="pmsvm", random_state=0),
    "AdditiveSVCCV": AdditiveSVCCV(Cs=2, cv=2, random_state=0),
    "NystromSVC": NystromSVC(n_basis=10, random_state=0),
    "NystromSVC chi2": NystromSVC("chi2", n_basis=10, random_state=0),
    "BudgetedSVC": BudgetedSVC(budget=10, passes=2, random_state=0),
    "AdditiveKernelMap": AdditiveKernelMap(),
    "NystromMap": NystromMap(n_basis=10, random_state=0),
    **{type(kernel).__name__: kernel for kernel in (kernels.Chi2(), kernels.JensenShannon(), kernels.Linear())},
    "Custom": kernels.Custom(np.minimum),
}
LABELS = np.random.default_rng(1).integers(0, 3, 60)


def result(use, X):
    if isinstance(use, kernels.AdditiveKernel):
        return use(X, X)
    use.fit(X, LABELS)
    found = use.transform(X) if hasattr(use, "transform") else use.decision_function(X)
    return found.toarray() if sp.issparse(found) else found


def values(dtype):
    rng = np.random.default_rng(0)
    return (np.round(4.0 * rng.gamma(1.0, 1.0, (60, 9))) * (rng.random((60, 9)) < 0.7)).astype(dtype)


def each_pair(*lists):
    """Of three lists, as few triples as have each pair of entries: a Latin square."""
    first, second, third = map(list, lists)
    return [(one, two, third[(i + j) % len(third)]) for i, one in enumerate(first) for j, two in enumerate(second)]


@pytest.mark.parametrize(("use", "layout", "dtype"), each_pair(USES, LAYOUTS, ["f8", "f4", "i2"]))
def test_dense(use, layout, dtype):
    X = LAYOUTS[layout](values(dtype))
    plain = np.array(X, dtype=dtype, order="C")
    assert (plain == X).all()
    np.testing.assert_allclose(result(USES[use], X), result(USES[use], plain), rtol=1e-4, atol=1e-5)


FLAT_LAYOUTS = ["field", "odd address", "byte-swapped", "read-only", "rows backwards"]


@pytest.mark.parametrize(("use", "layout", "part"), each_pair(USES, FLAT_LAYOUTS, ["data", "indices", "indptr"]))
def test_sparse(use, layout, part):
    plain = sp.csr_array(values("f8"))
    X = plain.copy()
    setattr(X, part, LAYOUTS[layout](getattr(plain, part).reshape(-1, 1))[:, 0])
    np.testing.assert_allclose(result(USES[use], X), result(USES[use], plain), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("use", USES)
def test_sparse_half_precision(use):
    plain = sp.csr_array(values("f4"))
    X = plain.copy()
    X.data = X.data.astype(np.float16)
    np.testing.assert_allclose(result(USES[use], X), result(USES[use], plain), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "u2", "u1", "?"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_value_range(layout, dtype):
    """The core's own reader, without the checks of an estimator before it."""
    X = LAYOUTS[layout](values(dtype))
    assert value_range(X) == (min(0.0, X.min()), X.max(), True)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("kernel", ["chi2", "linear"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_shape_functions(layout, kernel, dtype):
    model = AdditiveSVC(kernel, random_state=0).fit(values(dtype), LABELS)
    X = LAYOUTS[layout](values(dtype))
    np.testing.assert_array_equal(
        model.shapes_.decision(X), model.shapes_.decision(np.array(X, dtype=dtype, order="C"))
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_are_made_where_needed_only(layout):
    X = LAYOUTS[layout](values("f8"))
    plain = plain_array(X)
    assert plain.dtype == np.float64
    assert plain.flags.aligned
    assert np.shares_memory(plain, X) == (layout not in list(LAYOUTS)[:5])
