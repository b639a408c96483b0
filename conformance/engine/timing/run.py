"""A whole bench run: compile both trees, time every selected kernel in one process, keep what was measured."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from conformance.engine.library import first_to_compile
from conformance.engine.pool import TIMER, EngineError, Pool
from conformance.engine.run import Said
from conformance.engine.tasks import Compile, Compiled, Ready, Setup, Time, Timed
from conformance.engine.timing.measure import Measurement
from conformance.engine.timing.workload import workloads
from conformance.port.sources import KernelSource, find_sources
from conformance.runtimes.hip.errors import first_error
from conformance.spec.kernel import Kernel


@dataclass(frozen=True)
class NotTimed:
    """Cases of a kernel that were not timed, and why."""

    kernel: str
    cases: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class BenchResult:
    """What a bench run measured, each measurement with its kernel, on what, and what it lost."""

    ready: Ready
    measured: tuple[tuple[Kernel, Measurement], ...]
    losses: tuple[NotTimed, ...]
    started: datetime
    seconds: float


def bench(
    setup: Setup,
    kernels: Sequence[Kernel],
    cases: Mapping[str, tuple[str, ...]],
    sizes: Sequence[str],
    jobs: int,
    said: Said = lambda *_: None,
) -> BenchResult:
    """Time ``kernels`` of the setup's one or two trees; ``jobs`` processes compile, one times.

    Raises ``EngineError`` when no process can be set up, ``SourceError`` when a path cannot be used.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    assert setup.kernels is not None
    trees = [find_sources(path) for path in (setup.kernels, setup.against) if path is not None]
    modules = {kernel.module for kernel in kernels}
    broken = _compile(setup, trees, modules, jobs, said)
    by_name = {kernel.name: kernel for kernel in kernels}
    planned = [(kernel, list(workloads(kernel, sizes, cases.get(kernel.name)))) for kernel in kernels]
    requests = [Time(kernel.name, size, case, tuple(broken)) for kernel, found in planned for size, case in found]
    lost: dict[tuple[str, str], list[str]] = {
        (kernel.name, f"its spec has no case of size {' or '.join(sizes)} to time"): []
        for kernel, found in planned
        if not found
    }
    measured: list[tuple[Kernel, Measurement]] = []
    with Pool([setup], TIMER) as pool:
        ready = pool.greet()
        done = 0
        try:
            for answer in pool.answers(requests):  # one process: in order
                assert isinstance(answer, Timed)
                done += 1
                if answer.measurement is not None:
                    measured.append((by_name[answer.kernel], answer.measurement))
                else:
                    lost.setdefault((answer.kernel, answer.error or ""), []).append(answer.case)
                said("timing", done, len(requests))
        except EngineError as error:  # the device is gone, and what was measured need not be
            for request in requests[done:]:
                lost.setdefault((request.kernel, str(error)), []).append(request.case)
    losses = tuple(NotTimed(kernel, tuple(ids), why) for (kernel, why), ids in lost.items())
    return BenchResult(ready, tuple(measured), losses, started, time.perf_counter() - clock)


def _compile(
    setup: Setup, trees: Sequence[Sequence[KernelSource]], modules: set[str], jobs: int, said: Said
) -> list[dict[int, str]]:
    """Compile what defines ``modules`` into the cache; per tree, the sources that do not compile and why."""
    wanted = [
        Compile(index, against=tree == 1)
        for tree, sources in enumerate(trees)
        for index in first_to_compile(sources, modules)
    ]
    broken: list[dict[int, str]] = [{} for _ in trees]
    with Pool([setup] * max(1, min(jobs, len(wanted))), TIMER) as pool:
        pool.greet()
        for done, answer in enumerate(pool.answers(wanted), 1):
            assert isinstance(answer, Compiled)
            if answer.error is not None or answer.infrastructure is not None:
                why = first_error(answer.error) if answer.error is not None else answer.infrastructure
                broken[int(answer.against)][answer.source] = why or ""
            said("compiling", done, len(wanted))
    return broken
