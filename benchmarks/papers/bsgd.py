"""Budgeted SGD with precomputed golden section search (Glasmachers, Qaadan): the page with its tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from . import bsgd_runs as runs_of
from .bsgd_data import (
    BARS_ON,
    BLIND,
    DECISIONS,
    PROBLEMS,
    PUBLIC_PROGRAM,
    QUICK,
    SAVED,
    SEARCHES,
    TABLE_2,
    Problem,
)
from .bsgd_figures import figure_1, figure_2, figure_3, figure_last_pass
from .bsgd_runs import Numbers, Runs
from .bsgd_text import INTRODUCTION, ITEMS, MISPRINTS, TEXT
from .common import Page, Scope

# Splits on which SVC is fitted; on the larger sets it takes minutes, and is fitted to some rows only.
SPLITS = {"WEB": 5, "PHISHING": 5}
SVC_ROWS = 20_000


def main(scope: Scope) -> None:
    """Write the page."""
    page = Page("bsgd", "Budgeted SGD reproduced", INTRODUCTION, scope.folder)
    make: dict[str, Callable[[int], Problem]] = QUICK if scope.quick else PROBLEMS
    runs = Runs(scope.results("bsgd"), make, quick=scope.quick)
    cases = list(TABLE_2)
    published = {case: runs.repeated(runs_of.as_published, *case) for case in cases}
    ours = {case: runs.repeated(runs_of.ours, *case) for case in cases}
    figure_1(page)
    exact = _table_1(page, runs)
    bars = [_table_2(page, published, ours, exact)]
    _golden_sections(page, runs)
    bars.append(_table_3_times(page, published))
    _table_3_decisions(page, runs, published)
    _frequencies(page, runs, published)
    figure_2(page)
    bars.append(_figure_3(page, runs, cases))
    bars.append(_several(page, runs))
    figure_last_pass(page, runs.once(runs_of.last_pass, "ADULT", 100, runs.points))
    bars += [_steps(page, runs, cases), _streams(page, runs)]
    page.add(MISPRINTS, "## Targets", *bars, TEXT)
    page.add_items(ITEMS, runs.results)
    page.write()


def mean(values: list[float]) -> str:
    """Mean and deviation."""
    return f"{np.mean(values):.2f} ± {np.std(values):.2f}"


def _verdict(met: bool) -> str:
    return "met" if met else "**missed**"


def _table_1(page: Page, runs: Runs) -> dict[str, float]:
    """Returns by how much SVC is below the paper's LIBSVM, on the mean of the splits."""
    page.add("## Table 1: the data")
    rows, short = [], {}
    for name in PROBLEMS:
        problem = runs.problem(name)
        if name in SPLITS:
            seeds = range(min(SPLITS[name], len(runs.seeds)))
            scores = [runs.once(runs_of.exact, name, seed=seed)["accuracy"] for seed in seeds]
            short[name] = problem.exact - float(np.mean(scores))
            fitted = f"all, {len(scores)} splits"
        else:
            scores = [runs.once(runs_of.exact, name, SVC_ROWS)["accuracy"]]
            fitted = f"{SVC_ROWS:,}"
        n, d = problem.X_train.shape
        shown = mean(scores) if len(scores) > 1 else f"{scores[0]:.2f}"
        cells = [f"{n:,}", str(d), f"{problem.C:g}", f"{problem.gamma:g}", f"{problem.exact:.2f}", shown]
        rows.append([name, *cells, fitted])
    page.add_table(["data", "rows", "features", "C", "γ", "LIBSVM %, paper", "SVC % here", "SVC's rows"], rows)
    page.add("SVC takes minutes on all rows of the larger sets, hence some, tested on as many.")
    return short


