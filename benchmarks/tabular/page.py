"""The page: a section per bar, then everything that was measured."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from ..measure import machine, table
from . import bars
from .bars import Section
from .contestants import contestants_for
from .measures import Result
from .run import Results

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tabular.md"

_INTRODUCTION = """Every contestant has its own defaults, and nothing is chosen for a data set. Linear models get filled
gaps, standardised numbers and indicators for text; LightGBM gets categories; EBM and ours read the table as it is. The
peers are allowed more iterations where their default would stop early. {rows} Sets below 2,000 rows, and the one split
by person, are split five times, and the mean is shown. {threads}, fits in turns, seconds of the processor; fits below
two seconds are the best of three. Results of peers may come from an earlier run with the same data, versions and
threads ({dates})."""
_FORMER = """ Those of EBM that are of an earlier day are taken from the page before this one, rounded as they are
there; the machine was of the same kind."""


def render(
    all_results: Sequence[Results], *, command: str, threads: int, most_rows: int | None, has_former: bool = False
) -> str:
    """The whole page as Markdown."""
    introduction = (_INTRODUCTION + _FORMER * has_former).format(
        rows="All training rows are used." if most_rows is None else f"At most {most_rows:,} training rows are used.",
        threads="One thread" if threads == 1 else f"{threads} threads",
        dates=_dates(all_results),
    )
    parts = [
        "# Tables, measured",
        f"Written by `{command}`.",
        textwrap.fill(introduction, 130),
        textwrap.fill(f"{machine()}; {_versions()}.", 130),
        *(_rendered(section) for section in _sections(all_results)),
    ]
    return "\n\n".join(parts) + "\n"


def _sections(all_results: Sequence[Results]) -> list[Section]:
    sets = [found for found in all_results if not found.table.regression and not found.table.is_shape]
    shapes = [found for found in all_results if found.table.is_shape]
    regression = [found for found in all_results if found.table.regression]
    sections = [make(title, sets) for title, make in bars.SECTIONS.items()] if sets else []
    if regression:
        sections.append(bars.regression("Regression, RMSE", regression))
    if shapes:
        sections.append(bars.accuracy("Generated shapes, accuracy by default", shapes))
        sections.append(bars.interactions("Generated shapes, pairs", shapes))
    for title, cell in _EVERYTHING.items():
        sections += [_everything(title, group, cell) for group in (sets + shapes, regression) if group]
    return [*sections, _failures(all_results)]


_EVERYTHING: dict[str, Callable[[Result, bool], str]] = {
    "Accuracy %, or R²": lambda result, regression: (
        f"{result.score:.3f}" if regression else f"{100 * result.score:.2f}"
    ),
    "Seconds to fit": lambda result, regression: f"{result.fit_seconds:.3g}",
    "Seconds to predict the test part": lambda result, regression: f"{result.predict_seconds:.3g}",
}


def _everything(title: str, group: Sequence[Results], cell: Callable[[Result, bool], str]) -> Section:
    regression = group[0].table.regression
    contestants = contestants_for(regression=regression)
    section = Section(title, ["set", "rows", *(contestant.label for contestant in contestants.values())])
    for results in group:
        found = [results.get(name) for name in contestants]
        cells = ["–" if result is None else cell(result, regression) for result in found]
        section.rows.append([results.table.name, f"{results.n_train:,} + {results.n_test:,}", *cells])
    return section


def _failures(all_results: Sequence[Results]) -> Section:
    """A line for each contestant and reason, with the sets."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for results in all_results:
        contestants = contestants_for(regression=results.table.regression)
        for name, result in results.by_name.items():
            if result.failure:
                reasons.setdefault((contestants[name].label, result.failure), []).append(results.table.name)
    lines = [f"{label} on {', '.join(sets)}: {reason}" for (label, reason), sets in reasons.items()]
    return Section("Not measured", [], verdicts=lines or ["Nothing: all contestants ran on all sets."])


def _rendered(section: Section) -> str:
    parts = [f"## {section.title}"]
    if section.rows:
        parts.append(table(section.header, section.rows))
    if section.verdicts:
        parts.append("\n".join(f"- {line}" for line in section.verdicts))
    return "\n\n".join(parts)


def _dates(all_results: Sequence[Results]) -> str:
    dates = {result.date for found in all_results for result in found.by_name.values() if result.date}
    return " to ".join(sorted({min(dates), max(dates)})) if dates else "none"


def _versions() -> str:
    contestants = [*contestants_for(regression=False).values(), *contestants_for(regression=True).values()]
    return ", ".join(sorted({peer.version() for peer in contestants if peer.package in ("lightgbm", "interpret-core")}))
