"""partial_fit of AdditiveSVC: each step against SVC and NumPy, the stream against fits to all rows."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning

import kernline
from kernline import AdditiveSVC, AdditiveSVCCV
from kernline.solvers.online import share_of_average


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(y.size)
    return X[order], y[order]


def stream(model, X, y, batch, passes=1, classes=None, **options):
    """Pass over the rows in shuffled batches."""
    rng = np.random.default_rng(1)
    for _ in range(passes):
        for rows in np.array_split(rng.permutation(y.size), -(-y.size // batch)):
            model.partial_fit(X[rows], y[rows], np.unique(y) if classes is None else classes, **options)
    return model


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_first_batch_is_a_fit(digits, loss):
    """From f = 0 the step is the SVM itself, with a penalised intercept."""
    X, y = digits
    options = {"loss": loss, "tol": 1e-4, "C": 0.5}
    online = AdditiveSVC(**options).partial_fit(X[:600], y[:600], classes=np.arange(10))
    fitted = AdditiveSVC(intercept_scaling=1.0, **options).fit(X[:600], y[:600])
    assert_allclose(online.objective_, fitted.objective_, rtol=3e-4)
    assert_allclose(online.decision_function(X), fitted.decision_function(X), atol=0.05)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_step_is_the_nearest_model(digits, loss):
    """KKT in NumPy for the linear kernel: w − w_before = Σ β_i x_i with β_i = −c ℓ′, and the objective."""
    X, y = digits[0][:300] / 16.0, digits[1][:300] % 2
    C, sign = 0.3, 2.0 * y - 1.0
    model = AdditiveSVC("linear", loss=loss, C=C, gamma=1.0, tol=1e-6, fit_intercept=False)
    model.partial_fit(X[:150], y[:150], classes=[0, 1])
    before = linear_weights(model)
    model.partial_fit(X[150:], y[150:])
    after = model._last_step.weights[0, :, 0]
    margin = 1.0 - sign[150:] * (X[150:] @ after)
    hinge = np.maximum(margin, 0.0)
    total = hinge.sum() if loss == "hinge" else np.square(hinge).sum()
    assert model.objective_[0] == pytest.approx(0.5 * np.square(after - before).sum() + C * total, rel=1e-4)
    assert model.dual_gap_[0] <= 1e-6 * model.objective_[0]
    if loss == "squared_hinge":
        expected = (2.0 * C * hinge * sign[150:]) @ X[150:]
        assert_allclose(after - before, expected, atol=0.02)


def linear_weights(model):
    return model.shapes_.decision(np.eye(model.n_features_in_))[:, 0] - model.intercept_[0]


def test_the_model_is_the_average_of_the_steps(digits):
    X, y = digits
    model, steps = AdditiveSVC(), []
    for rows in np.array_split(np.arange(900), 3):
        model.partial_fit(X[rows], y[rows], classes=np.arange(10))
        steps.append((model.n_samples_seen_, model._last_step.weights))
    counts = np.square([0, *(n for n, _ in steps)]).astype(float)
    share = np.diff(counts) / counts[-1]
    expected = sum(weight * step for weight, (_, step) in zip(share, steps, strict=True))
    assert_allclose(model.shapes_.weights, expected, atol=1e-5)
    assert share_of_average(0, 10) == 1.0


@pytest.mark.parametrize("batch", [100, 300])
def test_one_pass_is_about_as_accurate_as_a_fit(digits, batch):
    X, y = digits
    fitted = AdditiveSVC().fit(X[:1200], y[:1200]).score(X[1200:], y[1200:])
    online = stream(AdditiveSVC(), X[:1200], y[:1200], batch)
    assert online.score(X[1200:], y[1200:]) > fitted - 0.03
    assert stream(online, X[:1200], y[:1200], batch, passes=2).score(X[1200:], y[1200:]) > fitted - 0.015


def test_a_table():
    X, y = load_breast_cancer(return_X_y=True)
    options = {"kernel": "intersection", "scale": "rank"}
    fitted = AdditiveSVC(**options).fit(X[:400], y[:400]).score(X[400:], y[400:])
    assert stream(AdditiveSVC(**options), X[:400], y[:400], 100, passes=2).score(X[400:], y[400:]) > fitted - 0.03


def test_a_class_absent_from_a_batch(digits):
    X, y = digits
    model = AdditiveSVC().partial_fit(X[:400], y[:400], classes=np.arange(11))
    assert_array_equal(model.classes_, np.arange(11))
    assert 10 not in model.predict(X)
    only = np.flatnonzero(y == 3)[:20]
    model.partial_fit(X[only], y[only])
    assert model.score(X, y) > 0.8


def test_what_is_refused(digits):
    X, y = digits
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        AdditiveSVC().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"not among the classes of the first call to partial_fit: \[5, 6"):
        AdditiveSVC().partial_fit(X, y, classes=range(5))
    model = AdditiveSVC().partial_fit(X[:300], y[:300], classes=range(10))
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="is not the same as on last call"):
        model.partial_fit(X, y, classes=range(11))
    with pytest.raises(ValueError, match="63 features, but AdditiveSVC is expecting 64"):
        model.partial_fit(X[:, :63], y)
    with pytest.raises(ValueError, match="needs values >= 0"):
        model.partial_fit(-X, y)
    with pytest.raises(ValueError, match="class_weight='balanced' needs all labels together"):
        AdditiveSVC(class_weight="balanced").partial_fit(X, y, classes=range(10))
    assert_array_equal(model.decision_function(X), before)


def test_a_search_has_none(digits):
    assert not hasattr(AdditiveSVCCV(), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit") as error:
        _ = AdditiveSVCCV().partial_fit
    assert "Use AdditiveSVC" in str(error.value) + str(error.value.__cause__)


def test_after_fit_it_goes_on(digits):
    X, y = digits
    model = AdditiveSVC().fit(X[:600], y[:600])
    before = model.score(X[1200:], y[1200:])
    model.partial_fit(X[600:1200], y[600:1200])
    assert model.n_samples_seen_ == 1200
    assert model.score(X[1200:], y[1200:]) >= before
    model.fit(X[:600], y[:600])
    assert not hasattr(model, "_last_step")


@pytest.mark.parametrize("interactions", [0, 5])
def test_after_a_fit_of_all_classes(digits, interactions):
    """The step lowers ½‖f − f_before‖² + C Σ ℓ, with the softmax loss, and leaves tables of pairs as they are."""
    X, y = digits
    model = AdditiveSVC(interactions=interactions, tol=1e-6).fit(X[:300], y[:300])
    before, pairs = model.decision_function(X), model.shapes_.pairs
    model.partial_fit(X[300:600], y[300:600])
    assert model.solver_ == "joint"
    assert model.shapes_.pairs == pairs
    assert model.n_iter_.shape == model.objective_.shape == (1,)
    after, share = model.decision_function(X), share_of_average(300, 300)
    last = before + (after - before) / share
    loss = -30.0 * log_softmax(last, axis=1)[np.arange(300, 600), y[300:600]].sum()
    none = -30.0 * log_softmax(before, axis=1)[np.arange(300, 600), y[300:600]].sum()
    assert loss < model.objective_[0] < none
    assert model.dual_gap_[0] <= 1e-6 * model.objective_[0]
    assert_allclose(model.predict_proba(X), softmax(after, axis=1), atol=1e-12)


def test_batches_alone_have_the_softmax_loss(digits):
    X, y = digits
    model = stream(AdditiveSVC(), X[:1200], y[:1200], 200)
    assert (model.loss_, model.solver_) == ("log", "joint")
    assert_allclose(model.predict_proba(X), softmax(model.decision_function(X), axis=1), atol=1e-12)
    first = AdditiveSVC(tol=1e-6).partial_fit(X[:300], y[:300], classes=np.arange(10))
    fitted = AdditiveSVC(C=30.0, intercept_scaling=1.0, tol=1e-6).fit(X[:300], y[:300])
    assert_allclose(first.objective_, fitted.objective_, rtol=1e-5)


def test_weights_and_threads(digits):
    X, y = digits[0][:500], digits[1][:500]
    weight = np.random.default_rng(0).integers(1, 3, 500)
    models = [AdditiveSVC(n_jobs=n, class_weight={3: 2.0}) for n in (1, 2)]
    one, two = (stream(model, X, y, 100, sample_weight=None) for model in models)
    assert_array_equal(one.decision_function(X), two.decision_function(X))
    tight = {"tol": 1e-5}
    weighted = AdditiveSVC(**tight).partial_fit(X, y, range(10), sample_weight=weight)
    repeated = AdditiveSVC(**tight).partial_fit(np.repeat(X, weight, axis=0), np.repeat(y, weight), range(10))
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-3)


def test_pickled_and_saved(digits, tmp_path):
    X, y = digits
    model = stream(AdditiveSVC(), X[:600], y[:600], 200)
    copy = pickle.loads(pickle.dumps(model)).partial_fit(X[600:], y[600:])
    kernline.save(model, tmp_path / "model.kern")
    loaded = kernline.load(tmp_path / "model.kern")
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.n_samples_seen_ == 600
    model.partial_fit(X[600:], y[600:])
    assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert loaded.partial_fit(X[600:], y[600:]).score(X, y) > 0.9


def test_a_limit_of_passes_warns(digits):
    X, y = digits
    with pytest.warns(ConvergenceWarning, match="max_iter=1 passes"):
        AdditiveSVC(max_iter=1, C=100.0).partial_fit(X, y, classes=range(10))
