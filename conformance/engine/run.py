"""A whole run: compile what there is, put every selected kernel on trial, keep every outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from conformance.build import find_sources
from conformance.device.errors import first_error
from conformance.engine.library import first_to_compile
from conformance.engine.pool import Pool
from conformance.engine.tasks import Compile, Compiled, Outcome, Ready, Setup, Trial
from conformance.spec.kernel import Kernel

Said = Callable[[str, int, int], None]
"""Told what is going on (``compiling``, ``running``) and how many of how many are done."""


@dataclass(frozen=True)
class Result:
    """A finished run: what it ran on, each selected kernel's outcome, when it started (UTC) and how long it took."""

    setup: Setup
    ready: Ready
    outcomes: dict[str, Outcome]
    started: datetime
    seconds: float
    compile_logs: dict[str, str] = field(default_factory=dict)


def run(
    setup: Setup,
    kernels: Sequence[Kernel],
    cases: Mapping[str, tuple[str, ...]] | None = None,
    jobs: int = 1,
    devices: int = 1,
    said: Said = lambda *_: None,
) -> Result:
    """Put ``kernels`` on trial with ``jobs`` judges spread over ``devices``.

    ``cases`` restricts a kernel to the given case ids. Raises ``EngineError`` when no judge or executor can be set up or a request
    is refused, ``SourceError`` when the kernels path cannot be used.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    names = {kernel.name for kernel in kernels}
    sources = find_sources(setup.kernels) if setup.kernels is not None else []
    jobs = max(1, min(jobs, max(len(names), len(sources))))
    setups = [setup.on_device(index % devices) for index in range(jobs)]
    with Pool(setups) as pool:
        ready = pool.greet()
        wanted = first_to_compile(sources, {kernel.module for kernel in kernels})
        logs, unavailable = _compile(pool, wanted, said)
        broken = {index: first_error(log) for index, log in logs.items()}
        trials = [Trial(kernel.name, (cases or {}).get(kernel.name), broken, unavailable) for kernel in kernels]
        outcomes: dict[str, Outcome] = {}
        for answer in pool.answers(trials):
            assert isinstance(answer, Outcome)
            outcomes[answer.kernel] = answer
            said("running", len(outcomes), len(trials))
    labels = {sources[index].label: log for index, log in logs.items()}
    return Result(setup, ready, outcomes, started, time.perf_counter() - clock, labels)


def _compile(pool: Pool, wanted: Sequence[int], said: Said) -> tuple[dict[int, str], dict[int, str]]:
    """Compile and load the sources ``wanted``: the logs of those that are broken, and why others are unavailable."""
    logs: dict[int, str] = {}
    unavailable: dict[int, str] = {}
    for done, answer in enumerate(pool.answers([Compile(index) for index in wanted]), 1):
        assert isinstance(answer, Compiled)
        if answer.error is not None:
            logs[answer.source] = answer.error
        if answer.infrastructure is not None:
            unavailable[answer.source] = answer.infrastructure
        said("compiling", done, len(wanted))
    return logs, unavailable


def default_kernels() -> Path:
    """The port that ships with the harness."""
    return Path(__file__).resolve().parents[2] / "kernels"
