"""The bars: what our results must reach, and whether they do, table by table.

Where ours fails, it misses the bar. A peer that failed or was not measured on a table is left out there, and named
below. A verdict without results is "–".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .measures import Result
from .run import Results

MAINS_PEERS = ("logistic", "linear-svc", "ebm-mains")
BEFORE = ("today", "today-rank", "today-rank-10")
# With fewer test rows, the calibration error of a calibrated model is above the bar too.
CALIBRATION_ROWS = 1000
# Bars on time apply to sets with more rows than this, in both parts together.
TIME_ROWS = 10_000


@dataclass
class Section:
    """A part of the page: a table with verdicts, and the sentences below it."""

    title: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)


def verdict(met: bool | None) -> str:
    """The word of a cell."""
    return "–" if met is None else "yes" if met else "NO"


def _percent(result: Result | None) -> str:
    return "–" if result is None else f"{100 * result.score:.2f}"


def _best(results: Results, names: Sequence[str]) -> float | None:
    """The highest accuracy among these, in percent."""
    found = [results.get(name) for name in names]
    return max((100 * result.score for result in found if result is not None), default=None)


def _every(what: str, met: dict[str, bool]) -> str:
    if not met:
        return f"{what}: **–**"
    missed = [name for name, yes in met.items() if not yes]
    names = f"; not {', '.join(missed)}" if missed else ""
    return f"{what}: **{verdict(not missed)}**, {len(met) - len(missed)} of {len(met)}{names}."


def _on_average(what: str, values: Sequence[float], shown: str, met: Callable[[float], bool], failed: int) -> str:
    """A verdict on a mean. Sets on which ours failed are not in it, so any of them is a miss."""
    if not values and not failed:
        return f"{what}: **–**"
    mean = float(np.mean(values)) if values else np.nan
    notes = ([shown.format(mean)] if values else []) + ([f"ours failed on {failed} sets"] if failed else [])
    return f"{what}: **{verdict(not failed and met(mean))}**, {', '.join(notes)}."


def _n_failed(all_results: Sequence[Results], name: str) -> int:
    return sum(results.failed(name) for results in all_results)


def _unmeasured(all_results: Sequence[Results], names: Sequence[str]) -> list[str]:
    """A line for each peer that has no result on some of the tables."""
    lines = []
    for name in names:
        sets = [results.table.name for results in all_results if results.get(name) is None]
        if sets:
            lines.append(f"Without {name} on {', '.join(sets)}.")
    return lines


@dataclass(frozen=True)
class _Margin:
    """Our accuracy must be at least that of the best of `peers`, minus `slack` points."""

    heading: str
    ours: str
    peers: tuple[str, ...]
    slack: float

    def difference(self, results: Results) -> float | None:
        ours, best = _best(results, (self.ours,)), _best(results, self.peers)
        return None if ours is None or best is None else ours - best

    def met(self, results: Results) -> bool | None:
        if results.failed(self.ours):
            return False
        difference = self.difference(results)
        return None if difference is None else round(difference, 6) >= -self.slack

    def cells(self, results: Results) -> list[str]:
        difference = self.difference(results)
        return ["–" if difference is None else f"{difference:+.2f}", verdict(self.met(results))]

    def everywhere(self, all_results: Sequence[Results]) -> str:
        met = {found.table.name: met for found in all_results if (met := self.met(found)) is not None}
        return _every(f"At most {self.slack:g} below {self.heading} on every set", met)

    def average(self, all_results: Sequence[Results], low: float, what: str) -> str:
        differences = [d for found in all_results if (d := self.difference(found)) is not None]
        failed = _n_failed(all_results, self.ours)
        return _on_average(what, differences, "{:+.2f} points", lambda mean: mean >= low, failed)


def accuracy(title: str, all_results: Sequence[Results]) -> Section:
    """By default: near the best of the additive peers everywhere, above on average; no worse than before."""
    peers = _Margin("the best of the three", "kernline", MAINS_PEERS, 0.5)
    before = _Margin("the best setting of 0.1.0", "kernline", BEFORE, 0.3)
    header = ["set", "AdditiveSVC()", "LogisticRegression", "LinearSVC", "EBM mains", "difference", "≥ −0.5"]
    section = Section(title, [*header, "best of 0.1.0", "difference", "≥ −0.3"])
    for results in all_results:
        best_before = _best(results, BEFORE)
        section.rows.append(
            [
                results.table.name,
                *(_percent(results.get(name)) for name in ("kernline", *MAINS_PEERS)),
                *peers.cells(results),
                "–" if best_before is None else f"{best_before:.2f}",
                *before.cells(results),
            ]
        )
    section.verdicts = [
        peers.everywhere(all_results),
        peers.average(all_results, 0.0, "Above the best of the three on average"),
        before.everywhere(all_results),
        *_unmeasured(all_results, MAINS_PEERS),
    ]
    return section


def probabilities(title: str, all_results: Sequence[Results]) -> Section:
    """Log loss against that of EBM without interactions, and the calibration error."""
    header = ["set", 'loss="log"', "EBM mains", "ratio", "LogisticRegression", "LightGBM"]
    section = Section(title, [*header, "calibration error", "EBM mains", "< 2 points"])
    ratios, sums, calibrated = [], [], {}
    for results in all_results:
        names = ("kernline-log", "ebm-mains", "logistic", "lightgbm")
        ours, peer, *others = (results.get(name) for name in names)
        ratio = ours.log_loss / peer.log_loss if ours and peer and peer.log_loss > 0.0 else None
        if ours and peer and ratio is not None:
            ratios.append(ratio)
            sums.append((ours.log_loss, peer.log_loss))
        if results.n_test >= CALIBRATION_ROWS and (ours or results.failed("kernline-log")):
            calibrated[results.table.name] = ours is not None and ours.calibration < 0.02
        section.rows.append(
            [
                results.table.name,
                *(_log_loss(result) for result in (ours, peer)),
                "–" if ratio is None else f"{ratio:.3f}",
                *(_log_loss(result) for result in others),
                *("–" if result is None else f"{100 * result.calibration:.2f}" for result in (ours, peer)),
                verdict(calibrated.get(results.table.name)),
            ]
        )
    section.verdicts = [
        _ratio_of_losses(ratios, sums, _n_failed(all_results, "kernline-log")),
        _every(f"Calibration error below 2 points on every set of {CALIBRATION_ROWS:,} test rows or more", calibrated),
        *_unmeasured(all_results, ("ebm-mains",)),
    ]
    return section


def _log_loss(result: Result | None) -> str:
    """Four decimals, or two digits of a small one, which is divided by when the page is read again (former.py)."""
    if result is None:
        return "–"
    return f"{result.log_loss:.4f}" if result.log_loss >= 0.001 else f"{result.log_loss:.2g}"


def _ratio_of_losses(ratios: list[float], sums: list[tuple[float, float]], failed: int) -> str:
    what = "Log loss at most 3 % above that of EBM mains on average (geometric)"
    shown = "ratio {:.3f}"
    if sums:
        ours, peer = np.sum(sums, axis=0)
        shown += f", of the means {ours / peer:.3f}"
    # The mean of logarithms: one set with hardly any loss would decide a mean of ratios.
    values = [geometric_mean(ratios)] if ratios else []
    return _on_average(what, values, shown, lambda mean: mean <= 1.03, failed)


def interactions(title: str, all_results: Sequence[Results]) -> Section:
    """Pairs against EBM's default, LightGBM, and ours without pairs."""
    ebm = _Margin("EBM", "kernline-pairs", ("ebm",), 0.3)
    boosting = _Margin("LightGBM", "kernline-pairs", ("lightgbm",), 1.0)
    mains = _Margin("ours without pairs", "kernline-pairs", ("kernline",), 0.2)
    header = ["set", 'interactions="auto"', "EBM", "difference", "≥ −0.3", "LightGBM", "difference"]
    section = Section(title, [*header, "AdditiveSVC()", "difference", "≥ −0.2"])
    for results in all_results:
        section.rows.append(
            [
                results.table.name,
                _percent(results.get("kernline-pairs")),
                _percent(results.get("ebm")),
                *ebm.cells(results),
                _percent(results.get("lightgbm")),
                boosting.cells(results)[0],
                _percent(results.get("kernline")),
                *mains.cells(results),
            ]
        )
    section.verdicts = [
        ebm.everywhere(all_results),
        ebm.average(all_results, 0.0, "Above EBM on average"),
        boosting.average(all_results, -1.0, "At most 1 below LightGBM on average"),
        mains.everywhere(all_results),
        *_unmeasured(all_results, ("ebm", "lightgbm")),
    ]
    return section


