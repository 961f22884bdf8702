"""Every allocation and thread of the core, and every system call on a file, fails once, in turn.

The faults come from a library that is preloaded (fault_library.cpp), so the core is the one that is installed. After
each fault: MemoryError, or OSError or ValueError that names the file, or the right result; no crash; the state before
or after (fault_cases.py); no file left behind, none open, no memory lost; and the same work done again is right.

Run as a program, this is the process with the library: ``python -m tests.hard.faults FOLDER LIMIT JOBS``.
"""

from __future__ import annotations

import ctypes
import errno
import faulthandler
import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .fault_cases import Case, cases
from .steps import CORES, SkipStepError, Work

ALLOCATIONS, THREADS, CALLS = 1, 2, 3
SHORT = 0
_ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EINTR": errno.EINTR, "short": SHORT}
_LONGEST = 120  # seconds that the work of one fault may take
# What the heap may grow by during a job: caches of Python, and of pools of objects.
_MOST_GROWTH = 200_000

_IN_CORE = (
    *("fit dual-cd", "fit newton", "fit joint", "fit lbfgs", "fit pairs", "fit nystrom", "fit budgeted", "predict"),
    *("encode", "read svmlight", "read svmlight.gz", "load", "convert to .kdata", "fit .kdata", "fit mapped"),
)
_WITH_THREADS = ("fit dual-cd", "predict", "encode", "read svmlight", "read svmlight.gz")
_ON_FILES = (
    *("read svmlight", "read svmlight.gz", "read CSV", "read npz", "load", "save", "save rows again", "spool"),
    *("write svmlight", "convert to .kdata", "fit .kdata", "fit mapped"),
)


@dataclass(frozen=True)
class Job:
    """All faults of one kind in one case."""

    case: str
    what: int
    error: int = 0

    def __str__(self) -> str:
        names = {number: name for name, number in _ERRORS.items()}
        kind = {ALLOCATIONS: "allocation", THREADS: "thread"}.get(self.what) or names[self.error]
        return f"{self.case}, {kind}"


MEMORY_JOBS = [Job(name, ALLOCATIONS) for name in _IN_CORE]
THREAD_JOBS = [Job(name, THREADS) for name in _WITH_THREADS]
FILE_JOBS = [Job(name, CALLS, error) for name in _ON_FILES for error in _ERRORS.values()]


