"""What takes more memory than there is is refused before it runs out."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from kernline import AdditiveSVC, AdditiveSVCCV, BudgetedSVC, NystromSVC, memory
from kernline.estimators import one_vs_rest
from kernline.feature_maps import AdditiveKernelMap, NystromMap

Y = np.array([0, 1, 0, 1])


@pytest.fixture
def eight_gigabytes(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2.0**33)


def rows(n_columns):
    """Four rows; the third has the last column."""
    return sp.csr_array((np.ones(4), ([0, 1, 2, 3], [3, 0, n_columns - 1, 5])), shape=(4, n_columns))


@pytest.mark.usefixtures("eight_gigabytes")
@pytest.mark.parametrize(
    "model",
    [AdditiveSVC(), AdditiveSVC("linear"), AdditiveSVCCV(cv=2), NystromSVC(), NystromMap(), AdditiveKernelMap()],
    ids=lambda model: str(model),
)
def test_a_number_too_large(model):
    with pytest.raises(ValueError, match=r"has 1,000,000,000 columns.*the 1,000,000,000th, is in row 3 of 4\. "):
        model.fit(rows(10**9), Y)


@pytest.mark.usefixtures("eight_gigabytes")
def test_problems_and_centres_count():
    wide = rows(2_000_000)
    assert AdditiveSVC().fit(wide, Y).score(wide, Y) == 1.0
    many = sp.vstack([wide] * 20, format="csr")
    with pytest.raises(ValueError, match="a fit takes about"):
        AdditiveSVC().fit(many, np.arange(80) % 40)
    with pytest.raises(ValueError, match="a fit takes about"):
        NystromSVC().fit(sp.vstack([many] * 10, format="csr"), np.tile(Y, 200))


def test_a_container_has_less_than_its_machine(tmp_path, monkeypatch):
    whole = memory.machine_bytes()
    assert whole > 2.0**28
    (tmp_path / "memory.max").write_text("1000000\n")
    monkeypatch.setattr(memory, "_CONTAINER_LIMIT", str(tmp_path / "memory.max"))
    assert memory.machine_bytes() == 1e6
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.machine_bytes() >= whole


def test_what_is_left_of_a_container(tmp_path, monkeypatch):
    """Pages of files count as free."""
    monkeypatch.setattr(memory, "_CONTAINER_LIMIT", str(tmp_path / "memory.max"))
    (tmp_path / "memory.max").write_text("5000000\n")
    (tmp_path / "memory.current").write_text("4000000\n")
    (tmp_path / "memory.stat").write_text("anon 900000\nactive_file 1000000\ninactive_file 2000000\n")
    assert memory.available_bytes() == 4e6
    memory.check_memory("This", 4e6)
    with pytest.raises(memory.TooLargeError, match=r"This would take about 0.00466 GB, and 0.00373 GB of mem"):
        memory.check_memory("This", 5e6)


def test_what_is_left_by_ulimit():
    code = (
        "import resource; from kernline import memory; n = 2**30 * 3\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (n, n)); print(memory.available_bytes() < n)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\n"


@pytest.mark.usefixtures("eight_gigabytes")
@pytest.mark.parametrize("model", [NystromMap(), NystromSVC(store_features=False)])
@pytest.mark.parametrize(("n_basis", "basis"), [(20_000, "kmeans"), (12_000, "leverage"), (10_000, "l1")])
def test_pairs_of_landmarks(model, n_basis, basis):
    X, y = np.zeros((40_000, 1), dtype=np.int8), np.arange(40_000) % 2
    message = rf"kernel between {n_basis:,} landmarks would take about .* GB, and 8 GB of memory are .*\. Lower n_basis"
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(n_basis=n_basis, basis=basis).fit(X, y)


@pytest.mark.usefixtures("eight_gigabytes")
def test_stored_features():
    X, y = np.zeros((300_000, 1), dtype=np.int8), np.arange(300_000) % 2
    with pytest.raises(ValueError, match=r"300,000 rows × 12,000 landmarks .* store_features=False"):
        NystromSVC(n_basis=12_000).fit(X, y)
    with pytest.raises(ValueError, match="300,000 rows × 6,000 landmarks"):
        NystromSVC(n_basis=6_000).choose(X, y)


@pytest.mark.filterwarnings("ignore:y has|The number of unique classes")
@pytest.mark.usefixtures("eight_gigabytes")
def test_classes_times_rows():
    X, y = np.zeros((40_000, 1), dtype=np.int8), np.arange(40_000)
    with pytest.raises(ValueError, match=r"40,000 classes × 40,000 rows would take about 11\.9 GB"):
        NystromSVC(n_basis=10, store_features=False).fit(X, y)
    with pytest.raises(ValueError, match="Cross-validation of 20,000 classes × 40,000 rows on 2 folds"):
        AdditiveSVCCV(cv=2).fit(X, y % 20_000)


@pytest.mark.filterwarnings("ignore:y has|The number of unique classes|.* problems stopped at max_iter")
@pytest.mark.parametrize(
    "model",
    [
        AdditiveSVC("chi2", max_iter=1),
        NystromSVC(n_basis=5, max_iter=1),
        BudgetedSVC(budget=2, passes=1, grid_size=10),
    ],
)
def test_labels_take_no_matrix(model):
    """Signs of all classes, or their α, would take 8 bytes per row and class; scores are made a block at a time."""
    n = 1500
    X = np.random.default_rng(0).random((n, 2))
    clone(model).fit(X[:20], np.arange(20) % 3)  # imports what is imported on first use
    tracemalloc.start()
    try:
        model.fit(X, np.arange(n))
        assert tracemalloc.get_traced_memory()[1] < 8 * n * n / 3
    finally:
        tracemalloc.stop()


def test_predictions_in_blocks(digits, monkeypatch):
    model = AdditiveSVC().fit(digits[0][:400], digits[1][:400])
    whole = model.predict(digits[0])
    monkeypatch.setattr(one_vs_rest, "_SCORES_AT_ONCE", 1000)
    assert np.array_equal(model.predict(digits[0]), whole)
    assert np.array_equal(model.predict(sp.csr_array(digits[0])), whole)
    assert np.array_equal(whole, model.classes_[model.decision_function(digits[0]).argmax(axis=1)])


LIMITED = """
import resource
import numpy as np
import kernline
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
kernline.NystromSVC(n_basis=9000, basis="random").fit(np.arange(9000.0)[:, None], np.arange(9000) % 2)
"""


_TOO_LARGE = "kernline.memory.TooLargeError: The kernel between 9,000 landmarks would take about"


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS")
def test_a_limit_of_the_process_counts():
    result = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=300)
    assert result.stderr.splitlines()[-1].startswith(_TOO_LARGE)
