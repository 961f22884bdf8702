"""Budgeted SGD with precomputed golden section search (Glasmachers, Qaadan): tables 1 to 3, figures 2 and 3."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from kernline import BudgetedSVC, _core, datasets, merging
from kernline.datasets import RemoteFile
from kernline.solvers import BudgetedModel, BudgetedSGD
from kernline.solvers.budgeted_sgd import values_of

from ..measure import interleave
from .common import Page, figure

SEARCHES = ("gss-precise", "gss", "lookup-h", "lookup-wd")
RUNS = 5
FAST_ROUNDS = 5
STEP_ROUNDS = 15

INTRODUCTION = """Glasmachers, Qaadan, "Speeding up budgeted stochastic gradient descent SVM training with precomputed
golden section search". The paper's C and γ, 20 passes (SUSY: one), no intercept, five runs with different seeds; one
thread, and seconds of its processor time. IJCNN and ADULT have their usual test sets. SKIN (raw values, 0 to 255), WEB (w8a) and PHISHING (rows of unit
length, as the LIBSVM collection has them; the file at hand has not) are split at random into parts of the paper's sizes, anew for every run. SUSY is not to
be had; generated data of 18 features stands in for it, 500,000 rows instead of 4.5 million, so that only times and
frequencies compare, not accuracies.

"As published" is Algorithm 1 to the letter: the kernels of a merge are computed again, all partners of equal label are
looked at, and the model is the last iterate. "Ours" is what `BudgetedSVC` does: no kernel is evaluated for a merge, only
partners near enough to win are looked at, a point that is a support vector already is not made one again, and the model is an
average of the last iterates."""

MISPRINTS = """## Misprints

Derived anew, and tested against Gram matrices (`tests/test_budgeted.py`): with z = h·x_min + (1 − h)·x, as lines 8 and 13 of
Algorithm 1 have it, line 5 must be m = α_min / (α + α_min). The text's ‖Δ‖² = α_i² + α_j² − α_z² + 2 k(x_i, x_j) lacks the
factor α_i α_j in its last term. The lemma's WD has the factor (α_i + α_j)², not (α_i + α_j).

The lemma's line of discontinuity, m = 1/2 with κ < e⁻², is the edge of our tables: as the smallest coefficient is one of
the pair, m ≤ 1/2, and there h ≤ 1/2. The grid of 400 × 400 covers this half, so it is twice as fine in m as the paper's."""


class Problem(NamedTuple):
    """A data set with labels ±1, the paper's C, γ and budgets, and the accuracy it prints for LIBSVM."""

    X_train: Any
    y_train: NDArray[np.float64]
    X_test: Any
    y_test: NDArray[np.float64]
    C: float
    gamma: float
    budgets: tuple[int, int]
    passes: int
    exact: float


