"""What LIBSVM's and LIBLINEAR's users type out of habit: understood where it means the same, or answered by a hint."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

_HINTS = {
    "-b": "There are no probabilities; kernline predict --scores writes scores.",
    "-R": "The intercept is always penalised; -B 10 penalises it less than -B 1.",
    "-n": "There is no nu-SVM; -c is the cost. Threads are -j.",
    "-m": "There is no cache to set a size for; threads are -j.",
    "-d": "The degree of a polynomial kernel is -p degree=3.",
    "-r": "The constant of a polynomial kernel is -p coef0=1.",
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Habitual(TyperCommand):
    """A command that takes ``-w1 2`` for ``-w 1:2``, and has hints for LIBSVM options that are not supported."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As click does, after and with the above."""
        try:
            return super().parse_args(ctx, _weights(args, ctx))
        except Exception as error:
            hint = _HINTS.get(getattr(error, "option_name", ""))
            if hint is not None and type(error).__name__ == "NoSuchOption":
                ctx.fail(f"No such option: {error.option_name}. {hint}")  # type: ignore[attr-defined]
            raise


def _weights(args: list[str], ctx: Any) -> list[str]:
    """-wLABEL WEIGHT, two arguments, as one. Left alone, WEIGHT would be taken for DATA, and DATA for MODEL."""
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
            ctx.fail(f"{arg} {weight}: expected a weight after {arg}, as in -w{label} 2 or -w {label}:2.")
        out += ["-w", f"{label}:{weight}"]
    return out
