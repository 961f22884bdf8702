"""Data sets by name: found, downloaded, checked, and refused if they are not the published files."""

import bz2
import gzip
import hashlib
import http.server
import lzma
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from email.utils import formatdate
from pathlib import Path

import numpy as np
import pytest

from kernline import datasets
from kernline.datasets import RemoteFile
from kernline.datasets.download import _SafeRedirects


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
    with pytest.raises(ValueError, match="not the published file"):
        datasets.path(wrong)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_out_of_reach_says_what_to_do(published, tmp_path):
    (tmp_path / "source.bin").unlink()
    with pytest.raises(OSError, match=r"folder/data.bin is not on this machine.*KERNLINE_DATA"):
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


class _Handler(http.server.BaseHTTPRequestHandler):
    """Serves `content` and ranges of it; the first `n_cut` responses break off half-way."""

    def do_GET(self):
        server = self.server
        if server.location and not self.path.endswith("/moved"):
            self.send_response(302)
            self.send_header("Location", server.location)
            self.end_headers()
            return
        server.asked.append(self.headers.get("Range"))
        begin = 0
        same_version = self.headers.get("If-Range") == server.version
        if self.headers.get("Range") and server.ranges and same_version:
            begin = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        if begin >= len(server.content) > 0:
            self.send_error(416)
            return
        body = server.content[begin:]
        self.send_response(206 if begin else 200)
        if server.has_length:
            self.send_header("Content-Length", str(len(body)))
        if begin:
            whole = f"bytes {begin}-{len(server.content) - 1}/{len(server.content)}"
            self.send_header("Content-Range", server.content_range or whole)
        if server.version:
            self.send_header("ETag" if server.version.startswith('"') else "Last-Modified", server.version)
        self.end_headers()
        if server.n_cut > 0:
            server.n_cut -= 1
            body = body[: len(body) // 2]
        for begin in range(0, len(body), server.piece):
            self.wfile.write(body[begin : begin + server.piece])
            time.sleep(server.pause)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.content, server.version, server.ranges = bytes(range(256)) * 400, '"one"', True
        server.n_cut, server.asked = 0, []
        server.location, server.has_length, server.content_range = "", True, ""
        server.piece, server.pause = 1 << 20, 0.0
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def remote(server, tmp_path, monkeypatch):
    monkeypatch.delenv("KERNLINE_DATA", raising=False)
    monkeypatch.delenv("KERNLINE_OFFLINE", raising=False)
    monkeypatch.setenv("KERNLINE_CACHE", str(tmp_path))
    url = f"http://127.0.0.1:{server.server_address[1]}/file"
    return RemoteFile("file", url, hashlib.sha256(server.content).hexdigest())


class TestDownloads:
    @pytest.mark.parametrize("version", ['"one"', formatdate(usegmt=True)], ids=["tag", "date"])
    def test_are_resumed(self, server, remote, tmp_path, version):
        server.version, server.n_cut = version, 2
        reports = []
        assert datasets.path(remote, lambda done, total: reports.append((done, total))).read_bytes() == server.content
        half, three_quarters = len(server.content) // 2, len(server.content) * 3 // 4
        assert server.asked == [None, f"bytes={half}-", f"bytes={three_quarters}-"]
        assert reports[-1] == (len(server.content), len(server.content))
        assert [path.name for path in tmp_path.iterdir()] == ["file"]

    @pytest.mark.parametrize("verified", [True, False])
    def test_nothing_is_left_of_one_that_never_ends(self, server, remote, tmp_path, verified):
        server.n_cut = 99
        with pytest.raises(datasets.OutOfReachError, match=r"cannot be reached \(the connection ended after [\d,]+ of"):
            datasets.path(remote if verified else RemoteFile(remote.name, remote.url))
        assert list(tmp_path.iterdir()) == []
        server.n_cut = 0
        assert datasets.path(remote).read_bytes() == server.content

    @pytest.mark.parametrize("change", [{"version": '"two"'}, {"ranges": False}, {"version": ""}])
    def test_begin_again_when_the_file_changed_or_has_no_parts(self, server, remote, monkeypatch, change):
        """The file on the server changes after the first half has been downloaded."""
        server.n_cut = 1
        old, new = server.content, server.content[::-1]

        def on_bytes(done, total):
            if done == len(old) // 2:
                vars(server).update(content=new, **change)

        remote = RemoteFile(remote.name, remote.url, hashlib.sha256(new).hexdigest())
        assert datasets.path(remote, on_bytes).read_bytes() == new

    @pytest.mark.parametrize(
        "content_range", ["bytes 0-102399/102400", "bytes 51200-102399/102401", "bytes 51200-51299/102400", "junk"]
    )
    @pytest.mark.filterwarnings("ignore:.*is unverified")
    def test_a_part_that_was_not_asked_for_is_not_appended(self, server, remote, content_range):
        """The server sends another part of the file; without a digest, only the header shows it."""
        server.n_cut, server.content_range = 1, content_range
        assert len(server.content) == 102_400
        right, wrong = server.content, bytes(102_400)

        def on_bytes(done, total):
            server.content = wrong if done == 51_200 and server.content is right and len(server.asked) == 1 else right

        assert datasets.path(RemoteFile(remote.name, remote.url), on_bytes).read_bytes() in (right, wrong)
        assert server.asked == [None, "bytes=51200-", None]

    def test_without_length_and_digest_it_is_not_kept(self, server, remote, tmp_path):
        server.has_length = False
        with pytest.raises(datasets.OutOfReachError, match="does not send its length"):
            datasets.path(RemoteFile(remote.name, remote.url))
        assert list(tmp_path.iterdir()) == []
        assert datasets.path(remote).read_bytes() == server.content

    def test_a_link_left_in_the_cache_is_not_followed(self, remote, tmp_path):
        (tmp_path / "mine").write_text("precious")
        (tmp_path / "file.part").symlink_to(tmp_path / "mine")
        datasets.path(remote)
        assert (tmp_path / "mine").read_text() == "precious"

    @pytest.mark.filterwarnings("ignore:.*is unverified")
    def test_processes_that_fetch_at_once(self, server, remote, tmp_path):
        """Three processes fetch an unverified file at once; each connection breaks off once."""
        code = "import sys; from kernline.datasets import RemoteFile, path; path(RemoteFile(*sys.argv[1:]))"
        server.n_cut, server.piece, server.pause = 3, 4096, 0.02
        command = [sys.executable, "-W", "ignore", "-c", code, remote.name, remote.url]
        running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
        errors = [process.communicate(timeout=120)[1] for process in running]
        assert [process.returncode for process in running] == [0, 0, 0], errors
        assert (tmp_path / "file").read_bytes() == server.content
        assert os.listdir(tmp_path) == ["file"]

    @pytest.mark.parametrize(
        ("url", "to"),
        [
            ("https://a.org/x", "http://a.org/x"),
            ("https://a.org/x", "ftp://a.org/x"),
            ("http://a.org/x", "ftp://a.org/x"),
            ("http://a.org/x", "file:///etc/passwd"),
        ],
    )
    def test_redirects_that_are_refused(self, url, to):
        with pytest.raises(urllib.error.URLError, match=f"it redirects to {to}"):
            _SafeRedirects().redirect_request(urllib.request.Request(url), None, 302, "Found", {}, to)

    def test_a_redirect_to_ftp_is_out_of_reach(self, server, remote):
        server.location = "ftp://127.0.0.1/file"
        with pytest.raises(datasets.OutOfReachError, match=r"it redirects to ftp://127.0.0.1/file"):
            datasets.path(remote)

    def test_a_redirect_to_the_web_is_followed(self, server, remote):
        server.location = remote.url + "/moved"
        assert datasets.path(remote).read_bytes() == server.content

    def test_a_wrong_file_is_not_kept(self, server, remote, tmp_path):
        server.content = b"something else"
        with pytest.raises(ValueError, match="not the published file"):
            datasets.path(remote)
        assert list(tmp_path.iterdir()) == []

    def test_an_unverified_one_says_so(self, server, remote):
        with pytest.warns(UserWarning, match=f"unverified.*{remote.sha256}"):
            datasets.path(RemoteFile(remote.name, remote.url))

    def test_not_found(self, remote):
        gone = RemoteFile("gone", "http://127.0.0.1:9/gone", "")
        with pytest.raises(datasets.OutOfReachError, match=r"gone is not on this machine.*cannot be reached"):
            datasets.path(gone)

    def test_offline(self, server, remote, monkeypatch):
        monkeypatch.setenv("KERNLINE_OFFLINE", "1")
        monkeypatch.setenv("KERNLINE_DATA", "elsewhere")
        with pytest.raises(datasets.OutOfReachError, match=r"KERNLINE_DATA is elsewhere.*KERNLINE_OFFLINE forbids"):
            datasets.path(remote)
        assert server.asked == []


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {}, "home/.cache/kernline"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/kernline"),
        ("darwin", {}, "home/Library/Caches/kernline"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/kernline/Cache"),
        ("win32", {"KERNLINE_CACHE": "/mine"}, "/mine"),
    ],
)
def test_the_cache_folder_of_the_system(monkeypatch, platform, variables, folder):
    for name in ("KERNLINE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("home"))
    assert datasets.cache_folder() == Path(folder)


def test_a_file_of_the_collection_is_split_or_has_its_own_test_part(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNLINE_DATA", str(tmp_path))
    (tmp_path / "a9a").write_text("1 1:1\n-1 3:1\n")
    (tmp_path / "a9a.t").write_text("1 2:1\n")
    (tmp_path / "heart").write_text("1 1:1\n-1 2:1\n" * 10)
    data = datasets.load("a9a")
    assert (data.X_train.shape, data.X_test.shape) == ((2, 123), (1, 123))
    data = datasets.load("heart")
    assert (data.X_train.shape, data.X_test.shape) == ((14, 13), (6, 13))
    assert datasets.load_part("heart", test=True)[0].shape == (6, 13)


def test_without_a_home_folder(remote, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("KERNLINE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(Path, "home", no_home)
    assert datasets.local(remote) is None
    with pytest.raises(datasets.OutOfReachError, match=r"no home folder to cache files in\. Set KERNLINE_CACHE"):
        datasets.path(remote)


class TestImages:
    """Files in the format of MNIST: two zeros, 8, the number of dimensions, the dimensions, bytes."""

    IMAGES = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2]) + bytes(range(8))
    LABELS = bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 5])

    @pytest.fixture
    def files(self, tmp_path, monkeypatch):
        monkeypatch.setenv("KERNLINE_DATA", str(tmp_path))
        return [tmp_path / file.name for file in datasets.CATALOGUE["mnist"].train]

    def write(self, files, images):
        files[0].parent.mkdir(exist_ok=True)
        for file, content in zip(files, (images, self.LABELS), strict=True):
            file.write_bytes(gzip.compress(content))

    def test_read(self, files):
        self.write(files, self.IMAGES)
        X, y = datasets.load_part("mnist")
        assert (X * 255.0).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
        assert y.tolist() == [7, 5]

    @pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
    def test_packed_otherwise(self, files, pack):
        self.write(files, self.IMAGES)
        for file in files:
            content = pack(gzip.decompress(file.read_bytes()))
            file.with_name(file.name + (".bz2" if pack is bz2.compress else ".xz")).write_bytes(content)
            file.unlink()
        assert datasets.load_part("mnist")[0].shape == (2, 4)

    @pytest.mark.parametrize(
        "images",
        [b"", b"\0\0\x08", IMAGES[:10], IMAGES[:-1], IMAGES + b"\0", b"\0\0\x0d" + IMAGES[3:], b"\0\0\x08\0", b"junk"],
    )
    def test_damaged(self, files, images):
        self.write(files, images)
        with pytest.raises(ValueError, match=r"train-images-idx3-ubyte.gz is not an MNIST file.*, or is cut off"):
            datasets.load_part("mnist")

    def test_cut_off(self, files):
        self.write(files, self.IMAGES)
        files[0].write_bytes(files[0].read_bytes()[:20])
        with pytest.raises(ValueError, match=r"train-images-idx3-ubyte.gz: the gzip stream is cut off or damaged"):
            datasets.load_part("mnist")


def test_the_catalogue_is_consistent():
    for name, entry in datasets.CATALOGUE.items():
        assert entry.n_classes >= 2, name
        for file in entry.files:
            assert not file.sha256 or len(file.sha256) == 64
            assert file.url == "" or file.url.endswith(file.name.split("/")[-1])


def test_customers_without_pandas_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="make_customers returns a data frame of pandas: pip install pandas"):
        datasets.make_customers(10)
