"""Facts of the training rows and edits in model files: hostile ones are refused."""

import numpy as np
import pytest

import kernline

from ..shapes.models import fitted, mixed
from .forging import edit, forged, put, setting

FACTS, CELLS = "shapes_.training", "shapes_.training.cells"
HOSTILE = [
    (put("shapes_", "training", 5), "the training facts: expected TrainingFacts"),
    (put("shapes_", "training", "cells", 5), "the counts of cells: expected CellCounts"),
    (put("shapes_", "training", "n_rows", 0), "number of rows"),
    (put("shapes_", "training", "n_rows", 1.5), "number of rows"),
    (put("shapes_", "training", "cells", "n_rows", -1), "number of rows"),
    (put("shapes_", "training", "pair_shares", 5), "shares for each pair"),
    (put("shapes_", "edits", 5), "edits must be texts"),
    (put("shapes_", "edits", {"kind": "tuple", "items": [5]}), "edits must be texts"),
    (edit(f"{FACTS}.importance", lambda a: a[:-1]), "importance of the training facts"),
    (edit(f"{FACTS}.mean", lambda a: a.astype(np.float64)), "mean of the training facts"),
    (edit(f"{FACTS}.low", setting((0, 0), np.nan)), "low of the training facts must be finite"),
    (edit(f"{FACTS}.limits", lambda a: a[:-1]), "limits of the training facts"),
    (edit(f"{FACTS}.limits", setting((0, 0), np.inf)), "limits of the training facts must be finite"),
    (edit(f"{FACTS}.limits", setting((0, 0), 1e9)), "must not be above the largest"),
    (edit(f"{FACTS}.booleans", lambda a: a[:-1]), "booleans of the training facts"),
    (edit(f"{CELLS}.start", lambda a: a[:-1]), "start of the training facts"),
    (edit(f"{CELLS}.start", setting(0, 1)), "start must divide"),
    (edit(f"{CELLS}.start", setting(1, 1 << 40)), "start must divide"),
    (edit(f"{CELLS}.marks", setting(0, 65535)), "marks must be codes"),
    (edit(f"{CELLS}.marks", lambda a: a[:-1]), "marks of the training facts"),
    (edit(f"{CELLS}.counts", lambda a: a.astype(np.int64)), "counts of the training facts"),
]


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("facts") / "model.kern"
    model = fitted("hats", *mixed(), scale="minmax")
    kernline.save(model.with_shapes(model.shapes_.edit("age", clip=(-1.0, 1.0))), path)
    return path.read_bytes()


@pytest.mark.parametrize(("change", "message"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_facts_are_refused(change, message, model_file, tmp_path):
    path = tmp_path / "model.kern"
    path.write_bytes(model_file)
    with pytest.raises(ValueError, match=message):
        kernline.load(forged(path, change))


def test_ranges_of_values_are_checked(tmp_path):
    kernline.save(fitted("pmsvm", *mixed(), scale="minmax"), tmp_path / "m.kern")
    with pytest.raises(ValueError, match="lower end of a column's range"):
        kernline.load(forged(tmp_path / "m.kern", edit(f"{CELLS}.ranges", setting((0, 0), 1e9))))