# Accuracy and its deviation, in the order of SEARCHES; then time saved by lookup-h and lookup-wd against gss.
TABLE_2 = {
    ("SUSY", 100): [(76.975, 1.372), (76.628, 2.030), (76.934, 1.426), (76.884, 1.261)],
    ("SUSY", 500): [(76.989, 3.109), (75.583, 3.0558), (75.581, 2.558), (75.570, 3.925)],
    ("SKIN", 100): [(99.621, 0.711), (99.629, 0.852), (99.621, 0.201), (99.617, 0.877)],
    ("SKIN", 200): [(99.868, 0.033), (99.877, 0.053), (99.855, 0.054), (99.754, 0.089)],
    ("IJCNN", 100): [(97.141, 0.317), (96.807, 0.344), (97.132, 0.371), (97.130, 0.363)],
    ("IJCNN", 500): [(98.138, 0.158), (98.055, 0.334), (98.113, 0.448), (98.070, 0.372)],
    ("ADULT", 100): [(84.234, 0.883), (84.166, 0.701), (84.164, 0.988), (84.200, 0.798)],
    ("ADULT", 500): [(84.280, 0.800), (83.739, 1.303), (83.836, 1.157), (83.949, 1.001)],
    ("WEB", 100): [(98.805, 0.026), (98.793, 0.027), (98.783, 0.045), (98.793, 0.039)],
    ("WEB", 500): [(98.809, 0.023), (98.781, 0.047), (98.799, 0.029), (98.807, 0.016)],
    ("PHISHING", 100): [(96.554, 0.158), (96.254, 0.301), (96.539, 0.242), (96.389, 0.371)],
    ("PHISHING", 500): [(97.555, 0.187), (97.517, 0.292), (97.518, 0.280), (97.525, 0.201)],
}
SAVED = {
    ("SUSY", 100): (43.911, 43.396),
    ("SUSY", 500): (39.201, 39.199),
    ("SKIN", 100): (20.515, 17.788),
    ("SKIN", 200): (14.173, 14.900),
    ("IJCNN", 100): (28.091, 30.372),
    ("IJCNN", 500): (30.569, 29.861),
    ("ADULT", 100): (21.627, 18.452),
    ("ADULT", 500): (22.334, 22.339),
    ("WEB", 100): (3.053, 5.649),
    ("WEB", 500): (7.483, 0.508),
    ("PHISHING", 100): (15.385, 13.946),
    ("PHISHING", 500): (7.563, 10.924),
}
# Merging frequency and equal decisions in %, the factors of gss and of lookup-wd, at a budget of 100.
DECISIONS = {
    "SUSY": (43, 93.64, 1.01795, 1.00733),
    "SKIN": (16, 74.31, 1.00047, 1.00005),
    "IJCNN": (17, 91.79, 1.02429, 1.00149),
    "ADULT": (32, 92.54, 1.05064, 1.00402),
    "WEB": (6, 93.77, 1.00255, 1.00039),
    "PHISHING": (21, 96.96, 1.00055, 1.00008),
}
BARS_ON = ("IJCNN", "ADULT", "SKIN")


def main() -> None:
    """Write docs/papers/bsgd.md."""
    page = Page("bsgd", "Budgeted SGD reproduced", INTRODUCTION)
    problems = {name: make(0) for name, make in PROBLEMS.items()}
    merging.native_tables(400)
    _table_1(page, problems)
    measured = {
        (name, budget): Measured.of(PROBLEMS[name], budget)
        for name, problem in problems.items()
        for budget in problem.budgets
    }
    bars = [_table_2(page, measured), _table_3_times(page, measured)]
    _table_3_decisions(page, problems, measured)
    _figure_2(page)
    bars += [_figure_3(page, problems, measured), _steps(page, problems), _streams(page, problems)]
    page.add(MISPRINTS, "## Bars", *bars, TEXT)
    page.write()


@cache
def _read(name: str, n_features: int) -> tuple[Any, NDArray[Any]]:
    return load_svmlight_file(datasets.path(RemoteFile(f"{name}.bz2", "", "")), n_features=n_features)


def _signs(y: NDArray[Any]) -> NDArray[np.float64]:
    return np.where(y == y.max(), 1.0, -1.0)


@cache
def _given(train: str, n_features: int, *, dense: bool) -> tuple[Any, ...]:
    (X, y), (X_test, y_test) = _read(train, n_features), _read(f"{train}.t", n_features)
    return (
        (X.toarray(), _signs(y), X_test.toarray(), _signs(y_test)) if dense else (X, _signs(y), X_test, _signs(y_test))
    )


def _split(X: Any, y: NDArray[Any], n_train: int, seed: int) -> tuple[Any, ...]:
    X_train, X_test, y_train, y_test = train_test_split(X, _signs(y), train_size=n_train, random_state=seed)
    return X_train, y_train, X_test, y_test


def _skin(seed: int) -> Problem:
    X, y = _read("skin_nonskin", 3)
    return Problem(
        *_split(X.toarray(), y, 183_793, seed), C=2**5, gamma=2**-7, budgets=(100, 200), passes=20, exact=99.96
    )


def _web(seed: int) -> Problem:
    return Problem(
        *_split(*_read("w8a", 300), 17_188, seed), C=2**3, gamma=2**-5, budgets=(100, 500), passes=20, exact=98.81
    )


def _phishing(seed: int) -> Problem:
    X, y = _read("phishing", 68)
    return Problem(
        *_split(normalize(X), y, 8_315, seed), C=2**3, gamma=2**3, budgets=(100, 500), passes=20, exact=97.55
    )