def _table_2(
    page: Page,
    published: dict[tuple[str, int], list[Numbers]],
    ours: dict[tuple[str, int], list[Numbers]],
    short: dict[str, float],
) -> str:
    page.add("## Table 2: accuracy %, mean and deviation of five runs")
    rows, missed, excused, n_cases = [], [], [], 0
    for (name, budget), values in TABLE_2.items():
        for search, (paper, deviation) in zip(SEARCHES, values, strict=True):
            here = [[run[search]["accuracy"] for run in kind[name, budget]] for kind in (published, ours)]
            off = float(np.mean(here[1])) - paper
            shown = "" if name == "SUSY" else f"{off:+.2f}"
            rows.append([f"{name} {budget}", search, f"{paper:.2f} ± {deviation:.2f}", *map(mean, here), shown])
            if name == "SUSY":
                continue
            n_cases += 1
            if off < -deviation:
                text = (
                    f"{name} {budget} {search} {off:+.2f} ({deviation:.2f} allowed, SVC {-short.get(name, 0.0):+.2f})"
                )
                (excused if short.get(name, 0.0) >= -off else missed).append(text)
    header = ["data, budget", "search", "paper", "as published, here", "ours", "ours − paper"]
    page.add_table(header, rows)
    return (
        f"**Accuracy, ours**: of {n_cases} cases {n_cases - len(missed) - len(excused)} are not below the paper's mean by more "
        f"than one of its deviations."
        + (f" Below it, and SVC below LIBSVM by as much: {', '.join(excused)}." if excused else "")
        + (f" **Missed**: {', '.join(missed)}." if missed else "")
    )


def _golden_sections(page: Page, runs: Runs) -> None:
    page.add(
        "### Golden section search: how precisely the merged pair is placed",
        "The search compares all partners with h to 0.01. A public program by the second author then finds h of the pair that "
        "is merged to 0.001, and so do we; the paper does not mention it. The best h is about κ/(1 + b) if the partner counts b "
        "times as much as the new point, soon less than the error of the first search.",
    )
    rows = []
    for name, budget in (("ADULT", 100), ("IJCNN", 100)):
        found = runs.repeated(runs_of.golden_sections, name, budget)
        rows.append([f"{name} {budget}", *(mean([run[kind]["accuracy"] for run in found]) for kind in found[0])])
    page.add_table(["data, budget", *found[0]], rows)
    page.add(
        "Former versions of this page had a third variant, h = 0 wherever that is better than the middle of the last cut: "
        "support vectors then rarely moved, and the average on ADULT was 81.82 ± 0.55."
    )


def _table_3_times(page: Page, published: dict[tuple[str, int], list[Numbers]]) -> str:
    page.add("## Table 3: time saved against gss, kernels computed again as in the paper; best of the five runs")
    rows, verdicts = [], []
    for (name, budget), found in published.items():
        paper = SAVED[name, budget]
        seconds = {search: min(run[search]["seconds"] for run in found) for search in SEARCHES}
        saved = [100.0 * (1.0 - seconds[search] / seconds["gss"]) for search in ("lookup-h", "lookup-wd")]
        pairs = [cell for p, s in zip(paper, saved, strict=True) for cell in (f"{p:.1f}", f"{s:.1f}")]
        rows.append([f"{name} {budget}", *(f"{seconds[search]:.2f}" for search in SEARCHES), *pairs])
        if name in BARS_ON:
            verdicts.append(
                f"{name} {budget} {saved[1]:.1f} % (paper {paper[1]:.1f} %, {_verdict(saved[1] >= paper[1])})"
            )
    header = ["data, budget", *(f"{search} s" for search in SEARCHES)]
    page.add_table([*header, "lookup-h %, paper", "here", "lookup-wd %, paper", "here"], rows)
    return f"**Time saved by lookup-wd against gss, kernels computed again**: {'; '.join(verdicts)}."


def _table_3_decisions(page: Page, runs: Runs, published: dict[tuple[str, int], list[Numbers]]) -> None:
    page.add("## Table 3: merging decisions at a budget of 100, all passes")
    rows = []
    for name, (_, equal, gss, lookup) in DECISIONS.items():
        found = runs.once(runs_of.decisions, name)
        cells = [f"{equal:.1f}", f"{found['equal']:.1f}"]
        for paper, kind in ((gss, "gss"), (lookup, "lookup")):
            cells += [f"{paper:.5f}", f"{found[kind]:.5f}", f"{found[f'{kind}, mean']:.5f}"]
        rows.append([name, *cells])
    factors = [f"factor {kind}{more}" for kind in ("gss", "lookup-wd") for more in (", paper", ", total", ", mean")]
    page.add_table(["data", "equal decisions %, paper", "here", *factors], rows)
    page.add(
        "gss to 0.01 and lookup-wd with tables of h and WD on [0, 1]², both as published, against gss-precise. The paper does not "
        "say how it takes the mean of its factors. *Total* is the loss of all merges divided by what gss-precise would lose; "
        "*mean* is the mean of the factors of single merges, of those that lose at least 10⁻⁶ of the smaller coefficient's "
        "square: the others are a matter of rounding."
    )


