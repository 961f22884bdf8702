"""Estimators on rows that are encoded already, as `io.read(encoder=)` returns them."""

import io

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

import kernline
from kernline import AdditiveSVC, AdditiveSVCCV, AdditiveSVR, AdditiveSVRCV, BudgetedSVC, NystromSVC

METHODS = {
    "hats": {"kernel": "chi2"},
    "linear": {"kernel": "linear"},
    "plame": {"kernel": "chi2", "approximation": "plame"},
    "pmsvm": {"kernel": "chi2", "approximation": "pmsvm"},
    "pmsvm-lut": {"kernel": "chi2", "approximation": "pmsvm-lut"},
    "hik": {"kernel": "intersection", "approximation": "hik"},
    "rank": {"kernel": "intersection", "scale": "rank"},
    "minmax": {"kernel": "chi2", "scale": "minmax"},
}
BY_METHOD = pytest.mark.parametrize("params", METHODS.values(), ids=METHODS)
LAYOUTS = {"dense": np.asarray, "sparse": lambda X: sp.csr_array(np.where(X > 8, X, 0.0))}
BY_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


@pytest.fixture(scope="module")
def data(digits):
    X, y = digits
    return X[:400].astype(np.float64), y[:400] % 3


def read(X, y, encoder):
    """Through a file: svmlight, and in blocks."""
    stream = io.BytesIO()
    dump_svmlight_file(X, y, stream, zero_based=True)
    stream.seek(0)
    return kernline.io.read(stream, encoder=encoder, zero_based=True)


@BY_METHOD
@BY_LAYOUT
def test_fit_and_predict_as_on_the_values(data, params, layout):
    X, y = layout(data[0]), data[1]
    model = AdditiveSVC(**params).fit(X, y)
    encoded = read(X, y, model.shapes_.encoder)
    again = AdditiveSVC(**params).fit(encoded.X, encoded.y)
    # Rounded sums of a file's sparse rows and of dense ones differ in order.
    assert_allclose(again.shapes_.weights, model.shapes_.weights, atol=5e-6 * np.abs(model.shapes_.weights).max())
    assert_array_equal(again.predict(encoded.X), model.predict(X))
    assert_allclose(again.decision_function(encoded.X), model.decision_function(X), atol=1e-5)
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.n_features_in_ == 64


@BY_METHOD
def test_regressors(data, params):
    X, y = data[0], data[0][:, 20:24].sum(axis=1)
    for model in (AdditiveSVR(**params), AdditiveSVRCV(Cs=[0.1, 1.0], cv=2, **params)):
        model.fit(X, y)
        encoded = read(X, y, model.shapes_.encoder)
        again = clone(model).fit(encoded.X, encoded.y)
        assert_allclose(again.predict(encoded.X), model.predict(X), atol=1e-3 * y.std())
        assert_allclose(again.predict(X), model.predict(X), atol=1e-3 * y.std())
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AdditiveSVR(**params).fit(encoded.X, y[:-1])


@BY_LAYOUT
def test_predict_in_blocks(data, layout, monkeypatch):
    X, y = layout(data[0]), data[1]
    model = AdditiveSVC().fit(X, y)
    encoded = model.shapes_.encoder.transform(X)
    monkeypatch.setattr("kernline.estimators.one_vs_rest._SCORES_AT_ONCE", 150)
    assert_array_equal(model.predict(encoded), model.predict(X))


@BY_LAYOUT
def test_rows_of_weight_zero_are_left_out(data, layout):
    X, y = layout(data[0]), data[1]
    weight = np.arange(len(y)) % 4 / 2.0
    encoder = AdditiveSVC().fit(X, y).shapes_.encoder
    found = AdditiveSVC().fit(encoder.transform(X), y, sample_weight=weight)
    kept = weight > 0.0
    expected = AdditiveSVC().fit(encoder.transform(X[kept]), y[kept], sample_weight=weight[kept])
    assert_array_equal(found.shapes_.weights, expected.shapes_.weights)


@BY_LAYOUT
def test_the_search_takes_them(data, layout):
    X, y = layout(data[0]), data[1]
    model = AdditiveSVCCV(["chi2", "intersection"], Cs=[0.1, 1.0], cv=3).fit(X, y)
    encoded = model.shapes_.encoder.transform(X)
    again = AdditiveSVCCV(["chi2", "intersection"], Cs=[0.1, 1.0], cv=3).fit(encoded, y)
    assert_array_equal(again.scores_, model.scores_)
    assert (again.C_, again.kernel_) == (model.C_, model.kernel_)
    scored = AdditiveSVCCV(Cs=[1.0], cv=3, scoring="balanced_accuracy").fit(encoded, y)
    assert scored.best_score_ > 0.5


def test_names_of_a_former_fit_are_dropped(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=[f"pixel {j}" for j in range(64)])
    model = AdditiveSVC().fit(frame, y)
    assert not hasattr(model.fit(model.shapes_.encoder.transform(X), y), "feature_names_in_")
    assert model.shapes_.feature_names_in_ is None


OTHERS = {
    "linear": {"kernel": "linear"},
    "pmsvm": {"kernel": "chi2", "approximation": "pmsvm"},
    "rank": {"scale": "rank"},
    "minmax": {"kernel": "chi2", "scale": "minmax"},
    "quantile": {"approximation": kernline.tables.Hats(spacing="quantile")},
}


@pytest.mark.parametrize("params", OTHERS.values(), ids=OTHERS)
def test_an_encoder_for_other_settings_is_refused(data, params):
    X, y = data
    encoded = AdditiveSVC().fit(X, y).shapes_.encoder.transform(X)
    with pytest.raises(ValueError, match="encoded for another kernel, approximation or scale"):
        AdditiveSVC(**params).fit(encoded, y)


def test_another_encoder_of_the_same_kind_is_refused_in_predict(data):
    X, y = data
    model, other = AdditiveSVC().fit(X, y), AdditiveSVC().fit(2.0 * X, y)
    with pytest.raises(ValueError, match=r"Read it with encoder=model\.shapes_\.encoder"):
        model.predict(other.shapes_.encoder.transform(X))
    # An equal one is as good: that of a model loaded from a file, say.
    twin = AdditiveSVC(C=0.1).fit(X, y)
    assert_array_equal(model.predict(twin.shapes_.encoder.transform(X)), model.predict(X))


@pytest.mark.parametrize("estimator", [NystromSVC(), BudgetedSVC(), kernline.feature_maps.NystromMap()], ids=repr)
def test_other_estimators_say_that_they_take_values(data, estimator):
    X, y = data
    encoded = AdditiveSVC().fit(X, y).shapes_.encoder.transform(X)
    with pytest.raises(TypeError, match="takes values, not the codes of an encoder"):
        estimator.fit(encoded, y)


def test_wrong_labels_and_rows_without_an_encoder(data):
    X, y = data
    encoded = AdditiveSVC().fit(X, y).shapes_.encoder.transform(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AdditiveSVC().fit(encoded, y[:-1])
    with pytest.raises(ValueError, match="one class only"):
        AdditiveSVC().fit(encoded, np.zeros(len(y)))
    with pytest.raises(ValueError, match="do not know their encoder"):
        AdditiveSVC().fit(kernline.encoding.EncodedData(X.shape, X.astype(np.float32)), y)
