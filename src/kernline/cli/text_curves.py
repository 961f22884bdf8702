"""Curves as text: a line of blocks for a number, bars for a category, the extremes of a pair."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..number_text import aligned, short
from .output import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ..shapes import Curve, ShapeFunctions

_BLOCKS, _ASCII_BLOCKS = "▁▂▃▄▅▆▇█", "_.-=+*%#"
_PARTS, _ASCII_BAR = " ▏▎▍▌▋▊▉█", "#"
# Safe for the colour-blind.
UP, DOWN = "blue", "dark_orange"
_MOST_CLASSES, _MOST_LEVELS = 3, 8
_WIDEST_CHART, _NARROWEST_CHART = 48, 8
_WIDEST_NAME = 24


def drawn(shapes: ShapeFunctions, functions: Sequence[int], names: Sequence[str]) -> list[str]:
    """Lines that show these functions. Colours and characters are those that standard output can show."""
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    painter = Painter(console)
    with console.capture() as captured:
        for k, name in zip(functions, names, strict=True):
            for line in painter.function(shapes, k, name):
                console.print(line, overflow="ignore", crop=False)
    return captured.get().splitlines()


class Painter:
    """Draws for a console: within its width, and in ASCII if it has no Unicode."""

    def __init__(self, console: Console) -> None:
        self.ascii = console.options.ascii_only or not _has_blocks(console.encoding)
        self.width = console.width

    def function(self, shapes: ShapeFunctions, k: int, name: str) -> list[Text]:
        """A heading, and the function for the classes in which it matters most."""
        curve = shapes.curve(k, centred=shapes.training is not None).drawn()
        effects = curve.effect.reshape(-1, shapes.n_problems)
        size = effects.max(axis=0) - effects.min(axis=0)
        order = size.argsort(kind="stable")[::-1][:_MOST_CLASSES].tolist()
        heading = self.text(self.shown(name, self.width), "bold")
        lines = [heading]
        for p in order:
            label = shapes.problem_names[p] if shapes.n_problems > 1 else ""
            lines += self._curve(curve, p, label)
        if shapes.n_problems > len(order):
            lines.append(self.text(f"  and {shapes.n_problems - len(order)} more classes", "dim"))
        return lines

    def text(self, plain: str, style: str = "") -> Text:
        """Text for the console."""
        from rich.text import Text

        return Text(plain, style=style, no_wrap=True)

    def shown(self, name: str, width: int = _WIDEST_NAME) -> str:
        """A name without control characters, of at most this width."""
        from rich.cells import cell_len, set_cell_size

        name = printable(name)
        if self.ascii:
            name = name.encode("ascii", "replace").decode()
        return name if cell_len(name) <= width else set_cell_size(name, width - 1) + ("~" if self.ascii else "…")

    def bar(self, share: float, width: int, style: str) -> Text:
        """A bar of a share of the width."""
        eighths = round(8 * width * min(max(share, 0.0), 1.0))
        if self.ascii:
            return self.text((_ASCII_BAR * max(1 if eighths else 0, eighths // 8)).ljust(width), style)
        full, part = divmod(eighths, 8)
        return self.text((_PARTS[8] * full + (_PARTS[part] if part else "")).ljust(width), style)

    def _curve(self, curve: Curve, p: int, label: str) -> list[Text]:
        if curve.kind == "pair":
            return self._extremes(curve, p, label)
        return self._levels(curve, p, label) if curve.kind == "category" else self._line(curve, p, label)

    def _label(self, label: str) -> str:
        return f"  {self.shown(label)}: " if label else "  "

    def _line(self, curve: Curve, p: int, label: str) -> list[Text]:
        """A number: evenly spaced along the points of the curve, with the values at both ends and the middle."""
        import numpy as np

        effect = curve.effect[:, p]
        begin, end = f"{self._label(label)}", f" {effect.min():+.3g} to {effect.max():+.3g}"
        width = max(_NARROWEST_CHART, min(_WIDEST_CHART, self.width - len(begin) - len(end)))
        place = np.linspace(0.0, effect.size - 1, width)
        values = np.interp(place, np.arange(effect.size), effect)
        line = self.text(begin)
        blocks = _ASCII_BLOCKS if self.ascii else _BLOCKS
        span = float(np.ptp(effect)) or 1.0
        for value in values.tolist():
            level = min(len(blocks) - 1, int((value - float(effect.min())) / span * len(blocks)))
            line.append(blocks[level], UP if value > 0.0 else DOWN)
        line.append(end)
        x = np.interp(place[[0, width // 2, width - 1]], np.arange(effect.size), np.asarray(curve.x, dtype=np.float64))
        low, middle, high = map(short, x.tolist())
        axis = f"{low}{middle:^{max(len(middle), width - len(low) - len(high))}}{high}"
        lines = [line, self.text(" " * len(begin) + axis, "dim")]
        if curve.missing_effect is not None:
            lines.append(self.text(f"{' ' * len(begin)}missing {curve.missing_effect[p]:+.3g}", "dim"))
        return lines

    def _levels(self, curve: Curve, p: int, label: str) -> list[Text]:
        """A category: its levels of the largest effects, as bars."""
        from rich.cells import cell_len

        effect = curve.effect[:, p]
        order = abs(effect).argsort(kind="stable")[::-1]
        kept = sorted(order[:_MOST_LEVELS].tolist())
        names = [self.shown(str(curve.x[i])) for i in kept]
        room = max(map(cell_len, names))
        width = max(_NARROWEST_CHART, min(_WIDEST_CHART // 2, self.width - room - 16))
        largest = float(abs(effect).max()) or 1.0
        lines = [self.text(f"  {self.shown(label)}:")] if label else []
        for i, name, number in zip(kept, names, aligned(effect[kept].tolist()), strict=True):
            line = self.text(f"    {name}{' ' * (room - cell_len(name))} ")
            line.append_text(self.bar(abs(effect[i]) / largest, width, UP if effect[i] > 0.0 else DOWN))
            line.append(f" {number}")
            lines.append(line)
        if effect.size > len(kept):
            lines.append(self.text(f"    and {effect.size - len(kept)} more levels", "dim"))
        return lines

    def _extremes(self, curve: Curve, p: int, label: str) -> list[Text]:
        """A pair: where it is highest and lowest."""
        effect, lines = curve.effect[:, :, p], []
        for word, place in (("highest", effect.argmax()), ("lowest", effect.argmin())):
            i, j = divmod(int(place), effect.shape[1])
            assert curve.y is not None
            at = ", ".join(self.shown(_value(value)) for value in (curve.x[i], curve.y[j]))
            style = UP if effect[i, j] > 0.0 else DOWN
            lines.append(self.text(f"{self._label(label)}{word} {effect[i, j]:+.3g} at {at}", style))
        return lines


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else short(value)


def _has_blocks(encoding: str) -> bool:
    try:
        (_BLOCKS + _PARTS).encode(encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True
