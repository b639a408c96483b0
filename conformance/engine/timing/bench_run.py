"""A whole bench run: compile both trees, time every selected kernel in one process, keep what was measured."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from conformance.engine.messages import Compiled, Ready, Setup
from conformance.engine.pool import EngineError, Pool
from conformance.engine.run import Compilation, ProgressCallback, answers, no_progress, to_compile
from conformance.engine.timing.measure import Counted, Loss, Measurement
from conformance.engine.timing.requests import Time, Timed, TimeTrees
from conformance.engine.timing.workload import workloads
from conformance.spec.kernel import Kernel


@dataclass(frozen=True)
class BenchResult:
    """What a bench run came to: each measurement or count with its kernel, what it ran on, and what could not be
    measured.

    ``planned`` is the number of workloads. ``stopped_by`` is the signal that ended the run early; workloads that were
    not reached then do not count as losses.
    """

    ready: Ready
    measured: tuple[tuple[Kernel, Measurement | Counted], ...]
    losses: tuple[Loss, ...]
    planned: int
    started: datetime
    seconds: float
    stopped_by: BaseException | None = None


def bench(
    setup: Setup,
    mode: TimeTrees,
    kernels: Sequence[Kernel],
    cases: Mapping[str, tuple[str, ...]],
    sizes: Sequence[str],
    jobs: int,
    on_progress: ProgressCallback = no_progress,
) -> BenchResult:
    """Time ``kernels`` of the mode's one or two trees. ``jobs`` processes compile, and one process times.

    Raises ``EngineError`` where no process can be set up. A signal after the first workload does not raise; it is in
    the result.
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
        (kernel.name, _nothing_to_time(kernel, sizes)): [] for kernel, found in planned if not found
    }
    measured: list[tuple[Kernel, Measurement | Counted]] = []

    def result(stopped_by: BaseException | None = None) -> BenchResult:
        losses = tuple(Loss(kernel=kernel, cases=tuple(ids), why=why) for (kernel, why), ids in lost.items())
        seconds = time.perf_counter() - clock
        return BenchResult(ready, tuple(measured), losses, len(requests), started, seconds, stopped_by)

    with Pool([setup], mode) as pool:
        ready = pool.greet()
        done = 0
        try:
            for answer in answers(pool, requests, "timing", on_progress):  # one process: in order
                assert isinstance(answer, Timed)
                done += 1
                if answer.found is not None:
                    measured.append((by_name[answer.kernel], answer.found))
                else:
                    lost.setdefault((answer.kernel, answer.error or ""), []).append(answer.case)
        except EngineError as error:  # the device is gone, and what was measured need not be
            for request in requests[done:]:
                lost.setdefault((request.kernel.name, str(error)), []).append(request.case.id)
        except BaseException as stop:
            if isinstance(stop, Exception) or not done:  # neither Ctrl-C nor a signal that asks to end
                raise
            return result(stop)
    return result()


def _nothing_to_time(kernel: Kernel, sizes: Sequence[str]) -> str:
    """Why no workload of ``kernel`` has one of ``sizes``, and for a port's own what its author adds."""
    said = f"its spec has no case of size {' or '.join(sizes)} to time"
    if kernel.own is None:
        return said
    return f"{said}; give a full case id, or add `bench: [{{{sizes[0]}: [...]}}]` with cases at {kernel.upstream}"
