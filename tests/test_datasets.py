"""Data sets by name: found, fetched, checked, and refused when they are not what was published."""

import hashlib

import numpy as np
import pytest

from kernline import datasets
from kernline.datasets import RemoteFile


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A file at a URL, and an empty cache."""
    monkeypatch.delenv("KERNLINE_DATA", raising=False)
    monkeypatch.setenv("KERNLINE_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "source.bin"
    source.write_bytes(b"some data")
    return RemoteFile("folder/data.bin", source.as_uri(), hashlib.sha256(b"some data").hexdigest())


def test_fetched_once_then_cached(published, tmp_path):
    assert datasets.path(published).read_bytes() == b"some data"
    (tmp_path / "source.bin").unlink()
    assert datasets.path(published) == tmp_path / "cache" / "folder" / "data.bin"


def test_a_wrong_file_is_refused_and_not_kept(published, tmp_path):
    wrong = RemoteFile(published.name, published.url, "0" * 64)
    with pytest.raises(ValueError, match="not the file that was published"):
        datasets.path(wrong)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_out_of_reach_says_what_to_do(published, tmp_path):
    (tmp_path / "source.bin").unlink()
    with pytest.raises(OSError, match=r"folder/data.bin is not at hand.*KERNLINE_DATA"):
        datasets.path(published)


def test_the_folder_named_by_the_user_comes_first(published, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNLINE_DATA", str(tmp_path))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "data.bin").write_bytes(b"mine")
    assert datasets.path(published).read_bytes() == b"mine"


def test_unknown_name():
    with pytest.raises(ValueError, match=r"no data set is called 'minst'.*mnist"):
        datasets.load("minst")


def test_digits():
    data = datasets.load("digits")
    assert data.X_train.shape == (1257, 64)
    assert data.X_test.shape == (540, 64)


def test_bag_of_words_is_reproducible():
    first, second = (datasets.make_bag_of_words(300, 100, 200, random_state=1) for _ in range(2))
    assert first.X_train.shape == (300, 200)
    assert (first.X_train != second.X_train).nnz == 0
    assert np.array_equal(first.y_test, second.y_test)
    assert first.X_train.indices.dtype == np.int32
