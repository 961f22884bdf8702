"""The pages on the papers can be written, and have the papers' tables. Data are generated: numbers mean nothing."""

import re
import warnings

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.papers import bsgd, bsgd_data, lut_published, nystrom, plame, pmsvm, pmsvm_lut, pmsvm_unstored
from benchmarks.papers.bsgd_step import Arithmetic
from benchmarks.papers.common import CHI2, Measured, Page, Scope, few_rows
from benchmarks.papers.store import Results
from kernline import tables, training
from kernline.solvers import DualCD

METHODS = ["PmSVM-χ²", "PmSVM-HI", "LIBLINEAR", "libHIK", "fm-χ²", "fm-HI"]
# By page and heading: what the first column of the next table begins with, in any order.
ROWS = {
    "bsgd": {
        "Table 1": list(bsgd_data.PROBLEMS),
        "Table 2": [f"{name} {budget}" for name, budget in bsgd_data.TABLE_2],
        "Table 3: time": [f"{name} {budget}" for name, budget in bsgd_data.SAVED],
        "Table 3: merging": list(bsgd_data.DECISIONS),
        "Figure 3": [f"{name} {budget}" for name, budget in bsgd_data.TABLE_2],
    },
    "plame": {
        "Table I:": [row[0] for row in plame.TABLE_I],
        "Table III": ["skin", "casas"],
        "skin,": ["VLFeat", "Chebyshev", "LD", "PmSVM", "PLAME", "LIBLINEAR"],
        "Figure 1": ["VLFeat", "Chebyshev", "LD"],
        "Figure 2": ["skin", "covtype"],
    },
    "pmsvm": {
        "Tables 1–3": [*METHODS, "Parts based", "Pairwise", "Object bank", "Graph", "Localized", "NBNN"],
        "scene15_bow": METHODS,
        "covtype": METHODS,
    },
    "pmsvm-lut": {
        "Tables 1 and 2": [f"{name} (paper), j = {j}" for name in lut_published.ERRORS for j in (30, 50, 100)],
        "Table 3": ["covtype", "URL", "KDDA", "KDDB", "RCV1"],
        "Figures 3 and 4": ["URL", "covtype", "WEBSPAM"],
        **{f"Table {k}": list(lut_published.METHODS) for k in ("4:", "5:", "6:", "7:", "8a", "8b", "9a", "9b")},
    },
    "nystrom": {
        "The data": ["USPS", "MNIST"],
        "The table": ["USPS", "MNIST"],
        "USPS, both": ["√ℓ in all", "√ℓ per class"],
        "MNIST, exact": ["exact SVC", "linear"],
        "The figure": ["random", "l1"],
    },
}
# How many of each the paper numbers: the last table has every one by name.
NUMBERED = {
    "bsgd": {"Equation": 1, "Algorithm": 1, "Lemma": 1, "Table": 3, "Figure": 3},
    "plame": {"Definition": 1, "Equation": 4, "Table": 3, "Figure": 2},
    "pmsvm": {"Equation": 11, "Algorithm": 3, "Theorem": 1, "Table": 3, "Figure": 2},
    "pmsvm-lut": {"Equation": 20, "Algorithm": 3, "Theorem": 4, "Table": 9, "Figure": 4},
    "nystrom": {},
}
ROMAN = {"I": 1, "II": 2, "III": 3}
PAGES = {"bsgd": bsgd, "plame": plame, "pmsvm": pmsvm, "pmsvm-lut": pmsvm_lut, "nystrom": nystrom}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_rows_of_its_paper(name, tmp_path):
    mpl.use("Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PAGES[name].main(Scope(tmp_path, None, quick=True))
    page = (tmp_path / f"{name}.md").read_text()
    for heading, rows in ROWS[name].items():
        first = first_column(page, heading)
        missing = [row for row in rows if not any(cell.startswith(row) for cell in first)]
        assert not missing, f"{heading}: {missing} not in {first}"
    for picture in re.findall(r"\]\((.*\.png)\)", page):
        assert (tmp_path / picture).stat().st_size > 0
    last = page[page.index("## The paper, item by item") :].splitlines()[4:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in last if line]
    assert len(cells) > 8
    assert all(agrees == "yes" or reason for *_, agrees, reason in cells)
    for kind, count in NUMBERED[name].items():
        assert numbers_of(kind, [row[0] for row in cells]) == set(range(1, count + 1)), kind


def numbers_of(kind, items):
    """The numbers after "Equation", "Equations" and so on: "Equations 4–6 and 8" has 4, 5, 6 and 8."""
    found, number = set(), r"(?:\d+|[IVX]+)"
    for item in items:
        for text in re.findall(rf"\b(?i:{kind})s? ({number}(?:(?:–| and ){number}\b)*)", item):
            for part in text.split(" and "):
                ends = [ROMAN.get(end) or int(end) for end in part.split("–")]
                found.update(range(ends[0], ends[-1] + 1))
    return found


def test_numbers_of_items():
    items = ["Equations 4–6 and 8, slope", "Table III, skin", "Theorem 4 and equations 12 and 13"]
    assert numbers_of("Equation", items) == {4, 5, 6, 8, 12, 13}
    assert numbers_of("Table", items) == {3}


def test_paper_tables_show_what_they_are_named_for(tmp_path):
    """Testing times are not training times."""
    page = Page("page", "Page", "", tmp_path)
    labels = [*lut_published.METHODS, "hats-χ² (ours)", "hats-HI (ours)"]
    found = {"set": {label: Measured(label, 11.0, 0.022, 33.0, "4", 2.0**20) for label in labels}}
    pmsvm_lut._add_paper_tables(page, found, {"set": 44}, lut_published.LARGE | lut_published.MULTI_CLASS)
    shown = re.findall(r"### Table (\w+):?[^\n]*\n\n.*?\n.*?\n\|[^\n]*\| +(\S+) \|\n", "\n\n".join(page.parts))
    expected = {"time": "11.00", "accuracy": "33.00", "memory": "44.0", "testing": "22"}
    kinds = ("time", "accuracy", "memory", "testing") * 2
    assert [cell for _, cell in shown] == [expected[kind] for kind in kinds]


@pytest.mark.parametrize("block", [1000, 7])
def test_pmsvm_without_stored_numbers_is_pmsvm(monkeypatch, block):
    """Section 4.4: computed in every epoch or stored, it is the same; and one epoch is that of the solver."""
    monkeypatch.setattr(pmsvm_unstored, "ROWS_A_BLOCK", block)
    data = few_rows(2)
    signs = np.where(data.y_train == 1, 1.0, -1.0)
    stored, computed = (pmsvm_unstored.of_values(data.X_train, CHI2, signs, store=store) for store in (True, False))
    for _ in range(3):
        stored.run()
        computed.run()
    assert_array_equal(computed.beta, stored.beta)
    assert_array_equal(computed.weights, stored.weights)
    assert computed.n_bytes < 0.5 * stored.n_bytes
    settings = training.AdditiveSettings(
        CHI2, tables.PmSVM(shortcut=True), gamma=1.0, intercept=training.Intercept(fit=False)
    )
    problem = training.encode(data.X_train, settings).problem(signs, np.full(signs.size, pmsvm_unstored.COST))
    solved = DualCD(tol=1e-12, max_iter=1, shuffle=False, solver="dual-cd").solve(problem)
    first = pmsvm_unstored.of_values(data.X_train, CHI2, signs, store=False)
    first.run()
    assert_allclose(first.beta, solved.beta, atol=1e-8)
    assert_allclose(first.weights, solved.weights.ravel(), atol=1e-7)


def first_column(page, heading):
    """Of the first table below a heading that contains this."""
    found = re.search(
        rf"^#+ [^\n]*{re.escape(heading)}.*?\n\|.*?\n\|[-:| ]*\n(.*?)(?:\n\n|\Z)", page, re.DOTALL | re.MULTILINE
    )
    assert found, f"no table below {heading!r}"
    return [line.split("|")[1].strip() for line in found[1].splitlines()]


def test_results_are_measured_once(tmp_path):
    calls = []
    for _ in range(2):
        results = Results("page", tmp_path)
        assert results.get("one", lambda: calls.append(1) or {"a": (1, 2)}) == {"a": [1, 2]}
    assert calls == [1]
    Results("page", tmp_path).clear()
    Results("page", tmp_path).get("one", lambda: calls.append(1))
    assert calls == [1, 1]


def test_the_arithmetic_of_a_step_leaves_subnormal_numbers():
    rng = np.random.default_rng(0)
    X, vectors = (rng.random((n, 5), dtype=np.float32) for n in (20, 40))
    assert Arithmetic(X, vectors).run() > 0.0
    assert (np.array([5e-324]) * 1.0)[0] > 0.0
