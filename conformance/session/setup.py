"""From settings to the setup of a run."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from conformance.dtypes import declare, declared
from conformance.engine.messages import ORDERS, Setup
from conformance.engine.modes import Tree
from conformance.errors import UsageError
from conformance.files import SHIPPED, in_own_checkout, kernels_folder
from conformance.port.compiling.target import NoHipcc, require_hipcc
from conformance.port.config import (
    OPTIONS_FILE,
    Config,
    config_beside,
    config_file_in,
    folders_of,
    read_config,
    unread,
)
from conformance.port.declared.declared import declared_in
from conformance.port.options import is_cuda, options_for
from conformance.port.sources import SourceError, find_sources
from conformance.processes import InfrastructureError
from conformance.record.assemble import shown
from conformance.record.commits import commit_of
from conformance.report.runs import judged_tree
from conformance.runtimes import NAMES, NoRuntime, RuntimeKind, choose, known_kind, runtime_kind
from conformance.runtimes.cpu.build import BuildError
from conformance.runtimes.kind import NOTHING_RUNS, Choice
from conformance.settings import CompilerChoice, Settings
from conformance.spec.load import Specs, load_specs
from conformance.spec.own import with_own
from conformance.text import one_line
from conformance.toolchains.host import NoCompiler
from conformance.toolchains.targets import given_target, target

DEFAULT_WAVE = 64
CUDA_WAVE = 32
_ORDER = re.compile(r"forward|reverse|shuffle:\d+")


def config_from(settings: Settings) -> Config | None:
    """What is declared of the tree under trial: in the file of ``--config``, else in the one in the tree or next to it.

    Without ``--kernels`` one in the working directory counts where it names the tree. It is a ``candle-parity.toml`` or
    the table of a ``pyproject.toml``. Raises ``SourceError``, also for a file whose name is nearly that of one.
    """
    if settings.kernels is not None:
        config = config_beside(settings.kernels) if settings.config is None else read_config(settings.config)
        _say_unread(config, folders_of(settings.kernels))
        return config
    file = settings.config or config_file_in(Path())
    config = None if file is None else checked(read_config(file), file)
    _say_unread(config, [Path()])
    if config is not None and (config.settings.kernels is not None or settings.config is not None):
        return config
    return config_beside(kernels_folder()) if in_own_checkout() else config


def _say_unread(config: Config | None, folders: Iterable[Path]) -> None:
    for text in unread(config, folders):
        print(f"candle-parity: warning: {one_line(text)}", file=sys.stderr)


def checked(config: Config, file: Path | None = None) -> Config:
    """``config``, whose kernels are there; raises ``SourceError``, which calls it as ``file`` does."""
    if config.settings.kernels is not None:
        try:
            find_sources(config.settings.kernels)
        except SourceError as error:
            raise SourceError(f"{file or config.file}: kernels: {error}") from None
    return config


def specs_from(settings: Settings, config: Config | None) -> Specs:
    """The specs that the settings name, and the port's own kernels behind them; raises ``SpecError``.

    References of own kernels run only with ``--own``.
    """
    specs = load_specs(settings.specs)
    if config is None or config.own is None:
        declare(())
        return specs
    from conformance.cases.own import check_own  # what a run without own kernels does without

    found = with_own(specs, config.own, settings.own)
    check_own(found.of_port.values())
    return found


def specs_without_port(settings: Settings) -> Specs:
    """The specs for a command that reads no sources: own kernels are those of ``--config``, or of the file in the
    working directory; raises ``SpecError`` and ``SourceError``."""
    file = settings.config or config_file_in(Path())
    return specs_from(settings, None if file is None else read_config(file))


def tree_from(settings: Settings, specs: Specs, config: Config | None, listed: bool = True) -> Tree:
    """The tree of kernels under trial, with its options and what it declares: that of ``--kernels``, else the one that
    the port's file names; ``listed`` with its sources.

    Only in our own checkout it is the shipped one without either: elsewhere a verdict must be of what was asked about.
    Raises ``SourceError``, and ``UsageError`` where no port is named.
    """
    path = settings.kernels or (None if config is None else config.settings.kernels)
    if path is None and not in_own_checkout():
        where = f"a {OPTIONS_FILE} in the working directory" if config is None else str(config.file)
        raise UsageError(
            f'no port is named: give --kernels PATH, or kernels = "PATH" in {where}; --kernels {SHIPPED} stands for '
            "the kernels that come with candle-parity"
        )
    path = path or kernels_folder()
    return tree_at(path, settings, specs, config, listed)


def tree_at(path: Path, settings: Settings, specs: Specs, config: Config | None, listed: bool = True) -> Tree:
    """The tree at ``path``, with what the settings and its file say; raises ``SourceError``."""
    return (Tree.at if listed else Tree)(
        path, options_for(settings, config), declared_in(config, specs.loaded_by_name, specs.linked_by_name)
    )


def setup_from(settings: Settings, args: Sequence[str], tree: Tree, config: Config | None = None) -> Setup:
    """The setup of a run of ``tree``; raises ``UsageError``.

    ``args`` begin the command that reproduces a failure; options that matter follow.
    """
    given = settings
    settings = with_file(settings, config)
    _set_arch(settings)
    _set_perturb(settings)
    choice = _choice(settings.runtime)
    kind = runtime_kind(choice.name)
    if given.arch is None and settings.arch is not None and not _stands_in_for(kind, settings.arch, given.wave):
        settings = replace(settings, arch=None)
    wave = settings.wave
    if kind.chooses_wave and wave is None:
        wave = default_wave(tree) if settings.arch is None else target(settings.arch).default_wave
    _check_target(settings, kind, wave)
    setup = _setup(settings, choice, wave)
    # Of several orders, a failure's own is added.
    orders = setup.orders if settings.orders and len(setup.orders) == 1 else ()
    wave = wave if kind.chooses_wave else None
    told = replace(settings, runtime=setup.runtime, wave=wave, compiler=setup.compiler, orders=orders)
    return replace(setup, command=told.repeated(args))


def with_file(settings: Settings, config: Config | None) -> Settings:
    """``settings`` of the command line, and where they leave something open those of the port's file. Its wave belongs
    to its own architecture: where the command line names another one, that decides."""
    if config is None:
        return settings
    both = settings.filled(config.settings)
    return replace(both, wave=settings.wave) if settings.arch is not None else both


def _stands_in_for(kind: RuntimeKind, arch: str, wave: int | None) -> bool:
    """Whether the runtime can be the ``arch`` that a port's file names, with the wave of the command line, which wins.
    A GPU says itself what it is."""
    if kind.arch_variable is not None:
        return True
    return kind.on_host and not (wave == 32 and given_target(arch).default_wave == 64)


def setup_of_reference(settings: Settings, args: Sequence[str]) -> Setup:
    """The setup of a run in which no kernel runs. Raises ``UsageError``."""
    told = Settings(specs=settings.specs, config=settings.config, own=settings.own)
    return replace(_setup(settings, NOTHING_RUNS, settings.wave), command=told.repeated(args))


def _setup(settings: Settings, choice: Choice, wave: int | None) -> Setup:
    """The setup without its command."""
    runtime, kind = choice.name, known_kind(choice.name)
    sees_target = kind is None or kind.arch_variable is None
    compiler = compiler_for(settings.compiler, kind)
    asked = settings.orders
    chooses_orders = kind is not None and kind.chooses_orders
    orders = tuple(asked or (kind.default_orders if kind else ORDERS)) if chooses_orders else ("forward",)
    for order in orders:
        if not _ORDER.fullmatch(order):
            raise UsageError(f"thread order {order!r} is unknown; expected forward, reverse or shuffle:SEED")
    if asked and not chooses_orders:
        here = "nothing is executed here" if kind is None else f"{runtime} schedules threads itself"
        raise UsageError(f"--order is for the cpu runtime; {here}")
    resolved = {"runtime": runtime, "wave": wave, "orders": orders, "compiler": compiler}
    resolved |= {} if sees_target else {"arch": None}
    return Setup(**{**vars(settings), **resolved}, device=choice.devices[0], choice=choice, dtypes=declared())


def _set_arch(settings: Settings) -> None:
    """Have the runtime be of the architecture that ``--arch`` names, where it takes one; raises ``AmdError``."""
    kind = known_kind(settings.runtime)
    if settings.arch is not None:
        given_target(settings.arch)
    if settings.arch is not None and kind is not None and kind.arch_variable is not None:
        os.environ[kind.arch_variable] = settings.arch


def _set_perturb(settings: Settings) -> None:
    """Have approximate instructions deviate as ``--perturb`` says; raises ``UsageError`` where a device has its own."""
    kind = known_kind(settings.runtime)
    if kind is not None and kind.perturb_variable is not None:
        os.environ[kind.perturb_variable] = str(settings.perturb)
    elif settings.perturb:
        taking = " and ".join(name for name in NAMES if runtime_kind(name).perturb_variable is not None)
        raise UsageError(f"--perturb is for --runtime {taking}; leave it out")


def _check_target(settings: Settings, kind: RuntimeKind, wave: int | None) -> None:
    """Raises ``UsageError`` for a target that the runtime cannot stand in for, ``AmdError`` for an unknown one."""
    if settings.arch is None or kind.arch_variable is not None:
        return
    if not kind.on_host:
        taking = " and ".join(name for name in NAMES if runtime_kind(name).on_host)
        raise UsageError(f"--arch is for --runtime {taking}; on {kind.name} the device says what it is: leave it out")
    if wave == 32 and target(settings.arch).default_wave == 64:
        raise UsageError(f"--wave 32: {settings.arch} has waves of 64 lanes; name another --arch, or leave one out")


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


def default_wave(tree: Tree) -> int:
    """64, AMD's data centre GPUs'; 32 for a tree of CUDA sources, whose masks have 32 bits."""
    if tree.options.dialect == "hip":
        return DEFAULT_WAVE
    texts = [source for source in tree.sources if not source.is_code_object]
    cuda = bool(texts) and all(is_cuda(source, tree.options) for source in texts)
    return CUDA_WAVE if cuda else DEFAULT_WAVE


def print_tree(tree: Tree, what: str) -> None:
    """Say on standard output of which tree the following is: its path, how many files it has, and its commit."""
    of = judged_tree(shown(tree.path), len(tree.sources), commit_of(tree.path))
    print(f"candle-parity {what} {one_line(of)}", flush=True)


def print_notes(settings: Settings, setup: Setup, config: Config | None = None) -> None:
    """Say on standard error what of the setup may not be what the user expects: the host though there are signs of an
    AMD GPU, devices that are left out, a wave size that was chosen for the sources."""
    choice, settings = setup.choice, with_file(settings, config)
    lines = [f"the kernels run on the host: {choice.fallback}"] if choice.fallback is not None else []
    lines += [f"device {device} is left out, as it is of another architecture" for device in choice.left_out]
    kind = known_kind(setup.runtime)
    chosen = kind is not None and kind.chooses_wave and settings.wave is None and settings.arch is None
    if chosen and setup.wave != DEFAULT_WAVE:
        lines.append(
            f"CUDA sources, whose masks have 32 bits: they run in waves of {setup.wave}; --wave 64 runs them as AMD's "
            "data centre GPUs would"
        )
    for line in lines:
        print(f"candle-parity: {one_line(line)}", file=sys.stderr)


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
