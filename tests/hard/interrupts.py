"""Ctrl-C, SIGTERM and SIGKILL at random times: no half file, no lost one, no orphan, no traceback.

A command runs over and over, and gets one of the three signals at a random time, in forks of a process that has
imported everything. Run as a program, this is that process: ``python -m tests.hard.interrupts COMMAND RUNS``.
Fits in a process that goes on are interrupted too: the estimator is then the former one or the new one.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from .command_loop import TARGET, make_files, preload
from .steps import CORES, Work, scaled

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
_MESSAGE = re.compile(rb"(kernline: interrupted; (nothing was|run\d+\.\w+ had been) written\n)?")
_LONGEST = 120.0  # seconds; then it hangs

# By name: arguments, and the output if it is a file.
COMMANDS: dict[str, tuple[list[str], str]] = {
    "train": (["train", "digits.svm", "OUT.kern"], ".kern"),
    "cv": (["cv", "iris.csv", "-v", "3", "-c", "1", *TARGET], ""),
    "predict": (["predict", "digits.kern", "digits.svm", "-o", "OUT.txt"], ".txt"),
    "convert": (["convert", "digits.svm", "OUT.kdata"], ".kdata"),
    "report": (["report", "csv.kern", "iris.csv", "-o", "OUT.html", *TARGET], ".html"),
    "mapped": (["train", "digits.kdata", "OUT.kern"], ".kern"),
    "dask": (["train", "digits.svm", "OUT.kern", "--dask", "ADDRESS"], ".kern"),
}


def make_inputs() -> None:
    """Files of `make_files`, and digits, which take longer."""
    from sklearn.datasets import dump_svmlight_file, load_digits

    import kernline

    make_files(Path())
    X, y = load_digits(return_X_y=True)
    dump_svmlight_file(X[:600], y[:600], "digits.svm", zero_based=False)
    kernline.save(kernline.AdditiveSVC("chi2").fit(X[:600], y[:600]), "digits.kern")
    kernline.Dataset(X[:600], y[:600]).save("digits.kdata")


@dataclass
class Run:
    """A command in a fork."""

    number: int
    signal: int | None
    at: float  # when it is sent
    begun: float
    pid: int = 0

    @property
    def log(self) -> Path:
        return Path(f"run{self.number}.stderr")

    def output(self, suffix: str) -> Path:
        return Path(f"run{self.number}{suffix}")


class Loop:
    """Runs of one command."""

    def __init__(self, name: str, address: str) -> None:
        arguments, self.suffix = COMMANDS[name]
        self.arguments = [address if argument == "ADDRESS" else argument for argument in arguments]
        self.old = Path("svm.kern").read_bytes() if self.suffix == ".kern" else b"old"
        self.problems: list[str] = []
        self.new: list[bytes] = []  # outputs of runs that were not interrupted

    def start(self, number: int, sent: int | None, after: float) -> Run | None:
        """Fork; None in the child, where it is the command's turn."""
        now = time.monotonic()
        run = Run(number, sent, now + after, now)
        if self.suffix:
            run.output(self.suffix).write_bytes(self.old)
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS[:2])  # until the child has its handlers
        run.pid = os.fork()
        if not run.pid:
            os.setsid()
            for descriptor, path in ((0, os.devnull), (1, os.devnull), (2, run.log)):
                opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
                os.dup2(opened, descriptor)
                os.close(opened)
            sys.argv = ["kernline", *(text.replace("OUT", f"run{number}") for text in self.arguments), "-q"]
            return None
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS[:2])
        return run

    def wait(self, runs: list[Run]) -> Run:
        """Send signals that are due, until one of the runs has ended; returns that."""
        while True:
            for run in runs:
                pid, status = os.waitpid(run.pid, os.WNOHANG)
                if pid:
                    self.check(run, os.waitstatus_to_exitcode(status))
                    return run
                now = time.monotonic()
                if run.signal is not None and now >= run.at:
                    os.kill(run.pid, run.signal)
                    run.at = float("inf")
                elif now > run.begun + _LONGEST:
                    self.problems.append(f"run {run.number}, {run.signal}: hangs")
                    os.kill(run.pid, signal.SIGKILL)
            time.sleep(0.001)

    def check(self, run: Run, code: int) -> None:
        """Note what is wrong, and remove the files."""
        errors = run.log.read_bytes() if run.log.exists() else b""
        output = run.output(self.suffix).read_bytes() if self.suffix else b""
        problem = self._problem(run, code, errors, output)
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
            problem = problem or "a process is left behind"
        left = [path.name for path in Path().glob(f"run{run.number}.*.tmp")]
        if left and run.signal != signal.SIGKILL:
            problem = problem or f"left behind: {left}"
        if problem:
            self.problems.append(f"signal {run.signal}, exit code {code}: {problem}; {errors[-300:]!r}")
        for path in Path().glob(f"run{run.number}.*"):
            path.unlink()

    def _problem(self, run: Run, code: int, errors: bytes, output: bytes) -> str:
        if run.signal is None:
            self.new.append(output)
            is_good = (code, errors) == (0, b"") and (output != self.old or not self.suffix)
            return "" if is_good else "a plain run failed"
        allowed = {0, -run.signal} | ({130} if run.signal == signal.SIGINT else set())
        if code not in allowed:
            return "unexpected exit code"
        if not _MESSAGE.fullmatch(errors):
            return "unexpected on standard error"
        if not self.suffix:
            return ""
        is_new = output != self.old
        if is_new and output not in self.new and not _is_whole(run.output(self.suffix), self.new[0]):
            return "half a file"
        is_wrong = (code == 0 and not is_new) or (b"nothing was" in errors and is_new)
        return "what it says was not done" if is_wrong or (b"had been" in errors and not is_new) else ""


