"""Results of contestants that take minutes, from the page as it stands, rounded as they are there."""

from __future__ import annotations

from collections.abc import Iterator

from .contestants import contestants_for
from .measures import Result

# Titles of sections, the field of a Result that a contestant's column has in them, and its unit.
_COLUMNS = {
    "Accuracy %, or R²": ("score", 0.01),
    "Seconds to fit": ("fit_seconds", 1.0),
    "Seconds to predict the test part": ("predict_seconds", 1.0),
    "Regression, RMSE": ("rmse", 1.0),
}
# Its first and its second column of a label.
_PROBABILITIES = ("Probabilities", (("log_loss", 1.0), ("calibration", 0.01)))


def former_results(page: str) -> dict[tuple[str, str], Result]:
    """The results of slow contestants, by table and name. What the page does not have is NaN."""
    numbers: dict[tuple[str, str], dict[str, float]] = {}
    for title, header, row in _rows(page):
        regression = title == "Regression, RMSE" or "Ridge" in header
        slow = {one.label: name for name, one in contestants_for(regression=regression).items() if one.slow}
        for column, (label, cell) in enumerate(zip(header, row, strict=True)):
            if label not in slow or cell == "–":
                continue
            if title == _PROBABILITIES[0]:
                field, unit = _PROBABILITIES[1][header[:column].count(label)]
            elif title in _COLUMNS:
                field, unit = _COLUMNS[title]
            else:
                continue
            unit = 1.0 if regression else unit
            numbers.setdefault((row[0], slow[label]), {})[field] = unit * float(cell)
    return {key: Result(**fields) for key, fields in numbers.items() if "score" in fields}


def _rows(page: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """The rows of all tables, each with the title of its section and the header."""
    title, header = "", None
    for line in page.splitlines():
        if line.startswith("## "):
            title = line[3:]
        if not line.startswith("|"):
            header = None
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if header is None:
            header = cells
        elif not cells[0].startswith(("-", ":")):
            yield title, header, cells
