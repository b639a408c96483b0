"""A whole bench run: compile both trees, time every selected kernel in one process, keep what was measured."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from conformance.engine.messages import Compiled, Ready, Setup, Time, Timed
from conformance.engine.modes import TimeTrees
from conformance.engine.pool import EngineError, Pool
from conformance.engine.run import Compilation, ProgressCallback, answers, no_progress, to_compile
from conformance.engine.timing.measure import Counted, Measurement
from conformance.engine.timing.workload import workloads
from conformance.spec.kernel import Kernel


@dataclass(frozen=True)
class NotTimed:
    """Cases of a kernel that were not timed, and why."""

    kernel: str
    cases: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class BenchResult:
    """What a bench run measured, or counted, each with its kernel, on what, and what it lost, of how many workloads.

    ``interrupted`` says that the run was stopped before its end: what it did not come to is not lost.
    """

    ready: Ready
    measured: tuple[tuple[Kernel, Measurement], ...]
    counted: tuple[tuple[Kernel, Counted], ...]
    losses: tuple[NotTimed, ...]
    planned: int
    started: datetime
    seconds: float
    interrupted: bool = False


class Interrupted(BaseException):
    """A bench run that was stopped, with what it had measured until then and what stopped it."""

    def __init__(self, result: BenchResult, cause: BaseException) -> None:
        super().__init__("the bench run was stopped")
        self.result, self.cause = result, cause


def bench(
    setup: Setup,
    mode: TimeTrees,
    kernels: Sequence[Kernel],
    cases: Mapping[str, tuple[str, ...]],
    sizes: Sequence[str],
    jobs: int,
    on_progress: ProgressCallback = no_progress,
) -> BenchResult:
    """Time ``kernels`` of the mode's one or two trees; ``jobs`` processes compile, one times.

    Raises ``EngineError`` when no process can be set up, and ``Interrupted`` where a signal stops it that came after
    the first workload was done.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    trees = mode.trees
    sources, compiled = to_compile(trees, kernels), [Compilation() for _ in trees]
    with Pool([setup] * max(1, min(jobs, len(sources))), mode) as pool:
        pool.greet()
        for made in answers(pool, sources, "compiling", on_progress):
            assert isinstance(made, Compiled)
            compiled[made.tree].add(made, trees[made.tree])
    broken = tuple({**tree.broken, **tree.unavailable} for tree in compiled)
    by_name = {kernel.name: kernel for kernel in kernels}
    planned = [(kernel, list(workloads(kernel, sizes, cases.get(kernel.name)))) for kernel in kernels]
    requests = [Time(kernel, size, case, broken) for kernel, found in planned for size, case in found]
    lost: dict[tuple[str, str], list[str]] = {
        (kernel.name, f"its spec has no case of size {' or '.join(sizes)} to time"): []
        for kernel, found in planned
        if not found
    }
    measured: list[tuple[Kernel, Measurement]] = []
    counted: list[tuple[Kernel, Counted]] = []

    def result(interrupted: bool = False) -> BenchResult:
        losses = tuple(NotTimed(kernel, tuple(ids), why) for (kernel, why), ids in lost.items())
        seconds = time.perf_counter() - clock
        parts = tuple(measured), tuple(counted), losses
        return BenchResult(ready, *parts, len(requests), started, seconds, interrupted)

    with Pool([setup], mode) as pool:
        ready = pool.greet()
        done = 0
        try:
            for answer in answers(pool, requests, "timing", on_progress):  # one process: in order
                assert isinstance(answer, Timed)
                done += 1
                if answer.measurement is not None:
                    measured.append((by_name[answer.kernel], answer.measurement))
                elif answer.counted is not None:
                    counted.append((by_name[answer.kernel], answer.counted))
                else:
                    lost.setdefault((answer.kernel, answer.error or ""), []).append(answer.case)
        except EngineError as error:  # the device is gone, and what was measured need not be
            for request in requests[done:]:
                lost.setdefault((request.kernel.name, str(error)), []).append(request.case.id)
        except Exception:
            raise
        except BaseException as stop:  # Ctrl-C, or a signal that asks to end
            if not done:
                raise
            raise Interrupted(result(interrupted=True), stop) from stop
    return result()