def times(title: str, all_results: Sequence[Results]) -> Section:
    """Seconds to fit, on the larger sets."""
    header = ["set", "training rows", "ours", "EBM mains", "ratio", "pairs", "EBM", "ratio", "LightGBM", "no slower"]
    section = Section(title, header)
    mains_ratios, pair_ratios, no_slower = [], [], {}
    larger = [found for found in all_results if found.n_rows > TIME_ROWS]
    for results in larger:
        names = ("kernline", "ebm-mains", "kernline-pairs", "ebm", "lightgbm")
        mains, ebm_mains, pairs, ebm, boosting = (results.get(name) for name in names)
        cells = [_seconds(mains), _seconds(ebm_mains), _ratio(ebm_mains, mains, mains_ratios)]
        cells += [_seconds(pairs), _seconds(ebm), _ratio(ebm, pairs, pair_ratios)]
        if boosting and (mains or results.failed("kernline")):
            no_slower[results.table.name] = mains is not None and mains.fit_seconds <= boosting.fit_seconds
        cells += [_seconds(boosting), verdict(no_slower.get(results.table.name))]
        section.rows.append([results.table.name, f"{results.n_train:,}", *cells])
    section.verdicts = [
        _times_faster("50 times faster than EBM mains", mains_ratios, 50.0, _n_failed(larger, "kernline")),
        _times_faster("Pairs 20 times faster than EBM", pair_ratios, 20.0, _n_failed(larger, "kernline-pairs")),
        _every("Mains no slower than LightGBM on every set", no_slower),
        *_unmeasured(larger, ("ebm-mains", "ebm", "lightgbm")),
    ]
    return section


