"""What is kept of the training rows: exact for few rows, saved, pickled, and carried through batches."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_digits, load_wine

import kernline
from kernline import AdditiveSVC, AdditiveSVCCV, AdditiveSVR
from kernline.shapes import training_facts
from kernline.shapes.training_facts import BINS
from kernline.tables import ValueTable

from .models import APPROXIMATIONS, fitted, mixed


def assert_facts(shapes, X, n_curves):
    """The facts are those of the contributions of the training rows."""
    values = shapes.explain(X).values[:, :n_curves].astype(np.float64)
    facts = shapes.training
    mean = values.mean(axis=0)
    # Those of straight lines are known in 32 bins only.
    atol = (1e-3 if isinstance(shapes.table, ValueTable) else 1e-5) * np.abs(values).max()
    assert_allclose(facts.mean[:n_curves], mean, atol=atol)
    assert_allclose(facts.importance[:n_curves], np.abs(values - mean).mean(axis=0), atol=atol)
    assert_allclose(facts.low[:n_curves], values.min(axis=0), atol=atol)
    assert_allclose(facts.high[:n_curves], values.max(axis=0), atol=atol)


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_of_every_approximation(name):
    X, y = load_digits(return_X_y=True)
    shapes = fitted(name, X[:500], y[:500]).shapes_
    assert shapes.training.n_rows == 500
    assert_facts(shapes, X[:500], 64)


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_of_categories_and_gaps(name):
    X, y = mixed()
    assert_facts(fitted(name, X, y, scale="minmax").shapes_, X, 4)


def test_of_pairs():
    X, y = mixed()
    shapes = AdditiveSVC(interactions=2).fit(X, y).shapes_
    assert_facts(shapes, X, 4)
    assert_pair_facts(shapes, X, 4, rtol=0.03)
    assert [float(share.sum()) for share in shapes.training.pair_shares] == pytest.approx([1.0, 1.0])


def assert_pair_facts(shapes, X, n_curves, rtol):
    """The facts of the pairs are those of the contributions of the training rows."""
    values = shapes.explain(X).values[:, n_curves:].astype(np.float64)
    distance = np.abs(values - values.mean(axis=0)).mean(axis=0)
    assert_allclose(shapes.training.importance[n_curves:], distance, rtol=rtol)
    assert_allclose(shapes.training.mean[n_curves:], values.mean(axis=0), atol=rtol * distance.max())


def test_of_pairs_with_rows_at_all_else():
    rng = np.random.default_rng(0)
    n = 600
    X = pd.DataFrame(
        {
            "code": rng.choice([f"c{i}" for i in range(100)], n),  # more levels than an axis has
            "on": rng.choice(["a", "b"], n),
            "gap": np.where(rng.random(n) < 0.4, np.nan, rng.normal(size=n)),
        }
    )
    y = (X.on == "a") ^ (rng.random(n) < 0.2)
    shapes = AdditiveSVC(interactions=[("code", "on")]).fit(X, y).shapes_
    assert_pair_facts(shapes, X, 3, rtol=1e-5)
    shapes = AdditiveSVC(interactions=[("code", "on"), ("gap", "on")]).fit(X, y).shapes_
    assert_pair_facts(shapes, X, 3, rtol=0.03)


def test_of_searches_regressions_and_several_labels():
    X, y = load_wine(return_X_y=True)
    assert_facts(AdditiveSVCCV(Cs=[1.0, 10.0], cv=2).fit(X, y).shapes_, X, 13)
    assert_facts(AdditiveSVC("intersection").fit(X, np.eye(3, dtype=int)[y]).shapes_, X, 13)
    X, y = load_diabetes(return_X_y=True)
    assert_facts(AdditiveSVR().fit(X, 1000.0 * y).shapes_, X, 10)


def test_of_sparse_rows():
    X, y = load_digits(return_X_y=True)
    sparse = AdditiveSVC("chi2", scale="max").fit(sp.csr_array(X), y).shapes_
    assert sparse.training.n_rows == len(X)
    assert_facts(sparse, X, 64)


def test_many_rows_are_sampled():
    X, y = load_digits(return_X_y=True)
    X, y = np.tile(X, (4, 1)), np.tile(y, 4)
    facts = fitted("hats", X, y).shapes_.training
    assert (facts.n_rows, facts.cells.n_rows) == (len(X), 2000)


def test_at_most_32_bins_are_kept():
    X = np.random.default_rng(0).random((1500, 2))
    for name in ("hats", "linear", "pmsvm"):
        cells = fitted(name, X, X[:, 0] > 0.5).shapes_.training.cells
        assert np.diff(cells.start).max() <= BINS
        assert cells.counts.sum() == pytest.approx(3000, abs=100)  # few of the values have the code 0


@pytest.mark.parametrize("name", ["hats", "linear"])
def test_bins_of_many_columns_are_sorted(name, monkeypatch):
    X, y = load_digits(return_X_y=True)
    expected = fitted(name, X, y).shapes_.training.cells
    monkeypatch.setattr(training_facts, "_MOST_BINS", 100)
    found = fitted(name, X, y).shapes_.training.cells
    for part in ("start", "marks", "counts", "ranges"):
        assert_array_equal(getattr(found, part), getattr(expected, part))


def test_files_of_straight_lines_have_counts_only(tmp_path):
    X, y = load_digits(return_X_y=True)
    model = fitted("linear", X, y)
    kernline.save(model, tmp_path / "m.kern")
    loaded = kernline.load(tmp_path / "m.kern").shapes_.training
    assert model.shapes_.training.stored(model.shapes_).importance.size == 0
    for part in ("importance", "low", "high", "mean"):
        assert_array_equal(getattr(loaded, part), getattr(model.shapes_.training, part))


def test_are_saved_and_pickled(tmp_path):
    X, y = mixed()
    model = AdditiveSVC(interactions=2).fit(X, y)
    kernline.save(model, tmp_path / "m.kern")
    for again in (kernline.load(tmp_path / "m.kern"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(again.shapes_.importance(), model.shapes_.importance())
        assert again.shapes_.class_names.tolist() == ["yes"]
        for k in range(6):
            a, b = again.shapes_.curve(k, centred=True), model.shapes_.curve(k, centred=True)
            assert_array_equal(a.effect, b.effect)
            assert_array_equal(a.density.counts, b.density.counts)


def test_old_files_have_none():
    shapes = kernline.load(Path(__file__).parents[1] / "golden" / "1.2-hats.kern").shapes_
    assert shapes.training is None
    assert shapes.curve(0).density is None
    for call in (shapes.importance, shapes.top, shapes.centred):
        with pytest.raises(ValueError, match=r"keeps nothing of its training rows.*Fit it again, or pass rows"):
            call()


class TestBatches:
    def test_facts_are_of_all_batches(self):
        X, y = load_digits(return_X_y=True)
        model = AdditiveSVC("chi2", scale="max", loss="hinge", C=1.0, random_state=0)
        for part in np.array_split(np.arange(1500), 10):
            model.partial_fit(X[part], y[part], classes=np.arange(10))
        facts = model.shapes_.training
        assert (facts.n_rows, facts.cells.n_rows) == (1500, 1500)
        values = model.shapes_.explain(X[:1500]).values.astype(np.float64)
        # Known in 32 bins only.
        assert_allclose(facts.mean, values.mean(axis=0), atol=0.01 * np.abs(values).max())

    def test_of_one_row_each(self):
        X, y = load_wine(return_X_y=True)
        model = AdditiveSVC("linear", scale="minmax", loss="hinge", C=1.0).partial_fit(X, y, classes=[0, 1, 2])
        before = model.shapes_.importance()
        model.partial_fit(X[:1], y[:1])
        assert model.shapes_.training.n_rows == 179
        assert_allclose(model.shapes_.importance(), before, atol=0.1 * before.max())

    def test_pairs_stay(self):
        X, y = mixed()
        model = AdditiveSVC(interactions=2).fit(X, y)
        shares = model.shapes_.training.pair_shares
        model.partial_fit(X[:50], y[:50])
        for before, after in zip(shares, model.shapes_.training.pair_shares, strict=True):
            assert_array_equal(before, after)


class TestCentring:
    @pytest.mark.parametrize("name", APPROXIMATIONS)
    def test_means_are_zero_and_scores_stay(self, name):
        X, y = load_digits(return_X_y=True)
        model = fitted(name, X[:500], y[:500])
        centred = model.shapes_.centred()
        values = centred.explain(X[:500]).values
        assert_allclose(values.mean(axis=0), 0.0, atol=1e-5)
        assert_allclose(centred.decision(X[:500]), model.decision_function(X[:500]), rtol=1e-12, atol=1e-12)
        assert_allclose(centred.evaluate(20, X[:500, 20]), values[:, 20], atol=1e-5)
        assert_allclose(centred.uncentred().intercepts, model.intercept_, rtol=1e-12)

    def test_unseen_levels_and_gaps_keep_their_scores(self):
        X, y = mixed()
        model = AdditiveSVC().fit(X, y)
        rows = X[:9].assign(colour="violet", age=np.nan)
        found = model.shapes_.centred().explain(rows)
        assert_allclose(found.decision()[:, 0], model.decision_function(rows), atol=1e-5)


def test_top_functions():
    X, y = load_digits(return_X_y=True)
    shapes = fitted("hats", X, y).shapes_
    total = shapes.importance().sum(axis=1)
    assert shapes.top(5) == np.argsort(-total, kind="stable")[:5].tolist()
    assert shapes.top(1, problem=3) == [int(shapes.importance()[:, 3].argmax())]
    assert len(shapes.top(1000)) == 64
    for call in (lambda: shapes.top(-1), lambda: shapes.explain(X[:1]).top(0, -1)):
        with pytest.raises(ValueError, match="top: k must be at least 0; got -1"):
            call()


def test_rows_that_repeat_in_a_fixed_distance():
    """A sample in equal steps would see one of them only."""
    hour = np.arange(20_000) % 10
    X = np.column_stack([hour, np.random.default_rng(0).random(hour.size)]).astype(np.float64)
    model = AdditiveSVC("chi2", C=1.0).fit(X, hour >= 5)
    assert model.shapes_.top(1) == [0]
    assert model.feature_importances_[0] > 0.9
    density = model.shapes_.curve(0).density
    assert np.count_nonzero(density.counts) == 10
    np.testing.assert_allclose(density.counts[density.counts > 0] / density.n_rows, 0.1, atol=0.03)


def test_batches_count_by_their_rows():
    random = np.random.default_rng(0)
    many, few = random.uniform(0.0, 0.2, (30_000, 2)), np.column_stack([np.full(2000, 0.9), random.random(2000)])
    many[0] = 1.0
    model = AdditiveSVC("chi2", scale="max", loss="hinge", C=1.0)
    model.partial_fit(many, many[:, 1] > 0.1, classes=[False, True])
    model.partial_fit(few, few[:, 1] > 0.1)
    density = model.shapes_.curve(0).density
    high = density.counts[density.edges[:-1] > 0.8].sum()
    assert high / density.n_rows == pytest.approx(2000 / 32_000, abs=0.005)


@pytest.mark.parametrize("approximation", ["hats", "plame"])
def test_batches_after_an_edit(approximation):
    random = np.random.default_rng(0)
    X = random.random((300, 2))
    fitted = AdditiveSVC("chi2", approximation, C=1.0, loss="hinge").fit(X, X[:, 0] > 0.5)
    edited = fitted.with_shapes(fitted.shapes_.edit(0, replace=0.0))
    if approximation == "plame":
        with pytest.raises(ValueError, match="cannot go on from edited curves with approximation='plame'"):
            edited.partial_fit(X, X[:, 0] > 0.5)
        return
    edited.partial_fit(X, X[:, 0] > 0.5)
    assert len(edited.shapes_.edits) == 1
