"""The help of every command, as Markdown for the site and as a manual page: ``python -m tools.command_help``.

Both are written from the objects that print ``--help``, so there is nothing to keep in step by hand. The manual page is
man/kernline.1, which wheels install; a test compares it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.main import get_command

from kernline import __version__
from kernline.cli.app import app
from kernline.cli.help_pages import options_by_group

MANUAL = Path(__file__).parents[1] / "man" / "kernline.1"


@dataclass(frozen=True)
class Help:
    """The help of one command: its name, usage, paragraphs, examples, and options by group."""

    name: str
    usage: str
    paragraphs: list[str]
    examples: list[str]
    groups: dict[str, list[tuple[str, str]]]


def helps() -> Iterator[Help]:
    """The help of the program, then that of every command."""
    yield from _helps(get_command(app), None, "kernline")


def _helps(command: Any, parent: Any, name: str) -> Iterator[Help]:
    context = command.make_context(name.split()[-1], [], parent=parent, resilient_parsing=True)
    paragraphs, examples = [], []
    for part in inspect.cleandoc(command.help or "").split("\n\n"):
        if part.startswith("\b\n"):
            examples += part.splitlines()[1:]
        else:
            paragraphs.append(" ".join(part.split()))
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    yield Help(name, usage, paragraphs, examples, options_by_group(command, context))
    for sub in getattr(command, "commands", {}).values():
        yield from _helps(sub, context, f"{name} {sub.name}")


def markdown() -> str:
    """All commands as sections of a Markdown page."""
    parts = []
    for one in helps():
        parts += [f"## {one.name}", *map(_escaped, one.paragraphs)]
        parts.append("\n".join(["```sh", *(one.examples or [one.usage]), "```"]))
        for heading, options in one.groups.items():
            lines = [f"`{option}`\n: {_escaped(text)}\n" for option, text in options]
            parts += [f"**{heading}**", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    """Plain text as Markdown; options are set as code."""
    pieces = re.split(r"(?<![\w-])(--?[A-Za-z][\w-]*)", text)
    return "".join(
        f"`{piece}`" if k % 2 else re.sub(r"([\\<>*_`\[\]|])", r"\\\1", piece) for k, piece in enumerate(pieces)
    )


def manual() -> str:
    """The manual page, in the macros of man(7)."""
    program, *commands = helps()
    lines = [
        f'.TH KERNLINE 1 "" "kernline {__version__}" "User Commands"',
        ".SH NAME",
        _roff(f"kernline - {_tagline()}"),
    ]
    lines += [".SH SYNOPSIS", ".B kernline", _roff("COMMAND [OPTIONS] [ARGUMENTS]"), ".SH DESCRIPTION"]
    lines += [*_paragraphs(program), *_options(program), ".SH COMMANDS"]
    for one in commands:
        lines += [f".SS {_roff(one.usage)}", *_paragraphs(one), *_options(one)]
    return "\n".join(lines) + "\n"


def _tagline() -> str:
    return next(helps()).paragraphs[0].rstrip(".")


def _paragraphs(one: Help) -> list[str]:
    lines = []
    for text in one.paragraphs:
        lines += [".PP", _roff(text)]
    if one.examples:
        lines += [".PP", ".EX", *map(_roff, one.examples), ".EE"]
    return lines


def _options(one: Help) -> list[str]:
    lines = []
    for heading, options in one.groups.items():
        lines += [".PP", f".I {heading}"]
        for option, text in options:
            lines += [".TP", f".B {_roff(option)}", _roff(text)]
    return lines


def _roff(text: str) -> str:
    """Plain text for roff: its special characters escaped, hyphens as they are typed."""
    text = text.replace("\\", r"\(rs").replace("-", r"\-")
    return re.sub(r"^([.'])", r"\\&\1", text)


def main() -> None:
    """Write the manual page."""
    MANUAL.parent.mkdir(exist_ok=True)
    MANUAL.write_text(manual(), encoding="utf-8")


if __name__ == "__main__":
    main()
