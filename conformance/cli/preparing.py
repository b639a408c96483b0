"""From a command line to a worker's setup."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from conformance.build import NO_OPTIONS, BuildOptions, find_sources, options_for
from conformance.build.choice import Choice, NoHipcc, require_hipcc
from conformance.cli.usage import UsageError
from conformance.engine.run import Said, default_kernels
from conformance.engine.tasks import COMPILE_SECONDS, ORDERS, Setup
from conformance.processes import InfrastructureError
from conformance.runtimes import NoRuntime, chosen_runtime, device_count
from conformance.runtimes.cpu.build import BuildError
from conformance.runtimes.cpu.toolchain import NoCompiler

DEFAULT_WAVE = 64
CUDA_WAVE = 32
DEFAULT_ORDERS = ORDERS
_ORDER = re.compile(r"forward|reverse|shuffle:\d+")


def setup_from(
    arguments: argparse.Namespace, words: Sequence[str], traces: Path | None, executes: bool = True
) -> Setup:
    """The setup of every worker. ``words`` begin the command that reproduces a failure; options that matter follow."""
    runtime = _runtime(arguments.runtime) if executes else "none"
    kernels = arguments.kernels or default_kernels()
    options = build_options(arguments, kernels) if executes else NO_OPTIONS
    wave = (arguments.wave or default_wave(kernels, options)) if runtime == "cpu" else arguments.wave
    compiler = compiler_for(getattr(arguments, "compiler", "auto"), runtime)
    asked = getattr(arguments, "order", None)
    orders = tuple(asked or DEFAULT_ORDERS) if runtime == "cpu" else ("forward",)
    for order in orders:
        if not _ORDER.fullmatch(order):
            raise UsageError(f"thread order {order!r} is unknown; expected forward, reverse or shuffle:SEED")
    if asked and runtime != "cpu":
        raise UsageError(f"--order is for the cpu runtime; {runtime} schedules threads itself")
    command = [*words]
    if executes:
        command += ["--runtime", runtime]
        if runtime == "cpu":
            command += ["--wave", str(wave)]
        if compiler != "auto":
            command += ["--compiler", compiler]
        if arguments.kernels:
            command += ["--kernels", shlex.quote(str(arguments.kernels))]
        command += map(shlex.quote, option_words(arguments))
    if arguments.specs is not None:
        command += ["--specs", shlex.quote(str(arguments.specs))]
    return Setup(
        runtime=runtime,
        wave=wave,
        kernels=kernels if executes else None,
        orders=orders,
        threads=1,
        device=0,
        salt=getattr(arguments, "seed_salt", ""),
        traces=traces,
        specs=arguments.specs,
        command=" ".join(command),
        options=options,
        compile_seconds=getattr(arguments, "compile_timeout", COMPILE_SECONDS),
        sandbox=not getattr(arguments, "no_sandbox", False),
        compiler=compiler,
    )


def compiler_for(asked: Choice, runtime: str) -> Choice:
    """Who compiles; raises ``UsageError`` for a choice where there is none, and for a hipcc that is not there."""
    if asked == "auto":
        return asked
    if runtime != "rocm":
        here = "nothing is compiled here" if runtime == "none" else f"the {runtime} runtime has one compiler, its own"
        raise UsageError(f"--compiler {asked} is for the rocm runtime; {here}: leave the option out")
    if asked == "hipcc":
        try:
            require_hipcc()
        except NoHipcc as error:
            raise UsageError(f"--compiler hipcc: {error}; or let hiprtc compile, with --compiler hiprtc") from None
    return asked


def build_options(arguments: argparse.Namespace, kernels: Path) -> BuildOptions:
    """What the command line and the tree's own file say of compiling; raises ``SourceError``."""
    return options_for(
        kernels,
        getattr(arguments, "include_dirs", ()),
        getattr(arguments, "defines", ()),
        getattr(arguments, "forced", ()),
        getattr(arguments, "dialect", None),
    )


def option_words(arguments: argparse.Namespace) -> list[str]:
    """The compiling options of the command line, as they were given."""
    words = [word for folder in getattr(arguments, "include_dirs", ()) for word in ("-I", str(folder))]
    words += [word for define in getattr(arguments, "defines", ()) for word in ("-D", define)]
    words += [word for header in getattr(arguments, "forced", ()) for word in ("--include", str(header))]
    dialect = getattr(arguments, "dialect", None)
    return [*words, "--dialect", dialect] if dialect else words


def default_wave(kernels: Path, options: BuildOptions) -> int:
    """64, AMD's data centre GPUs'; 32 for a tree of CUDA sources, whose masks have 32 bits."""
    if options.dialect == "hip":
        return DEFAULT_WAVE
    texts = [source for source in find_sources(kernels) if not source.is_code_object]
    cuda = bool(texts) and (options.dialect == "cuda" or all(source.is_cuda for source in texts))
    return CUDA_WAVE if cuda else DEFAULT_WAVE


def say_wave(arguments: argparse.Namespace, setup: Setup) -> None:
    """Say so where the wave size was chosen for the sources and is not the usual one."""
    if setup.runtime == "cpu" and arguments.wave is None and setup.wave != DEFAULT_WAVE:
        print(
            f"candle-parity: CUDA sources, whose masks have 32 bits: they run in waves of {setup.wave}; --wave 64 runs "
            "them as AMD's data centre GPUs would",
            file=sys.stderr,
        )


def _runtime(name: str) -> str:
    try:
        return chosen_runtime(name)
    except (NoRuntime, NoCompiler, BuildError, InfrastructureError) as error:
        raise UsageError(str(error)) from None


def jobs_and_devices(arguments: argparse.Namespace, setup: Setup, kernels: int) -> tuple[int, int]:
    """How many judges, and over how many devices: a judge per core, where a GPU's executor needs a core of its own."""
    cores = len(os.sched_getaffinity(0))
    if setup.runtime in ("cpu", "none"):
        return min(arguments.jobs or cores, max(kernels, 1)), 1
    devices = device_count(setup.runtime)
    default = max(devices, cores - 2 * devices)
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