def _frequencies(page: Page, runs: Runs, published: dict[tuple[str, int], list[Numbers]]) -> None:
    page.add("### Merging frequency, % of the steps, budget 100")
    rows = []
    for name, (paper, *_) in DECISIONS.items():
        here = [run[search]["frequency"] for run in published[name, 100] for search in SEARCHES]
        accuracy = float(np.mean([run["gss"]["accuracy"] for run in published[name, 100]]))
        public, blind = PUBLIC_PROGRAM.get(name), runs.once(runs_of.whatever_the_label, name)
        budget = max(found for of, found in TABLE_2 if of == name)
        rows.append(
            [
                name,
                f"{paper}",
                f"{np.mean(here):.1f} ({accuracy:.1f})",
                f"{runs.once(runs_of.merging_frequency, name, budget):.1f} at {budget}",
                f"{public[0]:.1f} ({public[1]:.1f})" if public else "–",
                f"{blind['frequency']:.1f} ({blind['accuracy']:.1f})",
                f"{BLIND[name]:.1f}" if name in BLIND else "–",
            ]
        )
    page.add_table(
        [
            "data (accuracy %, gss)",
            "paper",
            "as published, here",
            "larger budget",
            "public program",
            "whatever the labels, here",
            "public program, whatever the labels",
        ],
        rows,
    )
    page.add(
        "The public program is the second author's (BSGD, golden section search, partners of equal label), built and run by us, "
        "once each, with the paper's C, γ and 20 passes. Its frequencies are ours, not the paper's. **A hypothesis, not proven**: "
        "the paper's figures are those of a program that merges whatever the labels. That gives about the paper's frequency on "
        "most sets, here and in the public program with that one change; but not on SKIN, and its accuracy is far below the "
        "paper's Table 2. About twenty other readings (γ, C, passes, offsets, a bias, the misprints taken literally) fit "
        "nothing. In the public program merging takes 22 % of the time on IJCNN, so no search can save the paper's 30 % there. "
        "The paper calls it nearly independent of the budget: so it is on SUSY, ADULT and WEB; on PHISHING it halves."
    )


def _figure_3(page: Page, runs: Runs, cases: list[tuple[str, int]]) -> str:
    page.add(
        "## Figure 3: where maintenance spends its time",
        "As published in five passes (SUSY: one), ours in all: the first passes merge most.",
    )
    rows, verdicts, others, parts = [], [], [], {}
    for name, budget in cases:
        for search in SEARCHES:
            total, whole, searching = runs.once(runs_of.times, name, budget, search=search, published=True, passes=5)
            parts[name, budget, search] = (searching, max(0.0, whole - searching))
            share = f"{100 * whole / total:.1f}"
            cells = [f"{total:.2f}", f"{whole:.3f}", f"{searching:.3f}", share]
            rows.append([f"{name} {budget}", f"{search}, as published", *cells])
        total, whole, _ = runs.once(runs_of.times, name, budget, runs.rounds)
        share = 100.0 * whole / total
        rows.append([f"{name} {budget}", "lookup-wd, ours", f"{total:.2f}", f"{whole:.3f}", "", f"{share:.1f}"])
        if name in BARS_ON:
            verdicts.append(f"{name} {budget} {share:.1f} % ({_verdict(share <= 10.0)})")
        elif share > 10.0:
            others.append(f"{name} {budget} {share:.1f} %")
    page.add_table(["data, budget", "search", "total s", "maintenance s", "of it h or WD s", "maintenance %"], rows)
    figure_3(page, cases, parts)
    more = f" Also above 10 %, not part of the target: {', '.join(others)}." if others else ""
    return f"**Budget maintenance without kernel evaluations, at most 10 % of training**: {'; '.join(verdicts)}.{more}"