def _susy(seed: int) -> Problem:
    """18 features of unit variance, a quadratic boundary and noise that leave about a fifth of the labels wrong."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600_000, 18)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + X[:, 2:8].sum(axis=1) * 0.5 + X[:, 8] ** 2 - 1.0
    y = np.where(score + 1.3 * rng.standard_normal(600_000) > 0, 1, -1)
    return Problem(*_split(X, y, 500_000, seed), C=2**5, gamma=2**-7, budgets=(100, 500), passes=1, exact=79.79)


PROBLEMS = {
    "SUSY": _susy,
    "SKIN": _skin,
    "IJCNN": lambda seed: Problem(
        *_given("ijcnn1", 22, dense=True), C=2**5, gamma=2.0, budgets=(100, 500), passes=20, exact=98.77
    ),
    "ADULT": lambda seed: Problem(
        *_given("a9a", 123, dense=False), C=2**5, gamma=2**-7, budgets=(100, 500), passes=20, exact=84.82
    ),
    "WEB": _web,
    "PHISHING": _phishing,
}


def _settings(problem: Problem, budget: int, **options: Any) -> BudgetedSGD:
    """Without an intercept, as the paper's tables have it, and with all passes."""
    return BudgetedSGD(
        gamma=problem.gamma, C=problem.C, budget=budget, passes=problem.passes, intercept=False, tol=0.0, **options
    )


def _accuracy(model: BudgetedModel, rows: _core.Rows, y: NDArray[Any], gamma: float) -> float:
    scores = np.empty(y.size)
    _core.budgeted_decision(rows, model.vectors, model.coefficients.astype(np.float32), gamma, scores, 1)
    return 100.0 * float(np.mean((scores + model.intercept > 0.0) == (y > 0.0)))


@dataclass
class Measured:
    """All searches on one data set at one budget: accuracies of the runs, and the best time of a run."""

    published: dict[str, list[float]] = field(default_factory=dict)
    ours: dict[str, list[float]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    frequency: float = 0.0

    @classmethod
    def of(cls, make: Callable[[int], Problem], budget: int) -> Measured:
        """Run each search once a seed, so that a noisy neighbour disturbs all alike."""
        found = cls()
        for seed in range(RUNS):
            problem = make(seed)
            train, test = values_of(problem.X_train), values_of(problem.X_test)
            for search in SEARCHES:
                settings = _settings(problem, budget, search=search, seed=seed)
                start = time.process_time()
                last, history = replace(settings, published=True, average=False).fit(train, problem.y_train)
                seconds = time.process_time() - start
                average, _ = settings.fit(train, problem.y_train)
                found.seconds[search] = min(found.seconds.get(search, np.inf), seconds)
                for kept, model in ((found.published, last), (found.ours, average)):
                    kept.setdefault(search, []).append(_accuracy(model, test, problem.y_test, problem.gamma))
                merged = sum(report.n_maintained for report in history)
                found.frequency = 100.0 * merged / (problem.passes * problem.y_train.size)
        return found

    def saved(self, search: str) -> float:
        """Return the share of the time of gss, in %."""
        return 100.0 * (1.0 - self.seconds[search] / self.seconds["gss"])


def _table_1(page: Page, problems: dict[str, Problem]) -> None:
    page.add("## Table 1: the data")
    rows = []
    for name, problem in problems.items():
        exact = ""
        if name in ("WEB", "PHISHING"):
            splits = [PROBLEMS[name](seed) for seed in range(RUNS)]
            scores = [SVC(C=p.C, gamma=p.gamma).fit(p.X_train, p.y_train).score(p.X_test, p.y_test) for p in splits]
            exact = _mean([100.0 * score for score in scores])
        n, d = problem.X_train.shape
        rows.append([name, f"{n:,}", str(d), f"{problem.C:g}", f"{problem.gamma:g}", f"{problem.exact:.2f}", exact])
    page.add_table(["data", "rows", "features", "C", "γ", "LIBSVM %, paper", "SVC % here"], rows)


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.2f} ± {np.std(values):.2f}"


