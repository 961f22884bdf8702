"""Reading svmlight files. Referees: scikit-learn's reader for matrices and labels, Python's float() for values."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from kernline import AdditiveSVC
from kernline.io import read


def read_text(text, **options):
    return read(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


def values_of(texts):
    X, *_ = read_text("".join(f"0 1:{text}\n" for text in texts))
    return X.data


def same_bits(a, b):
    return np.array_equal(np.asarray(a).view(np.int64), np.asarray(b).view(np.int64))


def assert_like_scikit_learn(path, **options):
    ours, theirs = read(path, **options), load_svmlight_file(str(path))
    # Of a file without a single value, scikit-learn makes one column, and we none.
    assert ours.X.shape == (theirs[0].shape if ours.X.nnz else (theirs[0].shape[0], 0))
    assert same_bits(ours.X.data, theirs[0].data)
    assert np.array_equal(ours.X.indices, theirs[0].indices)
    assert np.array_equal(ours.X.indptr, theirs[0].indptr)
    assert np.array_equal(ours.y, theirs[1])


# Values


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20), st.integers(0, 20))
def test_floats_are_those_of_python(numbers, precision):
    texts = [
        form for x in numbers for form in (repr(x), f"{x:.{precision}g}", f"{x:.{precision}e}", f"{x:.{precision}f}")
    ]
    texts = [text for text in texts if np.isfinite(float(text))]
    assert same_bits(values_of(texts), [float(text) for text in texts])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.from_regex(r"[+-]?([0-9]{1,22}\.?[0-9]{0,26}|\.[0-9]{1,26})([eE][+-]?[0-9]{1,3})?", fullmatch=True)))
def test_decimals_are_those_of_python(texts):
    texts = [text for text in texts if np.isfinite(float(text))]
    assert same_bits(values_of(texts), [float(text) for text in texts])


def test_every_length_of_decimals():
    rng = np.random.default_rng(0)
    texts = []
    for n_digits in range(1, 25):
        for n_decimals in range(n_digits + 8):
            for _ in range(20):
                digits = "".join(map(str, rng.integers(0, 10, n_digits))).rjust(n_decimals + 1, "0")
                texts.append(digits[: len(digits) - n_decimals] + "." + digits[len(digits) - n_decimals :])
    assert same_bits(values_of(texts), [float(text) for text in texts])


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-0",
        "+1",
        "1.",
        ".5",
        "1e308",
        "1.7976931348623157e308",
        "1.7976931348623158079e308",
        "4.9e-324",
        "2.4703282292062327e-324",
        "1e-400",
        "-1e-400",
        "0.000000000000000000000000000001",
        "9007199254740993",  # half way between two doubles
        "9007199254740992.9999999",
        "9007199254740993.0000001",
        "0.30000000000000004",
        "0e999999999999",
        "1e-999999999999",
        "100000000000000000000000000e-26",
        "1" + "0" * 400 + "e-400",
        "0." + "0" * 400 + "1e400",
        "1." + "0" * 800 + "1",
        "123456789012345678901234567890",
    ],
)
def test_hard_numbers(text):
    assert same_bits(values_of([text]), [float(text)])


def test_float32_is_rounded_as_numpy_does():
    texts = ["0.1", "3.4028234e38", "3.4028235e38", "-3.4028235677973362e38", "1e-46", "16777217"]
    X, *_ = read_text("".join(f"0 1:{text}\n" for text in texts), dtype=np.float32)
    assert X.dtype == np.float32
    assert np.array_equal(X.data, np.array([float(text) for text in texts]).astype(np.float32))


# Lines


def test_comments_blank_lines_and_line_ends():
    text = "# heading\r\n1 1:2 3:4 # note\r\n\r\n \t\n-1\t2:5 \r\n+1#nothing\n  2 4:1"
    X, y, *_ = read_text(text)
    assert X.toarray().tolist() == [[2, 0, 4, 0], [0, 5, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert y.tolist() == [1, -1, 1, 2]


@pytest.mark.parametrize("zero_based", [False, True])
def test_like_scikit_learn(tmp_path, histograms, zero_based):
    """Several threads and pieces of text, which end anywhere in a line."""
    X, _ = histograms
    rng = np.random.default_rng(0)
    rows = rng.integers(0, X.shape[0], 40_000)
    path = tmp_path / "data.svm"
    dump_svmlight_file(X[rows], rng.integers(0, 5, rows.size), str(path), zero_based=zero_based)
    assert path.stat().st_size > 1 << 24
    for n_jobs in (1, 2, 3):
        assert_like_scikit_learn(path, n_jobs=n_jobs)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 3]), st.sampled_from(["\n", "\r\n", " # \n", "\n\n"]))
def test_random_files_like_scikit_learn(tmp_path_factory, seed, n_jobs, line_end):
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(rng.integers(1, 30)):
        indices = np.unique(rng.integers(0, 10 ** rng.integers(1, 9), rng.integers(0, 12)))
        entries = (f"{j}:{float(rng.standard_normal() * 10.0 ** rng.integers(-30, 30))!r}" for j in indices)
        lines.append(" ".join([f"{rng.choice([-1, 1, 2.5])}", *entries]))
    path = tmp_path_factory.mktemp("random") / "data.svm"
    path.write_text(line_end.join(lines))
    assert_like_scikit_learn(path, n_jobs=n_jobs)


def test_indices_begin_at_one_unless_there_is_a_zero():
    assert read_text("1 1:1 3:1").X.shape == (1, 3)
    assert read_text("1 1:1\n1 0:1 3:1").X.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 0, 1]]
    assert read_text("1 1:1", zero_based=True).X.toarray().tolist() == [[0, 1]]
    assert read_text("1 3:1", n_features=5).X.shape == (1, 5)


@pytest.mark.parametrize("base", [0, 1])
def test_wide_indices(base):
    """Indices have 64 bits if necessary, wherever in the file the large index is."""
    large = 2**62
    X, *_ = read_text("1 1:1\n" * 300_000 + f"1 {base}:2 {large}:3\n" + "1 4:5\n", n_jobs=2)
    assert X.shape == (300_002, large + 1 - base)
    assert X.indices.dtype == np.int64
    assert X.indices[-3:].tolist() == [0, large - base, 4 - base]
    assert set(X.indices[:-3].tolist()) == {1 - base}


def test_narrow_indices_are_not_widened():
    assert read_text(f"1 {2**31 - 2}:1").X.indices.dtype == np.int32


def test_qid():
    data = read_text("3 qid:1 1:1\n2 qid:-7 2:1 # no 2\n1 qid:9223372036854775807\n")
    assert data.qid.tolist() == [1, -7, 2**63 - 1]
    assert data.X.shape == (3, 2)
    assert read_text("1 1:1").qid is None


# Labels


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1\n-1\n+1", np.array([1, -1, 1])),
        ("1.0\n2e0", np.array([1, 2])),
        ("1\n2.5", np.array([1.0, 2.5])),
        ("spam\nham\nspam", np.array(["spam", "ham", "spam"])),
        ("+1\nx", np.array(["+1", "x"])),
        ("grün\n中", np.array(["grün", "中"])),
        ("nan\n1", np.array(["nan", "1"])),
        ("9007199254740991\n-1", np.array([9007199254740991, -1])),
        ("9007199254740993\n9007199254740992", np.array(["9007199254740993", "9007199254740992"])),  # one as float64
        ("-9007199254740993\n1", np.array(["-9007199254740993", "1"])),
        ("1e300\n9007199254740994.0", np.array([1e300, 9007199254740994.0])),
    ],
)
def test_labels_of_any_kind(text, expected):
    y = read_text(text).y
    assert y.dtype == expected.dtype
    assert y.tolist() == expected.tolist()


def test_a_long_label_does_not_widen_all():
    y = read_text("a\n" * 5 + "b" * 255).y
    assert y.dtype == object
    assert y[-1] == "b" * 255


def test_multilabel_like_scikit_learn(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("3,1 1:1\n2 2:1\n1:5\n1,2,3 1:1\n")
    ours, theirs = read(path, multilabel=True), load_svmlight_file(str(path), multilabel=True)
    assert ours.y == [(1, 3), (2,), (), (1, 2, 3)]
    assert [labels for labels in ours.y if labels] == theirs[1] or ours.y == theirs[1]
    assert np.array_equal(ours.X.toarray(), theirs[0].toarray())
    assert read_text("a,b 1:1\n2:1\n", multilabel=True).y == [("a", "b"), ()]


# Errors

ERRORS = [
    ("1 7:", {}, "expected index:value, found '7:' (column 3)"),
    ("1 1:2 7", {}, "expected index:value, found '7' (column 7)"),
    ("1 1:2abc", {}, "expected index:value, found '1:2abc' (column 3)"),
    ("1 :2", {}, "expected index:value, found ':2' (column 3)"),
    ("1 1.5:2", {}, "expected index:value, found '1.5:2' (column 3)"),
    ("1 -1:2", {}, "expected index:value, found '-1:2' (column 3)"),
    ("1 1:2:3", {}, "expected index:value, found '1:2:3' (column 3)"),
    ("1 1:1e", {}, "expected index:value, found '1:1e' (column 3)"),
    ("1 1:0x10", {}, "expected index:value, found '1:0x10' (column 3)"),
    ("1 1:1 \x1b[2J", {}, r"expected index:value, found '\x1b[2J' (column 7)"),
    ("1 1:" + "9" * 100 + "x", {}, "expected index:value, found '1:" + "9" * 38 + "...' (column 3)"),
    ("1 1:nan", {}, "value 'nan' is not a finite number (column 3)"),
    ("1 1:-INF", {}, "value '-INF' is not a finite number (column 3)"),
    ("1 1:1e309", {}, "value '1e309' is not a finite number (column 3)"),
    ("1 1:1e308", {"dtype": np.float32}, "value '1e308' is too large for float32 (column 3)"),
    (
        "1 1:3.4028235677973366e38",  # half way between the largest float and what would be the next
        {"dtype": np.float32},
        "value '3.4028235677973366e38' is too large for float32 (column 3)",
    ),
    ("1 1:1 1:2", {}, "index 1 after 1: indices must increase (column 7)"),
    ("1 3:1 2:2", {}, "index 2 after 3: indices must increase (column 7)"),
    ("1 9223372036854775808:1", {}, "index 9223372036854775808 is too large (column 3)"),
    ("1 9223372036854775807:1", {}, "index 9223372036854775807 is too large (column 3)"),
    ("1 1:1 6:1", {"n_features": 5}, "index 6 where n_features=5 allows up to 5 (column 7)"),
    ("1 1:1 5:1", {"n_features": 5, "zero_based": True}, "index 5 where n_features=5 allows up to 4 (column 7)"),
    (
        "1 0:1 2:1",
        {"zero_based": False},
        "index 0 in a file that is read as one-based; pass zero_based=True (column 3)",
    ),
    ("1:2 2:3", {}, "expected a label, found '1:2' (column 1)"),
    ("1,2 2:3", {}, "expected one label, found '1,2'; pass multilabel=True for several (column 1)"),
    ("1,,2 2:3", {"multilabel": True}, "expected a label between commas, found none (column 1)"),
    ("a\0b 2:3", {}, r"expected a label, found binary data: 'a\x00b' (column 1)"),
    (b"\xff\xfe 1:1", {}, r"expected a label, found binary data: '\xff\xfe' (column 1)"),
    ("x" * 256, {}, "expected a label of at most 255 bytes, found '" + "x" * 40 + "...' (column 1)"),
    ("1 qid:3 1:1", {}, "found 'qid:3', though the first line has no qid (column 3)"),
]


@pytest.mark.parametrize(("line", "options", "message"), ERRORS, ids=[message for *_, message in ERRORS])
def test_errors_name_file_line_and_column(tmp_path, line, options, message):
    path = tmp_path / "train.svm"
    line = line if isinstance(line, bytes) else line.encode()
    path.write_bytes(b"1 1:1\n\n" + line + b"\n1 1:1\n")
    with pytest.raises(ValueError, match=r"train.svm:3: ") as caught:
        read(path, **options)
    assert str(caught.value) == f"{path}:3: {message}"
    with pytest.warns(UserWarning, match=r"Skipped a line of .*train.svm:3: "):
        data = read(path, on_error="skip", **options)
    assert (data.n_skipped, data.X.shape[0], len(data.y)) == (1, 2, 2)


def test_a_name_that_does_not_show_the_format(tmp_path):
    for name, noted in {"table.xlsx": True, "table.svm": False}.items():
        (tmp_path / name).write_bytes(b"PK\x03\x04")
        with pytest.raises(ValueError, match=r"expected a label, found binary data") as caught:
            read(tmp_path / name)
        assert any("Pass format=" in note for note in getattr(caught.value, "__notes__", [])) == noted


@pytest.mark.parametrize("line", ["1 1:1", "1 qid: 1:1", "1 qid:1.5 1:1", "1 qid:9223372036854775808"])
def test_every_line_needs_a_qid_if_the_first_has_one(line):
    with pytest.raises(ValueError, match=r"stream:2: expected qid:number.* \(column 3\)"):
        read_text(f"1 qid:1 1:1\n{line}\n")


def test_the_first_error_is_reported_whatever_the_threads():
    lines = ["1 1:1 2:2"] * 400_000
    lines[300_001] = lines[390_000] = lines[390_001] = "1 2:1 1:1"
    text = "\n".join(lines)
    for n_jobs in (1, 2, 3):
        with pytest.raises(ValueError, match=r"stream:300002: index 1 after 2"):
            read_text(text, n_jobs=n_jobs)
        with pytest.warns(UserWarning, match=r"Skipped 3 lines of stream. The first: stream:300002: "):
            data = read_text(text, n_jobs=n_jobs, on_error="skip")
        assert data.n_skipped == 3
        assert data.X.shape == (399_997, 2)


def test_zero_found_after_an_index_that_is_then_too_large():
    with pytest.raises(
        ValueError, match=r"index 4 where n_features=4 allows up to 3, as indices begin at 0 \(line 2\)"
    ):
        read_text("1 4:1\n1 0:1\n", n_features=4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xlsx"}, "format must be one of auto, arrow, csv"),
        ({"dtype": int}, "dtype must be float32 or float64, not int64"),
        ({"on_error": "ignore"}, "on_error must be 'raise' or 'skip', not 'ignore'"),
        ({"target": "y"}, "target= does not apply to format 'svmlight'"),
        ({"columns": ["a"]}, "columns= does not apply to format 'svmlight'"),
        ({"n_features": 0}, "n_features must be at least 1, or None for the number found, not 0"),
        ({"n_features": -5}, "n_features must be at least 1, or None for the number found, not -5"),
        ({"format": "csv", "n_features": 3}, "n_features= does not apply to format 'csv'"),
        ({"format": "csv", "multilabel": True}, "multilabel= does not apply to format 'csv'"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        read_text("1 1:1", **options)


# Hostile input


class Endless(io.RawIOBase):
    """A stream of n bytes in one line, generated when they are read."""

    def __init__(self, start, n_bytes, end=b""):
        self.content = [start, b" " * (n_bytes - len(start)), end]

    def readable(self):
        return True

    def readinto(self, buffer):
        while self.content and not self.content[0]:
            del self.content[0]
        if not self.content:
            return 0
        n = min(len(buffer), len(self.content[0]))
        buffer[:n] = self.content[0][:n]
        self.content[0] = memoryview(self.content[0])[n:]
        return n


def test_a_line_without_end():
    with pytest.raises(ValueError, match="stream:1: line of more than 64 MB"):
        read(Endless(b"1 1:1", 100 << 20))
    after = b"\n2 2:2\n3 3:3 x\n"
    with pytest.warns(UserWarning, match="Skipped 2 lines of stream. The first: stream:1: line of more than 64 MB"):
        data = read(Endless(b"1 1:1", 100 << 20, after), on_error="skip")
    assert data.y.tolist() == [2]
    assert data.X.toarray().tolist() == [[0, 2]]
    with pytest.raises(ValueError, match="stream:2: line of more than 64 MB"):
        read(Endless(b"1 1:1\n1 1:1", 100 << 20))


def test_a_long_line_that_is_not_too_long():
    n = 2_000_000
    X, *_ = read_text("1 " + " ".join(f"{j}:1" for j in range(1, n)) + "\n2 1:1\n", n_jobs=2)
    assert X.shape == (2, n - 1)
    assert X.nnz == n


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(junk):
    """Lines that scikit-learn can read give the same result."""
    try:
        data = read_text(junk)
    except ValueError as error:
        assert str(error).startswith(("stream", "index"))  # noqa: PT017
    else:
        assert data.X.shape[0] == len(data.y)


def test_byte_order_mark():
    assert read_text(b"\xef\xbb\xbf1 1:1\n2 1:1").y.tolist() == [1, 2]


@pytest.mark.parametrize("content", [b"", b"\n", b"# nothing\n"])
def test_no_rows(content):
    X, y, *_ = read_text(content)
    assert X.shape == (0, 0)
    assert y.shape == (0,)


# Codes


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"kernel": "linear"},
        {"approximation": "pmsvm"},
        {"approximation": "pmsvm-lut"},
        {"scale": "rank"},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_straight_into_codes(tmp_path, monkeypatch, histograms, parameters, n_jobs):
    X, y = histograms
    model = AdditiveSVC(**parameters).fit(X, y)
    encoder = model.shapes_.encoder
    path = tmp_path / "data.svm"
    dump_svmlight_file(X, np.arange(X.shape[0]), str(path), zero_based=False)
    monkeypatch.setattr("kernline.io.svmlight._PIECE", 20_000)  # in several pieces
    data = read(path, encoder=encoder, n_jobs=n_jobs)
    expected = encoder.transform(read(path, n_features=X.shape[1]).X)
    assert data.X.shape == expected.shape
    assert data.y.tolist() == list(range(X.shape[0]))
    for ours, theirs in zip(data.X.entries(), expected.entries(), strict=True):
        assert np.array_equal(ours, theirs)


def test_codes_of_dense_data(tmp_path, monkeypatch):
    """An encoder in which zero has a code, as in columns with negative values."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6)) * (rng.random((200, 6)) < 0.7)
    encoder = AdditiveSVC(scale="minmax").fit(X, X[:, 0] > 0).shapes_.encoder
    path = tmp_path / "data.svm"
    dump_svmlight_file(X, np.zeros(200), str(path), zero_based=True)
    monkeypatch.setattr("kernline.io.svmlight._PIECE", 4_000)
    assert np.array_equal(read(path, encoder=encoder).X.cells, encoder.transform(X).cells)


