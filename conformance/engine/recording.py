"""From a finished run to its record."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from conformance.build import find_sources
from conformance.engine.run import Result
from conformance.engine.tasks import CaseFailure, Outcome
from conformance.record import Failure, KernelResult, Record, RunInfo, every_kernel
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs


def assemble(specs: Specs, result: Result, patterns: Sequence[str]) -> Record:
    """The record of ``result``: a row for every kernel of the specs, ``not_run`` where it was not selected."""
    setup, ready = result.setup, result.ready
    reference = setup.kernels is None
    run = RunInfo(
        runtime="none" if reference else setup.runtime,
        device=ready.description or ready.device,
        wave=ready.wave or None,
        kernels=None if setup.kernels is None else _shown(setup.kernels),
        started=result.started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        seconds=round(result.seconds, 3),
        hip_python=ready.hip_python or None,
        upstream_commit=specs.upstream_commit,
        arch=ready.arch or None,
        host=_host(),
        orders=() if reference else setup.orders,
        patterns=tuple(patterns),
        git=_commit(setup.kernels),
        subject="reference" if reference else "kernels",
        traces=None if setup.traces is None else _shown(setup.traces),
        source_lines=_line_counts(setup.kernels),
    )
    rows = [_row(specs.kernels[name], outcome) for name, outcome in result.outcomes.items()]
    return Record.of(run, every_kernel(specs, rows))


def _row(kernel: Kernel, outcome: Outcome) -> KernelResult:
    return KernelResult(
        name=kernel.name,
        module=kernel.module,
        family=kernel.family,
        status=outcome.status,
        cases=outcome.cases,
        failed=outcome.failed,
        max_ulp=outcome.max_ulp if outcome.cases else None,
        source=outcome.source,
        upstream=kernel.upstream,
        failures=tuple(_failure(failure) for failure in outcome.failures),
        message=outcome.message,
        seconds=round(outcome.seconds, 4) if outcome.cases else None,
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


def _shown(path: Path) -> str:
    """The path as a reader elsewhere understands it: relative to the working folder where it lies under it."""
    resolved = path.resolve()
    here = Path.cwd().resolve()
    return str(resolved.relative_to(here)) if resolved.is_relative_to(here) else resolved.name


def _host() -> str:
    return f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"


def _commit(kernels: Path | None) -> str | None:
    """The commit of the checkout that holds the kernels, with ``+`` when its files have changed since."""
    if kernels is None:
        return None
    folder = kernels if kernels.is_dir() else kernels.parent
    commit = _git(folder, "rev-parse", "--short=12", "HEAD")
    if not commit:
        return None
    return f"{commit}{'+' if _git(folder, 'status', '--porcelain', '--', str(kernels.resolve())) else ''}"


def _git(folder: Path, *words: str) -> str:
    try:
        answer = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return answer.stdout.strip()


def _line_counts(kernels: Path | None) -> dict[str, int]:
    """Lines per source file, by the label that kernels' ``source`` has."""
    if kernels is None:
        return {}
    return {source.label: source.text().count("\n") for source in find_sources(kernels) if not source.is_code_object}