def _is_whole(path: Path, another: bytes) -> bool:
    """Whether all of a file is there; text is compared with another."""
    import kernline

    if path.suffix in (".kern", ".kdata"):
        try:
            kernline.load(path, n_jobs=1) if path.suffix == ".kern" else kernline.Dataset.load(path, n_jobs=1).hold()
        except (ValueError, OSError):
            return False
        return True
    text = path.read_text()
    if path.suffix != ".html":
        return len(text.splitlines()) == len(another.splitlines())
    found = re.search('<script type="application/json" id="report-data">(.*?)</script>', text, re.DOTALL)
    return text.endswith("</body>\n</html>\n") and found is not None and bool(json.loads(found[1]))


def run_loop(name: str, n_runs: int, address: str) -> None:
    """Print problems; in a child this returns too, before the command."""
    preload()
    _small_parts()
    chance = random.Random(os.getpid())
    loop, alive, at_once = Loop(name, address), [], 1 if name == "dask" else CORES
    lengths = []
    for number in range(-3, n_runs + at_once):
        if alive and (number <= 0 or len(alive) == at_once or number >= n_runs):
            ended = loop.wait(alive)
            alive.remove(ended)
            if ended.signal is None:
                lengths.append(time.monotonic() - ended.begun)
        if number >= n_runs:
            continue
        plain = number < 0 or number % 100 == 99  # removes temporary files of runs that were killed
        after = 0.0 if plain else chance.uniform(0.0, 1.1 * max(lengths[-3:]))
        run = loop.start(number + 3, None if plain else SIGNALS[number % 3], after)
        if run is None:
            return _become()
        alive.append(run)
    print(json.dumps(loop.problems))
    return None


def _small_parts() -> None:
    """So that a fit to few rows is one in parts."""
    from kernline.mapped import dataset, file

    dataset.PART_BYTES, file.CHUNK_BYTES = 4000, 4000


def _become() -> None:
    from kernline.cli import _handle_termination, main

    _handle_termination()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS[:2])
        main()
    except KeyboardInterrupt:  # between these lines
        sys.exit(130)


@contextmanager
def _cluster(folder: str) -> Iterator[str]:
    """A scheduler with two workers, in a process of its own, which reads files of the folder."""
    code = (
        "import sys\n"
        "from tests.dask.clusters import QUIET, LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    with LocalCluster(n_workers=2, processes=False, protocol='tcp', host='127.0.0.1', **QUIET) as cluster:\n"
        "        print(cluster.scheduler_address, flush=True)\n"
        "        sys.stdin.read()\n"
    )
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", code], text=True, cwd=folder, env=environment, **pipes) as process:
        yield process.stdout.readline().strip()
        process.stdin.close()


def _step(name: str, n_runs: int) -> Work:
    def work(log: Path) -> tuple[int, int]:
        count, root = scaled(n_runs), os.getcwd()
        with (
            tempfile.TemporaryDirectory() as folder,
            _cluster(folder) if name == "dask" else nullcontext("") as address,
        ):
            environment = os.environ | {"PYTHONPATH": root, "KERNLINE_CACHE": folder}
            run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
            options = {"cwd": folder, "env": environment, "text": True}
            make = "from tests.hard.interrupts import make_inputs; make_inputs()"
            run([sys.executable, "-c", make], check=True, **options)
            command = [sys.executable, "-m", "tests.hard.interrupts", name, str(count), address]
            ended = run(command, check=True, stdout=subprocess.PIPE, stderr=log.open("w"), **options)
        problems = json.loads(ended.stdout)
        log.write_text("\n".join(problems))
        return count, len(problems)

    return work


STEPS: dict[str, Work] = {
    f"Ctrl-C, SIGTERM, SIGKILL at random times: {name}": _step(name, 100 if name == "dask" else 1000)
    for name in COMMANDS
}

if __name__ == "__main__":
    run_loop(sys.argv[1], int(sys.argv[2]), sys.argv[3])
