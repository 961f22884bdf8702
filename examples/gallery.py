"""Every display with the code that draws it: ``python -m examples.gallery`` writes docs/gallery.md and docs/images."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from kernline import AdditiveSVC, datasets
from kernline.display import ImageDisplay

DOCS = Path(__file__).parents[1] / "docs"
INTRODUCTION = """# Gallery

Each picture is drawn by the code above it, which continues that of the sections before. `pip install 'kernline[plot]'`
installs matplotlib. Displays follow scikit-learn's convention: `from_estimator` collects the data and draws it,
`display.plot(ax=...)` draws it again on your own axes, `display.figure_` and `display.axes_` are what was drawn on, and
the data are attributes. Colours are safe for the colour-blind; blue speaks for a class, orange against it.

`python -m examples.gallery` writes this page."""


class Picture(NamedTuple):
    """A section: its title, what one sees, the code, which ends with a `display`, and the name of the picture."""

    title: str
    text: str
    code: str
    name: str


PICTURES = [
    Picture(
        "Curves: `ShapeDisplay`",
        "Diabetes of 442 patients: what each measurement adds to the predicted progression of the disease after a "
        "year, compared with the average patient. The grey strips are the distribution of the patients. Without a "
        "list of features, the most important ones are drawn.",
        """\
from sklearn.datasets import load_diabetes

from kernline import AdditiveSVC, AdditiveSVR, BudgetedSVC
from kernline.display import ShapeDisplay

patients, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
patients = patients.rename(columns={"bmi": "body mass index", "bp": "blood pressure", "s5": "log triglycerides"})
regression = AdditiveSVR().fit(patients[:300], progression[:300])
display = ShapeDisplay.from_estimator(regression, ["body mass index", "blood pressure", "log triglycerides"])
""",
        "curves",
    ),
    Picture(
        "Categories, missing values and pairs",
        "Bars are the levels of a category, with their frequency beside them; the marker at the right of a curve is "
        "the effect of a missing value; a heat map is what two columns say together.",
        """\
from kernline.datasets import make_customers

customers, returns = make_customers(4000)
model = AdditiveSVC(interactions=2).fit(customers, returns)
display = ShapeDisplay.from_estimator(model, top=6)
""",
        "table",
    ),
    Picture(
        "Several classes",
        "One line for each class. With more than ten classes, those whose curves vary most are drawn, or those that "
        "`classes=` names.",
        """\
from sklearn.datasets import load_digits

X, y = load_digits(return_X_y=True)
digits = AdditiveSVC("chi2", C=10).fit(X[:1200], y[:1200])
display = ShapeDisplay.from_estimator(digits, [20, 21, 42])
""",
        "classes",
    ),
    Picture(
        "Pixels: `ImageDisplay`",
        "Each class as a picture: ink in a blue pixel speaks for the digit, ink in an orange one against it. With "
        "`X=`, the pictures are the mean contributions of these rows.",
        """\
from kernline.display import ImageDisplay

display = ImageDisplay.from_estimator(digits)
""",
        "digits",
    ),
    Picture(
        "Importance: `ImportanceDisplay`",
        "How far each feature moves the score on average. The model remembers it of its training rows; with `X=` it is "
        "measured on other rows.",
        """\
from sklearn.datasets import load_breast_cancer

from kernline.display import ImportanceDisplay

tumours = load_breast_cancer(as_frame=True)
diagnosis = AdditiveSVC().fit(tumours.data, tumours.target_names[tumours.target])
display = ImportanceDisplay.from_estimator(diagnosis, top=12)
""",
        "importance",
    ),
    Picture(
        "One row: `ContributionDisplay`",
        "What pushed the score of a row up, and what down. The bars add up to the score.",
        """\
from kernline.display import ContributionDisplay

display = ContributionDisplay.from_estimator(diagnosis, tumours.data, row=5, top=8)
""",
        "contributions",
    ),
    Picture(
        "Convergence: `ConvergenceDisplay`",
        "The duality gap of each class's problem, by epochs and by seconds, down to the tolerance. For `BudgetedSVC` "
        "it is the mean loss of each pass.",
        """\
from kernline.display import ConvergenceDisplay

display = ConvergenceDisplay.from_estimator(digits)
""",
        "convergence",
    ),
    Picture(
        "Approximations: `ApproximationDisplay`",
        "A curve of the exact kernel, and what methods make of it ([docs/approximation.md](approximation.md)).",
        """\
from kernline.display import ApproximationDisplay

methods = {"hats": "hats", "power mean, degree 2": "pmsvm-lut", "homogeneous map": "feature-map"}
display = ApproximationDisplay.from_estimator(digits, X, y, feature=20, methods=methods)
""",
        "approximation",
    ),
    Picture(
        "Merging: `MergeSurfaceDisplay`",
        "Where `BudgetedSVC` puts the vector that replaces two, and what that loses, by the kernel of the two and the "
        "share of the smaller coefficient.",
        """\
from kernline.display import MergeSurfaceDisplay

display = MergeSurfaceDisplay.from_estimator(BudgetedSVC())
""",
        "merging",
    ),
]


def page() -> str:
    """The text of docs/gallery.md."""
    parts = [INTRODUCTION]
    for one in PICTURES:
        picture = f"![{one.title.replace('`', '')}](images/{one.name}.png)"
        parts += [f"## {one.title}", one.text, f"```python\n{one.code}```", picture]
    return "\n\n".join(parts) + "\n"


def draw(folder: Path) -> Iterator[Path]:
    """Run all code, and write its pictures."""
    names: dict[str, Any] = {}
    for one in PICTURES:
        exec(one.code, names)
        yield write(names["display"].figure_, folder / f"{one.name}.png")


def draw_mnist(folder: Path) -> Iterator[Path]:
    """The picture of MNIST in README.md, if its files are on this machine."""
    if not all(datasets.local(file) for file in datasets.CATALOGUE["mnist"].files):
        print("MNIST is not on this machine: docs/images/mnist.png stays as it is")
        return
    data = datasets.load("mnist")
    model = AdditiveSVC("chi2", C=1).fit(data.X_train, data.y_train)
    yield write(ImageDisplay.from_estimator(model).figure_, folder / "mnist.png")


def write(figure: Any, file: Path) -> Path:
    """Write a figure as a small PNG file: 256 colours are enough, and take half of the bytes."""
    import matplotlib.pyplot as plt
    from PIL import Image

    content = io.BytesIO()
    figure.savefig(content, dpi=90)
    plt.close(figure)
    picture = Image.open(content).convert("RGB")
    palette = picture.quantize(256)
    picture.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG).save(file, optimize=True)
    return file


def main() -> None:
    """Write the page and its pictures."""
    import matplotlib as mpl

    mpl.use("Agg")
    (DOCS / "images").mkdir(parents=True, exist_ok=True)
    for file in chain(draw(DOCS / "images"), draw_mnist(DOCS / "images")):
        print(f"wrote {file.relative_to(DOCS.parent)}, {file.stat().st_size / 1024:.0f} KB")
    (DOCS / "gallery.md").write_text(page(), encoding="utf-8")
    print("wrote docs/gallery.md")


if __name__ == "__main__":
    main()
