"""The core built with ThreadSanitizer: fits, predictions, reading and cross-validation in several threads at once.

Run as a program, this is what runs under it: ``python -m tests.hard.races ROUNDS FOLDER``. No rounds: the race that is
planted.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .steps import LOGS, SkipStepError, Work, scaled

_N_THREADS = 4
_BUILD = LOGS.with_name("threads")
_EXIT_CODE = 66
_REPORT = "WARNING: ThreadSanitizer: data race"


def build() -> Path:
    """Build the core with ThreadSanitizer, if it is older than its sources; returns its path."""
    cmake, ninja = (
        shutil.which(name, path=f"{Path(sys.executable).parent}:{os.defpath}") for name in ("cmake", "ninja")
    )
    if cmake is None or ninja is None:
        raise SkipStepError("building the core needs cmake and ninja")
    import nanobind

    options = {"KERNLINE_SANITIZE": "THREAD", "CMAKE_MAKE_PROGRAM": ninja, "Python_EXECUTABLE": sys.executable}
    options["nanobind_DIR"] = nanobind.cmake_dir()
    configure = [cmake, "-S", ".", "-B", str(_BUILD), "-G", "Ninja", *(f"-D{k}={v}" for k, v in options.items())]
    for command in (configure, [ninja, "-C", str(_BUILD)]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(_BUILD.glob("_core*.so"))


def _races(log: Path) -> tuple[int, int]:
    """Reports of ThreadSanitizer; and one is planted, so that a check that finds nothing is a failure."""
    n_rounds = scaled(10)
    with tempfile.TemporaryDirectory() as folder, log.open("w") as stream:
        environment = _environment(Path(folder))
        planted = _run(environment, folder, 0)
        stream.write(f"planted: exit code {planted.returncode}\n{planted.stdout}")
        ended = _run(environment, folder, n_rounds)
        stream.write(ended.stdout)
    is_found = planted.returncode == _EXIT_CODE and planted.stdout.count(_REPORT) > 0
    failed = max(ended.stdout.count(_REPORT), ended.returncode != 0) + (not is_found)
    return 1 + n_rounds * len(_work()), failed


def _environment(folder: Path) -> dict[str, str]:
    """Variables to run the package with the instrumented core, which is copied to the folder.

    Only the core is instrumented, so that Python's own locks are taken for none. The core has no lock of its own; and
    the check of their order ends the process where a library holds more than 64, as Arrow's does in a fork.
    """
    library = subprocess.run(["g++", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=False)
    if library.returncode or not os.path.isabs(library.stdout.strip()):
        raise SkipStepError("there is no libtsan")
    core = build()
    shutil.copytree("src/kernline", folder / "kernline", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(core, folder / "kernline")
    packages = [str(folder), os.getcwd(), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(packages),
        "LD_PRELOAD": library.stdout.strip(),
        "TSAN_OPTIONS": f"exitcode={_EXIT_CODE} ignore_noninstrumented_modules=1 detect_deadlocks=0",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _run(environment: dict[str, str], folder: str, n_rounds: int) -> subprocess.CompletedProcess[str]:
    # Not the interpreter of the environment, which would find the package where it is installed from.
    command = [os.path.realpath(sys.executable), "-m", "tests.hard.races", str(n_rounds), folder]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(command, env=environment, text=True, errors="replace", check=False, **pipes)


def _work() -> list:
    """What is done at the same time, each with several threads of its own."""
    import numpy as np

    import kernline
    from kernline import AdditiveSVC, AdditiveSVCCV, BudgetedSVC, NystromSVC

    X = np.random.default_rng(0).random((300, 8))
    y = np.arange(300) % 3
    rows = "\n".join(f"{k % 3} 1:{k} 3:{k / 7}" for k in range(3000)).encode()
    shared = AdditiveSVC("chi2", loss="hinge").fit(X, y)
    return [
        lambda: AdditiveSVC("chi2", loss="hinge", n_jobs=2).fit(X, y).predict(X),
        lambda: AdditiveSVC("chi2", loss="hinge", n_jobs=2).fit(X, y == 1).predict(X),
        lambda: AdditiveSVC("chi2", solver="newton", loss="squared_hinge", n_jobs=2).fit(X, y).predict(X),
        lambda: AdditiveSVC(n_jobs=2).fit(X, y).predict_proba(X),
        lambda: AdditiveSVC("chi2", multi_class="crammer-singer", n_jobs=2).fit(X, y).predict(X),
        lambda: AdditiveSVCCV(Cs=[1.0, 2.0], cv=2, n_jobs=2).fit(X, y).predict(X),
        lambda: NystromSVC(n_basis=10, n_jobs=2).fit(X, y).predict(X),
        lambda: BudgetedSVC(budget=10, passes=1, grid_size=20, n_jobs=2).fit(X, y).predict(X),
        lambda: kernline.io.read(io.BytesIO(rows), format="svmlight", n_jobs=2).X.sum(),
        lambda: shared.predict(X),
    ]


def _main(n_rounds: int, folder: str) -> None:
    import kernline._core

    if not kernline._core.__file__.startswith(folder):
        sys.exit(f"this is not the core to test: {kernline._core.__file__}")
    if n_rounds == 0:
        kernline._core.race()  # type: ignore[attr-defined]
        return
    work = _work()
    with ThreadPoolExecutor(_N_THREADS) as pool:
        for future in [pool.submit(one) for _ in range(n_rounds) for one in work]:
            future.result()


STEPS: dict[str, Work] = {"ThreadSanitizer: fits, predictions, reading, cross-validation in threads": _races}

if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2])
