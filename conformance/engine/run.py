"""A whole run: compile what there is, run the cases of every selected kernel, keep every outcome.

What a ``bench`` run shares with it (``conformance.engine.timing.bench_run``) comes first.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from conformance.engine.journal import Journal
from conformance.engine.messages import Answer, Compile, Compiled, Ready, Request, RunCases, Setup
from conformance.engine.modes import CaseMode, Tree
from conformance.engine.pool import Pool
from conformance.engine.result import Result
from conformance.notices import take_warnings
from conformance.outcome import Outcome
from conformance.port.compiling.shards import KERNELS_OF_A_SHARD
from conformance.port.launchers import may_define
from conformance.spec.entry import Build
from conformance.spec.kernel import Kernel
from conformance.toolchains.compile_error import first_error

ProgressCallback = Callable[[str, int, int], None]
"""Called with what is going on (``compiling``, ``running``), and how many of how many are done."""


FoundCallback = Callable[[Compiled | Outcome, str | None], None]
"""Called with what became of a source or of a kernel, and why the port says that it fails, where it does."""


def nothing_found(answer: Compiled | Outcome, reason: str | None) -> None:
    """A ``FoundCallback`` that does nothing."""


def no_progress(what: str, done: int, total: int) -> None:
    """A ``ProgressCallback`` that does nothing."""


@dataclass
class Compilation:
    """What became of a tree's sources, by label.

    ``broken`` has the first error of each that does not compile or load. ``unavailable`` says for others why nothing is
    known of them. ``logs`` are the compilers' logs.
    """

    broken: dict[str, str] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(self, answer: Compiled, tree: Tree) -> None:
        """Add the ``answer`` about a source of ``tree``."""
        self.warnings += answer.warnings
        if answer.build != "kernels":
            return  # the launchers that need the library report its errors
        if answer.error is not None:
            self.broken[answer.source] = first_error(tree.source(answer.source).labelled(answer.error))
            self.logs[answer.source] = answer.error
        if answer.infrastructure is not None:
            self.unavailable[answer.source] = answer.infrastructure


def answers(pool: Pool, requests: Sequence[Request], what: str, on_progress: ProgressCallback) -> Iterator[Answer]:
    """The answers of ``pool`` to ``requests``, as they come. Raises ``EngineError``."""
    on_progress(what, 0, len(requests))
    for count, answer in enumerate(pool.answers(requests), 1):
        yield answer
        on_progress(what, count, len(requests))


def to_compile(trees: Sequence[Tree], kernels: Sequence[Kernel], judges: int | None = None) -> list[Request]:
    """The requests for everything that is compiled for ``kernels``.

    These are the sources that are named after the kernels' modules; if a module has none, all sources of the tree; and
    the libraries of launchers. Sources with most kernels come first, as they usually take longest.

    A library takes longest of all, but no kernel waits for it. It comes first if there are more ``judges`` than
    libraries, else last. If the number of judges is given, a source may be compiled in parts, with enough requests to
    keep several judges busy.
    """
    modules = Counter(kernel.module for kernel in kernels if kernel.build == "kernels")
    launchers = [kernel.name for kernel in kernels if kernel.build == "launchers"]
    alone, linked = list[Request](), list[Request]()
    for number, tree in enumerate(trees):
        names = [tree.declared.names.port(name) for name in launchers if tree.declared.excluded(name) is None]
        named = [source for source in tree.sources if source.path.stem in modules]
        whole = {source.path.stem for source in named} != modules.keys()
        ordered = sorted(tree.sources if whole else named, key=lambda source: -modules[source.path.stem])
        for source in ordered:
            # Which parts it has is for its judge to find out, and how many of the kernels where no module says so.
            kernels_of_it = modules.total() if len(ordered) == 1 else modules[source.path.stem]
            count = max(1, round(kernels_of_it / KERNELS_OF_A_SHARD)) if judges is not None else 1
            alone += [Compile(source.label, number, first=first, step=count) for first in range(count)]
        defining = [source for source in tree.sources if may_define(source, names, tree.options)]
        linked += [Compile(source.label, number, "launchers") for source in defining]
    return linked + alone if judges is not None and judges > len(linked) else alone + linked


class Interrupted(BaseException):
    """A run that was stopped: the result that it had so far, and what stopped it."""

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
    on_found: FoundCallback = nothing_found,
) -> Result:
    """Run the cases of ``kernels`` as ``mode`` says, with ``jobs`` judges on the devices of the setup.

    ``cases`` restricts kernels to the given case ids. ``on_found`` is told what becomes of each source (its error in
    one line) and of each kernel. ``journal`` has the outcomes of an earlier run, which are kept, and gets each new one.

    Raises ``EngineError`` where no judge or executor can be set up or a request is refused. With a journal it raises
    ``Interrupted`` in place of a ``KeyboardInterrupt`` and of any other exception that is no ``Exception``.
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
        asking = setup.for_kernels(kernels)
        with Pool([asking.for_member(index, jobs) for index in range(jobs)], mode) as pool:
            on_progress("starting", 0, 0)  # a display may have a thread, which the pool must not find
            result.printed = pool.printed
            result.ready = pool.greet()
            if journal is not None:
                journal.begin(result.started)
            compiled = Compilation()
            result.compile_logs, result.warnings = compiled.logs, compiled.warnings
            requests = {
                kernel.name: RunCases(kernel, (cases or {}).get(kernel.name), compiled.broken, compiled.unavailable)
                for kernel in waiting
            }
            sources, done = to_compile(mode.trees, kernels, jobs), 0
            on_progress("compiling", done, len(sources))
            for answer in _judged(pool, next(iter(mode.trees), None), requests, sources, compiled):
                if isinstance(answer, Compiled):
                    on_found(replace(answer, error=compiled.broken.get(answer.source)), None)
                    done += 1
                else:
                    on_found(answer, result.reason_of(answer))
                    result.outcomes[answer.name] = answer
                    result.warnings += answer.warnings
                    if journal is not None:
                        journal.add(answer, time.perf_counter() - clock)
                running = ("running", len(result.outcomes), len(kernels))
                on_progress(*(("compiling", done, len(sources)) if done < len(sources) else running))
    except Exception:
        raise
    except BaseException as stop:  # Ctrl-C, or a signal that asks to end
        if journal is None or not result.ready.device:
            raise
        result.interrupted = True
        raise Interrupted(_finished(result, kernels, clock, journal), stop) from stop
    return _finished(result, kernels, clock, journal)


