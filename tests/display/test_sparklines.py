"""The HTML of fitted models: their curves, and nothing that names inject."""

import html.parser
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from kernline import AdditiveSVC
from kernline.display import sparklines

from .conftest import HOSTILE


class Tags(html.parser.HTMLParser):
    """The tags and attributes of a page, its texts, and whether tags are closed."""

    def __init__(self, page):
        super().__init__()
        self.found, self.open, self.texts = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def test_page_has_the_top_curves(digits_model):
    page = digits_model._repr_mimebundle_()["text/html"]
    curves = sparklines.curves_html(digits_model.shapes_)
    assert curves in page
    assert curves in digits_model._repr_html_()
    tags = Tags(curves)
    assert len(tags.named("polyline")) == sparklines.TOP * 5
    assert "The 6 most important of 64 features" in "".join(tags.texts)
    assert [text for text in tags.texts if text.startswith("feature")] == [
        f"feature {k}" for k in digits_model.shapes_.top(6)
    ]
    assert page.index("sk-container") < page.index("kernline-curves")


def test_points_are_those_of_the_curve(regression):
    tags = Tags(sparklines.curves_html(regression.shapes_))
    curves = [regression.shapes_.curve(k, centred=True) for k in regression.shapes_.top(6)]
    effects = np.concatenate([curve.effect.ravel() for curve in curves])
    low, high = min(0.0, effects.min()), max(0.0, effects.max())
    for line, curve in zip(tags.named("polyline"), curves, strict=True):
        y = np.array([point.split(",")[1] for point in line["points"].split()], dtype=float)
        np.testing.assert_allclose(y, 2.0 + (high - curve.effect[:, 0]) / (high - low) * 60.0, atol=0.06)


def test_categories_and_pairs(table_model):
    tags = Tags(sparklines.curves_html(table_model.shapes_))
    assert f"effect on the score of {table_model.classes_[1]}," in "".join(tags.texts)
    pairs = [k for k in table_model.shapes_.top(6) if k >= 5]
    cells = sum(table_model.shapes_.curve(k).effect[..., 0].size for k in pairs)
    assert len(tags.named("rect")) == cells + 5  # levels


def test_without_matplotlib(digits_model, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "kernline-curves" in digits_model._repr_html_()


def test_model_that_is_not_fitted_or_old(regression):
    assert "kernline-curves" not in AdditiveSVC()._repr_html_()
    old = clone(regression)
    old.__dict__.update(regression.__dict__, shapes_=replace(regression.shapes_, training=None))
    assert "kernline-curves" not in old._repr_html_()
    with sklearn.config_context(display="text"):
        assert "text/html" not in regression._repr_mimebundle_()


def test_wide_model_is_small(wide_model):
    assert len(sparklines.curves_html(wide_model.shapes_)) < 20_000


ALLOWED = {"div", "svg", "line", "polyline", "rect", "b", "span"}


def check_names(model, names):
    tags = Tags(sparklines.curves_html(model.shapes_))
    assert {tag for tag, _ in tags.found} <= ALLOWED
    assert not any(key.startswith("on") for _, attributes in tags.found for key in attributes)
    assert len(tags.named("b")) == min(len(names), sparklines.TOP)


def test_hostile_names(hostile_model):
    check_names(hostile_model, HOSTILE)
    page = hostile_model._repr_html_()
    assert "<script>alert" not in page
    assert "<i>" not in sparklines.curves_html(hostile_model.shapes_)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(min_size=1), min_size=3, max_size=3, unique=True))
def test_any_names(regression, names):
    model = clone(regression)
    model.__dict__.update(regression.__dict__)
    model.shapes_ = regression.shapes_.with_names(np.array(names, dtype=object))
    check_names(model, names)


def test_levels_are_escaped():
    X = pd.DataFrame({"kind": ["<b>x", "</svg><script>", "c"] * 20})
    model = AdditiveSVC().fit(X, np.arange(60) % 3 == 0)
    check_names(model, ["kind"])


def test_constant_feature():
    X = np.column_stack([np.ones(40), np.arange(40.0)])
    model = AdditiveSVC().fit(X, np.arange(40) > 20)
    assert len(Tags(sparklines.curves_html(model.shapes_)).named("polyline")) == 2


def test_term_of_another_package(monkeypatch, regression):
    """Terms need not list their values: the page then has no curves, and no error."""

    def refuse(*_, **__):
        raise ValueError("which does not list its values")

    monkeypatch.setattr(type(regression.shapes_), "curve", refuse)
    assert sparklines.curves_html(regression.shapes_) == ""
    with pytest.raises(ValueError, match="list its values"):
        regression.shapes_.curve(0)