def build(folder: Path) -> Path:
    """Compile the library."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None or not sys.platform.startswith("linux"):
        raise SkipStepError("faults are injected by a library that needs g++ and Linux")
    library = folder / "faults.so"
    source = Path(__file__).with_name("fault_library.cpp")
    subprocess.run([compiler, "-std=c++20", "-O1", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    return library


def run_jobs(jobs: list[Job], limit: int = 0) -> tuple[int, list[str]]:
    """How many faults were tried, `limit` per job at most, and what went wrong. A crash is one; the rest goes on."""
    tried, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        library = build(Path(folder))
        waiting = [(job, 1) for job in jobs]
        while waiting:
            ended = _run_child(Path(folder), library, waiting, limit)
            tried += len(re.findall(r"^try", ended.stdout, re.M))
            wrong += re.findall(r"^wrong (.*)", ended.stdout, re.M)
            if ended.returncode == 0:
                break
            begun = re.findall(r"^try (\d+) (\d+)", ended.stdout, re.M)
            if not begun:
                raise RuntimeError(ended.stderr)
            k, nth = map(int, begun[-1])
            job, _ = waiting[k]
            wrong.append(f"{job} {nth}: exit code {ended.returncode}: {ended.stderr.strip()[-1000:]}")
            waiting = [(job, nth + 1), *waiting[k + 1 :]]
    return tried, wrong


def _run_child(
    folder: Path, library: Path, jobs: list[tuple[Job, int]], limit: int
) -> subprocess.CompletedProcess[str]:
    files = Path(tempfile.mkdtemp(dir=folder))
    described = json.dumps([[job.case, job.what, job.error, first] for job, first in jobs])
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, str(files), str(limit), described]
    environment = os.environ | {"LD_PRELOAD": str(library), "FAULT_LIBRARY": str(library), "OPENBLAS_NUM_THREADS": "1"}
    root = Path(__file__).parents[2]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=root, env=environment)


class Injector:
    """The library, and the checks after a fault."""

    def __init__(self, folder: Path) -> None:
        import kernline._core  # whose addresses are taken

        self.folder = folder
        self.library = ctypes.CDLL(os.environ["FAULT_LIBRARY"])
        self.library.faults_disarm.restype = ctypes.c_long
        self.library.faults_arm.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_int]
        core, standard = _addresses(Path(kernline._core.__file__).name), _addresses("libstdc++.so")
        places = [ctypes.c_size_t(address) for address in (*core, *standard)]
        self.library.faults_place(*places, os.fsencode(folder) + b"/")

    def run(self, job: Job, case: Case, nth: int) -> tuple[int, BaseException | None]:
        """Do the work, with a fault at the nth place; returns how many places there were, and the error."""
        case.prepare()
        raised: BaseException | None = None
        faulthandler.dump_traceback_later(_LONGEST, exit=True)
        self.library.faults_arm(job.what, nth, job.error)
        try:
            case.run()
        except BaseException as error:
            raised = error.with_traceback(None)
            raised.__context__ = raised.__cause__ = None
        finally:
            count = self.library.faults_disarm()
        faulthandler.cancel_dump_traceback_later()
        return count, raised

    def inject(self, job: Job, case: Case, nth: int, before: bytes, after: bytes) -> tuple[bool, str]:
        """Whether the fault took place, and what is wrong after it."""
        files, n_open = sorted(os.listdir(self.folder)), _n_open()
        count, raised = self.run(job, case, nth)
        if count < nth and raised is None:
            return False, ""
        problem = self._problem_of(job, raised)
        state = case.state()
        if state not in ([before, after] if raised is not None else [after]):
            problem = problem or f"the state is neither the old nor the new one (raised: {raised!r})"
        if sorted(os.listdir(self.folder)) != files:
            left = set(os.listdir(self.folder)) ^ set(files)
            problem = problem or f"files left behind or lost: {left} (raised: {raised!r})"
        del raised
        if not problem and _n_open() > n_open:
            gc.collect()
            problem = f"open files: {_n_open()}, before {n_open}" if _n_open() > n_open else ""
        if not problem:
            _, again = self.run(job, case, -1)
            if again is not None or case.state() != after:
                problem = f"the same work again: {again!r}, or another result"
        return True, problem

    def _problem_of(self, job: Job, raised: BaseException | None) -> str:
        if raised is None:
            return ""
        if job.what != CALLS:
            return "" if isinstance(raised, MemoryError) else f"raised {raised!r}"
        names_file = str(self.folder) in str(raised) or "file of codes" in str(raised)
        return "" if isinstance(raised, OSError | ValueError) and names_file else f"raised {raised!r}"


def _addresses(name: str) -> tuple[int, int]:
    """Where the code of a library is; of several copies, the first that was loaded."""
    lines = [line for line in Path("/proc/self/maps").read_text().splitlines() if name in line and " r-xp " in line]
    begin, end = lines[0].split()[0].split("-")
    return int(begin, 16), int(end, 16)


def _n_open() -> int:
    return len(os.listdir("/proc/self/fd"))


class _HeapSize(ctypes.Structure):
    """mallinfo2 of glibc."""

    _names = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    _fields_ = [(name, ctypes.c_size_t) for name in _names]


def _heap_bytes() -> int:
    gc.collect()
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = _HeapSize
    found = libc.mallinfo2()
    return int(found.uordblks + found.hblkhd)


def _child(folder: Path, limit: int, jobs: list[tuple[Job, int]]) -> None:
    injector, known = Injector(folder), cases(folder)
    for k, (job, first) in enumerate(jobs):
        case = known[job.case]
        case.prepare()
        before = case.state()
        for _ in range(2):  # the first time, more is imported
            count, error = injector.run(job, case, -1)
            if error is not None:
                raise error
        after = case.state()
        step = max(1, -(-count // limit)) if limit else 1
        heap, nth, taken = 0, first, True
        n_tried = 0
        while taken:
            print("try", k, nth, flush=True)
            taken, problem = injector.inject(job, case, nth, before, after)
            if problem:
                print("wrong", f"{job} {nth} of {count}: {problem}".replace("\n", " "), flush=True)
            nth, n_tried = nth + step, n_tried + 1
            heap = _heap_bytes() if n_tried == 5 else heap  # caches are filled by then
        if heap and (growth := _heap_bytes() - heap) > _MOST_GROWTH:
            print("wrong", f"{job}: the heap grew by {growth:,} bytes in {n_tried} faults", flush=True)
        print("done", job, n_tried, flush=True)


def _step(jobs: list[Job]) -> Work:
    def work(log: Path) -> tuple[int, int]:
        with ThreadPoolExecutor(CORES) as pool:
            ended = list(pool.map(run_jobs, [jobs[k::CORES] for k in range(CORES)]))
        wrong = [text for _, found in ended for text in found]
        log.write_text("\n".join(wrong))
        return sum(tried for tried, _ in ended), len(wrong)

    return work


STEPS: dict[str, Work] = {
    "faults: every allocation of the core": _step(MEMORY_JOBS),
    "faults: every thread that the core creates": _step(THREAD_JOBS),
    "faults: every system call on files (ENOSPC, EIO, EINTR, short)": _step(FILE_JOBS),
}

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _child(
        Path(sys.argv[1]),
        int(sys.argv[2]),
        [(Job(name, what, error), first) for name, what, error, first in json.loads(sys.argv[3])],
    )