def _judged(
    pool: Pool, tree: Tree | None, requests: dict[str, RunCases], sources: Sequence[Request], compiled: Compilation
) -> Iterator[Outcome | Compiled]:
    """Compile ``sources`` of ``tree`` and answer ``requests``, by kernel: each as soon as the only source is compiled
    that is named after the kernel's module and has it, and any other entry when all sources are compiled to what it is
    found in (``Kernel.build``): a library call when the first one is.

    The judge that has compiled a part of a source goes on with the kernels of this part, and another judge takes them
    if it has nothing else to do: each judge has to load what it judges."""
    left = Counter[Build | None](source.build for source in sources if isinstance(source, Compile))
    queue = deque[Request](sources or requests.values())
    found_in, groups = dict[str, Hashable](), dict[str, Hashable]()

    def group(request: Request) -> Hashable:
        if isinstance(request, RunCases):
            return groups.get(request.kernel.name)
        return _part(request) if isinstance(request, Compile) else None

    for answer in pool.answers(queue, group):
        if isinstance(answer, Compiled):
            assert tree is not None
            left[answer.build] -= 1
            compiled.add(answer, tree)
            part = _part(answer)
            found_in.update((port, part) for port in answer.kernels if port not in found_in)
            stem = tree.source(answer.source).path.stem
            alone = sum(source.path.stem == stem for source in tree.sources) == 1
            for name, request in [*requests.items()]:
                port, kernel = tree.declared.names.port(name), request.kernel
                in_it = kernel.build == answer.build and port in answer.kernels
                if (alone and kernel.module == stem and in_it) or not left[kernel.build]:
                    groups[name] = found_in.get(port, part)
                    queue.append(requests.pop(name))
        assert isinstance(answer, Outcome | Compiled)
        yield answer


def _part(compiled: Compile | Compiled) -> Hashable:
    """What is compiled for this request, or was for this answer."""
    return compiled.tree, compiled.source, compiled.build, compiled.first


def _finished(result: Result, kernels: Sequence[Kernel], clock: float, journal: Journal | None) -> Result:
    """``result`` with its outcomes in the order of ``kernels``, so that it does not depend on who was faster."""
    outcomes = {kernel.name: result.outcomes[kernel.name] for kernel in kernels if kernel.name in result.outcomes}
    warnings = list(dict.fromkeys((*result.ready.warnings, *result.warnings, *take_warnings())))
    if journal is not None:
        journal.close(finished=result.complete)
        warnings += [journal.warning] if journal.warning else []
    seconds = time.perf_counter() - clock
    return replace(result, outcomes=outcomes, warnings=warnings, seconds=seconds).placed()
