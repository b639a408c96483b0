"""A whole run: compile what there is, run the cases of every selected kernel, keep every outcome.

What a ``bench`` run shares with it (``conformance.engine.timing.bench_run``) comes first.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from conformance.engine.journal import Journal
from conformance.engine.messages import Answer, Compile, Compiled, Ready, Request, RunCases, Setup
from conformance.engine.modes import CaseMode, Mode, Tree
from conformance.engine.pool import Pool
from conformance.notices import take_warnings
from conformance.outcome import INFRASTRUCTURE, Outcome
from conformance.port.declared.declared import NOTHING
from conformance.port.declared.known import Settled, settle
from conformance.port.launchers import may_define
from conformance.runtimes.hip.errors import first_error
from conformance.spec.kernel import Kernel

ProgressCallback = Callable[[str, int, int], None]
"""Called with what is going on (``compiling``, ``running``), and how many of how many are done."""


def no_progress(what: str, done: int, total: int) -> None:
    """The ``ProgressCallback`` that does nothing."""


@dataclass
class Compilation:
    """What came of compiling a tree's sources, by label.

    ``broken`` holds the first error of those that do not compile or load, ``unavailable`` why nothing is known of
    others, ``logs`` whole errors.
    """

    broken: dict[str, str] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(self, answer: Compiled, tree: Tree) -> None:
        """Take what became of a source of ``tree``; errors of a library are reported by the launchers that need it."""
        if answer.error is not None and not answer.launchers:
            self.broken[answer.source] = first_error(tree.source(answer.source).labelled(answer.error))
            self.logs[answer.source] = answer.error
        if answer.infrastructure is not None and not answer.launchers:
            self.unavailable[answer.source] = answer.infrastructure
        self.warnings += answer.warnings


def answers(
    pool: Pool, requests: Sequence[Request], what: str, on_progress: ProgressCallback, done: int = 0
) -> Iterator[Answer]:
    """What ``pool`` answers to ``requests``; ``done`` more have their answers already. Raises ``EngineError``."""
    total = done + len(requests)
    on_progress(what, done, total)
    for count, answer in enumerate(pool.answers(requests), done + 1):
        yield answer
        on_progress(what, count, total)


def to_compile(trees: Sequence[Tree], kernels: Sequence[Kernel]) -> list[Compile]:
    """Requests for what is compiled for ``kernels``: the sources named after their modules, all sources of a tree where
    one of the modules has none. First those with most kernels, which as a rule take longest."""
    modules = Counter(kernel.module for kernel in kernels if not kernel.is_launcher)
    requests: list[Compile] = []
    for number, tree in enumerate(trees):
        named = [source for source in tree.sources if source.path.stem in modules]
        whole = {source.path.stem for source in named} != modules.keys()
        ordered = sorted(tree.sources if whole else named, key=lambda source: -modules[source.path.stem])
        requests += [Compile(source.label, number) for source in ordered]
    return requests


def libraries(trees: Sequence[Tree], kernels: Sequence[Kernel]) -> list[Compile]:
    """Requests for the libraries of the launchers among ``kernels``, so that no two judges wait for one of them."""
    launchers = [kernel.name for kernel in kernels if kernel.is_launcher]
    return [
        Compile(source.label, number, launchers=True)
        for number, tree in enumerate(trees)
        for source in tree.sources
        if may_define(source, [tree.declared.names.port(name) for name in launchers], tree.options)
    ]


def compile_trees(
    pool: Pool, trees: Sequence[Tree], requests: Sequence[Compile], on_progress: ProgressCallback
) -> list[Compilation]:
    """Compile into the cache, and load, what ``requests`` name; what came of it per tree. Raises ``EngineError``."""
    found = [Compilation() for _ in trees]
    for answer in answers(pool, requests, "compiling", on_progress):
        assert isinstance(answer, Compiled)
        found[answer.tree].add(answer, trees[answer.tree])
    return found


@dataclass
class Result:
    """A run: what it ran on, each judged kernel's outcome, when it started (UTC) and how many seconds it took.

    ``selected`` are the names of all kernels that were asked for: an interrupted run has outcomes of some of them.
    ``warnings`` is what went wrong without costing a verdict, ``printed`` what kernels printed. ``interrupted`` says
    that the run was stopped before its end, ``partly`` names kernels of which only some cases were asked for.
    """

    setup: Setup
    mode: Mode
    ready: Ready
    outcomes: dict[str, Outcome]
    started: datetime
    seconds: float
    compile_logs: dict[str, str] = field(default_factory=dict)
    selected: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    interrupted: bool = False
    partly: tuple[str, ...] = ()

    def settled(self, kernels: Collection[str], launchers: Collection[str] = ()) -> Settled:
        """What the port's declarations make of the outcomes; ``kernels`` and ``launchers`` are those of the specs."""
        declared = self.mode.trees[0].declared if self.mode.trees else NOTHING
        rows, runtime = declared.known_failures, self.setup.runtime
        recorded = self.mode.traces is not None
        found = settle(rows, self.outcomes, kernels, self.partly, runtime, self.ready.arch, recorded, launchers)
        missing = {name for name, outcome in self.outcomes.items() if outcome.status == "missing"}
        if self.outcomes.keys() >= set(kernels):  # a whole run leaves out launchers that no source names
            missing |= set(launchers) - self.outcomes.keys()
        problems = (*declared.names.unmatched(missing), *found.problems)
        return Settled(found.reasons, tuple(f"{declared.file}: {problem}" for problem in problems))

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
    mode: CaseMode,
    kernels: Sequence[Kernel],
    cases: Mapping[str, tuple[str, ...]] | None = None,
    jobs: int = 1,
    on_progress: ProgressCallback = no_progress,
    journal: Journal | None = None,
) -> Result:
    """Run the cases of ``kernels`` as ``mode`` says, with ``jobs`` judges spread over the setup's devices.

    ``cases`` restricts a kernel to the given case ids; ``journal`` has the outcomes of an earlier run that are kept,
    and gets each new one. Raises ``EngineError`` when no judge or executor can be set up or a request is refused,
    and, with a journal, ``Interrupted`` in place of a ``KeyboardInterrupt`` or another exception that is not an
    ``Exception``.
    """
    clock = time.perf_counter()
    result = Result(setup, mode, Ready("", "", 0, "", ""), {}, datetime.now(UTC), 0.0)
    result.selected = tuple(kernel.name for kernel in kernels)
    result.partly = tuple(cases or ())
    if journal is not None:
        result.outcomes |= journal.done
        result.started = journal.started or result.started
        clock -= journal.elapsed
    waiting = [kernel for kernel in kernels if kernel.name not in result.outcomes]
    jobs = max(1, min(jobs, max(len(waiting), sum(len(tree.sources) for tree in mode.trees))))
    try:
        with Pool([setup.for_member(index) for index in range(jobs)], mode) as pool:
            result.printed = pool.printed
            result.ready = pool.greet()
            if journal is not None:
                journal.begin(result.started)
            compiled = Compilation()
            result.compile_logs, result.warnings = compiled.logs, compiled.warnings
            for answer in _judged(pool, mode, kernels, waiting, cases or {}, compiled, on_progress):
                result.outcomes[answer.name] = answer
                result.warnings += answer.warnings
                if journal is not None:
                    journal.add(answer, time.perf_counter() - clock)
    except Exception:
        raise
    except BaseException as stop:  # Ctrl-C, or a signal that asks to end
        if journal is None or not result.ready.device:
            raise
        result.interrupted = True
        raise Interrupted(_finished(result, kernels, clock, journal), stop) from stop
    return _finished(result, kernels, clock, journal)


