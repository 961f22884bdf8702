"""Data that is far too wide is refused before memory runs out."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from kernline import AdditiveSVC, AdditiveSVCCV, NystromSVC, memory
from kernline.feature_maps import AdditiveKernelMap, NystromMap

Y = np.array([0, 1, 0, 1])


@pytest.fixture
def eight_gigabytes(monkeypatch):
    monkeypatch.setattr(memory, "machine_bytes", lambda: 2.0**33)


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
    with pytest.raises(ValueError, match="AdditiveSVC takes about"):
        AdditiveSVC().fit(many, np.arange(80) % 40)
    with pytest.raises(ValueError, match="NystromSVC takes about"):
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
    memory.check_available(4e6, "This")
    with pytest.raises(memory.TooLargeError, match=r"This takes about 0.00466 GB, and 0.00373 GB of memory are avail"):
        memory.check_available(5e6, "This")


def test_what_is_left_by_ulimit():
    code = (
        "import resource; from kernline import memory; n = 2**30 * 3\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (n, n)); print(memory.available_bytes() < n)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\n"
