"""A judge: owns cases, reference and verdict, and never loads anything of a port.

Started as ``python -m conformance.engine.judge_process SOCKET_FD PROGRESS_FD PARENT_PID``, or as a copy of the command
that calls ``serve``. Where executors are this
judge's own (the cpu runtime, whose kernels share a process with what runs them), a verdict other than ``pass`` counts
only from an executor that had run nothing else: whatever a kernel did to its process, no other kernel is blamed for it.
Where judges share one, the same holds for faults.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from conformance.cases.case import Case
from conformance.engine.coding import Expected, ExpectedBase
from conformance.engine.compiler import Compiler, SecondOpinion, compile_answer
from conformance.engine.declared_geometry import NoLaunch, launched_by_port, with_geometry, with_parameters
from conformance.engine.executor_client import ExecutorClient, Launching
from conformance.engine.ipc import Channel, Progress
from conformance.engine.library import Finder, Library, LostLoading, TreeLoader
from conformance.engine.linked_launchers import Launchers
from conformance.engine.messages import Compile, Compiled, MemberKind, Ready, RunCases, Setup, run_member
from conformance.engine.modes import PortMode
from conformance.engine.remote_executor import Lost
from conformance.engine.reuse import KeptVerdicts
from conformance.engine.vendor_libraries import VendorLibraries
from conformance.notices import take_warnings
from conformance.outcome import Evidence, Failure, Observation, Outcome, Robustness
from conformance.port.config import Excluded
from conformance.port.declared.adapters import adapter_of
from conformance.port.declared.adapters import described as adapter_text
from conformance.port.declared.geometry import described, geometry_of
from conformance.processes import InfrastructureError, Supervisor
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.errors import HipError
from conformance.spec.entry import ROWS, Build, Entry
from conformance.spec.kernel import Kernel
from conformance.verdict.blame import TRIES, Action, Event, State, decide, lost_event, outcome_event
from conformance.verdict.evidence import fault_kind
from conformance.verdict.loop import run_cases
from conformance.verdict.trials import with_wave
from reference import NoReference

_NOT_THERE = ("missing", "compile_error")
"""What a kernel is that a port does not have: no source defines it, or one that it does not compile."""


class Judge:
    """A judge: answers ``Compile`` and ``RunCases``."""

    ready: Ready | None = None

    def __init__(
        self, channel: Channel, progress: Progress, setup: Setup, mode: PortMode, supervisor: Supervisor
    ) -> None:
        self._progress = progress
        self._setup = setup
        self._mode = mode
        self._losses: set[tuple[Build, str]] = set()
        """Sources that have cost an executor while they were loaded, as kernels or as launchers."""
        self._opinion = SecondOpinion(mode.tree.options, setup.wave, setup.arch)
        self._executors = ExecutorClient(channel, self._renewed, runtime_kind(setup.runtime).launch_seconds)
        self._compiler = Compiler(setup, mode.tree.options, supervisor, progress.begin, lambda: self._executors.ready)
        self._library = Library(mode.tree, self._compiler, self._executors.current, setup.asked)
        launchers = Launchers(mode.tree, self._compiler, self._executors.current)
        self._of_build: Mapping[Build, TreeLoader] = {"kernels": self._library, "launchers": launchers}
        self._finders: Mapping[Entry, Finder] = {
            "kernel": self._library,
            "launcher": launchers,
            "library": VendorLibraries(self._executors.current),
            "own": self._library,
            "own_launcher": launchers,
        }
        self._code = ""
        """The SHA-256 of the code object with the kernel that was tried last."""

    def _renewed(self) -> None:
        for finder in self._of_build.values():
            finder.renewed()

    def ahead(self) -> Iterator[None]:
        """Read this judge's share of the sources, a source at a time, while the runtime is built or opened."""
        number, count = self._setup.member
        return self._library.read_ahead(number, count)

    def answer(self, request: Compile | RunCases) -> Compiled | Outcome:
        """Compile and load a source, or judge a kernel. Raises ``TraceError`` and other ``ValueError`` for bad
        input."""
        return self._compile(request) if isinstance(request, Compile) else self._run(request)

    def _compile(self, request: Compile) -> Compiled:
        """Compile one source, and load its kernels."""
        loader = self._of_build[request.build]
        if not loader.loads_what_it_compiles:
            return compile_answer(request, loader.compile)
        answer = compile_answer(request, lambda _: self._load(request))
        if answer.error is not None:
            self._executors.discard()
        return replace(answer, kernels=self._library.kernels(request.source))

    def _load(self, request: Compile) -> str | None:
        """Compile and load a source, in a fresh executor when a shared one would prove nothing; returns the error."""
        source = request.source
        while True:
            fresh = self._executors.touch()
            try:
                self._library.compile(source, request.first, request.step)
                return None
            except LostLoading as lost:
                self._lost_loading(self._library, lost, fresh)
                if source in self._library.deadly:
                    return self._library.deadly[source]
            except HipError:
                if decide(Event.NOT_LOADED, State(fresh=fresh)) is not Action.ALONE:
                    raise
            self._executors.alone()

    def _lost_loading(self, loader: TreeLoader, lost: LostLoading, fresh: bool) -> None:
        """Remember that loading a source cost an executor, and the source as deadly if it is to blame."""
        end = self._executors.lost(lost.lost)
        key = (loader.build, lost.source)
        state = State(fresh=fresh, mine=end.suspect, cost_executor=key in self._losses)
        if end.suspect:
            self._losses.add(key)
        if decide(lost_event(lost.lost.kind == "silent", loading=True), state) is Action.BLAME:
            loader.blame(lost.source, f"error: its code cannot be loaded: {end.how}")

    def _run(self, request: RunCases) -> Outcome:
        kernel = request.kernel
        declared = self._mode.tree.declared.about(kernel)
        kernel = kernel.fixed() if kernel.name in declared.fixed else kernel
        self._progress.begin(kernel.name)
        excluded = declared.excluded(kernel.name)
        if excluded is not None and not ROWS[kernel.entry].tried_if_excluded:
            return _excluded(kernel, excluded)  # whoever has it may not build it either
        parts = self._mode.parts(kernel) if request.cases is None else None
        judged, others = (request.parsed(), ()) if parts is None else parts
        geometry, never = geometry_of(declared.launch, kernel.name), tuple[Case, ...]()
        try:
            if parts is not None and geometry is not None and geometry.when is not None:
                launches = self._mode.launches(kernel, parts.judged, self._setup.salt)
                judged, never = launched_by_port(declared, geometry, launches, self._executors.ready.wave)
                others = (*others, *never)
            outcome = self._confirmed(kernel, request, judged)
        except InfrastructureError as failed:
            outcome = Outcome.infrastructure(kernel.name, str(failed))
        except NoLaunch as error:
            return Outcome(name=kernel.name, status="not_run", message=str(error))
        except NoReference as error:
            self._executors.discard()  # of a port's own reference: launches may be under way that nobody waits for
            return Outcome(name=kernel.name, status="not_run", message=str(error))
        if excluded is not None and outcome.status in _NOT_THERE:
            return _excluded(kernel, excluded)
        used = self._compiler.used(outcome.source, kernel.build, self._library.port_name(kernel))
        if outcome.status == "fail":
            fault = self._fault_of_compiler(kernel, used.get("compiler_name"), outcome)
            if fault is not None:
                return Outcome.infrastructure(kernel.name, fault).model_copy(update={"source": outcome.source, **used})
        planned, robustness, unasked = 0 if judged is None else len(judged), None, 0
        if others and outcome.status in ("pass", "fail", "known_failure"):
            if self._mode.always_all or self._setup.all_cases:
                robustness = self._robustness(kernel, request, others)
            else:
                unasked = len(others)
        adapter = adapter_of(declared.adapter, kernel.name)
        columns = {
            "planned": planned if outcome.cases < planned - outcome.left_out else 0,
            "left_out": outcome.left_out + (robustness.left_out if robustness else 0),
            "robustness": robustness,
            "unasked": unasked,
            "pinned": 0 if judged is None else self._mode.pinned(judged),
            "port_name": declared.names.ports.get(kernel.name),
            "geometry": None if geometry is None else described(geometry),
            "adapter": None if adapter is None else adapter_text(adapter),
            "launched_when": None if geometry is None else geometry.when,
            "never_launched": len(never),
            "fixed": kernel.fix.defect if kernel.is_fixed and kernel.fix is not None else None,
            **used,
        }
        return outcome.model_copy(update={**columns, "warnings": tuple(take_warnings())})

    def _fault_of_compiler(self, kernel: Kernel, compiler: str | None, outcome: Outcome) -> str | None:
        """What explains that ``kernel`` fails and is no doing of the port."""
        kind = runtime_kind(self._setup.runtime)
        code = self._finders[kernel.entry].code_of(self._code) if kind.code == "amd" else b""
        late = kind.gentler.get("arrived")
        from conformance.engine.compiler_faults import fault_of_compiler  # what a kernel that passes does without

        return fault_of_compiler(kernel.name, self._library.port_name(kernel), compiler, outcome, code, late)

    def _robustness(self, kernel: Kernel, request: RunCases, cases: Sequence[Case]) -> Robustness:
        """What becomes of cases with no part in the verdict; a fault there costs nothing."""
        try:
            tried = self._confirmed(kernel, request, cases)
        except InfrastructureError as failed:
            return Robustness(len(cases), 0, 0, message=str(failed))
        planned = len(cases) - tried.left_out
        why = tried.message if tried.cases < planned else None
        return Robustness(planned, tried.cases, tried.failed, tried.failures, why, tried.left_out)

    def _confirmed(self, kernel: Kernel, request: RunCases, cases: Sequence[Case] | None) -> Outcome:
        """The outcome of an attempt that no other kernel can have spoiled."""
        finder = self._finders[kernel.entry]
        has_cost = False
        """Whether it has cost an executor."""
        self._executors.settle()
        for attempt in range(TRIES):
            finder.begin(request.broken, request.unavailable)
            fresh = self._executors.touch()
            try:
                outcome = self._attempt(kernel, cases, fresh)
            except InfrastructureError:
                if decide(Event.LACKING, State(fresh=fresh)) is Action.NOBODY:
                    raise
                self._executors.alone()
                continue
            except LostLoading as lost:
                assert isinstance(finder, TreeLoader)
                self._lost_loading(finder, lost, fresh)
                self._executors.alone()
                continue
            except Lost as lost:
                end = self._executors.lost(lost)
                state = State(fresh=fresh, mine=end.suspect, cost_executor=has_cost, tried=attempt > 0)
                action = decide(lost_event(lost.kind == "silent", loading=False), state)
                if action is Action.BLAME:
                    return self._process_lost(kernel, lost, end.how)
                if action is Action.ALONE:
                    self._executors.alone()
                has_cost = has_cost or end.suspect
                continue
            action = self._action(outcome, finder, fresh)
            if action is Action.COUNT:
                return outcome
            if action is Action.COUNT_LAST:
                finder.keep_broken()
                self._executors.discard()
                return outcome
            self._executors.alone()
        raise InfrastructureError(
            f"{TRIES} executors in a row ended while {kernel.name} was judged, not all of them by its doing"
        )

    def _loaded(self) -> dict[str, bytes]:
        """The code objects that the executor has loaded, by their SHA-256."""
        return {digest: code for finder in self._of_build.values() for digest, code in finder.loaded().items()}

    def _action(self, outcome: Outcome, finder: Finder, fresh: bool) -> Action:
        """What follows an attempt, for which ``finder`` looked for the function."""
        survives = self._executors.ready.guards_memory
        not_loaded = finder.has_broken if survives else finder.has_refused
        event = outcome_event(outcome.status == "pass", survives, outcome.poisoned, bool(outcome.launches), not_loaded)
        return decide(event, State(survives=survives, fresh=fresh))

    def _attempt(self, kernel: Kernel, cases: Sequence[Case] | None, fresh: bool) -> Outcome:
        """The outcome in the current executor; where that is not ``fresh`` and a failure counts for nothing, up to the
        first."""
        setup, mode = self._setup, self._mode
        function = self._finders[kernel.entry].find(kernel)
        if function.refused is not None and runtime_kind(setup.runtime).code != "amd":
            self._progress.begin(f"compiling {function.refused.label}")
            assert kernel.build is not None
            status, message = self._opinion.on(
                function.refused, self._library.port_name(kernel), function.message or "", kernel.build
            )
            return Outcome(name=kernel.name, status=status, source=function.source, message=message)
        if function.function is None:
            return Outcome(name=kernel.name, status=function.status, source=function.source, message=function.message)
        self._code = function.code
        verdicts = KeptVerdicts(setup, mode, self._executors.ready)
        key = verdicts.key(kernel, cases, function.code, self._loaded)
        kept = verdicts.find(key)
        if kept is not None:
            return kept.model_copy(update={"source": function.source})
        executor, survives = self._executors.current(), self._executors.ready.guards_memory
        faults = survives and mode.launches_faults
        kind = runtime_kind(setup.runtime)
        launching = Launching(
            executor,
            function.function,
            setup.orders,
            survives_faults=survives,
            must_fault=faults,
            with_places=function.with_places,
            unwritten=kind.unwritten,
            gentler=kind.gentler,
            otherwise=kind.otherwise,
            reserves=kind.reserves and mode.launches_spread,
        )
        made = mode.cases(kernel, cases, setup.salt)
        made = with_wave(made, self._executors.ready.wave)
        declared = mode.tree.declared.about(kernel)
        made = with_parameters(made, declared, kernel, self._executors.ready.wave)
        made = with_geometry(made, declared, kernel.name, self._executors.ready.wave)
        ahead, handler = launching.ahead(made), mode.handler(kernel)
        to_the_first = survives and not fresh
        outcome = run_cases(
            kernel, ahead, launching.answers, handler, setup.command_for(kernel), self._progress.begin, to_the_first
        )
        if not outcome.poisoned:
            executor.drain()
        outcome = outcome.model_copy(
            update={"source": function.source, "leak": launching.leak, "misaligned": launching.misaligned}
        )
        verdicts.keep(key, outcome)
        return outcome

    def _process_lost(self, kernel: Kernel, lost: Lost, how: str) -> Outcome:
        """The outcome of a kernel that brings its process down, or does not let it go on."""
        doing = self._progress.read()[1]
        case = doing if "(" in doing else kernel.name
        evidence, command = Evidence(fault=fault_kind(how)), self._setup.command_for(kernel)
        return Outcome(
            name=kernel.name,
            status="timeout" if lost.kind == "silent" else "crash",
            cases=1,
            failed=1,
            max_ulp=0.0,
            message=how,
            failures=(Failure(case, how, reproduce=f"{command} '{case}'", evidence=evidence),),
            observations=(Observation(evidence, (case.partition("(")[2].removesuffix(")"),)),),
        )


def _excluded(kernel: Kernel, row: Excluded) -> Outcome:
    return Outcome(
        name=kernel.name, status="missing", message=f"the port declares that it does not have it: {row.reason}"
    )


MODES: Expected[PortMode] = ExpectedBase(PortMode)  # type: ignore[type-abstract]  # it is asked for, and not made
REQUESTS: Expected[Compile | RunCases] = Expected(Compile, RunCases)

serve = partial(run_member, MemberKind(Judge, MODES, REQUESTS))
"""As ``run_member``, of a judge."""


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:]))
