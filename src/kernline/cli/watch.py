"""Progress of a fit: a bar on a terminal, else lines; with --keep, Ctrl-C stops it and keeps the model."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING, Protocol, TypeGuard

from .output import Output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_SECONDS_BETWEEN_LINES = 2.0


class _Task(Protocol):
    """The context of a task, as scikit-learn passes it to callbacks."""

    parent: _Task | None
    max_subtasks: int | None


class _Watchable(Protocol):
    def set_callbacks(self, *callbacks: object) -> object: ...


class Watch:
    """A scikit-learn callback. The task of a fit has one subtask per problem, which has one per epoch."""

    def __init__(self, out: Output) -> None:
        self.out = out
        self.stopping = False  # set by Ctrl-C
        self.stop_noted = False
        self.bar: tuple[Progress, TaskID] | None = None
        self.n_ended, self.n_problems = 0, 0
        self.n_cut = 0  # ended by Ctrl-C
        self.epochs = 0
        self.last_line = time.monotonic()

    def setup(self, estimator: object, context: _Task) -> None:
        """Nothing to prepare: the first task reports the number of problems."""

    def teardown(self, estimator: object, context: _Task) -> None:
        """Nothing to clean up."""

    def on_fit_task_begin(self, estimator: object, context: _Task, **_: object) -> None:
        """Record the number of problems."""
        if context.parent is None:
            self.n_problems = context.max_subtasks or 0
            if self.bar is not None:
                progress, task = self.bar
                progress.update(task, total=self.n_problems)

    def on_fit_task_end(self, estimator: object, context: _Task, **_: object) -> bool:
        """Report an epoch or a problem; True stops the problem."""
        if self.stopping and not self.stop_noted:
            self.stop_noted = True
            self.out.note("Stopping after this epoch. Press Ctrl-C again to quit at once, without a model.")
        if context.parent is not None and context.max_subtasks:
            self.n_ended += 1
            self.n_cut += self.stopping
            self._report(advance=1)
        elif context.parent is not None:
            self.epochs += 1
            self._report(advance=0)
        return self.stopping

    def _report(self, *, advance: int) -> None:
        if self.bar is not None:
            progress, task = self.bar
            progress.update(task, advance=advance, detail=f"{self.epochs} epochs")
        elif time.monotonic() - self.last_line > _SECONDS_BETWEEN_LINES:
            self.last_line = time.monotonic()
            self.out.note(f"  {self.n_ended} of {self.n_problems} problems fitted, {self.epochs} epochs")


def can_watch(model: object) -> TypeGuard[_Watchable]:
    """Whether the model has callbacks (scikit-learn 1.9 or later)."""
    return hasattr(model, "set_callbacks")


@contextmanager
def watched(out: Output, model: object, *, keep: bool) -> Iterator[Watch]:
    """Show the progress of `model`. With `keep`, the first Ctrl-C stops the fit, the second ends the program."""
    watch = Watch(out)
    if can_watch(model):
        model.set_callbacks(watch)
    with _bar(watch), _stopped_by_interrupt(watch) if keep else nullcontext():
        yield watch
    vars(model).pop("_skl_callbacks", None)  # not part of the model


@contextmanager
def _bar(watch: Watch) -> Iterator[None]:
    if not watch.out.live:
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        watch.bar = progress, progress.add_task("training", total=None, detail="")
        yield


@contextmanager
def _stopped_by_interrupt(watch: Watch) -> Iterator[None]:
    """Let the first Ctrl-C set a flag; the second raises KeyboardInterrupt as usual."""
    if not _handles_interrupts():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        # Only a flag: the main thread may be writing to the stream to which a message would go.
        if watch.stopping:
            signal.default_int_handler(number, frame)
        watch.stopping = True

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _handles_interrupts() -> bool:
    """Whether Ctrl-C can be handled: only in the main thread, and not if it is ignored, as in background jobs."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
