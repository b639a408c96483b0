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

from conformance.cli.usage import UsageError
from conformance.engine.run import Said
from conformance.engine.tasks import COMPILE_SECONDS, ORDERS, Setup
from conformance.files import kernels_folder
from conformance.port.compiling.choice import CompilerChoice, NoHipcc, require_hipcc
from conformance.port.options import NO_OPTIONS, BuildOptions, options_for
from conformance.port.sources import find_sources
from conformance.processes import InfrastructureError
from conformance.runtimes import NoRuntime, RuntimeKind, runtime_kind
from conformance.runtimes.choice import NOTHING_RUNS, Choice, choose
from conformance.runtimes.cpu.build import BuildError
from conformance.toolchains.host import NoCompiler

DEFAULT_WAVE = 64
CUDA_WAVE = 32
DEFAULT_ORDERS = ORDERS
_ORDER = re.compile(r"forward|reverse|shuffle:\d+")


def setup_from(
    arguments: argparse.Namespace, words: Sequence[str], traces: Path | None, executes: bool = True
) -> Setup:
    """The setup of every worker. ``words`` begin the command that reproduces a failure; options that matter follow."""
    choice = _choice(arguments.runtime) if executes else NOTHING_RUNS
    runtime = choice.name
    kind = runtime_kind(runtime) if executes else None
    kernels = arguments.kernels or kernels_folder()
    options = build_options(arguments, kernels) if executes else NO_OPTIONS
    chooses_wave = kind is not None and kind.chooses_wave
    chooses_orders = kind is not None and kind.chooses_orders
    wave = (arguments.wave or default_wave(kernels, options)) if chooses_wave else arguments.wave
    compiler = compiler_for(getattr(arguments, "compiler", "auto"), kind)
    asked = getattr(arguments, "order", None)
    orders = tuple(asked or DEFAULT_ORDERS) if chooses_orders else ("forward",)
    for order in orders:
        if not _ORDER.fullmatch(order):
            raise UsageError(f"thread order {order!r} is unknown; expected forward, reverse or shuffle:SEED")
    if asked and not chooses_orders:
        here = "nothing is executed here" if kind is None else f"{runtime} schedules threads itself"
        raise UsageError(f"--order is for the cpu runtime; {here}")
    command = [*words]
    if executes:
        command += ["--runtime", runtime]
        if chooses_wave:
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
        device=choice.devices[0],
        salt=getattr(arguments, "seed_salt", ""),
        traces=traces,
        specs=arguments.specs,
        command=" ".join(command),
        options=options,
        compile_seconds=getattr(arguments, "compile_timeout", COMPILE_SECONDS),
        sandbox=not getattr(arguments, "no_sandbox", False),
        choice=choice,
        compiler=compiler,
    )


def compiler_for(asked: CompilerChoice, kind: RuntimeKind | None) -> CompilerChoice:
    """Who compiles for a runtime, ``None`` where nothing is compiled.

    Raises ``UsageError`` for a choice where there is none, and for a hipcc that is not there.
    """
    if asked == "auto":
        return asked
    if kind is None or not kind.chooses_compiler:
        here = "nothing is compiled here" if kind is None else f"the {kind.name} runtime has one compiler, its own"
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


def say_setup(arguments: argparse.Namespace, setup: Setup) -> None:
    """Say on standard error what of the setup may not be what the user expects: the host though there are signs of an
    AMD GPU, devices that are left out, a wave size that was chosen for the sources."""
    choice = setup.choice
    said = [f"the kernels run on the host: {choice.fallback}"] if choice.fallback is not None else []
    said += [f"device {device} is left out, as it is of another architecture" for device in choice.left_out]
    chosen = setup.kernels is not None and runtime_kind(setup.runtime).chooses_wave
    if chosen and arguments.wave is None and setup.wave != DEFAULT_WAVE:
        said.append(
            f"CUDA sources, whose masks have 32 bits: they run in waves of {setup.wave}; --wave 64 runs them as AMD's "
            "data centre GPUs would"
        )
    for line in said:
        print(f"candle-parity: {line}", file=sys.stderr)


def _choice(name: str) -> Choice:
    try:
        return choose(name)
    except (NoRuntime, NoCompiler, BuildError, InfrastructureError) as error:
        raise UsageError(str(error)) from None


def jobs_for(arguments: argparse.Namespace, setup: Setup, kernels: int) -> int:
    """How many judges: one per core that the executors leave free."""
    cores = len(os.sched_getaffinity(0))
    devices = len(setup.choice.devices)
    taken = runtime_kind(setup.runtime).executor_cores if setup.kernels is not None else 0
    default = max(devices, cores - taken * devices)
    return min(arguments.jobs or default, max(kernels, 1))


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