def _judged(
    pool: Pool,
    mode: CaseMode,
    kernels: Sequence[Kernel],
    waiting: Sequence[Kernel],
    cases: Mapping[str, tuple[str, ...]],
    compiled: Compilation,
    on_progress: ProgressCallback,
) -> Iterator[Outcome]:
    """Compile what ``kernels`` are in, and judge those ``waiting``: each as soon as the source is compiled that it is
    looked for in first and is in, all others when everything is compiled."""
    sources: list[Request] = [*to_compile(mode.trees, kernels), *libraries(mode.trees, kernels)]
    queue, left = deque(sources), {kernel.name: kernel for kernel in waiting}

    def ask(found: Sequence[Kernel]) -> None:
        for kernel in found:
            queue.append(RunCases(kernel, cases.get(kernel.name), compiled.broken, compiled.unavailable))
            del left[kernel.name]

    done, judged = 0, len(kernels) - len(waiting)
    if not sources:
        ask(waiting)
    on_progress("compiling", done, len(sources))
    for answer in pool.answers(queue):
        if isinstance(answer, Compiled):
            done += 1
            compiled.add(answer, mode.trees[answer.tree])
            ask(_found(answer, mode.trees[answer.tree], left.values()) if done < len(sources) else [*left.values()])
        else:
            assert isinstance(answer, Outcome)
            judged += 1
            yield answer
        if done < len(sources):
            on_progress("compiling", done, len(sources))
        else:
            on_progress("running", judged, len(kernels))


def _found(answer: Compiled, tree: Tree, kernels: Iterable[Kernel]) -> list[Kernel]:
    """Those of ``kernels`` that are in the compiled source whatever becomes of others: the only one named after their
    module."""
    stem, has = tree.source(answer.source).path.stem, set() if answer.launchers else set(answer.kernels)
    if sum(source.path.stem == stem for source in tree.sources) > 1:
        return []
    name = tree.declared.names.port
    return [one for one in kernels if one.module == stem and not one.is_launcher and name(one.name) in has]


def _finished(result: Result, kernels: Sequence[Kernel], clock: float, journal: Journal | None) -> Result:
    """``result`` with its outcomes in the order of ``kernels``, so that it does not depend on who was faster."""
    outcomes = {kernel.name: result.outcomes[kernel.name] for kernel in kernels if kernel.name in result.outcomes}
    warnings = list(dict.fromkeys((*result.ready.warnings, *result.warnings, *take_warnings())))
    if journal is not None:
        journal.close(finished=result.complete)
        warnings += [journal.warning] if journal.warning else []
    return replace(result, outcomes=outcomes, warnings=warnings, seconds=time.perf_counter() - clock)
