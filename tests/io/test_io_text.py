"""Tables with columns of text, against pandas."""

import io

import numpy as np
import pandas as pd
import pytest

from kernline import AdditiveSVC
from kernline.io import LevelTable, read, write
from kernline.io.formats import looks_delimited

pytest.importorskip("pyarrow", reason="tables need pyarrow")

PEOPLE = """\
age, job,ok,city,code
 39, State-gov,True,Paris,01
 ?, ?,False,"Rome, IT",02
,Private,,None,1
5,State-gov,FALSE,n/a,x
"""


def csv(text, **options):
    return read(io.BytesIO(text.encode()), format="csv", **options)


def assert_same(table, frame):
    for name in frame:
        expected = [None if value != value or value is None else value for value in frame[name]]
        found = [None if value != value or value is None else value for value in table[name].tolist()]
        assert found == expected, name


def test_text_like_pandas():
    frame = pd.read_csv(io.StringIO(PEOPLE), skipinitialspace=True, na_values="?", true_values=["FALSE"])
    frame["ok"] = [1.0, 0.0, np.nan, 0.0]
    data = csv(PEOPLE)
    assert isinstance(data.X, LevelTable)
    assert data.feature_names == data.X.columns == list(frame)
    assert_same(data.X, frame)
    assert data.X["code"].tolist() == ["01", "02", "1", "x"]


@pytest.mark.parametrize("marker", ["", "?", "NA", "NaN", "nan", "null", "NULL", "None", "N/A", "n/a", "<NA>", " ? "])
def test_what_is_missing(marker):
    data = csv(f"a,b\n1,x\n{marker},{marker}\n2,y\n")
    assert np.isnan(data.X["a"][1])
    assert data.X["b"].tolist() == ["x", None, "y"]
    numbers = csv(f"a,b\n1,2\n{marker},3\n")
    np.testing.assert_array_equal(numbers.X, [[1, 2], [np.nan, 3]])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["True", "False", "true"], [1.0, 0.0, 1.0]),
        (["TRUE", "", "FALSE"], [1.0, None, 0.0]),
        (["True", "maybe", "False"], ["True", "maybe", "False"]),
        (["0", "1", "3+"], ["0", "1", "3+"]),
        (["1", "2", "3"], [1.0, 2.0, 3.0]),
    ],
)
def test_kinds_of_columns(values, expected):
    column = csv("a,b\n" + "".join(f"{value},x\n" for value in values)).X["a"].tolist()
    assert [None if value != value else value for value in column] == expected


def test_levels_across_blocks(monkeypatch):
    monkeypatch.setattr("kernline.io.lines._BLOCK", 100)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 99, 300), "b": rng.choice(["x", "y", "ä", None], 300), "c": 1.5})
    text = frame.to_csv(index=False)
    assert_same(csv(text).X, frame)
    assert_same(csv(text, on_error="skip").X, frame)
    with pytest.raises(ValueError, match=r"^stream:302: column 'c' holds 'z', not a number. .*categorical="):
        csv(text + "1,x,z\n")
    assert csv(text + "1,x,z\n", categorical=["c"]).X["c"][-1] == "z"


def test_a_column_that_stops_being_boolean(monkeypatch):
    monkeypatch.setattr("kernline.io.lines._BLOCK", 20)
    with pytest.raises(ValueError, match=r"^stream:11: column 'b' holds 'maybe', not True or False"):
        csv("a,b\n" + "x,True\n" * 9 + "y,maybe\n")


@pytest.mark.parametrize("delimiter", [";", "\t", "|", ","])
def test_delimiters_are_found(delimiter):
    text = delimiter.join(["a", '"b,c;d"']) + "\n" + delimiter.join(["1", "x"]) + "\n"
    data = csv(text)
    assert data.feature_names == ["a", "b,c;d"]
    assert data.X["b,c;d"].tolist() == ["x"]


@pytest.mark.parametrize("name", ["data.csv", "data.tsv", "data.parquet", "data.feather"])
def test_every_format_reads_what_it_wrote(tmp_path, name):
    table = csv(PEOPLE).X
    with (tmp_path / name).open("wb") as file:
        write(file, table, ["p", "q", "p", "q"], name=name, feature_names=table.columns)
    data = read(tmp_path / name, target="label", categorical=["code"])
    for column in table.columns:
        found, expected = data.X[column].tolist(), table[column].tolist()
        assert [x if x == x else None for x in found] == [x if x == x else None for x in expected]


def test_text_is_not_written_as_numbers(tmp_path):
    for name in ("data.svm", "data.npy"):
        with pytest.raises(ValueError, match=r"column 'job' holds text, not numbers. Write csv, tsv, parquet or arrow"):
            write(io.BytesIO(), csv(PEOPLE).X, name=name)


