"""From a finished run, or a build, to its record."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from conformance.engine.modes import Tree
from conformance.engine.result import Result
from conformance.environment import RUN_ID, value_of
from conformance.files import KERNELS, kernels_folder, shipped_name
from conformance.outcome import INFRASTRUCTURE, KernelResult, Resources
from conformance.port.digest import tree_digest
from conformance.port.options import NO_OPTIONS, BuildOptions
from conformance.record.commits import commit_of, harness_commit
from conformance.record.merge import elsewhere
from conformance.record.model import BUILD, INTERRUPTED, Build, Record, RunInfo, every_kernel
from conformance.runtimes import known_kind
from conformance.spec.entry import ENTRIES, OWN
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs

if TYPE_CHECKING:  # they read ELF files
    from conformance.port.check.objects import ObjectFile
    from conformance.port.code_objects import KernelObject

_STARTED = "%Y-%m-%dT%H:%M:%SZ"


def assemble(
    specs: Specs,
    result: Result,
    patterns: Sequence[str] = (),
    recordings: Sequence[Mapping[str, Any]] = (),
    shard: str | None = None,
    others: Mapping[str, str] = MappingProxyType({}),
) -> Record:
    """The record of ``result``. It has a row for every kernel of ``specs``; kernels without an outcome are ``not_run``.

    ``patterns`` are those of the command line. ``recordings`` is what the trace files of a replay say of themselves.
    For a run of one ``shard``, ``others`` has the selected kernels that other shards judge, each with its shard.
    """
    reasons = result.settled(specs.loaded_by_name, specs.linked_by_name).reasons
    judged = [(specs.entry(name), outcome) for name, outcome in result.outcomes.items()]
    rows = [
        outcome.row(
            kernel, known_reason=reasons.get(kernel.name), wired_at=kernel.wired_at if kernel.is_host_function else None
        )
        for kernel, outcome in judged
    ]
    selected = dict.fromkeys((*result.selected, *result.outcomes))
    waiting = [_not_judged(specs.entry(name), result) for name in selected if name not in result.outcomes]
    waiting += [KernelResult.not_run(specs.entry(name), message=elsewhere(its)) for name, its in others.items()]
    run = _run(specs, result, recordings).model_copy(
        update={
            "patterns": tuple(patterns),
            "selected": sum(name in specs.kernels for name in selected),
            "shard": shard,
        }
    )
    entries = {row.name: row for row in (*rows, *waiting)}
    parts = {entry: [entries[name] for name in specs.of(entry) if name in entries] for entry in ENTRIES}
    parts["kernel"] = every_kernel(specs, parts["kernel"])
    if any(parts[entry] for entry in OWN):  # then all of them: a share is of all
        for entry in OWN:
            parts[entry] = [entries.get(name) or KernelResult.not_run(one) for name, one in specs.of(entry).items()]
        run = run.model_copy(update={"own_digest": specs.own_digest})
    return Record.of_parts(run, parts)


def _not_judged(kernel: Kernel, result: Result) -> KernelResult:
    """A selected kernel that has no outcome: the run was interrupted, or lost it."""
    why = INTERRUPTED if result.interrupted else f"{INFRASTRUCTURE}no answer came back"
    return KernelResult.not_run(kernel, message=why)


def _recorded_on(recording: Mapping[str, Any]) -> str:
    """``NVIDIA H100 (sm_90), cuda, 2026-01-02, port at abc123``, as far as the trace file says."""
    device, arch, runtime, started, git = (
        recording.get(key) for key in ("device", "arch", "runtime", "started", "git")
    )
    parts = (f"{device or 'unknown device'}{f' ({arch})' if arch else ''}", runtime, str(started or "")[:10])
    return ", ".join(str(part) for part in (*parts, git and f"port at {git}") if part)


def _run(specs: Specs, result: Result, recordings: Sequence[Mapping[str, Any]]) -> RunInfo:
    setup, mode, ready, choice = result.setup, result.mode, result.ready, result.setup.choice
    tree, kind = mode.trees[0] if mode.trees else None, known_kind(setup.runtime)
    executes = tree is not None
    return RunInfo(
        runtime=setup.runtime,
        device=ready.device,
        wave=ready.wave if executes else None,
        started=result.started.astimezone(UTC).strftime(_STARTED),
        seconds=round(result.seconds, 3),
        hip_python=(ready.hip_python or None) if executes else None,
        arch=ready.arch or None,
        perturb=setup.perturb or None,
        host=ready.description if executes else None,
        orders=setup.orders if kind is not None and kind.chooses_orders else (),
        subject=mode.subject,
        pinned=mode.data or None,
        traces=None if mode.traces is None else shown(mode.traces),
        recorded_on=tuple(map(_recorded_on, recordings)),
        program=next((str(recording["program"]) for recording in recordings if "program" in recording), None),
        source_lines=result.source_lines,
        config=None if tree is None or not tree.declared.file else shown(Path(tree.declared.file)),
        candle_before=None if tree is None else tree.declared.candle_before,
        declared_settings=setup.declared_settings,
        target=setup.arch if executes else None,
        complete=not result.interrupted,
        sandbox=ready.sandbox,
        weakened=ready.weakened,
        kept=sum(outcome.kept for outcome in result.outcomes.values()) or None,
        infrastructure=result.infrastructure,
        fallback=choice.fallback,
        library=choice.library,
        other_libraries=choice.others,
        hip_version=choice.hip,
        driver=choice.driver,
        emulator=choice.emulator,
        visible=choice.visible,
        left_out_devices=choice.left_out,
        compiler=setup.compiler if kind is not None and kind.chooses_compiler else None,
        **_identity(specs, tree, setup.recorded()),
    )


def _identity(specs: Specs, tree: Tree | None, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """Which sources, specs and harness a record is of, as fields of ``RunInfo``."""
    of_tree = (
        {}
        if tree is None
        else {
            "kernels": shown(tree.path),
            "files": len(tree.sources),
            "git": commit_of(tree.path),
            "sources": tree_digest(tree.path, tree.options),
            "declared": tree.declared.digest,
            "options": (*shown_options(tree.options), *options),
        }
    )
    return {
        **of_tree,
        "run_id": value_of(RUN_ID),
        "upstream_commit": specs.upstream_commit,
        "harness": harness_commit(),
        "specs": None if specs.given is None else shown(specs.given),
        "specs_digest": specs.digest or None,
    }


def shown_options(options: BuildOptions) -> tuple[str, ...]:
    """The options that sources are compiled with, as they would stand on the command line: ``("-I shim", "-D A=1")``.

    Those of the command line and of the port's file are both in it.
    """
    headers = [shown(header) if header.is_absolute() else str(header) for header in options.forced]
    return (
        *(f"-I {shown(folder)}" for folder in options.include_dirs),
        *(f"-D {define}" for define in options.defines),
        *(f"-U {name}" for name in options.undefines),
        *(f"--include {header}" for header in headers),
        *((f"--std {options.std}",) if options.std else ()),
        *(f"--flag={flag}" for flag in options.flags),
        *((f"--dialect {options.dialect}",) if options.dialect != NO_OPTIONS.dialect else ()),
    )


def shown(path: Path) -> str:
    """How a record names ``path``: relative to the working directory if it lies below it or next to it, else as it is
    given.

    So a record does not contain the name of a home directory. What comes with an installation has a name of its own,
    and ``kernels`` alone always stands for the harness's own.
    """
    name = shipped_name(path)
    if name is not None:
        return name
    relative = os.path.relpath(path)
    if relative == KERNELS and path.resolve() != kernels_folder():
        return f"./{relative}"
    return relative if not relative.startswith(f"..{os.sep}..") else str(path)


def build_record(
    specs: Specs,
    tree: Tree,
    compiler: str,
    started: datetime,
    seconds: float,
    objects: Mapping[str, Sequence[ObjectFile]],
    failed: Mapping[str, Mapping[str, str]],
    broken: Mapping[str, Mapping[str, str]],
    lacking: Mapping[str, Mapping[str, str]],
) -> Record:
    """The record of a ``build``: every kernel is ``not_run``, and says which AMD targets it compiles for.

    All arguments with a mapping are by target. ``objects`` are its code objects, labelled with their sources, whose
    kernels have Candle's names. ``failed`` has the first error of each source that does not compile, ``broken`` the
    first error of each kernel that is missing from its source's object, and ``lacking`` the header that this
    installation does not have for a source. The port's own kernels are all in the record if there are some. Kernels
    that no spec has are left out.
    """
    when = started.strftime(_STARTED)
    compiled: dict[str, dict[str, Resources]] = {}
    sources: dict[str, str] = {}
    for target, files in objects.items():
        for file in files:
            for name, kernel in file.code.kernels.items():
                compiled.setdefault(name, {})[target] = _resources(kernel)
                sources[name] = file.label

    def row(kernel: Kernel) -> KernelResult:
        if kernel.name not in compiled:
            return KernelResult.not_run(kernel)
        return KernelResult.not_run(
            kernel,
            source=sources[kernel.name],
            compiles_for=compiled[kernel.name],
            port_name=tree.declared.names.ports.get(kernel.name),
        )

    run = RunInfo(
        runtime=BUILD,
        device="no device",
        started=when,
        seconds=round(seconds, 3),
        builds={
            target: Build(
                compiler=compiler,
                started=when,
                failed=dict(failed.get(target, {})),
                broken=dict(broken.get(target, {})),
                lacking=dict(lacking.get(target, {})),
            )
            for target in objects
        },
        own_digest=specs.own_digest if specs.own else None,
        **_identity(specs, tree),
    )
    return Record.of(run, map(row, specs.kernels.values()), own=map(row, specs.own.values()))


def _resources(kernel: KernelObject) -> Resources:
    return Resources(
        vgpr=kernel.vgprs,
        sgpr=kernel.sgprs,
        spills=(kernel.vgpr_spills or 0) + (kernel.sgpr_spills or 0),
        lds=kernel.lds,
        scratch=kernel.scratch,
        wave=kernel.wave,
        kernarg=kernel.kernarg,
    )
