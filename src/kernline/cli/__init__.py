"""The command line: ``kernline train data.svm model.kern``, and what comes before and after.

Nothing heavy is imported before a command needs it, so that ``kernline --help`` answers at once.
"""

import os
import signal
import sys
from typing import Any, NoReturn


def main() -> None:
    """Run the command line; exit codes are those of `errors.ExitCode`."""
    try:
        _run()
    except KeyboardInterrupt:  # before a command began; it has words of its own
        sys.exit(130)


def _run() -> None:
    if sys.stdout is None:  # closed by whoever started us; its number may soon be that of another file
        os.write(2, b"kernline: standard output is closed. Send it to a file, or to /dev/null.\n")
        sys.exit(1)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) == signal.SIG_DFL:
            signal.signal(getattr(signal, name), _end)
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("typer", "rich", "click"):
            raise
        sys.stderr.write("kernline: the command line needs typer and rich: pip install 'kernline[cli]'\n")
        sys.exit(3)
    app()


def _end(number: int, _: Any) -> NoReturn:
    """End as shells say it of a signal, but by way of all that puts away temporary files."""
    sys.exit(128 + number)
