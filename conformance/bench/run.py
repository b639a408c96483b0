"""A whole bench run: compile both trees, time every selected kernel in one worker, keep what was measured."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from conformance.bench.record import Loss, WorkloadResult, workload_result
from conformance.build import KernelSource, find_sources
from conformance.device.hip import first_error
from conformance.engine.library import first_to_compile
from conformance.engine.pool import Pool
from conformance.engine.run import Said
from conformance.engine.tasks import Compile, Compiled, Ready, Setup, Time, Timed
from conformance.spec.kernel import Kernel


@dataclass(frozen=True)
class BenchResult:
    """What a bench run measured, on what, and what it lost."""

    ready: Ready
    workloads: tuple[WorkloadResult, ...]
    losses: tuple[Loss, ...]
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

    Raises ``EngineError`` when no worker can be set up, ``SourceError`` when a path cannot be used.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    assert setup.kernels is not None
    trees = [find_sources(path) for path in (setup.kernels, setup.against) if path is not None]
    modules = {kernel.module for kernel in kernels}
    broken = _compile(setup, trees, modules, jobs, said)
    workloads: list[WorkloadResult] = []
    losses: list[Loss] = []
    by_name = {kernel.name: kernel for kernel in kernels}
    with Pool([setup]) as pool:
        ready = pool.greet()
        requests = [Time(kernel.name, tuple(sizes), cases.get(kernel.name), tuple(broken)) for kernel in kernels]
        for done, answer in enumerate(pool.answers(requests), 1):
            assert isinstance(answer, Timed)
            workloads += [workload_result(by_name[answer.kernel], measured) for measured in answer.measurements]
            if answer.error is not None:
                losses.append(Loss(kernel=answer.kernel, why=answer.error))
            said("timing", done, len(requests))
    return BenchResult(ready, tuple(workloads), tuple(losses), started, time.perf_counter() - clock)


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
    with Pool([setup] * max(1, min(jobs, len(wanted)))) as pool:
        pool.greet()
        for done, answer in enumerate(pool.answers(wanted), 1):
            assert isinstance(answer, Compiled)
            if answer.error is not None:
                broken[int(answer.against)][answer.source] = first_error(answer.error)
            said("compiling", done, len(wanted))
    return broken