def test_values_without_a_code(histograms):
    X, y = histograms
    encoder = AdditiveSVC("chi2").fit(X, y).shapes_.encoder
    with pytest.raises(ValueError, match=r"chi2 needs values >= 0, and column 1 has minimum -3"):
        read_text("1 2:-3", encoder=encoder)
    with pytest.raises(ValueError, match=r"stream:1: index 41 where n_features=40 allows up to 40"):
        read_text("1 41:3", encoder=encoder)
    with pytest.raises(ValueError, match=r"n_features=3, and the encoder was fitted on 40"):
        read_text("1 41:3", encoder=encoder, n_features=3)


def test_codes_of_nothing(histograms):
    X, y = histograms
    data = read_text("", encoder=AdditiveSVC().fit(X, y).shapes_.encoder)
    assert data.X.shape == (0, 40)


def test_a_zero_that_comes_too_late(monkeypatch, histograms):
    """Rows that were already encoded as one-based cannot be changed."""
    X, y = histograms
    encoder = AdditiveSVC().fit(X, y).shapes_.encoder
    monkeypatch.setattr("kernline.io.svmlight._PIECE", 600)
    text = "1 1:1\n" * 1000 + "1 0:1\n"
    with pytest.raises(ValueError, match=r"stream:1001: index 0 in a file that is read as one-based"):
        read_text(text, encoder=encoder)
    assert np.count_nonzero(read_text(text, encoder=encoder, zero_based=True).X.cells) == 1001
