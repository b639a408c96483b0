"""A whole run: compile what there is, put every selected kernel on trial, keep every outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from conformance.engine.journal import Journal
from conformance.engine.library import first_to_compile
from conformance.engine.pool import Pool
from conformance.engine.tasks import Compile, Compiled, Ready, Setup, Trial
from conformance.notices import take_warnings
from conformance.outcome import INFRASTRUCTURE, Outcome
from conformance.port.sources import find_sources
from conformance.runtimes.hip.errors import first_error
from conformance.spec.kernel import Kernel

Said = Callable[[str, int, int], None]
"""Told what is going on (``compiling``, ``running``) and how many of how many are done."""


@dataclass
class Result:
    """A run: what it ran on, each judged kernel's outcome, when it started (UTC) and how many seconds it took.

    ``selected`` are the names of all kernels that were asked for: an interrupted run has outcomes of some of them.
    ``warnings`` is what went wrong without costing a verdict, ``printed`` what kernels printed. ``interrupted`` says
    that the run was stopped before its end.
    """

    setup: Setup
    ready: Ready
    outcomes: dict[str, Outcome]
    started: datetime
    seconds: float
    compile_logs: dict[str, str] = field(default_factory=dict)
    selected: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    interrupted: bool = False

    @property
    def infrastructure(self) -> tuple[str, ...]:
        """What went wrong that cost a verdict and is not a kernel's doing, each once."""
        messages = [outcome.message or "" for outcome in self.outcomes.values() if outcome.status == "not_run"]
        found = [text.removeprefix(INFRASTRUCTURE) for text in messages if text.startswith(INFRASTRUCTURE)]
        return tuple(dict.fromkeys(found))

    @property
    def complete(self) -> bool:
        """Whether every selected kernel has an outcome."""
        return all(name in self.outcomes for name in self.selected)


class Interrupted(BaseException):
    """A run that was stopped, with what it had until then and what stopped it."""

    def __init__(self, result: Result, cause: BaseException) -> None:
        super().__init__("the run was stopped")
        self.result, self.cause = result, cause


def run(
    setup: Setup,
    kernels: Sequence[Kernel],
    cases: Mapping[str, tuple[str, ...]] | None = None,
    jobs: int = 1,
    said: Said = lambda *_: None,
    journal: Journal | None = None,
) -> Result:
    """Put ``kernels`` on trial with ``jobs`` judges spread over the setup's devices.

    ``cases`` restricts a kernel to the given case ids; ``journal`` has the outcomes that need no trial any more, and
    gets each new one. Raises ``EngineError`` when no judge or executor can be set up or a request is refused,
    ``SourceError`` when the kernels path cannot be used and, with a journal, ``Interrupted`` in place of a
    ``KeyboardInterrupt`` or another exception that is not an ``Exception``.
    """
    clock = time.perf_counter()
    result = Result(setup, Ready("", "", 0, "", ""), {}, datetime.now(UTC), 0.0)
    result.selected = tuple(kernel.name for kernel in kernels)
    if journal is not None:
        result.outcomes |= journal.done
        result.started = journal.started or result.started
        clock -= journal.elapsed
    waiting = [kernel for kernel in kernels if kernel.name not in result.outcomes]
    sources = find_sources(setup.kernels) if setup.kernels is not None else []
    jobs = max(1, min(jobs, max(len(waiting), len(sources))))
    try:
        with Pool([setup.for_member(index) for index in range(jobs)]) as pool:
            result.printed = pool.printed
            result.ready = pool.greet()
            if journal is not None:
                journal.begin(result.started)
            broken, unavailable = _compile(pool, result, first_to_compile(sources, _modules(kernels)), said)
            trials = [Trial(kernel.name, (cases or {}).get(kernel.name), broken, unavailable) for kernel in waiting]
            said("running", len(result.outcomes), len(kernels))
            for answer in pool.answers(trials):
                assert isinstance(answer, Outcome)
                result.outcomes[answer.kernel] = answer
                result.warnings += answer.warnings
                if journal is not None:
                    journal.add(answer, time.perf_counter() - clock)
                said("running", len(result.outcomes), len(kernels))
    except Exception:
        raise
    except BaseException as stop:  # Ctrl-C, or a signal that asks to end
        if journal is None or not result.ready.device:
            raise
        result.interrupted = True
        raise Interrupted(_finished(result, kernels, clock, journal), stop) from stop
    return _finished(result, kernels, clock, journal)


def _finished(result: Result, kernels: Sequence[Kernel], clock: float, journal: Journal | None) -> Result:
    """``result`` with its outcomes in the order of ``kernels``, so that it does not depend on who was faster."""
    outcomes = {kernel.name: result.outcomes[kernel.name] for kernel in kernels if kernel.name in result.outcomes}
    warnings = list(dict.fromkeys((*result.ready.warnings, *result.warnings, *take_warnings())))
    if journal is not None:
        journal.close(finished=result.complete)
        warnings += [journal.warning] if journal.warning else []
    return replace(result, outcomes=outcomes, warnings=warnings, seconds=time.perf_counter() - clock)


def _modules(kernels: Sequence[Kernel]) -> set[str]:
    return {kernel.module for kernel in kernels}


def _compile(pool: Pool, result: Result, wanted: Sequence[int], said: Said) -> tuple[dict[int, str], dict[int, str]]:
    """Compile and load the sources ``wanted``: by index the first error of those that are broken, and why others are
    unavailable."""
    assert result.setup.kernels is not None or not wanted
    sources = find_sources(result.setup.kernels) if result.setup.kernels is not None else []
    broken: dict[int, str] = {}
    unavailable: dict[int, str] = {}
    for done, answer in enumerate(pool.answers([Compile(index) for index in wanted]), 1):
        assert isinstance(answer, Compiled)
        if answer.error is not None:
            broken[answer.source] = first_error(answer.error)
            result.compile_logs[sources[answer.source].label] = answer.error
        if answer.infrastructure is not None:
            unavailable[answer.source] = answer.infrastructure
        result.warnings += answer.warnings
        said("compiling", done, len(wanted))
    return broken, unavailable
