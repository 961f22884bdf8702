"""The tests under conditions that are not those of a developer at a desk."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .steps import CORES, SkipStepError

EDGE = ("-m", "edge")
PARALLEL = ("-n", str(CORES), "--dist", "worksteal")
IGNORING = ("sh", "-c", 'trap "" INT HUP; exec "$@"', "sh")  # as nohup does, and a shell for jobs in the background
_STRANGER = "nobody"


def shuffled(seed: int) -> tuple[str, ...]:
    """Options for a random order."""
    return ("--random-order-bucket=global", f"--random-order-seed={seed}")


@dataclass(frozen=True)
class Condition:
    """How pytest is run."""

    options: tuple[str, ...] = (*EDGE, *PARALLEL)
    prefix: tuple[str, ...] = ()
    environment: Mapping[str, str | None] = field(default_factory=dict)  # None: not set
    umask: int = -1
    busy: bool = False
    n_processes: int = 1
    copy: Copy | None = None
    stranger: bool = False

    def run(self, log: Path) -> tuple[int, int]:
        """Run the tests; returns how many, and how many failed."""
        with _load() if self.busy else nullcontext():
            logs = [log.with_suffix(f".{k}.log") for k in range(1, self.n_processes)]
            processes = [self._start(path) for path in [log, *logs]]
            codes = [process.wait() for process in processes]
        if any(code < 0 or code > 1 for code in codes):  # pytest returns 1 for failed tests
            raise RuntimeError(f"exit codes of pytest: {codes}")
        for path in logs:
            with log.open("ab") as whole:
                whole.write(path.read_bytes())
            path.unlink()
        return _count(log)

    def _start(self, log: Path) -> subprocess.Popen[bytes]:
        python, environment = (sys.executable, dict(os.environ))
        options: dict[str, Any] = {"umask": self.umask, "stdin": subprocess.DEVNULL}
        if self.copy is not None:
            python = self.copy.python(self.stranger)
            environment = self.copy.environment(self.stranger)
            options["cwd"] = self.copy.folder
        if self.stranger:
            options |= _stranger()
        for name, value in self.environment.items():
            environment.pop(name, None)
            environment |= {name: value} if value is not None else {}
        command = [*self.prefix, python, "-m", "pytest", "-p", "no:cacheprovider", "-rfE", *self.options]
        with log.open("wb") as stream:
            return subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, env=environment, **options)


class Copy:
    """A copy of the working tree in a path with spaces, with the core that is installed, for any user to run.

    Python is the one of the virtual environment without the environment, which would find the package where it is
    installed from. Its packages are used where they are.
    """

    def __init__(self, parent: Path) -> None:
        self.folder = parent / "a path with spaces"
        import kernline._core

        _copy_tree(Path(), self.folder)
        shutil.copy(kernline._core.__file__, self.folder / "src" / "kernline")
        if os.getuid() == 0:
            user = pwd.getpwnam(_STRANGER)
            for path in [self.folder, *self.folder.rglob("*")]:
                os.chown(path, user.pw_uid, user.pw_gid)
        parent.chmod(0o755)

    def environment(self, stranger: bool) -> dict[str, str]:
        """Variables to run from the copy."""
        packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        names = {"USER": _STRANGER, "LOGNAME": _STRANGER, "HOME": str(self.folder)} if stranger else {}
        return os.environ | names | {"PYTHONPATH": os.pathsep.join([str(self.folder / "src"), *packages])}

    def python(self, stranger: bool) -> str:
        """An interpreter that can import the copy."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        found = [os.path.realpath(sys.executable), shutil.which(version, path="/usr/local/bin:/usr/bin")]
        check = "import kernline._core, pytest; print(kernline._core.__file__)"
        for python in filter(None, found):
            try:
                ended = subprocess.run(
                    [python, "-c", check],
                    cwd=self.folder,
                    env=self.environment(stranger),
                    capture_output=True,
                    text=True,
                    check=False,
                    **(_stranger() if stranger else {}),
                )
            except PermissionError:
                continue
            if ended.stdout.startswith(str(self.folder)):
                return python
        who = f"user {_STRANGER}" if stranger else "anyone"
        raise SkipStepError(f"no Python that {who} may run finds the packages of this environment")


def _copy_tree(source: Path, target: Path) -> None:
    """What git would commit, or all but what is built."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=source,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(".venv", "build", ".git", "__pycache__", ".*"))
        return
    for name in map(os.fsdecode, filter(None, listed.stdout.split(b"\0"))):
        if (source / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / name, target / name)


def _stranger() -> dict[str, Any]:
    """Options of subprocess to be a user without rights."""
    if os.getuid() != 0:
        raise SkipStepError("only root can become another user")
    user = pwd.getpwnam(_STRANGER)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@contextmanager
def _load() -> Iterator[None]:
    """Keep every core busy."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(CORES)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _count(log: Path) -> tuple[int, int]:
    """Tests that ran, and those that failed, by pytest's summary."""
    found = re.findall(r"(\d+) (passed|failed|errors?)\b(?=.* in [\d.]+s)", log.read_text(errors="replace"))
    failed = sum(int(count) for count, verdict in found if verdict != "passed")
    return sum(int(count) for count, _ in found), failed


@contextmanager
def read_only_folder() -> Iterator[Path]:
    """A folder that none but root can write to."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o555)
        yield Path(name)
