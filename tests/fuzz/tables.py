"""Fuzz the readers of CSV, Parquet, Arrow, .npy, .npz and .kdata: `make fuzz-tables`, or a few mutants from the tests.

Mutants are read by a child process under a limit on memory, so that a crash is seen and does not end the run. Whatever
a file holds, `read` must return data or raise a ValueError that names the file. Files that break this rule are kept.

    python tests/fuzz/tables.py --seconds 600 --keep build/fuzz/found_tables
    python tests/fuzz/tables.py --first 0 --mutants 300
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

_MEMORY = 4 << 30  # address space of the child; most of it is what libraries map
_SECONDS_PER_FILE = 20
_PER_CHILD = 1000


def check(path: Path) -> str:
    """Read a file in the ways that touch its values. Returns what is wrong with that, or nothing."""
    from kernline.io import read

    if path.suffix == ".kdata":
        return _check_dataset(path)
    for options in ({"target": "y"}, {}, {"on_error": "skip", "target": "y"}, {"encoder": _encoder()}):
        if path.suffix in (".npy",):
            options = {key: value for key, value in options.items() if key != "target"}
        try:
            X, y, *_ = read(path, **options)
        except ValueError as error:
            if path.name not in str(error) and not str(error).startswith("Input X contains"):
                return f"the message does not name the file: {error}"
        except Exception:
            return traceback.format_exc()
        else:
            if y is not None and len(y) != X.shape[0]:
                return f"{len(y)} labels of {X.shape[0]} rows"
    return ""


def _check_dataset(path: Path) -> str:
    """The same of encoded rows, which are read when a model is fitted to them."""
    from kernline import AdditiveSVC, AdditiveSVR, Dataset

    try:
        data = Dataset.load(path)
    except ValueError as error:
        return "" if path.name in str(error) else f"the message does not name the file: {error}"
    except Exception:
        return traceback.format_exc()
    for model in (AdditiveSVC, AdditiveSVR):
        try:
            fitted = model(max_iter=2, tol=1e9, random_state=0).fit(data)
            if len(fitted.predict(data)) != data.shape[0]:
                return "there are not as many predictions as rows"
        except ValueError:  # of the file, or of labels that suit no such model
            pass
        except Exception:
            return traceback.format_exc()
    return ""


def _encoder() -> object:
    global _ENCODER
    if _ENCODER is None:
        import numpy as np

        from kernline import AdditiveSVC

        rows = np.random.default_rng(0).standard_normal((40, 3))
        _ENCODER = AdditiveSVC(scale="rank", max_iter=1, tol=1e9).fit(rows, np.arange(40) % 2).shapes_.encoder
    return _ENCODER


_ENCODER: object = None


def child(first: int, n_mutants: int, folder: Path, seconds: float) -> None:
    """Read mutants, each from a file that is left there if the process ends."""
    import signal

    import pyarrow as pa
    from table_changes import mutant, seeds

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    files = seeds()
    _encoder()  # imports take their time
    begun = time.monotonic()
    for number in range(first, first + n_mutants):
        name, content = mutant(files, number)
        path = folder / name
        path.write_bytes(content)
        print(number, name, flush=True)
        signal.alarm(_SECONDS_PER_FILE)  # not handled: the process ends, as by a crash
        if wrong := check(path):
            print("wrong " + wrong.replace("\n", "\n  "), flush=True)
            (folder / f"wrong-{number}-{name}").write_bytes(content)
        signal.alarm(0)
        path.unlink()
        if time.monotonic() - begun > seconds:
            break


def run(first: int, n_mutants: int, seconds: float, keep: Path | None) -> int:
    """Run children until all mutants were read or time is up; returns how many broke the rule."""
    number, end, n_bad, n_read = first, first + n_mutants, 0, Counter[str]()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        while number < end and time.monotonic() - begun < seconds:
            left = seconds - (time.monotonic() - begun)
            arguments = ["--child", folder, "--first", number, "--mutants", min(_PER_CHILD, end - number)]
            command = [sys.executable, __file__, *map(str, arguments), "--seconds", str(left)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            lines = done.stdout.splitlines()
            tried = [line.split() for line in lines if line[:1].isdigit()]
            n_read.update(Path(name).suffix for _, name in tried)
            found = list(folder.glob("wrong-*"))
            print("\n".join(line for line in lines if not line[:1].isdigit()), end="\n" if found else "")
            if done.returncode or not tried:
                print(f"exit code {done.returncode} at {lines[-1:]}")
                if not tried:
                    raise SystemExit("no mutant was read")
                (folder / tried[-1][1]).rename(folder / f"crash-{'-'.join(tried[-1])}")
                found += folder.glob("crash-*")
            n_bad += len(found)
            for file in found:
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / file.name).write_bytes(file.read_bytes())
                file.unlink()
            number = int(tried[-1][0]) + 1
    print(f"{sum(n_read.values())} mutants ({dict(n_read)}), {n_bad} of which broke the rule")
    return n_bad


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--mutants", type=int, default=1 << 62)
    parser.add_argument("--first", type=int, default=0, help="the number of the first mutant")
    parser.add_argument("--keep", type=Path, help="folder for files that break the rule")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        child(given.first, given.mutants, given.child, given.seconds)
    else:
        sys.exit(min(run(given.first, given.mutants, given.seconds, given.keep), 1))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
