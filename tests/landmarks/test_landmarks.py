"""Kernels between rows and landmarks, the choice of landmarks, the Nyström map: against exact kernels and Nystroem."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_moons
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import pairwise as referee
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from kernline import NystromMap, NystromSVC, kernels
from kernline.landmarks import pairwise
from kernline.landmarks.nystrom_map import LandmarkMap
from kernline.landmarks.points import Points
from kernline.landmarks.selection import METHODS, _of_every_class, candidate_count, select


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X, y


class TestKernels:
    @pytest.mark.parametrize(
        ("name", "exact"),
        [
            ("rbf", referee.rbf_kernel),
            ("laplacian", referee.laplacian_kernel),
            ("exp-chi2", referee.chi2_kernel),
            ("sigmoid", referee.sigmoid_kernel),
            ("poly", referee.polynomial_kernel),
            ("polynomial", referee.polynomial_kernel),
        ],
    )
    @pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
    def test_values(self, name, exact, layout):
        X = np.random.default_rng(0).random((40, 7)) * (np.random.default_rng(1).random((40, 7)) < 0.6)
        found = pairwise.get(name).with_gamma(0.4)(layout(X), Points.of(layout(X[:9])))
        np.testing.assert_allclose(found, exact(X, X[:9], gamma=0.4), rtol=2e-6)

    @pytest.mark.parametrize("name", ["cosine", "linear", "chi2", "intersection", "js", "hellinger"])
    def test_kernels_without_a_width(self, name):
        X = np.random.default_rng(0).random((30, 5))
        exact = kernels.BY_NAME[name]()(X) if name in kernels.BY_NAME else referee.pairwise_kernels(X, metric=name)
        np.testing.assert_allclose(pairwise.get(name).with_gamma(2.0)(X, Points.of(X)), 2.0 * exact, rtol=1e-6)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_far_from_the_origin(self, dtype):
        X = (np.random.default_rng(0).random((30, 4)) + 1e5).astype(dtype)
        exact = referee.rbf_kernel(X.astype(np.float64) - 1e5, gamma=1.0)
        np.testing.assert_allclose(pairwise.get("rbf")(X, Points.of(X)), exact, atol=1e-6)

    @pytest.mark.parametrize("offset", [1e3, 1e5, 1e7])
    def test_sparse_rows_and_clusters_far_apart(self, moons, offset):
        """No common centre helps here: the distances are taken in float64."""
        X, y = moons
        exact = SVC(gamma=2.0, C=10.0).fit(X, y)
        apart = X + offset * (np.arange(300) % 2)[:, None]
        options = {"gamma": 2.0, "C": 10.0, "n_basis": 300, "random_state": 0}
        for layout in (np.asarray, sp.csr_array):
            for moved in (X + offset, apart):
                model = NystromSVC(**options).fit(layout(moved), y)
                assert model.score(layout(moved), y) >= exact.score(X, y) - 0.02

    def test_a_kernel_so_narrow_that_it_is_the_identity(self, moons):
        assert NystromSVC(gamma=1e12, C=10.0).fit(*moons).score(*moons) == 1.0

    def test_diagonal(self, moons):
        for name in ("rbf", "laplacian", "exp-chi2"):
            assert (pairwise.get(name).diagonal(np.abs(moons[0]) + 1e6) == 1.0).all()
        exact = np.diagonal(referee.polynomial_kernel(moons[0] + 10.0, gamma=0.3))
        np.testing.assert_allclose(pairwise.get("poly").with_gamma(0.3).diagonal(moons[0] + 10.0), exact)

    def test_any_size(self):
        X = np.random.default_rng(0).random((30, 4))
        for size in (1e-100, 1e-20, 1e20, 1e100):
            kernel = pairwise.get("rbf")
            found = kernel.with_gamma(kernel.scale(X * size, None))(X * size, Points.of(X * size))
            np.testing.assert_allclose(found, referee.rbf_kernel(X, gamma=kernel.scale(X, None)), rtol=1e-5)

    def test_scale_is_that_of_svc(self, moons):
        X, y = moons
        for layout in (np.asarray, sp.csr_array):
            model = NystromSVC(scale=None).fit(layout(X), y)
            assert model.gamma_ == pytest.approx(SVC().fit(X, y)._gamma)

    def test_scale_without_a_width(self):
        X = np.random.default_rng(0).random((200, 5))
        kernel = pairwise.get("chi2")
        kernel = kernel.with_gamma(kernel.scale(X, X))
        assert kernel.diagonal(X).mean() == pytest.approx(1.0, rel=1e-5)
        kernel = pairwise.get("exp-chi2")
        distances = -np.log(referee.chi2_kernel(X, gamma=1.0))
        assert kernel.scale(X, X) == pytest.approx(1.0 / distances.mean(), rel=1e-5)


class TestMap:
    def test_products_are_the_kernel_on_the_landmarks(self, digits):
        X = digits[0][:300]
        features = NystromMap(gamma=0.001, basis=X).fit(X).transform(X)
        np.testing.assert_allclose(features @ features.T, referee.rbf_kernel(X, gamma=0.001), atol=2e-4)

    def test_same_approximation_as_scikit_learn(self, digits):
        X = digits[0]
        theirs = Nystroem(gamma=0.001, n_components=60, random_state=0).fit(X)
        a, b = theirs.transform(X[:200]), NystromMap(gamma=0.001, basis=theirs.components_).fit(X).transform(X[:200])
        np.testing.assert_allclose(b @ b.T, a @ a.T, atol=1e-4)

    def test_root(self, digits):
        X = digits[0][:50]
        model = NystromMap(gamma=0.001, basis=X).fit(X)
        gram = referee.rbf_kernel(model.basis_, gamma=0.001)
        np.testing.assert_allclose(model.root_.T @ gram @ model.root_, np.eye(50), atol=1e-4)
        assert np.array_equal(model.root_, np.triu(model.root_))

    def test_duplicates_are_dropped(self):
        X = np.repeat(np.random.default_rng(0).random((20, 3)), 5, axis=0)
        model = NystromMap(gamma=5.0, basis=X).fit(X)
        assert model.n_dropped_ == 80
        assert len(np.unique(model.basis_, axis=0)) == model.basis_.shape[0] == 20

    def test_constant_features_and_rows(self):
        X = np.full((30, 4), 7.0)
        features = NystromMap(n_basis=10).fit(X).transform(X)
        assert features.shape == (30, 1)
        np.testing.assert_allclose(features, 1.0, rtol=1e-6)

    def test_more_landmarks_than_rows(self, moons):
        X, _ = moons
        for basis in ("kmeans", "random", "leverage"):
            model = NystromMap(gamma=100.0, basis=basis, n_basis=10_000, random_state=0).fit(X)
            assert model.basis_.shape[0] + model.n_dropped_ == X.shape[0]

    def test_a_kernel_that_is_not_positive_definite(self):
        X = np.random.default_rng(0).normal(size=(80, 3))
        model = NystromMap("sigmoid", gamma=2.0, coef0=-1.0, basis=X).fit(X)
        assert 0 < model.n_dropped_ < 80
        features = model.transform(X)
        assert np.isfinite(features).all()
        exact = referee.sigmoid_kernel(model.basis_, gamma=2.0, coef0=-1.0)
        mapped = model.transform(model.basis_)
        np.testing.assert_allclose(mapped @ mapped.T, exact, atol=2e-3)  # exact on the landmarks it kept

    def test_one_outlier_does_not_push_the_others_out(self, moons):
        """K(b, b) of one landmark is 10¹⁶ times that of the others."""
        X = np.vstack([moons[0], [[1000.0, 1000.0]]])
        for kernel, rank in (("poly", 10), ("linear", 2)):
            model = NystromMap(kernel, 1.0, basis=X).fit(X)
            assert model.basis_.shape[0] >= rank
            features = model.transform(moons[0])
            exact = referee.pairwise_kernels(moons[0], metric=kernel, **{"gamma": 1.0} if kernel == "poly" else {})
            np.testing.assert_allclose(features @ features.T, exact, atol=1e-3)

    def test_a_kernel_that_is_nothing(self):
        X = np.random.default_rng(0).random((20, 3))
        with pytest.raises(ValueError, match="nothing can be learnt"):
            NystromMap(lambda A, B: np.zeros((A.shape[0], B.shape[0]))).fit(X)
        with pytest.raises(ValueError, match="one entry per pair"):
            NystromMap(lambda A, B: np.zeros(3)).fit(X)
        with pytest.raises(ValueError, match="infinite or NaN"):
            NystromMap("poly", gamma=1e30, degree=20).fit(X)
        with pytest.raises(ValueError, match="too large for float32"):
            NystromSVC("poly", gamma=1e30, degree=3).fit(X, X[:, 0] > 0.5)  # trains in float32
        model = NystromMap("poly", degree=5).fit(X)
        with pytest.raises(ValueError, match="infinite or NaN"):
            model.transform((1e15 * X).astype(np.float32))
        with pytest.raises(ValueError, match="infinite or NaN"):
            NystromMap("poly", degree=0.5, coef0=0.0, basis=X[:5]).fit(X).transform(-X)

    def test_in_a_pipeline_and_by_threads(self, digits):
        X, y = digits
        model = make_pipeline(NystromMap(n_basis=150, random_state=0), RidgeClassifier()).fit(X[:1200], y[:1200])
        assert model.score(X[1200:], y[1200:]) > 0.92
        one, two = (NystromMap(n_basis=50, random_state=0, n_jobs=n).fit(X).transform(X) for n in (1, 2))
        assert np.array_equal(one, two)

    def test_l1_asks_for_labels(self, digits):
        X, y = digits
        with pytest.raises(ValueError, match="y"):
            NystromMap(basis="l1").fit(X)
        assert NystromMap(basis="l1", random_state=0).fit(X[:500], y[:500]).basis_.shape[0] < 400

    def test_names_out(self, moons):
        names = NystromMap(n_basis=3, random_state=0).fit(moons[0]).get_feature_names_out()
        assert list(names) == ["nystrommap0", "nystrommap1", "nystrommap2"]


class TestBasis:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
    def test_number_and_seed(self, digits, method, layout):
        X, y = digits[0][:500], digits[1][:500]
        kernel = pairwise.get("rbf").with_gamma(0.001)
        first, again, other = (
            select(method, kernel, layout(X), y, 40, np.random.RandomState(seed)) for seed in (0, 0, 1)
        )
        assert len(first) == 40
        dense = [part.X.toarray() if sp.issparse(part.X) else part.X for part in (first, again, other)]
        assert np.array_equal(dense[0], dense[1])
        assert not np.array_equal(dense[0], dense[2])

    def test_l1_takes_rows_an_l1_svm_has_a_use_for(self, digits):
        """With all rows as candidates and as sample, the choice is that of LinearSVC on the exact kernel."""
        X, y = digits[0][:300], digits[1][:300]
        kernel = pairwise.get("rbf").with_gamma(0.001)
        found = select("l1", kernel, X, y, None, np.random.RandomState(0))
        gram = referee.rbf_kernel(X, gamma=0.001)
        weights = LinearSVC(penalty="l1", dual=False, tol=0.01, random_state=0).fit(gram, y).coef_
        expected = X[(weights != 0.0).any(axis=0)]
        shared = {row.tobytes() for row in found.X} & {row.tobytes() for row in expected}
        assert len(shared) > 0.9 * max(len(found), len(expected))
        assert len(found) < 300

    def test_l1_finds_its_own_number_and_reduces_to_one(self, digits):
        X, y = digits[0][:700], digits[1][:700]
        kernel = pairwise.get("rbf").with_gamma(0.001)
        n_found = len(select("l1", kernel, X, y, None, np.random.RandomState(0)))
        assert 50 < n_found < 500
        rows = {row.tobytes() for row in X}
        centres = select("l1", kernel, X, y, 30, np.random.RandomState(0))
        assert sum(row.tobytes() not in rows for row in centres.X) > 15  # means of several chosen ones
        filled = select("l1", kernel, X, y, 600, np.random.RandomState(0))
        assert len(filled) == 600
        assert all(row.tobytes() in rows for row in filled.X)

    def test_candidates_by_both_readings_of_the_paper(self, digits):
        """√ℓ in all or per class; landmarks are among them, and as many at most."""
        X, y = digits[0][:900], digits[1][:900]
        root = math.isqrt(X.shape[0])
        assert candidate_count("sqrt", X.shape[0], 10) == root
        assert candidate_count("sqrt-per-class", X.shape[0], 10) == 10 * root
        assert candidate_count(77, X.shape[0], 10) == 77
        found = {
            n: NystromSVC(basis="l1", n_candidates=n, random_state=0).fit(X, y).basis_.shape[0]
            for n in ("sqrt", "sqrt-per-class", 1500)
        }
        assert found["sqrt"] <= root
        assert root < found["sqrt-per-class"] <= 10 * root
        assert found["sqrt-per-class"] < found[1500]
        asked = NystromSVC(basis="l1", n_candidates=10, n_basis=60, random_state=0).fit(X, y)
        assert asked.basis_.shape[0] == 60  # three candidates per landmark
        mapped = NystromMap(basis="l1", n_candidates="sqrt", random_state=0).fit(X, y)
        assert mapped.basis_.shape[0] <= root

    @pytest.mark.parametrize("value", [0, "cube-root", 2.5])
    def test_candidates_are_checked(self, digits, value):
        with pytest.raises(ValueError, match="n_candidates"):
            NystromSVC(basis="l1", n_candidates=value).fit(*digits)

    def test_leverage_prefers_what_others_do_not_cover(self):
        """A crowd in one place, and a few rows on their own: they are nearly always chosen."""
        rng = np.random.default_rng(0)
        X = np.vstack(
            [rng.normal(scale=0.01, size=(400, 2)), 3.0 + 10.0 * np.arange(20)[:, None] + rng.random((20, 2))]
        )
        kernel = pairwise.get("rbf")
        chosen = [select("leverage", kernel, X, None, 40, np.random.RandomState(s)).X for s in range(5)]
        alone = np.mean([(points[:, 0] > 1.0).sum() for points in chosen])
        drawn = np.mean(
            [(select("random", kernel, X, None, 40, np.random.RandomState(s)).X[:, 0] > 1.0).sum() for s in range(5)]
        )
        assert alone > 2.0 * drawn

    def test_a_class_that_the_sample_misses(self):
        number = np.array([0, 0, 0, 1, 2, 0, 2])
        assert _of_every_class(number, np.array([0, 1, 5])).tolist() == [0, 1, 3, 4, 5]
        X = np.random.default_rng(0).normal(size=(3000, 3))
        number = np.zeros(3000, dtype=np.int64)
        number[17] = 1
        for seed in range(4):  # half of the samples miss the one row
            assert len(select("l1", pairwise.get("rbf"), X, number, None, np.random.RandomState(seed))) > 0


def test_the_map_is_the_same_for_a_base_computed_before(digits):
    X = digits[0][:200]
    points = Points.of(np.vstack([X[:30], X[:5]]))  # in another order, and without the copies, in the map
    kernel = pairwise.get("rbf").with_gamma(0.002)
    fitted = LandmarkMap.fit(kernel, points)
    base = kernel.base(X, points)
    np.testing.assert_allclose(fitted.features_of_base(base, 2), fitted.features(X, 1), atol=1e-4)


def test_names_of_kernels_are_those_of_scikit_learn():
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

    assert set(PAIRWISE_KERNEL_FUNCTIONS) == pairwise.SCIKIT_LEARN_NAMES