def _table_2(page: Page, measured: dict[tuple[str, int], Measured]) -> str:
    page.add("## Table 2: accuracy %, mean and deviation of five runs")
    rows = []
    below: dict[str, list[str]] = {"published": [], "ours": []}
    n_cases = 0
    for (name, budget), found in measured.items():
        for search, (mean, deviation) in zip(SEARCHES, TABLE_2[name, budget], strict=True):
            rows.append(
                [
                    f"{name} {budget}",
                    search,
                    f"{mean:.2f} ± {deviation:.2f}",
                    _mean(found.published[search]),
                    _mean(found.ours[search]),
                ]
            )
            if name == "SUSY":
                continue
            n_cases += 1
            for kind, kept in below.items():
                short = mean - deviation - np.mean(getattr(found, kind)[search])
                if short > 0.0:
                    kept.append(f"{name} {budget} {search} by {short:.2f}")
    page.add_table(["data, budget", "search", "paper", "as published, here", "ours"], rows)
    return "\n\n".join(
        f"**Accuracy, {kind}**: {n_cases - len(kept)} of {n_cases} cases reach the paper's mean less one deviation."
        + (f" Below it: {', '.join(kept)}." if kept else "")
        for kind, kept in (("ours", below["ours"]), ("as published", below["published"]))
    )


def _table_3_times(page: Page, measured: dict[tuple[str, int], Measured]) -> str:
    page.add("## Table 3: time saved against gss, kernels computed again as in the paper")
    rows, verdicts = [], []
    for (name, budget), found in measured.items():
        paper = SAVED[name, budget]
        saved = found.saved("lookup-h"), found.saved("lookup-wd")
        rows.append(
            [
                f"{name} {budget}",
                *(f"{found.seconds[search]:.2f}" for search in SEARCHES),
                f"{paper[0]:.1f}",
                f"{saved[0]:.1f}",
                f"{paper[1]:.1f}",
                f"{saved[1]:.1f}",
            ]
        )
        if name in BARS_ON:
            verdict = "met" if saved[1] >= paper[1] else "**missed**"
            verdicts.append(f"{name} {budget} {saved[1]:.1f} % (paper {paper[1]:.1f} %, {verdict})")
    header = ["data, budget", *(f"{search} s" for search in SEARCHES)]
    page.add_table([*header, "lookup-h %, paper", "here", "lookup-wd %, paper", "here"], rows)
    return f"**Time saved by lookup-wd against gss, kernels computed again**: {'; '.join(verdicts)}."


def _table_3_decisions(page: Page, problems: dict[str, Problem], measured: dict[tuple[str, int], Measured]) -> None:
    page.add("## Table 3: merging decisions at a budget of 100")
    rows = []
    for name, problem in problems.items():
        core = _settings(problem, 100, published=True).core(values_of(problem.X_train), problem.y_train)
        core.compare_searches()
        for _ in range(min(problem.passes, 3)):
            while not core.run(1.0):
                pass
        n, equal, n_factors, gss, lookup = core.compared
        ours = (measured[name, 100].frequency, 100.0 * equal / n, gss / n_factors, lookup / n_factors)
        pairs = zip(DECISIONS[name], ours, ("{:.0f}", "{:.1f}", "{:.5f}", "{:.5f}"), strict=True)
        rows.append([name, *(cell for p, o, form in pairs for cell in (form.format(p), form.format(o)))])
    header = ["merging frequency %", "equal decisions %", "factor gss", "factor lookup-wd"]
    page.add_table(["data", *(cell for title in header for cell in (f"{title}, paper", "here"))], rows)
    page.add(
        "Decisions and factors are those of the first three passes. Merges that lose nothing (equal points) have no factor."
    )


def _figure_2(page: Page) -> None:
    page.add("## Figure 2: h and WD over m and κ")
    h, loss = merging.tables(400)
    m, kappa = np.linspace(0.0, 1.0, 799), np.linspace(0.0, 1.0, 400)
    mirrored = np.concatenate([h, 1.0 - h[-2::-1]])
    picture, axes = figure(2)
    for ax, values, title in (
        (axes[0, 0], mirrored, "h"),
        (axes[0, 1], np.log10(np.maximum(np.concatenate([loss, loss[-2::-1]]), 1e-8)), "log10 WD"),
    ):
        shown = ax.pcolormesh(kappa, m, values, shading="auto", rasterized=True)
        ax.set(xlabel="κ", ylabel="m", title=title)
        picture.colorbar(shown, ax=ax)
    page.add_figure(picture, "figure2", "h(m, κ), which jumps at m = 1/2 for κ < e⁻², and WD(m, κ)")