def test_types_of_parquet(tmp_path):
    frame = pd.DataFrame(
        {
            "text": ["x", None],
            "category": pd.Categorical(["p", "q"]),
            "forced": [1.0, 2.5],
            "empty": [None, None],
        }
    )
    frame.to_parquet(tmp_path / "data.parquet")
    X = read(tmp_path / "data.parquet", categorical=["forced"]).X
    assert X["text"].tolist() == ["x", None]
    assert X["category"].tolist() == ["p", "q"]
    assert X["forced"].tolist() == ["1", "2.5"]
    assert np.isnan(X["empty"]).all()
    frame.assign(day=pd.Timestamp("2020-01-01")).to_parquet(tmp_path / "data.parquet")
    with pytest.raises(ValueError, match=r"column 'day' is of type timestamp.*, not of numbers or text"):
        read(tmp_path / "data.parquet")
    with pytest.raises(ValueError, match=r"no column 'x' to be a category. There are: text, category"):
        read(tmp_path / "data.parquet", categorical=["x"], columns=["text", "category"])


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
def test_straight_into_codes(tmp_path, name):
    """Codes are those of the rows, whatever the order of the levels in the file."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.random(200), "b": rng.choice(["x", "y", "z", None], 200)})
    y = (frame.b == "x").to_numpy()
    model = AdditiveSVC(scale="rank").fit(frame, y)
    new = frame[::-1].assign(b=frame.b[::-1].replace("z", "unseen"))
    new.to_csv(tmp_path / name, index=False) if name.endswith("csv") else new.to_parquet(tmp_path / name, index=False)
    data = read(tmp_path / name, encoder=model.shapes_.encoder)
    np.testing.assert_allclose(model.decision_function(data.X), model.decision_function(new), rtol=1e-6)
    numbers = AdditiveSVC().fit(np.abs(rng.standard_normal((20, 2))), np.arange(20) % 2)
    with pytest.raises(ValueError, match="column 'b' holds text, and the encoder was fitted on numbers"):
        read(tmp_path / name, encoder=numbers.shapes_.encoder)


@pytest.mark.parametrize(
    ("start", "is_table"),
    [
        (b"a,b\n1,2\n", True),
        (b"a;b", True),
        (b"1\t2\t3\n", True),
        (b"\n# a comment, with a comma\n1|2\n", True),
        (b"x,12:30\n", True),
        (b"1 1:0.5, 2:3\n", False),
        (b"1 1:0.5\t2:3\n", False),
        (b"spam\t7:1\n", False),
        (b"1 qid:3 1:2 # a, b\n", False),
        (b"3\n", False),
        (b"", False),
    ],
)
def test_the_first_line_shows_a_table(start, is_table):
    assert looks_delimited(start) == is_table


def test_another_delimiter_is_suggested():
    with pytest.raises(ValueError, match="no column 'y'") as found:
        csv("a;b,c;y\n1;2,5;u\n", target="y")
    assert found.value.__notes__ == ["Line 1 contains ';'. Pass delimiter= if it separates fields."]


class TestDecimalCommas:
    """`decimal=","`."""

    @pytest.mark.parametrize("skips", [False, True])
    @pytest.mark.parametrize("header", ["a;b;c;y\n", ""])
    def test_numbers_texts_and_labels(self, header, skips):
        """Column b is text, c has a gap with a blank before it."""
        text = header + "1,5;u,v;-2,5e1;0,5\n2;x;? ;1,25\n"
        target = "y" if header else 3
        options = {"on_error": "skip"} if skips else {}
        found = read(io.BytesIO(text.encode()), format="csv", decimal=",", target=target, **options)
        columns = found.X.columns
        assert found.X[columns[0]].tolist() == [1.5, 2.0]
        assert found.X[columns[2]].tolist()[0] == -25.0
        assert np.isnan(found.X[columns[2]][1])
        assert found.y.tolist() == [0.5, 1.25]
        assert found.X[columns[1]].tolist() == ["u,v", "x"]

    def test_quoted_between_commas(self):
        found = read(io.BytesIO(b'a,b\n"1,5",2\n'), format="csv", decimal=",")
        assert found.X.tolist() == [[1.5, 2.0]]

    def test_labels_of_text_keep_their_commas(self):
        found = read(io.BytesIO(b"a;y\n1,5;0,5\n2;none\n"), format="csv", decimal=",", target="y")
        assert found.y.tolist() == ["0,5", "none"]

    def test_refused(self):
        with pytest.raises(ValueError, match=r"decimal must be '\.' or ',', not ';'"):
            read(io.BytesIO(b"a\n1\n"), format="csv", decimal=";")
        with pytest.raises(ValueError, match="decimal= does not apply to format 'svmlight'"):
            read(io.BytesIO(b"1 1:2\n"), decimal=",")
