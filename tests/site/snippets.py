"""Runs the code of a page from top to bottom: its Python in one namespace, its commands in one folder.

Python with ``>>>`` is a doctest; other Python is only run. In ``console`` blocks, lines after ``$`` are commands, and
what follows one is its output. In both, ``...`` stands for any text. Installation is not run here: ``make wheel`` does.
A command of Kernline alone is run in this process, which has imported what it needs; others are run by a shell.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

_FENCE = re.compile(r"^```(python|console)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_NOT_RUN = ("pip ", "make", "git ", "man ", "python -m venv", "source ")
_OF_THE_SHELL = frozenset("|&;<>()$`*?[]{}~\n")
_SETTINGS = {"COLUMNS": "80", "KERNLINE_OFFLINE": "1"}
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Command(NamedTuple):
    """A command, and the output that the page shows, if any."""

    text: str
    output: str


def blocks(page: str) -> list[tuple[str, str]]:
    """The code of a page: its language and its text."""
    return _FENCE.findall(page)


def commands(block: str) -> Iterator[Command]:
    """The commands of a console block."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        joined = re.sub(r"\\\n\s*", "", part)
        text, _, output = joined.partition("\n")
        yield Command(text, output)


def run(page: str, name: str, folder: Path) -> int:
    """Run a page whose working folder is `folder`; return how many blocks and commands were run."""
    names: dict[str, object] = {"__name__": "__main__"}
    count = 0
    for number, (language, text) in enumerate(blocks(page)):
        where = f"{name}, block {number + 1}"
        if language == "python" and ">>>" in text:
            _doctest(text, names, where)
            count += 1
        elif language == "python":
            exec(compile(text, where, "exec"), names)
            count += 1
        else:
            count += sum(_command(command, folder, where) for command in commands(text))
    return count


def _doctest(text: str, names: dict[str, object], where: str) -> None:
    test = doctest.DocTestParser().get_doctest(text, names, where, where, 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=_FLAGS)
    runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)  # the runner works on a copy
    assert runner.failures == 0, "".join(said)


def _command(command: Command, folder: Path, where: str) -> bool:
    if command.text.startswith(_NOT_RUN):
        return False
    alone = command.text.startswith("kernline ") and not _OF_THE_SHELL & set(command.text)
    code, printed = (_run_here if alone else _run_in_a_shell)(command.text, folder)
    assert code == 0, f"{where}: {command.text}\n{printed}"
    if command.output.strip():
        same = doctest.OutputChecker().check_output(command.output, printed, _FLAGS)
        assert same, f"{where}: {command.text}\nshown:\n{command.output}\nprinted:\n{printed}"
    return True


def _run_here(text: str, folder: Path) -> tuple[int, str]:
    from typer.testing import CliRunner

    from kernline.cli.app import app

    with chdir(folder):
        ended = CliRunner(env=_SETTINGS).invoke(app, shlex.split(text, comments=True)[1:])
    return ended.exit_code, ended.output


def _run_in_a_shell(text: str, folder: Path) -> tuple[int, str]:
    script = f'set -e\nkernline() {{ "{sys.executable}" -m kernline "$@"; }}\n{text}'
    ended = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env={**os.environ, **_SETTINGS},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout
