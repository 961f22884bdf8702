"""A fit, watched: a bar on a terminal, lines in a pipe, and Ctrl-C that ends it with the model it has."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from .output import Output

_SECONDS_BETWEEN_LINES = 2.0


class Watch:
    """A callback of scikit-learn's protocol. A fit is a task of problems, and a problem one of epochs."""

    def __init__(self, out: Output) -> None:
        self.out = out
        self.stopping = False  # set by Ctrl-C
        self.stop_noted = False
        self.bar: Any = None
        self.task: Any = None
        self.n_ended, self.n_problems = 0, 0
        self.n_cut = 0  # ended by Ctrl-C
        self.epochs = 0
        self.last_line = time.monotonic()

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare: the first task tells how many there are."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to put away."""

    def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:
        """Learn how many problems there are."""
        if context.parent is None:
            self.n_problems = context.max_subtasks
            if self.bar is not None:
                self.bar.update(self.task, total=self.n_problems)

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> bool:
        """Report an epoch or a problem; True ends the problem here."""
        if self.stopping and not self.stop_noted:
            self.stop_noted = True
            self.out.note("Stopping after this epoch; Ctrl-C again ends at once, without a model.")
        if context.parent is not None and context.max_subtasks:
            self.n_ended += 1
            self.n_cut += self.stopping
            self._tell(advance=1)
        elif context.parent is not None:
            self.epochs += 1
            self._tell(advance=0)
        return self.stopping

    def _tell(self, *, advance: int) -> None:
        if self.bar is not None:
            self.bar.update(self.task, advance=advance, detail=f"{self.epochs} epochs")
        elif time.monotonic() - self.last_line > _SECONDS_BETWEEN_LINES:
            self.last_line = time.monotonic()
            self.out.note(f"  {self.n_ended} of {self.n_problems} problems fitted, {self.epochs} epochs")


def can_watch(model: Any) -> bool:
    """Whether scikit-learn has callbacks (it does from 1.9)."""
    return hasattr(model, "set_callbacks")


@contextmanager
def watched(out: Output, model: Any, *, keep: bool) -> Iterator[Watch]:
    """Show a fit of `model` meanwhile; with `keep`, Ctrl-C asks it to stop, and a second one ends the program."""
    watch = Watch(out)
    if can_watch(model):
        model.set_callbacks(watch)
    with _bar(watch), _stopped_by_interrupt(watch) if keep else nullcontext():
        yield watch
    model.__dict__.pop("_skl_callbacks", None)  # it is no part of the model


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
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        watch.bar, watch.task = bar, bar.add_task("training", total=None, detail="")
        yield


@contextmanager
def _stopped_by_interrupt(watch: Watch) -> Iterator[None]:
    """Let the first Ctrl-C set a flag, and the second be what it usually is."""
    if not _handles_interrupts():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        # Only a flag: the main thread may be in the middle of writing to the stream that a message would go to.
        if watch.stopping:
            signal.default_int_handler(number, frame)
        watch.stopping = True

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _handles_interrupts() -> bool:
    """Whether Ctrl-C is ours to handle: not in another thread, and not where it is ignored, as in the background."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