def _seconds(result: Result | None) -> str:
    return "–" if result is None else f"{result.fit_seconds:.3g}"


def _ratio(theirs: Result | None, ours: Result | None, into: list[float]) -> str:
    if theirs is None or ours is None:
        return "–"
    into.append(theirs.fit_seconds / ours.fit_seconds)
    return f"{into[-1]:.1f}×"


def _times_faster(what: str, ratios: list[float], wanted: float, failed: int) -> str:
    values = [geometric_mean(ratios)] if ratios else []
    return _on_average(what, values, "{:.1f}× (geometric mean)", lambda mean: mean >= wanted, failed)


def geometric_mean(values: Sequence[float]) -> float:
    """exp of the mean logarithm."""
    return float(np.exp(np.mean(np.log(values))))


def regression(title: str, all_results: Sequence[Results]) -> Section:
    """RMSE against EBM, without and with pairs."""
    header = ["set", "AdditiveSVR()", "EBM mains", "excess %", "pairs", "EBM", "excess %", "LightGBM", "Ridge", "R²"]
    section = Section(title, header)
    mains: list[float] = []
    pairs: list[float] = []
    for results in all_results:
        ours, with_pairs = results.get("kernline"), results.get("kernline-pairs")
        section.rows.append(
            [
                results.table.name,
                *_compared(ours, results.get("ebm-mains"), mains),
                *_compared(with_pairs, results.get("ebm"), pairs),
                *(_rmse(results.get(name)) for name in ("lightgbm", "ridge")),
                "–" if ours is None else f"{ours.score:.3f}",
            ]
        )
    section.verdicts = [
        _excess("AdditiveSVR() at most 2 % above EBM mains on average", mains, _n_failed(all_results, "kernline")),
        _excess("Pairs at most 2 % above EBM on average", pairs, _n_failed(all_results, "kernline-pairs")),
        *_unmeasured(all_results, ("ebm-mains", "ebm")),
    ]
    return section


def _rmse(result: Result | None) -> str:
    return "–" if result is None else f"{result.rmse:.4g}"


def _compared(ours: Result | None, theirs: Result | None, into: list[float]) -> list[str]:
    if ours is None or theirs is None:
        return [_rmse(ours), _rmse(theirs), "–"]
    into.append(100.0 * (ours.rmse / theirs.rmse - 1.0))
    return [_rmse(ours), _rmse(theirs), f"{into[-1]:+.1f}"]


def _excess(what: str, values: list[float], failed: int) -> str:
    return _on_average(what, values, "{:+.2f} %", lambda mean: mean <= 2.0, failed)


SECTIONS: dict[str, Callable[[str, Sequence[Results]], Section]] = {
    "Accuracy by default": accuracy,
    "Probabilities": probabilities,
    "Pairs": interactions,
    "Time to fit, seconds": times,
}
