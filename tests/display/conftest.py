"""Models to draw: each is fitted once."""

import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from kernline import AdditiveSVC, AdditiveSVR
from kernline.datasets import make_customers

if find_spec("matplotlib") is None:
    collect_ignore = ["test_displays.py", "test_shape.py"]
else:
    import matplotlib as mpl

    mpl.use("Agg")

# Markup, formulas, an underscore at the front, right-to-left text, an emoji, a control character, a very long name.
HOSTILE = [
    "<script>alert(1)</script>",
    "price_$ of $x^{2$ & \"quoted\" 'too'",
    "_hidden\n\x07line",
    "عمر العميل",
    "\u202eevil 😀",
    "a name that goes on and on and on without an end, in metres per second",
]


@pytest.fixture(autouse=True)
def closed_figures():
    pyplot = sys.modules.get("matplotlib.pyplot")
    yield
    if pyplot is not None:
        pyplot.close("all")


@pytest.fixture(scope="session")
def customers():
    return make_customers(1500)


@pytest.fixture(scope="session")
def table_model(customers):
    """Numbers, a category, missing values and two pairs."""
    return AdditiveSVC(interactions=2).fit(*customers)


@pytest.fixture(scope="session")
def digits_model():
    X, y = load_digits(return_X_y=True)
    return AdditiveSVC("chi2", C=10).fit(X[:900], y[:900])


@pytest.fixture(scope="session")
def wide_model():
    """Two classes and 60,000 sparse features."""
    rng = np.random.default_rng(0)
    X = sp.random_array((400, 60_000), density=1e-3, rng=rng, format="csr")
    y = np.where(np.asarray(X[:, :30_000].sum(axis=1)).ravel() > X.sum() / 800, "first", "second")
    return AdditiveSVC("chi2").fit(X, y)


@pytest.fixture(scope="session")
def hostile_rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((300, len(HOSTILE))), columns=HOSTILE)
    label = np.digitize(X.iloc[:, 0] + X.iloc[:, 1], [0.7, 1.3])
    return X, np.array(["_a$b$<i>", "ب 😀", "c" * 80], dtype=object)[label]


@pytest.fixture(scope="session")
def hostile_model(hostile_rows):
    return AdditiveSVC().fit(*hostile_rows)


@pytest.fixture(scope="session")
def regression():
    rng = np.random.default_rng(1)
    X = rng.random((300, 3))
    return AdditiveSVR().fit(X, np.sin(5.0 * X[:, 0]) + X[:, 1])


def overlaps(texts, renderer):
    """Pairs of texts that are drawn over each other."""
    boxes = [(text, text.get_window_extent(renderer)) for text in texts if text.get_visible() and text.get_text()]
    return [
        (a.get_text(), b.get_text())
        for k, (a, one) in enumerate(boxes)
        for b, other in boxes[k + 1 :]
        if one.overlaps(other) and min(one.x1, other.x1) - max(one.x0, other.x0) > 1 and _height(one, other) > 1
    ]


def _height(one, other):
    return min(one.y1, other.y1) - max(one.y0, other.y0)


def drawn_texts(figure):
    """All texts but those of ticks outside the view, which matplotlib does not draw, and slanted ones."""
    from matplotlib.text import Text

    outside = set()
    for ax in figure.findobj(lambda artist: hasattr(artist, "xaxis")):
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not low <= tick.get_loc() <= high or not tick.get_visible():
                    outside |= {tick.label1, tick.label2}
    return [text for text in figure.findobj(Text) if text not in outside and not text.get_rotation() % 90]


@pytest.fixture
def no_overlaps():
    """A check that no two texts of a figure overlap, and none is cut off."""

    def check(figure):
        figure.canvas.draw()
        texts, renderer = drawn_texts(figure), figure.canvas.get_renderer()
        assert overlaps(texts, renderer) == []
        width, height = figure.bbox.size
        boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts if text.get_text()]
        cut = [name for name, box in boxes if min(box.x0, box.y0) < -1 or box.x1 > width + 1 or box.y1 > height + 1]
        assert cut == []

    return check
