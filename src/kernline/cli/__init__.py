"""The command line, such as ``kernline train data.svm model.kern``.

Heavy modules are imported only by the commands that need them, so that ``kernline --help`` is fast.
"""

import os
import signal
import sys
from types import FrameType

from . import standard_streams
from .light_imports import skip_heavy_imports


def main() -> None:
    """Run the command line. The exit codes are those of `errors.ExitCode`."""
    try:
        standard_streams.prepare()
        _handle_termination()
        _silence_interrupted_threads()
        skip_heavy_imports()
        try:
            _run()
        finally:
            sys.stdout.flush()  # an error at exit could no longer be reported
            _end_quietly()
    except KeyboardInterrupt:  # outside of a command; commands print a message
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
    """Remove temporary files before SIGTERM or SIGHUP ends the process; ignored signals (nohup) stay ignored."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _terminate)


def _silence_interrupted_threads() -> None:
    """Print no traceback of a thread that Ctrl-C hit while it was started.

    If KeyboardInterrupt ends ``Thread.start`` of CPython, the main thread may release a lock that the new thread holds,
    which then cannot release it. The interrupt itself is raised in the main thread, and reported.
    """
    default = sys.unraisablehook

    def hook(unraisable: "sys.UnraisableHookArgs") -> None:
        error = unraisable.exc_value
        if not (isinstance(error, RuntimeError) and str(error) == "release unlocked lock"):
            default(unraisable)

    sys.unraisablehook = hook


def _end_quietly() -> None:
    """Let Ctrl-C end the process from here on: while the interpreter exits, Python would print a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _terminate(number: int, _: FrameType | None) -> None:
    """Clean up, and let the signal end the process.

    This does not raise an exception: it could interrupt a cleanup, or be swallowed by a destructor.
    """
    atomic = sys.modules.get("kernline.io.atomic")
    if atomic is not None:
        atomic.discard_unfinished()
    if os.isatty(2):
        os.write(2, b"\x1b[?25h")  # a progress bar hides the cursor
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # process 1 of a container ignores signals that it does not handle
