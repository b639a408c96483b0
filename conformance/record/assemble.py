"""From a finished run to its record."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC
from pathlib import Path

from conformance.build import find_sources, tree_digest
from conformance.engine.run import Result
from conformance.engine.tasks import CaseFailure, Outcome
from conformance.record.model import Failure, KernelResult, Record, RunInfo, every_kernel
from conformance.spec.load import Specs


def assemble(specs: Specs, result: Result, patterns: Sequence[str] = ()) -> Record:
    """The record of ``result`` over every kernel of ``specs``; kernels without an outcome are ``not_run``."""
    rows = [_row(specs, outcome) for outcome in result.outcomes.values()]
    return Record.of(_run(specs, result, patterns, rows), every_kernel(specs, rows))


def _row(specs: Specs, outcome: Outcome) -> KernelResult:
    kernel = specs.kernels[outcome.kernel]
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
        failures=tuple(map(_failure, outcome.failures)),
        message=outcome.message,
        seconds=round(outcome.seconds, 6),
    )


def _failure(failure: CaseFailure) -> Failure:
    return Failure(
        case=failure.case,
        why=failure.why,
        index=failure.index,
        got=failure.got,
        expected=failure.expected,
        ulp=failure.ulp,
        reproduce=failure.reproduce,
    )


def _run(specs: Specs, result: Result, patterns: Sequence[str], rows: Iterable[KernelResult]) -> RunInfo:
    setup, ready = result.setup, result.ready
    executes = setup.kernels is not None
    return RunInfo(
        runtime=setup.runtime,
        device=ready.device,
        wave=ready.wave if executes else None,
        kernels=None if setup.kernels is None else shown(setup.kernels),
        started=result.started.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seconds=round(result.seconds, 3),
        hip_python=(ready.hip_python or None) if executes else None,
        upstream_commit=specs.upstream_commit,
        arch=ready.arch or None,
        host=ready.description if executes else None,
        # Only the cpu runtime has an order of threads to choose; a device schedules them itself.
        orders=setup.orders if setup.runtime == "cpu" else (),
        patterns=tuple(patterns),
        git=None if setup.kernels is None else commit_of(setup.kernels),
        subject="kernels" if executes else "reference",
        traces=None if setup.traces is None else shown(setup.traces),
        source_lines=_source_lines(setup.kernels, rows),
        sources=None if setup.kernels is None else tree_digest(setup.kernels, setup.options),
    )


def shown(path: Path) -> str:
    """``path`` relative to the working directory where it lies in it or beside it: a record tells no home directory."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith(f"..{os.sep}..") else str(path)


def commit_of(path: Path) -> str | None:
    """The commit that the port is at, with ``-dirty`` when its files differ; ``None`` outside a git repository."""
    folder = path if path.is_dir() else path.parent
    try:
        commit = _git(folder, "rev-parse", "--short=12", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}-dirty" if changed else commit


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=20)
    return done.stdout.strip()


def _source_lines(kernels: Path | None, rows: Iterable[KernelResult]) -> dict[str, int]:
    """The length in lines of each text source that defines a kernel of the record."""
    used = {row.source.rsplit(":", 1)[0] for row in rows if row.source}
    if kernels is None or not used:
        return {}
    sources = [source for source in find_sources(kernels) if source.label in used and not source.is_code_object]
    return {source.label: len(source.text().splitlines()) for source in sources}
