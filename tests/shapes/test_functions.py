"""Shape functions by name and number, and what they refuse."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine

import kernline
from kernline import AdditiveSVC, AdditiveSVCCV


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def model(wine):
    return AdditiveSVC(random_state=0).fit(*wine)


@pytest.fixture(scope="module")
def nameless(wine):
    return AdditiveSVC(random_state=0).fit(wine[0].to_numpy(), wine[1])


class TestNames:
    def test_stand_for_numbers(self, wine, model):
        for j, name in enumerate(wine[0].columns):
            values = wine[0][name]
            assert_array_equal(model.shapes_.evaluate(name, values), model.shapes_.evaluate(j, values.to_numpy()))

    def test_of_a_chosen_model(self, wine):
        shapes = AdditiveSVCCV(Cs=[1.0, 10.0], cv=2, random_state=0).fit(*wine).shapes_
        assert_array_equal(shapes.evaluate("ash", [2.0]), shapes.evaluate(2, [2.0]))

    def test_are_saved_and_pickled(self, wine, model, tmp_path):
        kernline.save(model, tmp_path / "m.kern")
        loaded = kernline.load(tmp_path / "m.kern")
        for again in (loaded, pickle.loads(pickle.dumps(model))):
            assert_array_equal(again.shapes_.evaluate("ash", [2.0]), model.shapes_.evaluate("ash", [2.0]))
            assert_array_equal(again.shapes_.importance(wine[0]), model.shapes_.importance(wine[0]))

    def test_of_the_last_fit_count(self, wine, model):
        again = clone(model).fit(*wine)
        again.fit(wine[0].to_numpy(), wine[1])
        assert again.shapes_.feature_names_in_ is None


class TestImportance:
    def test_takes_columns_in_the_order_of_the_fit_only(self, wine, model):
        X = wine[0]
        found = model.shapes_.importance(X)
        values = [model.shapes_.evaluate(j, X.iloc[:, j]) for j in range(X.shape[1])]
        expected = [np.abs(value - value.mean(axis=0)).mean(axis=0) for value in values]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        np.testing.assert_allclose(found, model.shapes_.importance(), rtol=1e-4)  # X are the training rows
        for frame in (X[X.columns[::-1]], X.rename(columns={"ash": "ashes"})):
            with pytest.raises(ValueError, match="feature names should match"):
                model.predict(frame)
            with pytest.raises(ValueError, match="feature names should match"):
                model.shapes_.importance(frame)

    def test_warns_of_missing_names_as_predict_does(self, wine, model):
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.shapes_.importance(wine[0].to_numpy())

    def test_takes_frames_where_the_fit_had_no_names(self, wine, nameless):
        with pytest.warns(UserWarning, match="fitted without feature names"):
            nameless.shapes_.importance(wine[0])

    def test_refuses_what_predict_refuses(self, nameless):
        with pytest.raises(ValueError, match="infinity"):
            nameless.shapes_.importance(np.full((2, 13), np.inf))
        with pytest.raises(ValueError, match="2D array"):
            nameless.shapes_.importance(np.zeros(13))


class TestEvaluate:
    @pytest.mark.parametrize(
        ("feature", "error", "message"),
        [
            (99, IndexError, "no feature 99. There are 13, 0 to 12"),
            (-1, IndexError, "no feature -1. There are 13, 0 to 12"),
            (1.5, TypeError, "a number or a name, or a pair of them, not 1.5"),
            ("alcool", ValueError, "no feature 'alcool'. Did you mean 'alcohol'"),
            ("zzz", ValueError, "There are: alcohol, malic_acid, ash"),
        ],
    )
    def test_says_which_features_there_are(self, model, feature, error, message):
        with pytest.raises(error, match=message):
            model.shapes_.evaluate(feature, [1.0])

    def test_names_need_names(self, nameless):
        with pytest.raises(ValueError, match="fitted on columns without names: pass a number, 0 to 12"):
            nameless.shapes_.evaluate("ash", [1.0])

    def test_refuses_other_columns(self, wine, model):
        X = wine[0]
        for values in (X, X[["ash", "hue"]], np.zeros((2, 2, 1))):
            with pytest.raises(ValueError, match="values must be those of one feature"):
                model.shapes_.evaluate("ash", values)
        for values in (X["hue"], X[["hue"]]):
            with pytest.raises(ValueError, match="the values are those of 'hue', and feature 2 is 'ash'"):
                model.shapes_.evaluate("ash", values)

    def test_takes_a_column_in_any_form(self, wine, model):
        expected = model.shapes_.evaluate("ash", wine[0]["ash"].to_numpy())
        for values in (wine[0][["ash"]], wine[0]["ash"].tolist(), pd.Series(wine[0]["ash"], name="grid")):
            assert_array_equal(model.shapes_.evaluate("ash", values), expected)
        assert model.shapes_.evaluate(np.int32(2), 2.0).shape == (1, 3)


def test_a_summary_fits_a_line(model, nameless):
    for shapes in (model.shapes_, nameless.shapes_):
        assert str(shapes) == repr(shapes)
        assert str(shapes).startswith("ShapeFunctions(13 features, 3 curves each")
        assert len(str(shapes)) < 200
    assert "alcohol, malic_acid" in str(model.shapes_)
    assert "alcohol" not in str(nameless.shapes_)