def _timed(problem: Problem, budget: int, **options: Any) -> tuple[float, float, float]:
    """Seconds of a fit, of its budget maintenance, and of the search within; one maintenance in 16 is timed."""
    core = _settings(problem, budget, **options).core(values_of(problem.X_train), problem.y_train)
    core.sample_times(16)
    core.go_on_averaging()
    start = time.process_time()
    for _ in range(problem.passes):
        while not core.run(1.0):
            pass
    return time.process_time() - start, core.maintenance_seconds, core.search_seconds


def _figure_3(page: Page, problems: dict[str, Problem], measured: dict[tuple[str, int], Measured]) -> str:
    page.add("## Figure 3: where maintenance takes its time")
    picture, axes = figure(3)
    rows, verdicts = [], []
    for k, (name, problem) in enumerate(problems.items()):
        parts = {}
        for search in SEARCHES:
            total, maintenance, searching = _timed(problem, 100, search=search, published=True)
            parts[search] = (searching, maintenance - searching)
            rows.append([name, f"{search}, as published", *_seconds(total, maintenance, searching)])
        shares = []
        for budget in problem.budgets:
            total, maintenance, _ = min(_timed(problem, budget) for _ in range(FAST_ROUNDS))
            shares.append(100.0 * maintenance / total)
            rows.append(
                [f"{name} {budget}", "lookup-wd, ours", f"{total:.2f}", f"{maintenance:.3f}", "", f"{shares[-1]:.1f}"]
            )
        if name in BARS_ON:
            verdict = "met" if max(shares) <= 10.0 else "**missed**"
            verdicts.append(f"{name} {' and '.join(f'{share:.1f}' for share in shares)} % ({verdict})")
        if k in (1, 2, 3):
            bottom, top = np.array(list(parts.values())).T
            axes[0, k - 1].bar(parts, bottom, label="A: h or WD")
            axes[0, k - 1].bar(parts, top, bottom=bottom, label="B: all else")
            axes[0, k - 1].set(title=f"{name}, budget 100", ylabel="seconds")
            axes[0, k - 1].tick_params(axis="x", labelrotation=20)
            axes[0, k - 1].legend(frameon=False)
    page.add_table(["data", "search", "total s", "maintenance s", "of it h or WD s", "maintenance %"], rows)
    page.add_figure(picture, "figure3", "Merging time as published: A is the search for h or WD, B all else")
    return f"**Budget maintenance without kernel evaluations, at most 10 % of training**: {'; '.join(verdicts)}."


def _seconds(total: float, maintenance: float, searching: float) -> list[str]:
    return [f"{total:.2f}", f"{maintenance:.3f}", f"{searching:.3f}", f"{100 * maintenance / total:.1f}"]


def _steps(page: Page, problems: dict[str, Problem]) -> str:
    page.add(
        "## What a step costs",
        "Beside a step: the least it must do, one dense float32 product of B × d and B exponentials. In the core that is "
        "the loop that predicts, on dense rows; by NumPy it is `exp(A @ x)`, float32, one call of each a row.",
    )
    rows, worst = [], 0.0
    for name, problem in problems.items():
        X = problem.X_train[:20_000]
        dense = np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=np.float32)
        train = values_of(problem.X_train)
        for budget in problem.budgets:
            vectors = np.resize(dense, (budget, dense.shape[1]))
            settings = replace(_settings(problem, budget), passes=1)
            best = interleave(
                {
                    "step": lambda settings=settings, train=train, y=problem.y_train: settings.fit(train, y),
                    "core": lambda dense=dense, vectors=vectors, gamma=problem.gamma: _core_rows(dense, vectors, gamma),
                    "numpy": lambda dense=dense, vectors=vectors: _numpy_rows(dense[:5000], vectors),
                },
                STEP_ROUNDS,
            )
            step = 1e6 * best["step"].seconds / problem.y_train.size
            core = 1e6 * best["core"].seconds / len(dense)
            numpy = 1e6 * best["numpy"].seconds / min(len(dense), 5000)
            worst = max(worst, step / core)
            rows.append(
                [
                    f"{name} {budget}",
                    f"{step:.3f}",
                    f"{core:.3f}",
                    f"{step / core:.2f}",
                    f"{numpy:.3f}",
                    f"{step / numpy:.2f}",
                ]
            )
    page.add_table(["data, budget", "step µs", "core µs", "ratio", "NumPy µs", "ratio"], rows)
    ijcnn = next(row for row in rows if row[0] == "IJCNN 100")
    return (
        f"**A step, at most 1.5 times a dense product and the exponentials**: at worst {worst:.2f} times the core's "
        f"({'met' if worst <= 1.5 else '**missed**'}). IJCNN at a budget of 100: {ijcnn[1]} µs a step, where the published C++ took 12 µs."
    )


