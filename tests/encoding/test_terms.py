"""Terms against indicator columns: a category, a missing value or a pair has the weights that these would have."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import OneHotEncoder

from kernline import AdditiveSVC, AdditiveSVCCV, kernels, tables
from kernline.encoding import Encoder, TermSpec, register
from kernline.encoding.terms import CategoryTerm, MissingTerm
from kernline.io.rows import EncodedRows
from kernline.shapes import ShapeFunctions
from kernline.solvers import DualCD
from kernline.solvers.certificate import certify, explicit_features

from .mixed_data import BINNED, CATEGORY, MISSING, PAIR, TERMS, fitted, indicators, mixed, new_rows, with_terms

METHODS = {
    "hats": {"kernel": "chi2"},
    "wide codes": {"kernel": "chi2", "approximation": tables.Hats(300)},
    "linear": {"kernel": "linear"},
    "plame": {"kernel": "chi2", "approximation": "plame"},
    "pmsvm": {"kernel": "chi2", "approximation": "pmsvm"},
    "pmsvm-lut": {"kernel": "chi2", "approximation": "pmsvm-lut"},
    "hik": {"kernel": "intersection", "approximation": "hik"},
    "rank": {"kernel": "intersection", "scale": "rank"},
    "minmax": {"kernel": "chi2", "scale": "minmax"},
}
BY_METHOD = pytest.mark.parametrize("params", METHODS.values(), ids=METHODS)


def problem_of(model, X, y):
    data = model._training_data(X, y, None)
    return model._rows(data, model._choice(data, 1.0), seed=0).problem(np.where(y == 1, 1.0, -1.0), np.ones(len(y)))


def gram(problem):
    read, write = explicit_features(problem)
    return (read @ write.T).toarray()


@BY_METHOD
def test_a_category_is_its_indicator_columns(params):
    X, y = mixed()
    X = np.nan_to_num(X)
    one_hot = OneHotEncoder(sparse_output=False).fit_transform(X[:, [2]])
    found = problem_of(with_terms(AdditiveSVC(gamma=1.0, **params), CATEGORY), X, y)
    expected = problem_of(AdditiveSVC(gamma=1.0, **params), np.c_[X[:, [0, 1, 3]], one_hot], y)
    assert_allclose(gram(found), gram(expected), rtol=1e-6)
    assert_allclose(found.curvature, expected.curvature, rtol=1e-6)


@BY_METHOD
def test_a_missing_value_is_an_indicator_column(params):
    X, y = mixed()
    X = X[:, :2]
    X[0, 0] = 0.0  # so that zero in place of NaN changes no range
    missing = np.isnan(X[:, 0])
    filled = np.c_[np.nan_to_num(X), missing]
    found = problem_of(with_terms(AdditiveSVC(gamma=1.0, **params), MISSING), X, y)
    if params.get("scale") == "rank":  # zeros would change no rank, as they are the lowest
        assert_array_equal(found.data.to_csr()[:, [0]].toarray()[missing], 0)
    expected = problem_of(AdditiveSVC(gamma=1.0, **params), filled, y)
    assert_allclose(gram(found), gram(expected), rtol=1e-6)


@BY_METHOD
@pytest.mark.parametrize("term", [PAIR, BINNED], ids=["levels", "bins"])
def test_a_pair_is_the_indicators_of_its_cells(params, term):
    X, y = mixed()
    X = np.nan_to_num(X)
    if term is PAIR:
        cells = OneHotEncoder(sparse_output=False).fit_transform(np.array([f"{a} {b}" for a, b in X[:, 2:]])[:, None])
    else:
        edges = np.quantile(X[:, 1], [0.25, 0.5, 0.75])
        both = np.array([f"{a} {b}" for a, b in zip(np.digitize(X[:, 1], edges), X[:, 2], strict=True)])
        cells = OneHotEncoder(sparse_output=False).fit_transform(both[:, None])
    params = {"scale": "minmax", **params} if params.get("kernel") != "linear" else params
    found = problem_of(with_terms(AdditiveSVC(gamma=1.0, **params), term), X, y)
    expected = problem_of(AdditiveSVC(gamma=1.0, **params), np.c_[X, cells], y)
    assert_allclose(gram(found), gram(expected), rtol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["dual-cd", "newton"])
def test_certificate_confirms_the_gap(loss, solver):
    X, y = mixed()
    problem = problem_of(with_terms(AdditiveSVC("chi2", scale="minmax", loss=loss), *TERMS), X, y)
    result = DualCD(tol=1e-4, max_iter=10_000, solver=solver).solve(problem)
    certificate = certify(problem, result.beta, result.intercept)
    assert result.converged
    assert_allclose(result.primal, certificate.primal, rtol=1e-5)
    assert_allclose(result.gap, certificate.gap, atol=1e-6 * certificate.primal, rtol=1e-3)


@pytest.mark.parametrize("kernel", ["chi2", "linear"])
def test_scores_are_those_of_the_indicator_model(kernel):
    X, y = mixed()
    X[0, 0] = 0.0
    rows = new_rows()

    def explicit(A):
        cells = [indicators(A, (2,)), np.isnan(A[:, [0]]), indicators(A, (2, 3)), np.isnan(A[:, [2]])]
        return np.c_[np.nan_to_num(A[:, [0, 1, 3]]), np.concatenate(cells, axis=1)]

    params = {"kernel": kernel, "tol": 1e-6, "max_iter": 20_000, "random_state": 0}
    model = fitted(CATEGORY, MISSING, PAIR, TERMS[-1], X=X, **params)
    expected = AdditiveSVC(**params).fit(explicit(X), y)
    for A in (X, rows):
        assert_allclose(model.decision_function(A), expected.decision_function(explicit(A)), atol=0.01)
    assert_allclose(model.objective_, expected.objective_, rtol=1e-5)


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("pair", [tables.Hats(), tables.Hats(300), None], ids=["8 bits", "16 bits", "values"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_core_gives_the_cells_of_numpy(layout, packed, pair, n_threads):
    X, _ = mixed()
    X[:, 2] += 2.0  # 1 to 4: zero is no level, so that it may be sparse
    X[::3, :2] = 0.0
    kernel = kernels.Chi2() if pair else kernels.Linear()
    pair = pair.build(kernel) if pair else tables.linear_pair()
    specs = (CATEGORY, MISSING, PAIR)
    encoder = replace(Encoder.fit(layout(X), pair, kernel=kernel, terms=specs), packed=packed)
    found = encoder.transform(layout(X), n_threads=n_threads)
    assert found.shape == (len(X), 4 + 4 + 1 + 12)
    assert found.is_dense is not packed
    numbers = Encoder.fit(np.nan_to_num(X), pair, kernel=kernel)
    expected = numbers.transform(np.nan_to_num(X)).to_csr().toarray()
    expected[:, 2] = 0
    last = 1 if pair.grid is None else pair.grid.values.size - 1
    cells = [indicators(X - [0, 0, 2, 0], (2,)), np.isnan(X[:, [0]]), indicators(X - [0, 0, 2, 0], (2, 3))]
    expected = np.c_[expected, last * np.concatenate(cells, axis=1)]
    assert_array_equal(found.to_csr().toarray(), expected)
    for term, start in zip(encoder.terms, encoder.term_start, strict=True):
        column, u = term.cells(X[:, list(term.columns)])
        assert_array_equal(column >= 0, expected[:, start : start + term.n_columns].any(axis=1))
        assert (u == 1.0).all()


def test_functions_sum_up_to_the_scores():
    model, rows = fitted(*TERMS), new_rows()
    shapes = model.shapes_
    assert [*shapes.encoder.functions] == [(0,), (1,), (2,), (3,), (2, 3), (1, 2)]
    values = [shapes.evaluate(k, rows[:, list(columns)]) for k, columns in enumerate(shapes.encoder.functions)]
    assert_allclose(model.intercept_ + sum(values), model.decision_function(rows), atol=1e-5)
    assert_allclose(shapes.importance(rows), [np.abs(one - one.mean(axis=0)).mean(axis=0) for one in values])
    assert shapes.nbytes > shapes.weights.nbytes + shapes.intercepts.nbytes


def test_a_level_that_was_not_seen_adds_nothing():
    shapes = fitted(*TERMS).shapes_
    assert_array_equal(shapes.evaluate(2, [17.0, 0.5]), 0.0)
    assert_array_equal(shapes.evaluate(4, [[17.0, 1.0], [0.0, np.nan]]), 0.0)
    assert (shapes.evaluate(2, [0.0, np.nan]) != 0.0).any(axis=1).all()


def test_copies_predict_the_same():
    model, rows = fitted(*TERMS), new_rows()
    expected = model.decision_function(rows)
    assert_array_equal(pickle.loads(pickle.dumps(model.shapes_)).decision(rows), expected)
    shapes = model.shapes_
    again = ShapeFunctions(shapes.encoder, shapes.table, np.array(shapes.weights), shapes.intercepts)
    assert_array_equal(again.decision(rows, n_threads=3), expected)


def test_cross_validation_takes_terms():
    X, y = mixed()
    model = with_terms(AdditiveSVCCV("chi2", Cs=[0.1, 1.0], cv=2, tol=1e-5, random_state=0), *TERMS).fit(X, y)
    alone = fitted(*TERMS, C=model.C_, tol=1e-5)
    assert_allclose(model.decision_function(X), alone.decision_function(X), atol=0.02)


def test_rows_encoded_in_pieces():
    X, _ = mixed()
    encoder = fitted(*TERMS).shapes_.encoder
    rows = EncodedRows(encoder, 1)
    for begin in range(0, len(X), 150):
        rows.append(X[begin : begin + 150])
    assert_array_equal(rows.result().to_csr().toarray(), encoder.transform(X).to_csr().toarray())


def test_sparse_rows():
    X, y = mixed()
    X[:, 2] += 2.0
    X[::3, :2] = 0.0
    dense, sparse = (fitted(*TERMS, X=layout(X)) for layout in (np.asarray, sp.csr_array))
    assert_allclose(sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-5)
    with pytest.raises(ValueError, match="0 among its levels"):
        fitted(CATEGORY, X=sp.csr_array(np.nan_to_num(X - [0, 0, 2, 0]) * [1, 1, 1, 1]), y=y)
    with pytest.raises(ValueError, match="zero is a category"):
        fitted(*TERMS).predict(sp.csr_array(X))


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_values_without_a_term_are_refused(layout):
    X, _ = mixed()
    X[:, 2] += 2.0
    model = fitted(*TERMS, X=layout(X), missing="error")
    rows = X.copy()
    rows[5, 1] = np.nan
    for call in (lambda: model.predict(layout(rows)), lambda: fitted(*TERMS, X=layout(rows), missing="error")):
        with pytest.raises(ValueError, match="NaN in column 1, which has no weight"):
            call()
    with pytest.raises(ValueError, match="NaN"):
        fitted(CATEGORY, X=layout(X), missing="error")
    rows[5, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.predict(layout(rows))
    rows[5, 1] = -1.0
    with pytest.raises(ValueError, match="column 1 has minimum -1"):
        model.predict(layout(rows))
    with pytest.raises(ValueError, match="must be finite"):
        model.shapes_.evaluate(1, [np.nan])


def test_a_category_may_be_negative_and_large():
    X, y = mixed()
    X = np.nan_to_num(X)
    X[:, 2] *= 1e200
    assert fitted(CATEGORY, X=X, kernel="linear").score(X, y) > 0.5
    assert fitted(CATEGORY, X=X).score(X, y) > 0.5


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ([TermSpec("colour", (0,))], "'colour' is not registered. Choose one of"),
        ([TermSpec("category", (4,))], "columns of 4, numbered from 0"),
        ([TermSpec("category", (-1,))], "columns of 4"),
        ([TermSpec("category", (1, 2))], "reads 1 distinct"),
        ([TermSpec("pair", (1, 1))], "reads 2 distinct"),
        ([CATEGORY, CATEGORY], "given twice"),
    ],
)
def test_terms_that_cannot_be(terms, message):
    X, _ = mixed()
    with pytest.raises(ValueError, match=message):
        Encoder.fit(np.nan_to_num(X), tables.linear_pair(), kernel=kernels.Linear(), terms=terms)


def test_columns_without_values():
    X, y = mixed()
    X[:, 0] = np.nan
    assert fitted(MISSING, TERMS[-1], CATEGORY, X=X).score(X, y) > 0.4
    with pytest.raises(ValueError, match="Column 0 has no value"):
        fitted(MISSING, CATEGORY, TERMS[-1], TermSpec("category", (0,)), X=X)
    X[:, 0] = 1.0
    with pytest.raises(ValueError, match="cannot be cut into 3 bins"):
        fitted(TERMS[-1], TermSpec("pair", (0, 1), {"bins": (3, 3)}), X=X, scale="rank")


def test_a_kind_is_registered_once():
    assert register(CategoryTerm) is CategoryTerm
    with pytest.raises(ValueError, match=r"'missing' is already registered: kernline\.encoding\.terms\.MissingTerm"):
        register(type("Mine", (MissingTerm,), {}))


@pytest.mark.parametrize("packed", [False, True])
def test_codes_beyond_the_grid_are_refused(packed):
    """Code 240 is the last; the weights of 241 and above would be those of the next column."""
    X, y = mixed()
    X = np.nan_to_num(X)
    model = with_terms(AdditiveSVC("chi2", scale="minmax"))
    problem = problem_of(model, X, y)
    encoder = replace(Encoder.fit(X, problem.pair, scale="minmax", kernel=kernels.Chi2()), packed=packed)
    data = encoder.transform(X)
    cells = data.cells.copy()
    at = np.flatnonzero(cells.ravel() & 255)[0]
    cells.ravel()[at] |= 255
    damaged = replace(problem, data=replace(data, cells=cells))
    with pytest.raises(ValueError, match="a code that the table lacks"):
        DualCD(tol=0.1).solve(damaged)
    with pytest.raises(ValueError, match="a code that the table lacks"):
        DualCD(tol=0.1, solver="newton").solve(damaged)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kinds": [0, 3]}, "kind"),
        ({"first": [0, 3]}, "outside"),
        ({"first": [0, -1]}, "outside"),
        ({"missing": [4, -1]}, "outside"),
        ({"missing": [-2, -1]}, "outside"),
        ({"levels": [2.0, 1.0]}, "increase"),
        ({"levels": [1.0, np.nan]}, "increase"),
        ({"level_start": [0, 3, 2]}, "decrease"),
        ({"level_start": [0, 0, 1]}, "divide"),
        ({"n_columns": 1}, "divide"),
        ({"kinds": [0]}, "one entry"),
    ],
)
def test_the_core_refuses_terms_that_do_not_fit(change, message):
    arrays = {
        "kinds": np.array([0, 1], dtype=np.uint8),
        "first": np.array([0, 2]),
        "level_start": np.array([0, 0, 2]),
        "levels": np.array([1.0, 2.0]),
        "missing": np.array([-1, -1]),
        "n_columns": 4,
    }
    changed = {name: np.array(value, arrays[name].dtype) for name, value in change.items() if name != "n_columns"}
    changed = arrays | changed | {name: value for name, value in change.items() if name == "n_columns"}
    X = np.ones((3, 2))
    encoder = Encoder.fit(X, tables.Hats().build(kernels.Chi2()), kernel=kernels.Chi2())
    with pytest.raises(ValueError, match=message):
        encoder.native.set_terms(**changed)
