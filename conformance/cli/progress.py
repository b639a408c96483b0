"""How far a command is: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from conformance.engine.run import ProgressCallback, no_progress
from conformance.text import one_line

LINE_SECONDS = 10.0
"""Between two lines of a log."""


@dataclass(frozen=True)
class Display:
    """What a command shows on standard error while it works: ``progress`` for how far it is, ``say`` for lines that
    stay."""

    progress: ProgressCallback = no_progress
    say: Callable[[str], None] = lambda text: None


@contextmanager
def progress(quiet: bool = False) -> Iterator[ProgressCallback]:
    """A context that shows on standard error how far a command is, and how long it will still take. ``quiet``:
    nothing."""
    with display(quiet) as shown:
        shown.progress("starting", 0, 0)
        yield shown.progress


@contextmanager
def display(quiet: bool = False) -> Iterator[Display]:
    """A context as ``progress``, which can also show what is found. Nothing is shown before something is told."""
    if quiet:
        yield Display()
    elif sys.stderr.isatty():
        with _bar() as shown:
            yield shown
    else:
        yield Display(logged(_print), _print)


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def _bar() -> Iterator[Display]:
    """A bar that moves, below the lines that are printed."""
    from rich import console
    from rich import progress as shown
    from rich.text import Text

    from conformance.report.lines import wrapped

    columns = (shown.TextColumn("{task.description}"), shown.BarColumn(24), shown.MofNCompleteColumn())
    times = (shown.TimeElapsedColumn(), shown.TextColumn("left"), shown.TimeRemainingColumn(compact=True))
    bar = shown.Progress(*columns, *times, console=console.Console(stderr=True), transient=True)
    task, before = bar.add_task("starting", total=None), (0, -1)

    def show(what: str, done: int, total: int) -> None:
        nonlocal before
        bar.start()  # not before: judges are copies of this process, which must not have the bar's thread
        if done < before[0] or total != before[1]:  # another step, with a pace of its own
            bar.reset(task, total=total or None)
        before = (done, total)
        bar.update(task, description=one_line(what), completed=done, total=total or None)

    def say(text: str) -> None:
        for line in text.split("\n"):
            for part in wrapped(Text(line), bar.console.width):
                bar.console.print(part, soft_wrap=True)

    try:
        yield Display(show, say)
    finally:
        bar.stop()


def logged(say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> ProgressCallback:
    """A callback that has ``say`` print a line, at most every ten seconds, and the first after ten."""
    last, began, first, before = clock(), clock(), 0, (0, -1)

    def note(what: str, done: int, total: int) -> None:
        nonlocal last, began, first, before
        now = clock()
        if done < before[0] or total != before[1]:
            began, first = now, done
        before = (done, total)
        if now - last < LINE_SECONDS or done >= total:
            return
        last = now
        left = f", about {_time((now - began) / (done - first) * (total - done))} left" if done > first else ""
        say(f"candle-parity: {one_line(what)}: {done} of {total} after {_time(now - began)}{left}")

    return note


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
