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
from conformance.settings import NO_SETTINGS, CompilerChoice, Settings
from conformance.spec.load import Specs, load_specs
from conformance.spec.own import with_own
from conformance.text import one_line
from conformance.toolchains.host import NoCompiler
from conformance.toolchains.targets import given_target, target

DEFAULT_WAVE = 64
CUDA_WAVE = 32
_ORDER = re.compile(r"forward|reverse|shuffle:\d+")


def config_from(settings: Settings) -> Config | None:
    """What the port declares: the content of the file of ``--config``, else of the one in the tree or next to it.

    Without ``--kernels`` it is the file in the working directory, if that names the tree. The file is a
    ``candle-parity.toml``, or a ``pyproject.toml`` with our table. ``None`` where there is none. Raises ``SourceError``
    for a file that cannot be used, and for one that is named almost like a declaration.
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
    """``config``, after a look whether its kernels are there. Raises ``SourceError`` if not; messages call the file
    ``file``."""
    if config.settings.kernels is not None:
        try:
            find_sources(config.settings.kernels)
        except SourceError as error:
            raise SourceError(f"{file or config.file}: kernels: {error}") from None
    return config


def specs_from(settings: Settings, config: Config | None) -> Specs:
    """The specs that the settings name, followed by the port's own kernels. Raises ``SpecError``.

    The reference functions of own kernels are Python code of the port. They run only with ``--own``.
    """
    specs = load_specs(settings.specs)
    if config is None or config.own is None:
        declare(())
        return specs
    from conformance.cases.own import check_own  # what a run without own kernels does without

    with_port = with_own(specs, config.own, settings.own)
    check_own(with_port.of_port.values())
    return with_port


def specs_without_port(settings: Settings) -> Specs:
    """The specs for a command that reads no sources of a port.

    Own kernels are those of the file of ``--config``, or of the one in the working directory. Raises ``SpecError`` and
    ``SourceError``.
    """
    file = settings.config or config_file_in(Path())
    return specs_from(settings, None if file is None else read_config(file))


def tree_from(settings: Settings, specs: Specs, config: Config | None, listed: bool = True) -> Tree:
    """The tree that is judged, with its options and declarations: that of ``--kernels``, else the one that the file
    names.

    ``listed`` says whether its sources are listed too. Only in our own checkout the shipped kernels are taken if
    neither is given: elsewhere a verdict has to be about what was asked for. Raises ``SourceError``, and ``UsageError``
    where no port is named.
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
    """The tree at ``path``, with the options and declarations of the settings and of ``config``. Raises
    ``SourceError``."""
    return (Tree.at if listed else Tree)(
        path, options_for(settings, config), declared_in(config, specs.loaded_by_name, specs.linked_by_name)
    )


def setup_from(settings: Settings, args: Sequence[str], tree: Tree, config: Config | None = None) -> Setup:
    """The setup of a run of ``tree``, with the runtime and the devices chosen. Raises ``UsageError``.

    ``args`` are the first words of the command that reproduces a failure, such as ``["candle-parity", "run"]``. The
    options that matter are added to them.
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
    declared_settings = () if config is None else _of_the_file(given, settings, config, kind)
    return replace(setup, command=told.repeated(args), declared_settings=declared_settings)


def _of_the_file(given: Settings, used: Settings, config: Config, kind: RuntimeKind) -> tuple[str, ...]:
    """The names of the settings that a run has from the port's file, where the command line (``given``) leaves them
    open. ``used`` are the settings of the run, as far as ``given`` and ``config`` decide them."""
    names = ("runtime", "arch", *(("wave",) if kind.chooses_wave else ()))
    taken = [
        name
        for name in names
        if getattr(given, name) == getattr(NO_SETTINGS, name) != getattr(used, name)
        and getattr(used, name) == getattr(config.settings, name)
    ]
    of_kernels = given.kernels is None and config.settings.kernels is not None
    return (*taken, *(("kernels",) if of_kernels else ()))


def with_file(settings: Settings, config: Config | None) -> Settings:
    """The settings of the command line, with those of the port's file for what they leave open.

    The file's wave belongs to the file's architecture: if the command line names another architecture, the wave is that
    one's.
    """
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
    """The setup of a run in which no kernel runs, as in ``replay --subject reference``. Raises ``UsageError``."""
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
    """The compiler to use on a runtime of the kind ``kind`` (``None``: nothing is compiled) for the choice ``asked``.

    Raises ``UsageError`` for a choice on a runtime that has none, and for ``hipcc`` where it is not installed.
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
    """The wave size of the cpu runtime without an option: 64, as on AMD's data centre GPUs. It is 32 for a tree of CUDA
    sources, whose lane masks have 32 bits."""
    if tree.options.dialect == "hip":
        return DEFAULT_WAVE
    texts = [source for source in tree.sources if not source.is_code_object]
    cuda = bool(texts) and all(is_cuda(source, tree.options) for source in texts)
    return CUDA_WAVE if cuda else DEFAULT_WAVE


def print_tree(tree: Tree, what: str) -> None:
    """Print which tree the following lines are about: its path, the number of files, its commit. ``what`` says what is
    done."""
    of = judged_tree(shown(tree.path), len(tree.sources), commit_of(tree.path))
    print(f"candle-parity {what} {one_line(of)}", flush=True)


def print_notes(settings: Settings, setup: Setup, config: Config | None = None) -> None:
    """Print to standard error what the user may not expect of the setup.

    That is: kernels run on the host although there are signs of an AMD GPU; devices are left out; or the wave size was
    chosen because of the sources.
    """
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
    """The number of judge processes: ``asked``, else one for each core that executors leave free. At most one per
    kernel."""
    cores = len(os.sched_getaffinity(0))
    devices = len(setup.choice.devices)
    kind = known_kind(setup.runtime)
    default = max(devices, cores - (kind.executor_cores if kind is not None else 0) * devices)
    return min(asked or default, max(kernels, 1))
