"""From settings to the setup of a run."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from conformance.cli.settings import Settings
from conformance.cli.usage import UsageError
from conformance.engine.modes import Tree
from conformance.engine.steps import ProgressCallback, no_progress
from conformance.engine.tasks import ORDERS, Setup
from conformance.files import kernels_folder
from conformance.port.compiling.choice import CompilerChoice, NoHipcc, require_hipcc
from conformance.port.options import BuildOptions, options_for
from conformance.port.sources import find_sources
from conformance.processes import InfrastructureError
from conformance.runtimes import NAMES, NoRuntime, RuntimeKind, known_kind, runtime_kind
from conformance.runtimes.choice import NOTHING_RUNS, Choice, choose
from conformance.runtimes.cpu.build import BuildError
from conformance.toolchains.host import NoCompiler

DEFAULT_WAVE = 64
CUDA_WAVE = 32
DEFAULT_ORDERS = ORDERS
_ORDER = re.compile(r"forward|reverse|shuffle:\d+")


def tree_from(settings: Settings) -> Tree:
    """The tree of kernels that is compiled, with its options; raises ``SourceError``."""
    path = settings.kernels or kernels_folder()
    return Tree(path, build_options(settings, path))


def setup_from(settings: Settings, words: Sequence[str], tree: Tree) -> Setup:
    """The setup of a run of ``tree``; raises ``UsageError``.

    ``words`` begin the command that reproduces a failure; options that matter follow.
    """
    _set_arch(settings)
    choice = _choice(settings.runtime)
    kind = runtime_kind(choice.name)
    wave = (settings.wave or default_wave(tree)) if kind.chooses_wave else settings.wave
    setup = _setup(settings, choice, wave)
    command = [*words, "--runtime", setup.runtime]
    if kind.chooses_wave:
        command += ["--wave", str(wave)]
    if settings.arch:
        command += ["--arch", settings.arch]
    if setup.compiler != "auto":
        command += ["--compiler", setup.compiler]
    if settings.kernels:
        command += ["--kernels", shlex.quote(str(settings.kernels))]
    command += map(shlex.quote, option_words(settings))
    return replace(setup, command=_with_specs(command, settings))


def setup_of_reference(settings: Settings, words: Sequence[str]) -> Setup:
    """The setup of a run in which no kernel runs. Raises ``UsageError``."""
    return replace(_setup(settings, NOTHING_RUNS, settings.wave), command=_with_specs(words, settings))


def _with_specs(words: Sequence[str], settings: Settings) -> str:
    return " ".join([*words, *(["--specs", shlex.quote(str(settings.specs))] if settings.specs is not None else [])])


def _setup(settings: Settings, choice: Choice, wave: int | None) -> Setup:
    """The setup without its command."""
    runtime, kind = choice.name, known_kind(choice.name)
    compiler = compiler_for(settings.compiler, kind)
    asked = settings.order
    chooses_orders = kind is not None and kind.chooses_orders
    orders = tuple(asked or (kind.default_orders if kind else DEFAULT_ORDERS)) if chooses_orders else ("forward",)
    for order in orders:
        if not _ORDER.fullmatch(order):
            raise UsageError(f"thread order {order!r} is unknown; expected forward, reverse or shuffle:SEED")
    if asked and not chooses_orders:
        here = "nothing is executed here" if kind is None else f"{runtime} schedules threads itself"
        raise UsageError(f"--order is for the cpu runtime; {here}")
    return Setup(
        runtime=runtime,
        wave=wave,
        orders=orders,
        threads=1,
        device=choice.devices[0],
        salt=settings.seed_salt,
        specs=settings.specs,
        command="",
        compile_seconds=settings.compile_timeout,
        sandbox=not settings.no_sandbox,
        choice=choice,
        compiler=compiler,
    )


def _set_arch(settings: Settings) -> None:
    """Have the runtime be of the architecture that ``--arch`` names; raises ``UsageError`` where it has its own."""
    if not settings.arch:
        return
    kind = known_kind(settings.runtime)
    if kind is None or kind.arch_variable is None:
        choosing = [name for name in NAMES if runtime_kind(name).arch_variable]
        raise UsageError(f"--arch is for --runtime {' or '.join(choosing)}; a device has its own architecture")
    os.environ[kind.arch_variable] = settings.arch


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


def build_options(settings: Settings, kernels: Path) -> BuildOptions:
    """What the settings and the tree's own file say of compiling; raises ``SourceError``."""
    return options_for(kernels, settings.include_dirs, settings.defines, settings.forced, settings.dialect)


def option_words(settings: Settings) -> list[str]:
    """The compiling options, as they were given."""
    words = [word for folder in settings.include_dirs for word in ("-I", str(folder))]
    words += [word for define in settings.defines for word in ("-D", define)]
    words += [word for header in settings.forced for word in ("--include", str(header))]
    return [*words, "--dialect", settings.dialect] if settings.dialect else words


def default_wave(tree: Tree) -> int:
    """64, AMD's data centre GPUs'; 32 for a tree of CUDA sources, whose masks have 32 bits."""
    if tree.options.dialect == "hip":
        return DEFAULT_WAVE
    texts = [source for source in find_sources(tree.path) if not source.is_code_object]
    cuda = bool(texts) and (tree.options.dialect == "cuda" or all(source.is_cuda for source in texts))
    return CUDA_WAVE if cuda else DEFAULT_WAVE


def print_notes(settings: Settings, setup: Setup) -> None:
    """Say on standard error what of the setup may not be what the user expects: the host though there are signs of an
    AMD GPU, devices that are left out, a wave size that was chosen for the sources."""
    choice = setup.choice
    lines = [f"the kernels run on the host: {choice.fallback}"] if choice.fallback is not None else []
    lines += [f"device {device} is left out, as it is of another architecture" for device in choice.left_out]
    kind = known_kind(setup.runtime)
    chosen = kind is not None and kind.chooses_wave and settings.wave is None
    if chosen and setup.wave != DEFAULT_WAVE:
        lines.append(
            f"CUDA sources, whose masks have 32 bits: they run in waves of {setup.wave}; --wave 64 runs them as AMD's "
            "data centre GPUs would"
        )
    for line in lines:
        print(f"candle-parity: {line}", file=sys.stderr)


def _choice(name: str) -> Choice:
    try:
        return choose(name)
    except (NoRuntime, NoCompiler, BuildError, InfrastructureError) as error:
        raise UsageError(str(error)) from None


def jobs_for(asked: int | None, setup: Setup, kernels: int) -> int:
    """How many judges: as many as ``asked``, else one per core that the executors leave free."""
    cores = len(os.sched_getaffinity(0))
    devices = len(setup.choice.devices)
    kind = known_kind(setup.runtime)
    default = max(devices, cores - (kind.executor_cores if kind is not None else 0) * devices)
    return min(asked or default, max(kernels, 1))


@contextmanager
def progress() -> Iterator[ProgressCallback]:
    """A progress bar on standard error where that is a terminal; silence elsewhere."""
    if not sys.stderr.isatty():
        yield no_progress
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)
