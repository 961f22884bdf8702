"""Pieces of HTML: tables, charts, numbers. Everything that is not markup is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .embedding import escaped
from .intervals import Interval

# Characters of a name that a page shows.
_LONGEST = 200


class Markup(str):
    """Text that is HTML already."""


def shortened(text: object) -> str:
    """A name, or its beginning if it is very long, so that names do not fill the page."""
    name = str(text)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def cell(value: object) -> str:
    """The content of a cell: escaped, unless it is markup."""
    return value if isinstance(value, Markup) else escaped(value)


def named(text: object) -> Markup:
    """A name that may be written from right to left, which does not change the direction of the text around it."""
    return Markup(f"<bdi>{escaped(text)}</bdi>")


def table(
    caption: str, head: Sequence[object], rows: Iterable[Sequence[object]], *, shows_caption: bool = True
) -> Markup:
    """A table whose first column has the headings of its rows, in a box that scrolls if it is too wide.

    A caption that only repeats the heading above is for screen readers.
    """
    hidden = "" if shows_caption else ' class="hidden"'
    heads = "".join(f'<th scope="col">{cell(name)}</th>' for name in head)
    lines = []
    for first, *others in rows:
        cells = "".join(f'<td class="number">{cell(value)}</td>' for value in others)
        lines.append(f'<tr><th scope="row">{cell(first)}</th>{cells}</tr>')
    return Markup(
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escaped(caption)}"><table>'
        f"<caption{hidden}>{escaped(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def chart(identifier: str, label: str) -> Markup:
    """A place for a chart."""
    return Markup(f'<div class="chart" id="{escaped(identifier)}" role="img" aria-label="{escaped(label)}"></div>')


def choice(identifier: str, label: str, options: Sequence[tuple[str, str]] = ()) -> Markup:
    """A list to choose from. The script adds options for classes."""
    found = "".join(f'<option value="{escaped(value)}">{escaped(text)}</option>' for value, text in options)
    return Markup(f'<label class="field">{escaped(label)} <select id="{escaped(identifier)}">{found}</select></label>')


def section(identifier: str, title: str, *parts: str) -> Markup:
    """A section of the page."""
    heading = f"{escaped(identifier)}-heading"
    return Markup(
        f'<section id="{escaped(identifier)}" aria-labelledby="{heading}"><h2 id="{heading}">{escaped(title)}</h2>'
        f"{''.join(parts)}</section>"
    )


def paragraph(*parts: object) -> Markup:
    """A paragraph."""
    return Markup(f"<p>{''.join(map(cell, parts))}</p>")


def number(value: float | None, is_share: bool = False) -> str:
    """A number for people: a share in percent, others with four digits."""
    if value is None:
        return "–"
    text = f"{100.0 * value:.2f} %" if is_share else f"{value:.4g}"
    return text.replace("-", "−")


def ends(interval: Interval | None, is_share: bool) -> str:
    """The ends of an interval."""
    if interval is None:
        return "–"
    return f"{number(interval.low, is_share)} to {number(interval.high, is_share)}"
