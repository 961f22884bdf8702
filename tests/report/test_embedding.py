"""Nothing from a model or a file becomes markup, and arrays survive."""

import base64
import json
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernline.report import diagnostics, markup, sections
from kernline.report.embedding import json_text, packed, policy
from kernline.report.outcome import Classified
from kernline.report.page import Bokeh, Page
from kernline.report.scores import class_scores, classification_scores

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"' onload='alert(1)",
    "<!--<script>",
    "&lt;b&gt; &amp; ]]>",
    "\u202eright to left \u05d0\u05d1\u05d2 \u0645\u0631\u062d\u0628\u0627",
    "🦔👩‍👩‍👧 e\u0301",
    "$$\\frac{1}{2}$$ \\(x\\)",
    "${data} $policy {{x}} @name{0.0}",
    "\x00\x1b[31m\r\n\u2028\u2029",
    "\ud83d alone",
    "__proto__",
    "constructor",
]
names = st.one_of(
    st.sampled_from(HOSTILE), st.text(max_size=30), st.text(alphabet="<>\"'&/!-script=$\\`{}", max_size=40)
)


class Reader(HTMLParser):
    """Counts the elements of a page, and collects the text of data."""

    def __init__(self):
        super().__init__()
        self.tags = []
        self.attributes = set()
        self.scripts = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.cdata_elem == "script":
            self.scripts[-1] += data


def page_of(labels, title="title"):
    true = np.arange(len(labels)).repeat(2)
    found = true.copy()
    found[::2] = found[::2][::-1]
    one = Classified(list(labels), len(labels), true, found, np.eye(len(labels))[found], None)
    parts = {
        "scores": sections.score_section(classification_scores(one), class_scores(one)),
        "confusion": sections.confusion_section(one),
        "wrong": sections.wrong_section(one, {0: [(labels[0], 1.5)], 1: []}, {0: 0}),
        "facts": sections.fact_section([("Data", [(label, label) for label in labels])]),
    }
    return Page(title, parts, {"curves": diagnostics.class_curves(one), "classes": list(labels)})


def read(page):
    reader = Reader()
    reader.feed(page.html(Bokeh("3", ["bokeh"])).decode())
    reader.close()
    return reader


@settings(max_examples=60, deadline=None)
@given(st.lists(names, min_size=3, max_size=3, unique=True), names)
@example(HOSTILE[:3], HOSTILE[0])
@example(HOSTILE[3:6], HOSTILE[1])
def test_names_inject_nothing(labels, title):
    plain, hostile = read(page_of(["a", "b", "c"])), read(page_of(labels, title))
    assert hostile.tags == plain.tags
    assert hostile.attributes == plain.attributes
    assert len(hostile.scripts) == 3
    assert json.loads(hostile.scripts[0])["classes"] == labels


@given(st.recursive(names, lambda inner: st.lists(inner) | st.dictionaries(names, inner), max_leaves=5))
def test_json_has_no_markup_and_survives(value):
    text = json_text(value)
    assert not set(text) & set("<>&")
    assert json.loads(text) == value


def test_json_refuses_nan():
    with pytest.raises(ValueError, match="Out of range"):
        json_text([float("nan")])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 255], "u1"),
        ([0, 256], "u2"),
        ([True, False], "u1"),
        ([-1, 0.5], "f4"),
        ([0.1], "f8"),
        ([70000], "f4"),
        ([np.nan, 1.0], "f4"),
        ([], "u1"),
        ([np.float32(0.1)], "f4"),
    ],
)
def test_arrays_take_the_smallest_type_that_holds_them(values, kind):
    found = packed(values)
    assert found["type"] == kind
    back = np.frombuffer(base64.b64decode(found["data"]), dtype=f"<{kind}")
    np.testing.assert_array_equal(back, np.asarray(values, dtype=np.float64))


def test_policy_allows_no_other_script_and_no_network():
    text = policy(["a()"])
    assert text.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in text
    assert "script-src 'unsafe-inline'" not in text
    assert "http" not in text


def test_scripts_that_end_their_element_are_refused():
    with pytest.raises(ValueError, match="cannot be embedded in a page"):
        page_of(["a", "b", "c"]).html(Bokeh("3", ["x = '</script>'"]))


def test_numbers_for_people():
    assert markup.number(-0.12345) == "−0.1235"
    assert markup.number(0.98765, is_share=True) == "98.77 %"
    assert markup.number(None) == "–"
