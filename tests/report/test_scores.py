"""Scores against scikit-learn's, and intervals against their definitions."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn import metrics

from kernline.report.intervals import Bootstrap, wilson
from kernline.report.outcome import Classified, Measured, classified
from kernline.report.scores import class_scores, classification_scores, regression_scores


def outcome(n_classes=3, n=400, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.integers(n_classes, size=n)
    scores = rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[true]
    scores = np.round(scores, 1)  # ties
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    if n_classes == 2:
        scores = scores[:, 1:] - scores[:, :1]
    found = (scores[:, 0] > 0.0).astype(np.int64) if n_classes == 2 else scores.argmax(axis=1)
    return Classified([f"c{k}" for k in range(n_classes)], n_classes, true, found, scores, chances)


@pytest.mark.parametrize(("right", "rows"), [(0, 5), (7, 9), (50, 100), (100, 100)])
def test_wilson_is_that_of_scipy(right, rows):
    expected = binomtest(right, rows).proportion_ci(method="wilson")
    found = wilson(right, rows)
    np.testing.assert_allclose([found.low, found.high], expected, atol=1e-12)
    assert found.value == right / rows


def test_no_rows_have_no_share():
    assert wilson(0, 0) is None


def test_bootstrap_of_a_mean_is_near_the_normal_interval():
    values = np.random.default_rng(0).normal(5.0, 2.0, 2000)
    found = Bootstrap(2000).mean(values)
    half = 1.96 * values.std() / np.sqrt(2000)
    np.testing.assert_allclose([found.low, found.high], [values.mean() - half, values.mean() + half], atol=0.3 * half)
    assert found == Bootstrap(2000).mean(values)  # the same samples


@pytest.mark.parametrize("n_classes", [2, 4])
def test_values_are_those_of_scikit_learn(n_classes):
    one = outcome(n_classes)
    found = {score.name.split(",")[0]: score for score in classification_scores(one)}
    chances = one.scores[:, 0] if n_classes == 2 else None
    areas = [metrics.roc_auc_score(one.true == k, one.class_scores[:, k]) for k in range(n_classes)]
    expected = {
        "Accuracy": metrics.accuracy_score(one.true, one.found),
        "Balanced accuracy": metrics.balanced_accuracy_score(one.true, one.found),
        "F1": metrics.f1_score(one.true, one.found, average="macro"),
        "ROC AUC": np.mean(areas) if chances is None else metrics.roc_auc_score(one.true, chances),
        "Log loss": metrics.log_loss(one.true, one.probabilities),
        "Brier score": metrics.brier_score_loss(one.true, one.probabilities[:, 1])
        if n_classes == 2
        else np.square(one.probabilities - np.eye(n_classes)[one.true]).sum(axis=1).mean(),
    }
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].interval.value == pytest.approx(value, abs=1e-12)
        assert found[name].interval.low < value < found[name].interval.high
        assert found[name].method == ("Wilson" if name == "Accuracy" else "bootstrap")


def test_classes_have_precision_recall_and_area():
    one = outcome()
    for k, score in enumerate(class_scores(one)):
        assert score.precision.value == pytest.approx(metrics.precision_score(one.true == k, one.found == k))
        assert score.recall.value == pytest.approx(metrics.recall_score(one.true == k, one.found == k))
        assert score.area == pytest.approx(metrics.roc_auc_score(one.true == k, one.scores[:, k]))


def test_many_scores_have_an_area_without_interval(monkeypatch):
    monkeypatch.setattr("kernline.report.scores._MOST_RANKED", 10)
    area = next(score for score in classification_scores(outcome()) if score.name.startswith("ROC"))
    assert area.method is None


def test_regression():
    rng = np.random.default_rng(0)
    true = rng.normal(100.0, 3.0, (500, 1))
    found = true + rng.normal(0.0, 1.0, (500, 1))
    scores = [score.interval for score in regression_scores(Measured(true, found))]
    expected = [
        metrics.r2_score(true, found),
        metrics.root_mean_squared_error(true, found),
        metrics.mean_absolute_error(true, found),
    ]
    for score, value in zip(scores, expected, strict=True):
        assert score.value == pytest.approx(value)
        assert score.low < value < score.high


class _Model:
    classes_ = np.array([1, 2])

    def decision_function(self, X):
        return np.asarray(X)


def test_labels_that_the_model_does_not_know_are_errors():
    with pytest.warns(UserWarning, match="1 of 3 rows have labels .* such as other"):
        found = classified(_Model(), [-1.0, 1.0, 1.0], ["1", "2", "other"])
    assert found.names == ["1", "2", "other"]
    np.testing.assert_array_equal(found.right, [1.0, 1.0, 0.0])
    assert np.isnan(found.margins[2])
    np.testing.assert_allclose(found.margins[:2], [1.0, 1.0])


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (np.array([1.0, 2.0]), np.array([1, 2, 2], dtype=object)),
        (np.array([1, 2]), np.array([1.0, 2.0, 2.0], dtype=object)),
        (np.array([False, True]), np.array([0, 1, 1], dtype=object)),
        (np.array([False, True]), np.array([0.0, 1.0, 1.0])),
        (np.array([0, 1], dtype=object), np.array([False, True, True])),
        (np.array(["1", "2"]), np.array([1, 2, 2])),
        (np.array(["a", "b"], dtype=object), np.array([b"a", b"b", b"b"])),
        (np.array([1, 2]), np.array([1, "2", 2.0], dtype=object)),
    ],
)
def test_equal_values_are_equal_labels(classes, labels):
    model = _Model()
    model.classes_ = classes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = classified(model, [-1.0, 1.0, 1.0], labels)
    np.testing.assert_array_equal(found.right, [1.0, 1.0, 1.0])
    assert found.names == [str(label) for label in classes.tolist()]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_continuous_numbers_are_not_labels(dtype):
    with pytest.raises(ValueError, match=r"continuous numbers, such as 0\.5, but the model is a classifier"):
        classified(_Model(), [-1.0, 1.0, 1.0], np.array([1.0, 0.5, 2.0], dtype=dtype))


def test_many_unknown_labels_are_counted_together():
    labels = np.append(np.arange(1, 3), np.arange(1000, 5000))
    with pytest.warns(UserWarning, match="4,000 of 4,002 rows have labels"):
        found = classified(_Model(), np.append(-1.0, np.ones(4001)), labels)
    assert len(found.names) == 2 + 100 + 1
    assert found.names[-1] == "and 3,900 more"
    assert np.bincount(found.true)[-1] == 3900
    assert found.right.sum() == 2


def test_memory_of_the_bootstrap_is_bounded():
    """All samples of these rows take 160 MB."""
    one = outcome(2, n=100_000)
    tracemalloc.start()
    classification_scores(one)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120e6


def test_memory_does_not_grow_with_labels_times_rows():
    """A matrix of rows and labels takes 160 MB, and three are needed."""
    true = np.arange(20_000) % 1000
    one = Classified([str(k) for k in range(1000)], 2, true, true % 2, np.ones((true.size, 1)), None)
    tracemalloc.start()
    classification_scores(one)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120e6


def test_margins_are_distances_from_the_best_other_class():
    one = outcome()
    margins = [row[k] - np.delete(row, k).max() for row, k in zip(one.scores, one.true, strict=True)]
    np.testing.assert_allclose(one.margins, margins)
