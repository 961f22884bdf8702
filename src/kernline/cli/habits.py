"""Options of LIBSVM and LIBLINEAR: accepted if Kernline has the same, else explained by a hint."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from ..suggestions import did_you_mean
from .help_pages import GroupedCommand

_HINTS = {
    "-R": "Leave -B out: the intercept is then not penalised.",
    "-n": "nu-SVM is not supported; -c sets the cost, -j the number of threads.",
    "-m": "There is no kernel cache; -j sets the number of threads.",
    "-d": "Set the degree of a polynomial kernel with -p degree=3.",
    "-r": "Set the constant of a polynomial kernel with -p coef0=1.",
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Habitual(GroupedCommand):
    """A command that accepts ``-w1 2`` for ``-w 1:2``, and gives hints for LIBSVM options that are not supported."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments."""
        # The class of `ctx` is click's, or that of the copy of click that newer versions of typer contain.
        try:
            return super().parse_args(ctx, _weights(args, ctx.fail))
        except Exception as error:
            if type(error).__name__ != "NoSuchOption":
                raise
            name = error.option_name  # type: ignore[attr-defined]
            known = [option for one in self.get_params(ctx) for option in (*one.opts, *one.secondary_opts)]
            near = did_you_mean(name, [option for option in known if option.startswith("--")])
            ctx.fail(f"No such option: {name}. {_HINTS.get(name, near)}".rstrip())
            raise  # not reached, but the type of `fail` does not say so


def _weights(args: list[str], fail: Callable[[str], NoReturn]) -> list[str]:
    """Join the arguments -wLABEL WEIGHT. Otherwise WEIGHT would be taken for DATA, and DATA for MODEL."""
    out: list[str] = []
    rest = iter(args)
    for arg in rest:
        label = arg[2:]
        if arg == "--":
            return [*out, arg, *rest]
        if not arg.startswith("-w") or not label or ":" in label or label == "balanced":
            out.append(arg)
            continue
        weight = next(rest, "")
        if not _NUMBER.fullmatch(weight):
            fail(f"{arg} {weight}: expected a weight after {arg}, as in -w{label} 2 or -w {label}:2.")
        out += ["-w", f"{label}:{weight}"]
    return out
