"""Encoding: codes against searchsorted, every layout against every other, scales against their definitions."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from kernline import AdditiveSVC, kernels, tables
from kernline.encoding import ColumnRange, Encoder
from kernline.sources import value_range

CHI2 = kernels.Chi2()
PAIR = tables.Hats().build(CHI2)
FINE = tables.PolynomialGradient().build(kernels.Chi2())


def decode(encoder, data):
    """The values that the codes stand for."""
    codes = data.to_csr().toarray()
    return encoder.grid.values[codes] * encoder.scales


def codes_by_definition(X, grid):
    maximum = X.max(axis=0)
    unit = np.divide(X, maximum, out=np.zeros_like(X), where=maximum > 0)
    return np.searchsorted(grid.thresholds.astype(np.float32), unit.astype(np.float32), side="right")


@given(arrays(np.float64, (7, 5), elements=st.floats(0, 1e6)))
@settings(max_examples=60, deadline=None)
def test_codes_are_the_nearest_on_the_grid(X):
    X[np.abs(X) < 1e-3] = 0.0  # relative to the maximum, such values may fall below the smallest code either way
    codes = Encoder.fit(X, PAIR, kernel=CHI2).transform(X).to_csr().toarray()
    assert_array_equal(codes, codes_by_definition(X, PAIR.grid))


@pytest.mark.parametrize("pair", [PAIR, FINE], ids=["8 bits", "16 bits"])
@pytest.mark.parametrize("value_type", [np.float32, np.float64])
@pytest.mark.parametrize("density", [0.1, 0.9])
def test_layouts_agree(pair, value_type, density):
    rng = np.random.default_rng(0)
    X = (rng.gamma(0.5, 1.0, (50, 30)) * (rng.random((50, 30)) < density)).astype(value_type)
    encoder = Encoder.fit(X, pair, kernel=CHI2)
    reference = encoder.transform(X)
    assert reference.is_dense == (density > 0.5)
    expected = reference.to_csr().toarray()
    for index_type in (np.int32, np.int64):
        csr = sp.csr_array(X)
        csr.indices, csr.indptr = csr.indices.astype(index_type), csr.indptr.astype(index_type)
        assert_array_equal(encoder.transform(csr).to_csr().toarray(), expected)
    assert_array_equal(encoder.transform(np.asfortranarray(X)).to_csr().toarray(), expected)
    assert_array_equal(encoder.transform(X[::-1]).to_csr().toarray(), expected[::-1])


@pytest.mark.parametrize("code", ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", ">f8", "g"])
@pytest.mark.parametrize(
    "layout", [np.asarray, np.asfortranarray, lambda X: np.repeat(X, 2, axis=1)[:, ::2], sp.csr_array]
)
def test_every_number_type_is_read_as_it_is(code, layout):
    if layout is sp.csr_array and code in ("f2", ">f8"):
        pytest.skip("SciPy has no sparse arrays of this type")
    X = np.random.default_rng(0).integers(0, 2 if code == "?" else 100, (31, 20)).astype(code)
    expected = Encoder.fit(X.astype(float), PAIR, kernel=CHI2).transform(X.astype(float)).to_csr().toarray()
    assert_array_equal(Encoder.fit(layout(X), PAIR, kernel=CHI2).transform(layout(X)).to_csr().toarray(), expected)


@pytest.mark.parametrize("X", [np.arange(-8, 7), [2.0**-24, 1023 * 2.0**-24, 2.0**-14, 1.0, -1.5, 65504.0, 0.1]])
def test_half_precision_is_exact(X):
    X = np.array([X], dtype=np.float16)
    found = ColumnRange.of(X)
    assert_array_equal(found.minimum, X[0].astype(float))
    assert_array_equal(found.maximum, X[0].astype(float))


@pytest.mark.parametrize("n_threads", [1, 3, 50])
@pytest.mark.parametrize("layout", [np.asarray, np.float32, sp.csr_array])
def test_column_range_against_numpy(n_threads, layout):
    rng = np.random.default_rng(0)
    X = np.float32(rng.standard_normal((203, 11))) * (rng.random((203, 11)) < 0.5)
    X[:, 0], X[:, 1], X[7, 2] = -0.0, np.abs(X[:, 1]) + 1, -0.0
    found = ColumnRange.of(layout(X), n_threads)
    assert_array_equal(found.minimum, X.min(axis=0))
    assert_array_equal(found.maximum, X.max(axis=0))
    assert not np.signbit(found.minimum[0])
    assert_array_equal(found.n_nonzero, np.count_nonzero(X, axis=0))
    assert_array_equal(found.row_nonzero, np.count_nonzero(X, axis=1))


@given(arrays(np.float64, (5, 3), elements=st.floats(width=64)), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_value_range_against_numpy(X, n_threads):
    low, high, finite = value_range(X, n_threads)
    assert finite == np.isfinite(X).all()
    if finite:
        assert (low, high) == (min(X.min(), 0.0), max(X.max(), 0.0))


@pytest.mark.parametrize("scale", ["max", "minmax", "rank"])
@pytest.mark.parametrize("pair", [PAIR, FINE, tables.linear_pair()], ids=["8 bits", "16 bits", "values"])
@pytest.mark.parametrize("density", [0.1, 0.9])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_threads_change_nothing(scale, pair, density, layout):
    rng = np.random.default_rng(0)
    X = rng.gamma(0.5, 1.0, (101, 30)) * (rng.random((101, 30)) < density)
    X[rng.random(X.shape) < 0.05] = 1e-12  # not zero, but code 0: what is counted is more than what is kept
    X = layout(X)
    one = Encoder.fit(X, pair, scale=scale, kernel=CHI2)
    expected = one.transform(X)
    for n_threads in (2, 7, 1000):
        encoder = Encoder.fit(X, pair, scale=scale, kernel=CHI2, n_threads=n_threads)
        assert_array_equal(encoder.edges, one.edges)
        for column_range in (None, ColumnRange.of(X, n_threads)):
            data = encoder.transform(X, column_range=column_range, n_threads=n_threads)
            assert data.cells.tobytes() == expected.cells.tobytes()
            for part in ("row_start", "columns"):
                assert_array_equal(getattr(data, part), getattr(expected, part))


@given(st.lists(st.floats(2.0**-20, 1.0, width=32), min_size=1, max_size=600, unique=True), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_codes_on_any_grid(thresholds, seed):
    """However many thresholds share a bucket of the search."""
    thresholds = np.sort(thresholds)
    thresholds = thresholds[thresholds < 1.0]
    grid = tables.CodeGrid(np.linspace(0.0, 1.0, thresholds.size + 1), thresholds)
    u = np.concatenate([thresholds, np.random.default_rng(seed).random(50), [1.0, 0.0, 1e-300]])[:, None]
    codes = Encoder.fit(u, replace(PAIR, grid=grid), kernel=CHI2).transform(u).to_csr().toarray().ravel()
    assert_array_equal(codes, np.searchsorted(np.float32(thresholds), np.float32(u.ravel()), side="right"))


def test_size_in_bytes():
    rng = np.random.default_rng(0)
    dense = rng.random((500, 40))
    sparse = sp.random_array((500, 400), density=0.1, format="csr", rng=rng)
    assert Encoder.fit(dense, PAIR, kernel=CHI2).transform(dense).nbytes == 500 * 40
    data = Encoder.fit(sparse, PAIR, kernel=CHI2).transform(sparse)
    assert data.nbytes == 4 * data.n_cells + 8 * 501


def test_wide_data_takes_wider_words():
    wide = sp.csr_array(([0.5, 1.0, 0.25], [3, 2**24 + 5, 7], [0, 2, 3]), shape=(2, 2**24 + 10))
    data = Encoder.fit(wide, PAIR, kernel=CHI2).transform(wide)
    assert data.cells.dtype == np.uint64
    restored = data.to_csr()
    assert_array_equal(restored.indices, wide.indices)
    assert_array_equal(restored.data, [240, 240, 240])


def test_values_decode_to_themselves_within_the_grid():
    X = np.random.default_rng(0).random((200, 10)) * np.logspace(-3, 6, 10)
    encoder = Encoder.fit(X, PAIR, kernel=CHI2)
    spacing = np.diff(encoder.grid.values).max()
    assert np.abs((decode(encoder, encoder.transform(X)) - X) / encoder.scales).max() <= 0.5 * spacing


def test_an_indicator_is_exact():
    X = np.random.default_rng(0).integers(0, 2, (50, 8)) * 3.0
    for scale in ("max", "minmax", "rank"):
        data = Encoder.fit(X, PAIR, scale=scale, kernel=CHI2).transform(X)
        assert set(np.unique(data.to_csr().toarray())) == {0, PAIR.grid.values.size - 1}


def test_values_outside_the_training_range_are_clipped():
    X = np.array([[1.0, -2.0], [3.0, 4.0]])
    new = np.array([[9.0, 9.0], [-9.0, -9.0], [0.0, -2.0]])
    for scale in ("minmax", "rank"):
        codes = Encoder.fit(X, PAIR, scale=scale, kernel=CHI2).transform(new).to_csr().toarray()
        assert_array_equal(codes[0], 240)
        assert_array_equal(codes[1], 0)
    assert Encoder.fit(X[:, :1], PAIR, kernel=CHI2).transform(new[:1, :1]).to_csr().toarray() == 240


def test_empty_columns_and_tiny_maxima():
    X = np.array([[0.0, 1e-310, 5e-324, 2.0], [0.0, 0.0, 0.0, 1.0]])
    encoder = Encoder.fit(X, PAIR, kernel=CHI2)
    codes = encoder.transform(np.full((1, 4), 7.0)).to_csr().toarray()
    assert_array_equal(codes, [[0, 0, 0, 240]])
    assert np.isfinite(encoder.scales).all()


class TestRank:
    even = tables.Hats(spacing=1.0).build(kernels.Intersection())

    def test_spreads_values_evenly(self):
        X = np.random.default_rng(0).lognormal(0, 3, (5000, 3)) - 1.0
        encoder = Encoder.fit(X, self.even, scale="rank", kernel=CHI2)
        unit = encoder.grid.values[encoder.transform(X).to_csr().toarray()]
        assert_allclose(np.quantile(unit, [0.1, 0.5, 0.9], axis=0).T, np.tile([0.1, 0.5, 0.9], (3, 1)), atol=0.04)

    def test_few_values_get_a_knot_each(self):
        X = np.random.default_rng(0).choice([0.0, 1.0, 5.0, 7.0, 1000.0], (200, 2))
        encoder = Encoder.fit(X, self.even, scale="rank", kernel=CHI2)
        codes = np.unique(encoder.transform(X).to_csr().toarray())
        assert_array_equal(codes % 16, 0)
        assert codes.size == 5

    def test_sparse_and_dense_agree(self):
        rng = np.random.default_rng(0)
        X = rng.gamma(1.0, 1.0, (400, 5)) * (rng.random((400, 5)) < 0.5)
        dense, sparse = (Encoder.fit(data, self.even, scale="rank", kernel=CHI2) for data in (X, sp.csr_array(X)))
        assert_allclose(dense.edges, sparse.edges)
        assert_array_equal(dense.transform(X).to_csr().toarray(), sparse.transform(sp.csr_array(X)).to_csr().toarray())

    def test_one_value_in_most_rows(self):
        X = np.concatenate([np.full(900, 3.0), np.linspace(4, 5, 100)])[:, None]
        encoder = Encoder.fit(X, self.even, scale="rank", kernel=CHI2)
        assert (np.diff(encoder.edges) > 0).all()
        assert (np.diff(encoder.levels) > 0).all()
        codes = encoder.transform(np.array([[3.0], [4.0], [5.0]])).to_csr().toarray().ravel()
        assert codes[0] < codes[1] < codes[2] == 240

    def test_is_linear_between_the_edges(self):
        X = np.random.default_rng(0).lognormal(0, 3, (500, 4)) - 1.0
        encoder = Encoder.fit(X, tables.linear_pair(), scale="rank", kernel=CHI2)
        new = np.concatenate([X, 1.01 * X, [[1e9] * 4, [-1e9] * 4]])
        cells = encoder.transform(new).cells
        for j in range(4):
            points = slice(*encoder.edge_start[j : j + 2])
            expected = np.interp(new[:, j], encoder.edges[points], encoder.levels[points])
            assert_allclose(cells[:, j], expected, atol=1e-7)

    def test_weights_are_repetitions(self):
        X = np.random.default_rng(0).random((60, 2))
        weight = np.random.default_rng(1).integers(1, 4, 60).astype(float)
        weighted = Encoder.fit(X, self.even, scale="rank", sample_weight=weight, kernel=CHI2)
        repeated = Encoder.fit(np.repeat(X, weight.astype(int), axis=0), self.even, scale="rank", kernel=CHI2)
        assert_allclose(weighted.edges, repeated.edges)

    def test_a_rare_feature_the_sample_missed_is_kept(self, monkeypatch):
        monkeypatch.setattr("kernline.encoding.ranks.RANK_ROWS", 50)
        X = np.zeros((1000, 2))
        X[:, 0], X[777, 1] = np.arange(1000), 3.0
        for data in (X, sp.csr_array(X)):
            encoder = Encoder.fit(data, self.even, scale="rank", kernel=CHI2)
            assert encoder.transform(data).to_csr().toarray()[777, 1] == 240


class TestLinear:
    pair = tables.linear_pair()

    def test_values_are_kept(self):
        X = np.random.default_rng(0).standard_normal((40, 6))
        assert_allclose(Encoder.fit(X, self.pair, kernel=CHI2).transform(X).cells, X, rtol=1e-7)
        sparse = sp.random_array((40, 60), density=0.1, format="csr", rng=0)
        assert_allclose(
            Encoder.fit(sparse, self.pair, kernel=CHI2).transform(sparse).to_csr().toarray(),
            sparse.toarray(),
            rtol=1e-7,
        )
        mostly_zero = sparse.toarray()
        data = Encoder.fit(mostly_zero, self.pair, kernel=CHI2).transform(mostly_zero)
        assert not data.is_dense
        assert_allclose(data.to_csr().toarray(), mostly_zero, rtol=1e-7)

    def test_float32_is_not_copied(self):
        X = np.random.default_rng(0).random((40, 6), dtype=np.float32)
        assert np.shares_memory(Encoder.fit(X, self.pair, kernel=CHI2).transform(X).cells, X)
        sparse = sp.random_array((40, 60), density=0.1, format="csr", rng=0, dtype=np.float32)
        assert np.shares_memory(Encoder.fit(sparse, self.pair, kernel=CHI2).transform(sparse).cells, sparse.data)

    def test_minmax_and_rank_give_fractions(self):
        X = np.random.default_rng(0).standard_normal((500, 3))
        minmax = Encoder.fit(X, self.pair, scale="minmax", kernel=CHI2).transform(X).cells
        assert_allclose(minmax, (X - X.min(0)) / (X.max(0) - X.min(0)), atol=1e-6)
        rank = Encoder.fit(X, self.pair, scale="rank", kernel=CHI2).transform(X).cells
        assert_allclose(np.sort(rank[:, 0]), np.linspace(0, 1, 500), atol=0.01)


def test_pickles():
    X = np.random.default_rng(0).random((10, 4))
    encoder = Encoder.fit(X, PAIR, kernel=CHI2)
    data = encoder.transform(X)
    data.native  # noqa: B018  (the core's view is made on demand, and is not part of the state)
    assert_array_equal(pickle.loads(pickle.dumps(encoder)).transform(X).cells, pickle.loads(pickle.dumps(data)).cells)


class TestHostileSparse:
    """Arrays that SciPy was talked into: an error, not a crash."""

    @pytest.mark.parametrize(
        ("part", "values"),
        [("indices", [5, 1]), ("indices", [-1, 1]), ("indptr", [0, 9, 2]), ("indptr", [0, 2, 1])],
    )
    def test_indices_outside(self, part, values):
        good = sp.csr_array(np.array([[1.0, 0.0], [0.0, 2.0]]))
        encoder = Encoder.fit(good, PAIR, kernel=CHI2)
        bad = good.copy()
        setattr(bad, part, np.array(values, dtype=np.int32))
        with pytest.raises(ValueError, match="sparse X"):
            encoder.transform(bad)

    def test_refused_before_anything_is_done_with_it(self):
        bad = sp.csr_array(np.eye(4))
        bad.indptr[3] = 10**6
        for use in (kernels.Chi2(), kernels.Hellinger(), lambda X: AdditiveSVC("linear").fit(X, [0, 1, 0, 1])):
            with pytest.raises(ValueError, match=r"indptr|index pointer"):
                use(bad)
