"""Names and numbers as labels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernline.display import style


def test_short_names_stay():
    assert style.shown("age") == "age"
    assert style.shown(12) == "12"
    assert style.shown("two\n words\t") == "two words"
    assert style.shown("\x00\u202e") == "(no name)"
    assert style.shown("👩\u200d🔬") == "👩\u200d🔬"  # joined


def test_long_names_keep_both_ends():
    found = style.shown("sepal length of the first flower in cm", 20)
    assert found.startswith("sepal")
    assert found.endswith("in cm")
    assert len(found) <= 20
    assert len(style.shown("漢" * 40, 20)) <= 11  # two columns each


@given(st.text(), st.integers(6, 40))
def test_any_name_is_one_short_line(name, width):
    found = style.shown(name, width)
    assert found
    assert "\n" not in found
    assert style._columns(found) <= max(width, len("(no name)"))


def test_labels_differ_where_names_do():
    names = [f"a measurement of the temperature at station {k}, in degrees" for k in (1, 2, 30)]
    labels = style.labels_of(names, 20)
    assert labels == ["…1, in degrees", "…2, in degrees", "…30, in degrees"]
    same = style.labels_of(["same", "same", "other"])
    assert same == ["same #1", "same #2", "other"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-2.5, "−2.5"),
        (150_000.0, "150k"),
        (2.5e7, "25M"),
        (9000.0, "9000"),
        (1e-6, "1e−06"),
        (1e20, "1e+20"),
    ],
)
def test_tick_labels(value, text):
    assert style.tick_label(value) == text


def test_classes_look_different():
    looks = [(style.line_look(k)["color"], style.line_look(k)["linestyle"]) for k in range(28)]
    assert len(set(looks)) == 28
    markers = {(style.line_look(k)["color"], style.marker(k)) for k in range(77)}
    assert len(markers) == 77