def _several(page: Page, runs: Runs) -> str:
    page.add(
        "## Several merges at once",
        "Multi-merge (Qaadan and Glasmachers, 2018): a new point is merged with its two or three best partners, so that the "
        "next one or two violations find a free slot. Two runs each, times of five passes; one partner is what `BudgetedSVC` does.",
    )
    rows, gains = [], []
    for name, budget in (("ADULT", 100), ("ADULT", 500), ("SUSY", 100), ("PHISHING", 100)):
        shares = []
        for partners in (1, 2, 3):
            found = runs.once(runs_of.several_at_once, name, budget, partners, 2, 2)
            shares.append(100 * found["maintenance"] / found["total"])
            cells = [
                mean(found["accuracies"]),
                f"{found['frequency']:.1f}",
                f"{found['total']:.2f}",
                f"{shares[-1]:.1f}",
            ]
            rows.append([f"{name} {budget}", str(partners), *cells])
        gains.append(f"{name} {budget} {shares[0]:.1f}, {shares[1]:.1f}, {shares[2]:.1f} %")
    page.add_table(["data, budget", "partners", "accuracy %", "maintenance in % of steps", "total s", "share %"], rows)
    return f"**Maintenance with one, two and three partners at once**: {'; '.join(gains)}."


def _steps(page: Page, runs: Runs, cases: list[tuple[str, int]]) -> str:
    page.add(
        "## Cost of a step",
        "A step, including averaging and maintenance, is compared with one dense float32 product of B × d and B exponentials, "
        "written in C for this purpose, with vectors of eight, sums in registers and the C library's expf "
        "(`benchmarks/papers/bsgd_step.py`). Sparse rows need less than the dense product, so the target does not apply to "
        "them.",
    )
    rows, ratios = [], {}
    for name, budget in cases:
        step, least = runs.once(runs_of.step, name, budget, runs.rounds)
        X = runs.problem(name).X_train
        if not sp.issparse(X):
            ratios[name, budget] = step / least
        kind = f"sparse, {X.nnz / X.shape[0]:.0f} of {X.shape[1]} per row" if sp.issparse(X) else "dense"
        rows.append([f"{name} {budget}", kind, f"{step:.3f}", f"{least:.3f}", f"{step / least:.2f}"])
    page.add_table(["data, budget", "rows", "step µs", "dense product and exponentials µs", "ratio"], rows)
    over = [f"{name} {budget} {ratio:.2f}" for (name, budget), ratio in ratios.items() if ratio > 1.5]
    ijcnn = next(row for row in rows if row[0] == "IJCNN 100")
    return (
        f"**A step, at most 1.5 times a dense product and the exponentials, dense data**: {len(ratios) - len(over)} of "
        f"{len(ratios)} met"
        + (f"; **missed**: {', '.join(over)}" if over else "")
        + f". IJCNN at a budget of 100: {ijcnn[2]} µs per step. (The paper's C++ was reported to take 12 µs on such a machine.)"
    )


def _streams(page: Page, runs: Runs) -> str:
    page.add("## Streams: `partial_fit` in 1,000 chunks against one `fit`, with an intercept, three seeds")
    rows, verdicts = [], []
    for name in BARS_ON:
        found = runs.repeated(runs_of.stream, name, runs.chunks, most=3)
        scores = np.array([run["scores"] for run in found]).T
        streamed, once, whole = scores.mean(axis=1)
        sizes = [f"{size:,}" for size in found[0]["bytes"]]
        rows.append([name, *(mean(list(kind)) for kind in scores), *sizes])
        verdicts.append(
            f"{name} {streamed - once:+.2f} points of `fit` with one pass ({_verdict(streamed >= once - 0.5)}), "
            f"{streamed - whole:+.2f} of `fit` with all passes ({_verdict(streamed >= whole - 0.5)})"
        )
    page.add_table(["data", "stream %", "fit, one pass %", "fit %", "bytes after 100 chunks", "after 1,000"], rows)
    return f"**Streams within 0.5 points of a fit, in constant memory**: {'; '.join(verdicts)}."
