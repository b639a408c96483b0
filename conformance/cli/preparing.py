"""From a command line to a worker's setup."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from conformance.cli.usage import UsageError
from conformance.engine.run import Said, default_kernels
from conformance.engine.tasks import ORDERS, Setup
from conformance.runtimes import chosen_runtime, device_count

DEFAULT_WAVE = 64
DEFAULT_ORDERS = ORDERS
_ORDER = re.compile(r"forward|reverse|shuffle:\d+")


def setup_from(
    arguments: argparse.Namespace, words: Sequence[str], traces: Path | None, executes: bool = True
) -> Setup:
    """The setup of every worker. ``words`` begin the command that reproduces a failure; options that matter follow."""
    runtime = chosen_runtime(arguments.runtime) if executes else "none"
    wave = (arguments.wave or DEFAULT_WAVE) if runtime == "cpu" else arguments.wave
    orders = tuple(arguments.order or DEFAULT_ORDERS) if runtime == "cpu" else ("forward",)
    for order in orders:
        if not _ORDER.fullmatch(order):
            raise UsageError(f"thread order {order!r} is unknown; expected forward, reverse or shuffle:SEED")
    if arguments.order and runtime != "cpu":
        raise UsageError(f"--order is for the cpu runtime; {runtime} schedules threads itself")
    command = [*words]
    if executes:
        command += ["--runtime", runtime]
        if runtime == "cpu":
            command += ["--wave", str(wave)]
        if arguments.kernels:
            command += ["--kernels", str(arguments.kernels)]
    return Setup(
        runtime=runtime,
        wave=wave,
        kernels=(arguments.kernels or default_kernels()) if executes else None,
        orders=orders,
        threads=1,
        device=0,
        salt=getattr(arguments, "seed_salt", ""),
        traces=traces,
        specs=arguments.specs,
        command=" ".join(command),
    )


def jobs_and_devices(arguments: argparse.Namespace, setup: Setup, kernels: int) -> tuple[int, int]:
    """How many workers, and over how many devices: a worker per GPU, or per core where there is none."""
    devices = device_count(setup.runtime) if setup.runtime not in ("cpu", "none") else 1
    default = devices if setup.runtime not in ("cpu", "none") else len(os.sched_getaffinity(0))
    return min(arguments.jobs or default, max(kernels, 1)), devices


@contextmanager
def progress() -> Iterator[Said]:
    """A progress bar on standard error where that is a terminal; silence elsewhere."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)
