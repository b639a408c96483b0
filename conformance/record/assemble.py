"""From a finished run to its record."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from types import MappingProxyType
from typing import Any

from conformance.engine.run import Result
from conformance.files import KERNELS, kernels_folder, shipped_name
from conformance.outcome import INFRASTRUCTURE, Outcome
from conformance.port.digest import tree_digest
from conformance.port.options import NO_OPTIONS, BuildOptions
from conformance.port.sources import find_sources
from conformance.record.commits import commit_of, harness_commit
from conformance.record.lines import with_lines
from conformance.record.model import INTERRUPTED, KernelResult, Record, RunInfo, every_kernel
from conformance.record.shards import elsewhere
from conformance.runtimes import known_kind
from conformance.runtimes.choice import Choice
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs


def assemble(
    specs: Specs,
    result: Result,
    patterns: Sequence[str] = (),
    recordings: Sequence[Mapping[str, Any]] = (),
    shard: str | None = None,
    others: Mapping[str, str] = MappingProxyType({}),
) -> Record:
    """The record of ``result`` over every kernel of ``specs``; kernels without an outcome are ``not_run``.

    ``recordings`` is what the trace files of a replay say of themselves. Of a ``shard``, ``others`` has the shards of
    the kernels that were selected and that it leaves to them.
    """
    reasons = result.settled(specs.kernels, specs.launchers).reasons
    rows = [_row(specs, outcome, reasons) for outcome in result.outcomes.values()]
    if result.mode.trees and not result.interrupted:
        rows = with_lines(rows, result.mode.trees[0])
    selected = dict.fromkeys((*result.selected, *result.outcomes))
    waiting = [_not_judged(specs.entry(name), result) for name in selected if name not in result.outcomes]
    waiting += [KernelResult.not_run(specs.entry(name), message=elsewhere(its)) for name, its in others.items()]
    kind = known_kind(result.setup.runtime)
    run = _run(specs, result, patterns, recordings, rows).model_copy(
        update={
            "selected": sum(name in specs.kernels for name in selected),
            "shard": shard,
            "complete": not result.interrupted,
            "sandbox": result.ready.sandbox,
            "weakened": result.ready.weakened,
            "infrastructure": result.infrastructure,
            **_choice(result.setup.choice),
            "compiler": result.setup.compiler if kind is not None and kind.chooses_compiler else None,
        }
    )
    entries = {row.name: row for row in (*rows, *waiting)}
    launchers = [entries[name] for name in specs.launchers if name in entries]
    kernels = [row for name, row in entries.items() if name not in specs.launchers]
    return Record.of(run, every_kernel(specs, kernels), launchers)


def _choice(choice: Choice) -> dict[str, Any]:
    """How the runtime and its devices were chosen, as fields of ``RunInfo``."""
    return {
        "fallback": choice.fallback,
        "library": choice.library,
        "other_libraries": choice.others,
        "hip_version": choice.hip,
        "driver": choice.driver,
        "emulator": choice.emulator,
        "visible": choice.visible,
        "left_out_devices": choice.left_out,
    }


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


def _row(specs: Specs, outcome: Outcome, reasons: Mapping[str, str]) -> KernelResult:
    kernel = specs.entry(outcome.kernel)
    return KernelResult(
        name=kernel.name,
        module=kernel.module,
        family=kernel.family,
        status=outcome.status,
        cases=outcome.cases,
        failed=outcome.failed,
        # An error of 0 says something only where an answer was compared.
        max_ulp=outcome.max_ulp if outcome.cases else None,
        source=outcome.source,
        upstream=kernel.upstream,
        failures=tuple(outcome.failures),
        message=outcome.message,
        seconds=round(outcome.seconds, 6),
        left_out=outcome.left_out + (outcome.robustness.left_out if outcome.robustness else 0),
        compiler=outcome.compiler,
        compiler_name=outcome.compiler_name,
        planned=outcome.planned if outcome.cases < outcome.planned - outcome.left_out else 0,
        robustness=outcome.robustness,
        port_name=outcome.port_name,
        known_reason=reasons.get(kernel.name),
        fixed=outcome.fixed,
        geometry=outcome.geometry,
        observations=tuple(outcome.observations),
        passed=tuple(outcome.passed),
        max_ulp_bound=outcome.max_ulp_bound,
        nearest_ulp=outcome.nearest_ulp,
        nearest_ulp_bound=outcome.nearest_ulp_bound,
        sites=outcome.sites,
        profile=outcome.profile,
        leak=outcome.leak,
        wired_at=kernel.wired_at if kernel.is_launcher else None,
    )


def _run(
    specs: Specs,
    result: Result,
    patterns: Sequence[str],
    recordings: Sequence[Mapping[str, Any]],
    rows: Iterable[KernelResult],
) -> RunInfo:
    setup, mode, ready = result.setup, result.mode, result.ready
    tree, kind = mode.trees[0] if mode.trees else None, known_kind(setup.runtime)
    executes = tree is not None
    return RunInfo(
        runtime=setup.runtime,
        device=ready.device,
        wave=ready.wave if executes else None,
        kernels=None if tree is None else shown(tree.path),
        started=result.started.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seconds=round(result.seconds, 3),
        hip_python=(ready.hip_python or None) if executes else None,
        upstream_commit=specs.upstream_commit,
        arch=ready.arch or None,
        perturb=setup.perturb or None,
        host=ready.description if executes else None,
        orders=setup.orders if kind is not None and kind.chooses_orders else (),
        patterns=tuple(patterns),
        git=None if tree is None else commit_of(tree.path),
        harness=harness_commit(),
        subject=mode.subject,
        traces=None if mode.traces is None else shown(mode.traces),
        recorded_on=tuple(map(_recorded_on, recordings)),
        source_lines={} if tree is None else _source_lines(tree.path, rows),
        sources=None if tree is None else tree_digest(tree.path, tree.options),
        specs=None if specs.given is None else shown(specs.given),
        specs_digest=specs.digest or None,
        config=None if tree is None or not tree.declared.file else shown(Path(tree.declared.file)),
        declared=None if tree is None else tree.declared.digest,
        target=setup.arch if executes else None,
        options=() if tree is None else (*shown_options(tree.options), *setup.recorded()),
    )


def shown_options(options: BuildOptions) -> tuple[str, ...]:
    """What sources are compiled with, of the command line and of the port's file, as on the command line."""
    headers = [shown(header) if header.is_absolute() else str(header) for header in options.forced]
    return (
        *(f"-I {shown(folder)}" for folder in options.include_dirs),
        *(f"-D {define}" for define in options.defines),
        *(f"-U {name}" for name in options.undefines),
        *(f"--include {header}" for header in headers),
        *((f"--std {options.std}",) if options.std else ()),
        *((f"--dialect {options.dialect}",) if options.dialect != NO_OPTIONS.dialect else ()),
    )


def shown(path: Path) -> str:
    """``path`` relative to the working directory where it lies in it or next to it: a record names no home directory.

    What is part of an installation is called so; ``kernels`` alone is always the harness's own.
    """
    name = shipped_name(path)
    if name is not None:
        return name
    relative = os.path.relpath(path)
    if relative == KERNELS and path.resolve() != kernels_folder():
        return f"./{relative}"
    return relative if not relative.startswith(f"..{os.sep}..") else str(path)


def _source_lines(kernels: Path, rows: Iterable[KernelResult]) -> dict[str, int]:
    """The length in lines of each text source that defines a kernel of the record."""
    used = {row.source.rsplit(":", 1)[0] for row in rows if row.source}
    if not used:
        return {}
    sources = [source for source in find_sources(kernels) if source.label in used and not source.is_code_object]
    return {
        source.label: len(source.loose_text().splitlines()) for source in sorted(sources, key=lambda one: one.label)
    }