def _core_rows(X: NDArray[np.float32], vectors: NDArray[np.float32], gamma: float) -> None:
    _core.budgeted_decision(
        _core.Rows.dense_values(X), vectors, np.ones(len(vectors), np.float32), gamma, np.empty(len(X)), 1
    )


def _numpy_rows(X: NDArray[np.float32], vectors: NDArray[np.float32]) -> None:
    for x in X:
        np.exp(-np.abs(vectors @ x))


def _streams(page: Page, problems: dict[str, Problem]) -> str:
    page.add("## Streams: `partial_fit` in 1,000 chunks against one `fit`, with an intercept, mean of three seeds")
    rows, verdicts = [], []
    for name in ("IJCNN", "ADULT", "SKIN"):
        problem = problems[name]
        scores = np.empty((3, 3))
        for seed in range(3):
            settings = {"gamma": problem.gamma, "C": problem.C, "budget": 100, "random_state": seed}
            stream, sizes = BudgetedSVC(**settings), []
            order = np.random.default_rng(seed).permutation(problem.y_train.size)
            for k, part in enumerate(np.array_split(order, 1000)):
                stream.partial_fit(problem.X_train[part], problem.y_train[part], classes=[-1.0, 1.0])
                if k in (99, 999):
                    sizes.append(len(pickle.dumps(stream)))
            fits = [
                BudgetedSVC(**settings, passes=passes).fit(problem.X_train, problem.y_train)
                for passes in (1, problem.passes)
            ]
            scores[:, seed] = [100 * model.score(problem.X_test, problem.y_test) for model in (stream, *fits)]
        streamed, once, whole = scores.mean(axis=1)
        rows.append([name, f"{streamed:.2f}", f"{once:.2f}", f"{whole:.2f}", f"{sizes[0]:,}", f"{sizes[1]:,}"])
        verdict = "met" if streamed >= whole - 0.5 else "**missed**"
        verdicts.append(
            f"{name} {streamed - whole:+.2f} points of `fit` with {problem.passes} passes, {streamed - once:+.2f} of one ({verdict})"
        )
    page.add_table(["data", "stream %", "fit, one pass %", "fit %", "bytes after 100 chunks", "after 1,000"], rows)
    return f"**Streams within 0.5 points of a fit, in constant memory**: {'; '.join(verdicts)}."


TEXT = """## What to make of it

**Agrees.** The last iterate of Algorithm 1 has the paper's accuracy on SKIN, IJCNN and WEB; the four searches differ by less
than their runs do; look-up saves more of the time than in the paper, as our kernel rows cost less and golden section search,
though it runs on all candidates at once, does not; lookup-wd is nearer to the least loss than gss.

**Differs.** We merge less often than the paper on every data set, and its step size is not told beyond η ∝ 1/t. On ADULT,
where C = 32 is large for steps of 1/(λt), our last iterate is three to four points below the paper's and scatters more; the
average is above it. On PHISHING, SVC itself stays below the paper's LIBSVM on splits of this size, and so do we.

**What is timed.** "As published" shares our kernel rows, exponentials and layout; only the algorithm is the paper's. One
maintenance in 16 is timed; those that something else interrupted are left out. The share of maintenance is taken of steps that
are themselves fast: on ADULT, sparse rows make a step half as dear as a dense product, and every fourth step merges."""
