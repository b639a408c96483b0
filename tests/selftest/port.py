"""A tree on the cpu runtime, its executor in the hands of this process: as a judge has it, and able to start afresh."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from conformance.cases.launch import Argument, Buffer, Launch, Scalar, Stream
from conformance.engine.executor_client import Launching
from conformance.engine.executor_host import ExecutorState, Host
from conformance.engine.ipc import Channel
from conformance.engine.messages import ORDERS, Setup
from conformance.engine.remote_executor import Executor, Lost, RemoteFunction
from conformance.outcome import Failure
from conformance.port.compiling.in_child import compile_in_child
from conformance.port.compiling.target import CompileLimits, CompileTarget
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource
from conformance.processes import InfrastructureError, Supervisor
from conformance.runtimes import choose, runtime_kind
from conformance.spec.kernel import Kernel
from conformance.toolchains.compile_error import CompileError
from conformance.toolchains.targets import wave_macros
from conformance.verdict.judge import Judging
from conformance.verdict.loop import run_cases
from conformance.verdict.trials import TrialCase
from tests.selftest.schemata import Mutant, number_at

PATIENCE = 4.0
"""Seconds for a launch: a case takes milliseconds."""

HASTE = 1.0
"""Likewise where a failure does not count yet."""

_PLACE = re.compile(r"^(\S+?):(\d+):\d+: (error|note|fatal error)", re.M)


class Held:
    """The executor of a run, in the hands of this process and able to start afresh."""

    def __init__(self, setup: Setup) -> None:
        self._supervisor = Supervisor()
        self._host = Host(self._supervisor, setup, [])
        self._state: ExecutorState | None = None
        self._executor: Executor

    def close(self) -> None:
        self._host.close()
        self._supervisor.close()

    def _start(self) -> ExecutorState:
        if self._state is not None:
            self._executor.close()
            self._host.stop(self._state)
        state = self._state = self._host.start([0])
        assert state.ready is not None
        self._executor = Executor(Channel.adopt(state.links.pop(0)), state.page, state.ready.pad, PATIENCE)
        return state


class Port(Held):
    """Kernels, or with ``launchers`` the launchers, of one source."""

    def __init__(self, wave: int, options: BuildOptions = BuildOptions(), orders: tuple[str, ...] = ORDERS) -> None:  # noqa: B008
        os.environ["HIPCPU_CXXFLAGS"] = "-ferror-limit=0 -w -fno-caret-diagnostics"
        super().__init__(Setup(runtime="cpu", wave=wave, orders=orders, choice=choose("cpu")))
        self._options, self.orders, self.wave = options, orders, wave
        self._code: tuple[bytes, str, bool] = (b"", "", False)
        self.used = True
        self.count = 0

    def compile(self, path: Path, root: Path, launchers: bool) -> list[tuple[str, list[tuple[str, int]]]]:
        """The errors in ``path``, each with its places; without any it is the code from now on."""
        state = self._start()
        assert state.ready is not None
        target = CompileTarget(runtime_kind("cpu"), self.wave, state.ready.arch, state.ready.identity)
        build = runtime_kind("cpu").launchers if launchers else None
        flags = () if build is None else build.flags
        source = KernelSource(path, root)
        options = replace(self._options, defines=(*wave_macros(self.wave), *self._options.defines))
        flags = [*options.compiler_flags((path.parent,), (root,)), *flags, *target.flags()]
        try:  # not through the cache, whose keys have the paths, and never a part of the source
            code = compile_in_child(source.text(), source.label, flags, target, self._supervisor, CompileLimits(1500.0))
        except CompileError as error:
            return _errors(error.log)
        self._code = (code, source.label, launchers)
        self.renew()
        return []

    def renew(self) -> None:
        """A fresh executor with the code loaded."""
        state = self._start()
        code, label, self._launchers = self._code
        self._module, _ = self._executor.load(code, label, "launchers" if self._launchers else "kernels")
        self._functions: dict[str, RemoteFunction | None] = {}
        self.used = False
        assert state.ready is not None

    def function(self, name: str) -> RemoteFunction | None:
        if name not in self._functions:
            self._functions[name] = self._executor.function(self._module, name)
        return self._functions[name]

    def choose(self, number: int) -> None:
        """Have mutant ``number`` run from now on; 0 is none."""
        given = (Scalar("n", "i32", np.int32(number)),)
        try:
            self._call("selftest_select", given, ("i32",))
        except (Lost, InfrastructureError):  # what failed before has destroyed the process
            self.renew()
            self._call("selftest_select", given, ("i32",))

    def judge_alone(self, kernel: Kernel, case: TrialCase, number: int) -> Failure | None:
        """What is wrong with ``case`` under mutant ``number``, which counts where nothing else has run."""
        for _ in range(2):
            self.choose(number)
            alone = not self.used
            wrong = self.judge(kernel, case)
            if wrong is None or alone:
                break
            if self.used:
                self.renew()
        return wrong

    def hits(self) -> set[int]:
        """The mutants that the launches since the last choice came to."""
        out = Buffer("out", "u8", "out", np.zeros(self.count + 1, np.uint8))
        return set(
            np.flatnonzero(
                self._call("selftest_hits", (out, Stream("stream"))[: 1 + self._launchers], ("*", "*"))["out"]
            ).tolist()
        )

    def _call(self, name: str, args: tuple[Argument, ...], types: tuple[str, ...]) -> dict[str, np.ndarray]:
        launchers = self._launchers
        function = self.function(f"{name}_host" if launchers else name)
        assert function is not None, name
        launch = Launch(name, (1, 1, 1), (1, 1, 1), 0, args, types if launchers else ())
        submitted = self._executor.submit(function, launch, ("forward",))
        return self._executor.result(submitted, "forward")[0]

    def judge(self, kernel: Kernel, case: TrialCase, launch: Launch | None = None) -> Failure | None:
        """What is wrong with ``case`` of ``kernel``, or with what another ``launch`` leaves in its place; the executor
        is another one afterwards where it was lost."""
        self._executor.patience = HASTE if self.used else PATIENCE
        self.used = True
        function = self.function(kernel.name)
        if function is None:
            return Failure(case.id, "missing")
        launching = Launching(self._executor, function, self.orders, False, True, reserves=True)
        launched = case if launch is None else replace(case, launch=launch)
        answers = replace(launching.answers, get=lambda _, order: launching.answers.get(launched, order))
        try:
            cases = (case for _ in launching.ahead([launched]))
            outcome = run_cases(kernel, cases, answers, Judging(kernel), "", lambda _: None)
            self._executor.drain()
        except Lost as lost:
            self.renew()
            return Failure(case.id, f"{lost.kind}: {lost}")
        except InfrastructureError as error:
            self.renew()
            return Failure(case.id, str(error))
        if outcome.failed:
            return outcome.failures[0]
        return None if launching.leak is None else Failure(case.id, launching.leak)  # a warning, in no verdict


def _errors(log: str) -> list[tuple[str, list[tuple[str, int]]]]:
    """Each error of a compiler with its places, from where it is to what led there."""
    found: list[tuple[str, list[tuple[str, int]]]] = []
    for place in _PLACE.finditer(log):
        if place[3] != "note":
            line_end = log.find("\n", place.start())
            found.append((log[place.start() : line_end], []))
        if found:
            found[-1][1].append((place[1], int(place[2])))
    return found or [(log[-2000:], [])]


def not_viable(
    errors: Sequence[tuple[str, list[tuple[str, int]]]], root: Path, label: Path, mutants: Mapping[int, Mutant]
) -> dict[int, str]:
    """The mutants that do not compile, with the error: those at its places, else every variable for another in the
    files that lead to it, else every mutant of these. Raises ``AssertionError`` for an error that is no mutant's."""
    lines: dict[str, list[str]] = {}
    found: dict[int, str] = {}
    reached: dict[str, str] = {}
    for why, places in errors:
        for file, line in places:
            path = next((one for one in (Path(file), root / file, root.parent / file) if one.is_file()), label)
            if path.is_relative_to(root):
                name = path.relative_to(root).as_posix()
                reached[name] = why
                number = number_at(lines.setdefault(name, path.read_text().split("\n")), line)
                if number is not None:
                    found.setdefault(number, why)
                    break
    for operators in (("variable",), None):
        if not found:
            found = {
                number: reached[mutant.file]
                for number, mutant in mutants.items()
                if mutant.file in reached and (operators is None or mutant.operator in operators)
            }
    assert found, f"an error that is no mutant's: {errors[:3]}"
    return found
