"""The command line: ``kernline train data.svm model.kern``, and what comes before and after.

Nothing heavy is imported before a command needs it, so that ``kernline --help`` answers at once.
"""

import os
import signal
import sys
from typing import Any

from . import standard_streams
from .light_imports import skip_heavy_imports


def main() -> None:
    """Run the command line; exit codes are those of `errors.ExitCode`."""
    try:
        standard_streams.prepare()
        _handle_termination()
        skip_heavy_imports()
        try:
            _run()
        finally:
            sys.stdout.flush()  # at exit it would be too late to report an error
    except KeyboardInterrupt:  # outside of a command, which has its own message
        sys.exit(130)
    except OSError as error:
        if error.filename != "standard output":
            raise
        standard_streams.forget_stdout()
        sys.stderr.write(f"kernline: {error.filename}: {error.strerror}\n")
        sys.exit(1)


def _run() -> None:
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("typer", "rich", "click"):
            raise
        sys.stderr.write("kernline: the command line needs typer and rich: pip install 'kernline[cli]'\n")
        sys.exit(3)
    app()


def _handle_termination() -> None:
    """Remove temporary files before SIGTERM or SIGHUP ends the process; one that is ignored, as by nohup, stays so."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _terminate)


def _terminate(number: int, _: Any) -> None:
    """Clean up, and let the signal end the process.

    Nothing is raised here: an exception would land at any point of the program, inside a cleanup or a destructor too,
    which would be cut short or would swallow it.
    """
    atomic = sys.modules.get("kernline.io.atomic")
    if atomic is not None:
        atomic.discard_unfinished()
    if os.isatty(2):
        os.write(2, b"\x1b[?25h")  # a progress bar hides the cursor
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # process 1 of a container gets no signal that it does not handle
