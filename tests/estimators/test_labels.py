"""Labels that are probably none, classes that cannot be, and fits that anyone can repeat."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets

from kernline import AdditiveSVC, AdditiveSVCCV, BudgetedSVC, NystromSVC
from kernline.feature_maps import NystromMap
from kernline.validation import check_label_type

X = np.random.default_rng(0).random((600, 3))
CLASSIFIERS = [AdditiveSVC("chi2"), NystromSVC(n_basis=5), BudgetedSVC(budget=3, passes=1)]


@pytest.mark.parametrize("model", CLASSIFIERS)
def test_many_classes_are_asked_about(model):
    with pytest.warns(UserWarning, match=r"y has 61 distinct values in 600 rows.*identifier") as caught:
        clone(model).fit(X, np.arange(600) % 61)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(("n_classes", "n_rows"), [(60, 600), (50, 100), (2, 4)])
def test_few_are_not(n_classes, n_rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdditiveSVC(tol=0.1).fit(X[:n_rows], np.arange(n_rows) % n_classes)


@pytest.mark.parametrize("step", [1, -1, 0.5, 1e300, np.nan, np.inf, True, 10**12, np.uint8(1), np.float16(2)])
@pytest.mark.parametrize("n_rows", [2, 600])
def test_numbers_are_labels_if_scikit_learn_says_so(step, n_rows):
    with np.errstate(all="ignore"):
        y = np.where(np.arange(n_rows) % 2 == 0, np.zeros_like(step), step)

    def verdict(check):
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
            warnings.simplefilter("always")
            try:
                check(y)
            except ValueError:
                return "refused"
        return [str(one.message) for one in caught]

    assert verdict(check_label_type) == verdict(check_classification_targets)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([0, 1, 2, np.nan], "got nan among them"),
        ([0, 1, np.inf], "got inf among them"),
        (np.array(["a", None], dtype=object), "got None among them"),
        ([[0, 1], [2, 3]], r"got an array of shape \(2, 2\)"),
    ],
)
def test_classes_that_y_cannot_have(classes, message):
    with pytest.raises(ValueError, match=f"classes: pass a list of the labels.*{message}"):
        BudgetedSVC().partial_fit(X, np.arange(600) % 3, classes=classes)


@pytest.mark.parametrize("model", [*CLASSIFIERS, AdditiveSVCCV(Cs=2, cv=2, loss="hinge"), NystromMap(n_basis=5)])
def test_fits_repeat_unless_random_state_is_none(model):
    y = np.random.default_rng(1).integers(0, 2, 600)

    def output(**options):
        fitted = clone(model).set_params(**options).fit(X, y)
        return fitted.transform(X) if hasattr(fitted, "transform") else fitted.decision_function(X)

    assert np.array_equal(output(), output())
    assert np.array_equal(output(), output(random_state=0))
    assert not np.array_equal(output(random_state=None), output(random_state=None))
    np.random.seed(3)  # noqa: NPY002
    first = output(random_state=None)
    np.random.seed(3)  # noqa: NPY002
    assert np.array_equal(first, output(random_state=None))
