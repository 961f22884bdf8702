"""Errors of a command: a one-line message and an exit code."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer

from ..suggestions import did_you_mean
from .light_imports import was_interrupted
from .standard_streams import forget_stdout


class ExitCode(IntEnum):
    """The exit codes."""

    OK = 0
    BAD_INPUT = 1  # data, a model or a file that cannot be used
    USAGE = 2
    MISSING = 3  # a package that is not installed, or a data set that cannot be downloaded
    INTERNAL = 4  # a bug in Kernline
    INTERRUPTED = 130  # Ctrl-C, whether or not --keep saved a model
    CLOSED_PIPE = 141  # the program that read our output has ended


class UsageError(Exception):
    """Options or arguments that are wrong or contradict each other."""


@contextmanager
def explained(fail: Callable[[str, int], None]) -> Iterator[None]:
    """Turn exceptions into messages and exit codes. If KERNLINE_DEBUG is set, internal errors show a traceback."""
    try:
        yield
    except typer.Exit:
        raise
    except UsageError as error:
        fail(str(error), ExitCode.USAGE)
    except ImportError as error:
        if was_interrupted():
            fail(_interruption(), ExitCode.INTERRUPTED)
        fail(str(error), ExitCode.MISSING)
    except MemoryError as error:
        fail(f"not enough memory ({error})" if str(error) else "not enough memory", ExitCode.BAD_INPUT)
    except BrokenPipeError:
        forget_stdout()
        sys.exit(ExitCode.CLOSED_PIPE)
    except KeyboardInterrupt:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C ends at once, without a traceback
        fail(_interruption(), ExitCode.INTERRUPTED)
    except (ValueError, OSError, EOFError) as error:  # for EOFError, click would only print "Aborted!"
        if getattr(error, "filename", None) == "standard output":
            forget_stdout()
        fail(as_options("\n".join([_text(error), *getattr(error, "__notes__", [])])), _code(error))
    except Exception as error:
        if os.environ.get("KERNLINE_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error}".replace("\n", " ")
        fail(
            f"internal error: {what}. Please report it, with the traceback that KERNLINE_DEBUG=1 shows.",
            ExitCode.INTERNAL,
        )


def _interruption() -> str:
    """Ctrl-C can come between the end of a file and the end of the command."""
    atomic = sys.modules.get("kernline.io.atomic")
    written = atomic.written() if atomic is not None else []
    return f"interrupted; {', '.join(written)} had been written" if written else "interrupted; nothing was written"


# Parameters of the library that are options here, and those that are passed with -p.
_OPTIONS = (
    "categorical",
    "columns",
    "decimal",
    "delimiter",
    "format",
    "gamma",
    "interactions",
    "kernel",
    "loss",
    "name",
    "scale",
    "solver",
    "target",
    "tol",
)
_PARAMETERS = (
    "approximation",
    "basis",
    "budget",
    "coef0",
    "degree",
    "intercept_scaling",
    "max_iter",
    "missing",
    "n_basis",
    "p",
)
_PHRASES = {
    r"\bdecimal=','": "--decimal ','",
    r"\bzero_based=(True)?": "--zero-based",
    r"\bpass multilabel=True for several": "kernline convert reads several with --multilabel",
    rf"\b({'|'.join(_OPTIONS)})=(?:'([^']*)'|([\d.e+-]*\d)?)": r"--\1 \2\3",
    rf"(?<!-p )\b({'|'.join(_PARAMETERS)})=": r"-p \1=",
    r"Pass a dense array \(X\.toarray\(\)\)": "Convert it to a table first (kernline convert)",
}


# scikit-learn's message of a parameter that is not allowed, and the names in it.
_WRONG_PARAMETER = re.compile(r"^The '(\w+)' parameter of \w+ must be (.*)\. Got (.*) instead\.", flags=re.DOTALL)
_AMONG = re.compile(r"a str among \{(.*?)\}")


def _wrong_option(found: re.Match[str]) -> str:
    """The message in terms of options, with names in order and the nearest one."""
    name, allowed, given = found.groups()
    option = {"C": "-c", "multi_class": "--multi-class"}.get(name, f"--{name}" if name in _OPTIONS else f"-p {name}")
    names = sorted(re.findall(r"'([^']*)'", " ".join(_AMONG.findall(allowed))))
    allowed = _AMONG.sub(f"one of {', '.join(names)}" if len(names) > 1 else "".join(names), allowed, count=1)
    allowed = re.sub(r" or an instance of '[^']*'", "", allowed)  # a command line has no objects
    return f"{option} must be {allowed}, not {given}. {did_you_mean(given.strip(chr(39)), names)}".rstrip()


def as_options(text: str) -> str:
    """A message of the library in terms of the command line: --scale rank instead of scale='rank'."""
    text = re.sub(_WRONG_PARAMETER, _wrong_option, text)
    for pattern, words in _PHRASES.items():
        text = re.sub(pattern, words, text)
    text = re.sub(r"(--\w+) (?=[,. ])", r"\1", text)
    return text.replace("use AdditiveSVR", "pass --task regression")


def _code(error: Exception) -> ExitCode:
    # By name, because importing the classes would slow down commands that fail early.
    name = type(error).__name__
    if name in ("OutOfReachError", "UnknownDatasetError"):
        return ExitCode.MISSING
    return ExitCode.USAGE if name == "InvalidParameterError" else ExitCode.BAD_INPUT


def _text(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)
