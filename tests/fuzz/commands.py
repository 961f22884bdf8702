"""Fuzz the command line: `make fuzz-commands`, or a few command lines from the tests.

Commands get any combination of their options, with values that are right, nearly right or hostile, on small files that
are good, damaged or of another kind. Whatever is given, a command ends in time with exit code 0 to 3. If it is not 0,
standard error ends with one line that says why, and never with a traceback.

    python tests/fuzz/commands.py --seconds 600
    python tests/fuzz/commands.py --first 17 --lines 1
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

SECONDS_PER_LINE = 30
VALUES = [
    "0",
    "1",
    "-1",
    "2",
    "0.5",
    "1e-3",
    "1e999",
    "nan",
    "inf",
    "-inf",
    "",
    " ",
    "auto",
    "none",
    "x",
    "a",
    "species",
]
VALUES += ["a,b", "1,2,3", "0:3", "1:", ":", "--", "-", "é", "\udcff", "chi2", "rbf", "linear", "hinge", "log", "rank"]
VALUES += ["n_basis=5", "budget=3", "kernel=chi2", "=", "a=", "=1", "C=1e400", "max_iter=1", "99999999999999999999"]
FILES = [
    "iris.svm",
    "iris.csv",
    "iris.npz",
    "iris.parquet",
    "iris.csv.gz",
    "bad.csv",
    "short.csv",
    "svm.kern",
    "csv.kern",
]
FILES += [
    "none.svm",
    "empty.svm",
    "empty.csv",
    "junk.kern",
    "junk.npz",
    "junk.parquet",
    "iris.kdata",
    ".",
    "no/such/file",
]
OUTPUTS = [
    "OUT.kern",
    "OUT.svm",
    "OUT.csv",
    "OUT.json",
    "OUT.h",
    "OUT.onnx",
    "OUT.html",
    "OUT.kdata",
    "OUT",
    ".",
    "no/x",
]


def make_inputs(folder: Path) -> None:
    """The files of the hard tests, and files that are none."""
    from kernline import Dataset
    from tests.hard.command_loop import make_files

    make_files(folder)
    for name in ("empty.svm", "empty.csv"):
        (folder / name).write_bytes(b"")
    for name in ("junk.kern", "junk.npz", "junk.parquet"):
        (folder / name).write_bytes(bytes(range(256)) * 4)
    Dataset(folder / "iris.svm").save(folder / "iris.kdata")


def _in_another_process(folder: Path) -> None:
    """Make the inputs where threads may start: a fork of a process with threads could wait for them for ever."""
    program = (
        f"from pathlib import Path; from tests.fuzz.commands import make_inputs; make_inputs(Path({str(folder)!r}))"
    )
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=True)


def command_line(commands: dict[str, Any], number: int) -> list[str]:
    """Command line of this number."""
    rng = random.Random(number)
    name = rng.choice(sorted(commands))
    words = name.split()
    positional = [p for p in commands[name].params if p.param_type_name == "argument"]
    options = [p for p in commands[name].params if p.param_type_name == "option" and p.name not in _SKIPPED]
    for place in range(len(positional) + rng.choice([-1, 0, 0, 0, 0, 1])):
        words.append(rng.choice(FILES if place == 0 or rng.random() < 0.4 else OUTPUTS))
    if rng.random() < 0.5 and any("--target" in p.opts for p in options):
        words += ["--target", "species"]
    for option in rng.sample(options, min(len(options), rng.choice([0, 1, 1, 2, 3, 6]))):
        words.append(rng.choice([*option.opts, *option.secondary_opts]))
        if not option.is_flag:
            words.append(_value(option, rng))
    if rng.random() < 0.05:
        words.insert(rng.randrange(len(words) + 1), rng.choice(VALUES))
    return words


# These wait for the network or a cluster, or write to the user's shell.
_SKIPPED = ("help", "dask", "install_completion", "show_completion")


def _value(option: Any, rng: random.Random) -> str:
    choices = list(getattr(getattr(option, "type", None), "choices", []))
    if choices and rng.random() < 0.7:
        return str(rng.choice(choices))
    return rng.choice(VALUES + FILES + OUTPUTS if rng.random() < 0.3 else VALUES)


def commands_of() -> dict[str, Any]:
    """Every command, by its name."""
    import typer.main

    from kernline.cli.app import app

    group = typer.main.get_command(app)
    found = {name: command for name, command in group.commands.items() if not hasattr(command, "commands")}
    nested = group.commands["datasets"].commands
    return found | {f"datasets {name}": command for name, command in nested.items() if name == "list"}


def run(words: list[str], folder: Path, number: int) -> str:
    """Run a command line in a fork of this process; returns what is wrong with how it ended."""
    log = folder / f"run{number}.stderr"
    pid = os.fork()
    if not pid:
        _become([word.replace("OUT", f"run{number}") for word in words], folder, log)
    status = os.waitpid(pid, 0)[1]
    stderr = log.read_text(errors="replace")
    for path in folder.glob(f"run{number}*"):
        path.unlink()
    code, lines = os.waitstatus_to_exitcode(status), stderr.splitlines()
    if code == -signal.SIGALRM:
        return f"does not end within {SECONDS_PER_LINE} seconds"
    if code not in (0, 1, 2, 3):
        return f"exit code {code}: {lines[-3:]}"
    if "Traceback" in stderr:
        return f"a traceback: {lines[-1]}"
    if code and not (lines and lines[-1].startswith(("kernline: ", "Error: "))) and not _is_help(lines):
        return f"exit code {code}, and the last line is no message: {lines[-3:]}"
    return ""


def _is_help(lines: list[str]) -> bool:
    """A message with a second line of advice."""
    return any(line.startswith(("kernline: ", "Error: ")) for line in lines[-4:])


def _become(words: list[str], folder: Path, log: Path) -> None:
    os.chdir(folder)
    for descriptor, path in ((0, os.devnull), (1, os.devnull), (2, log)):
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    signal.alarm(SECONDS_PER_LINE)
    from kernline.cli import main

    sys.argv = ["kernline", *words]
    code: Any = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 70
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def fuzz(first: int, n_lines: int, seconds: float) -> int:
    """Run command lines; returns how many broke the rule."""
    import sklearn.svm  # noqa: F401  imported once, here, instead of in every fork

    import kernline.estimators.additive  # noqa: F401

    os.environ |= {"KERNLINE_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    commands, begun, codes = commands_of(), time.monotonic(), Counter[str]()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _in_another_process(folder)
        n_bad = n_run = 0
        for number in range(first, first + n_lines):
            if time.monotonic() - begun > seconds:
                break
            words = command_line(commands, number)
            codes[words[0] if words else ""] += 1
            n_run += 1
            if wrong := run(words, folder, number):
                n_bad += 1
                print(f"{number}: kernline {shlex.join(words)}\n  {wrong}", flush=True)
    print(f"{n_run} command lines, {n_bad} of which broke the rule")
    return n_bad


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--lines", type=int, default=1 << 62)
    parser.add_argument("--first", type=int, default=0, help="the number of the first command line")
    given = parser.parse_args()
    sys.exit(min(fuzz(given.first, given.lines, given.seconds), 1))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main()
