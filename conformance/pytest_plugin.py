"""The parity matrix as pytest items: one per kernel of ``specs/``, run by the same engine as ``candle-parity run``.

Every pytest process (the only one, or each worker of pytest-xdist) has one judge with an executor, on a GPU of its own
where there are several.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.gate import BAD_INPUT, Decision, decide
from conformance.cli.preparing import setup_from
from conformance.cli.usage import UsageError
from conformance.engine.pool import EngineError, Pool
from conformance.engine.run import Result
from conformance.engine.tasks import COMPILE_SECONDS, Ready, Setup, Trial
from conformance.outcome import Failure, Outcome
from conformance.port.compiling.choice import CHOICES
from conformance.port.sources import SourceError, find_sources
from conformance.record import Record, write_record
from conformance.record.assemble import assemble
from conformance.report import render_terminal
from conformance.report.explain import explain
from conformance.spec.errors import SpecError
from conformance.spec.kernel import Kernel
from conformance.spec.load import SPEC_FOLDER, Specs, load_specs
from conformance.text import one_line

_KEY = "candle_parity"
_NO_RUN = (EngineError, SourceError, SpecError, UsageError)
_STATE = pytest.StashKey["Parity"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("candle-parity")
    group.addoption(
        "--parity-fail-under", type=float, metavar="PCT", help="exit 0 when the coverage reaches this, else 1"
    )
    group.addoption("--parity-strict", action="store_true", help="with a gate: a failure is exit 1 all the same")
    group.addoption("--parity-runtime", default="auto", choices=("auto", "rocm", "cpu", "cuda"))
    group.addoption("--parity-wave", type=int, choices=(32, 64), help="wave size of the cpu runtime")
    group.addoption("--parity-kernels", type=Path, metavar="PATH", help="a folder or file of .hip, .cu or .hsaco")
    group.addoption("--parity-json", type=Path, metavar="F", help="write the record")
    group.addoption("--parity-compiler", choices=CHOICES, default="auto", help="rocm runtime: what compiles")
    group.addoption("--parity-compile-timeout", type=float, default=COMPILE_SECONDS, metavar="S")
    group.addoption("--parity-no-sandbox", action="store_true", help="cpu runtime: do not confine what runs kernels")


def pytest_configure(config: pytest.Config) -> None:
    kernels = config.getoption("--parity-kernels")
    if kernels is not None:
        try:
            find_sources(kernels)
        except SourceError as error:
            raise pytest.UsageError(f"--parity-kernels: {error}") from None
    parity = config.stash[_STATE] = Parity(config)
    config.pluginmanager.register(parity, "candle-parity-outcomes")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".yaml" and file_path.parent == SPEC_FOLDER:
        return SpecFile.from_parent(parent, path=file_path)
    return None


class SpecFile(pytest.File):
    """A spec as a pytest file: an item per kernel."""

    def collect(self) -> Iterator[pytest.Item]:
        try:
            kernels = self.config.stash[_STATE].specs.kernels.values()
        except SpecError as error:
            raise self.CollectError(str(error)) from error
        for kernel in kernels:
            if kernel.module == self.path.stem:
                yield KernelItem.from_parent(self, name=kernel.name, kernel=kernel)


class KernelItem(pytest.Item):
    """One kernel on trial over all its cases."""

    def __init__(self, *, kernel: Kernel, **rest: Any) -> None:
        super().__init__(**rest)
        self.kernel = kernel

    def runtest(self) -> None:
        parity = self.config.stash[_STATE]
        outcome = parity.trial(self.kernel)
        self.user_properties.append(
            (_KEY, {"outcome": asdict(outcome), "ready": asdict(parity.ready), "worker": worker()})
        )
        gated = self.config.getoption("--parity-fail-under") is not None
        if outcome.status == "known_failure" or (outcome.status == "missing" and gated):
            pytest.skip(f"{outcome.status}: {outcome.message or 'no source defines it'}")
        if outcome.status != "pass":
            raise NotAtParity(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, NotAtParity):
            return "\n".join(explain(excinfo.value.outcome.kernel, excinfo.value.outcome, shown=5))
        if isinstance(excinfo.value, EngineError | SourceError | UsageError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.kernel.module}: {self.kernel.name}"


def worker() -> str:
    """This process's name among the workers of pytest-xdist."""
    return os.environ.get("PYTEST_XDIST_WORKER", "gw0")


class NotAtParity(Exception):
    """A kernel that is not at parity."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(f"{outcome.kernel}: {outcome.status}")
        self.outcome = outcome


class Parity:
    """The engine worker of this pytest process, and on the controller the outcomes of all of them."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._specs: Specs | None = None
        self._pool: Pool | None = None
        self._setup: Setup | None = None
        self._ready: Ready | None = None
        self.outcomes: dict[str, Outcome] = {}
        self.workers: set[str] = set()
        self.other_failures = False
        """Whether a test that is not a kernel's has failed: no gate makes up for it."""
        self.started = datetime.now(UTC)

    @property
    def specs(self) -> Specs:
        if self._specs is None:
            self._specs = load_specs()
        return self._specs

    @property
    def ready(self) -> Ready:
        assert self._ready is not None
        return self._ready

    @property
    def setup(self) -> Setup:
        """The worker's setup; raises ``UsageError`` and ``EngineError`` as the command line does."""
        if self._setup is None:
            option = self._config.getoption
            arguments = argparse.Namespace(
                runtime=option("--parity-runtime"),
                wave=option("--parity-wave"),
                kernels=option("--parity-kernels"),
                order=None,
                specs=None,
                compiler=option("--parity-compiler"),
                compile_timeout=option("--parity-compile-timeout"),
                no_sandbox=option("--parity-no-sandbox"),
            )
            setup = setup_from(arguments, ["candle-parity", "run"], traces=None)
            self._setup = setup.for_member(int(worker().removeprefix("gw")))
        return self._setup

    def trial(self, kernel: Kernel) -> Outcome:
        if self._pool is None:
            self._pool = Pool([self.setup])
            self._ready = self._pool.greet()
        (outcome,) = self._pool.answers([Trial(kernel.name, None, {})])
        assert isinstance(outcome, Outcome)
        return outcome

    def close(self) -> None:
        if self._pool is not None:
            self._pool.__exit__()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the outcome that an item reported, in this process or in a worker of pytest-xdist.

        An item that could not report one, as when its worker died, has no verdict.
        """
        told = [value for key, value in report.user_properties if key == _KEY and isinstance(value, dict)]
        path, _, name = report.nodeid.rpartition("::")
        if report.when == "call" and told:
            self._take(dict(told[0]))
        elif report.failed and path.endswith(".yaml") and name in self.specs.kernels and name not in self.outcomes:
            self.outcomes[name] = Outcome.infrastructure(name, "its test process died or could not be set up")
        elif report.failed:
            self.other_failures = True

    def _take(self, properties: dict[str, Any]) -> None:
        fields = dict(properties["outcome"])
        failures = [Failure(**failure) for failure in fields.pop("failures")]
        outcome = Outcome(**fields, failures=failures)
        self.outcomes[outcome.kernel] = outcome
        self.workers.add(properties["worker"])
        self._ready = self._ready or Ready(**properties["ready"])

    def result(self) -> Result:
        seconds = (datetime.now(UTC) - self.started).total_seconds()
        ready = self._ready or Ready("none", "", 0, "no executor was set up", "")
        return Result(self.setup, ready, self.outcomes, self.started, seconds, selected=tuple(self.outcomes))

    def record(self) -> Record:
        """The record of what has been judged."""
        return assemble(self.specs, self.result(), ())

    def crowded(self) -> str | None:
        """A warning where more workers than there are GPUs have run kernels: their executors share one."""
        devices = len(self.setup.choice.devices)
        if self.setup.runtime == "cpu" or len(self.workers) <= devices:
            return None
        return (
            f"warning: {len(self.workers)} pytest workers shared {devices} GPU{'s' if devices > 1 else ''}: a fault or "
            f"reset that one causes may hit the others; run pytest -n {devices}, or candle-parity run -j N"
        )

    def decision(self) -> Decision:
        """What the verdicts come to."""
        option = self._config.getoption
        rows = [row for row in self.record().kernels if row.name in self.outcomes]
        return decide(rows, len(self.specs.kernels), option("--parity-fail-under"), option("--parity-strict"))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """The exit code: the gate's where there is one, which a failed test of another kind overrides."""
    parity = session.config.stash[_STATE]
    parity.close()
    gate = session.config.getoption("--parity-fail-under")
    if hasattr(session.config, "workerinput") or session.config.option.collectonly:
        return
    ended = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
    if ended and (parity.outcomes or gate is not None) and not parity.other_failures:
        try:
            session.exitstatus = parity.decision().code
        except _NO_RUN:  # every item has said why
            session.exitstatus = BAD_INPUT


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    parity = config.stash[_STATE]
    gate = config.getoption("--parity-fail-under")
    if not parity.outcomes and gate is None:
        return
    try:
        record, decision = parity.record(), parity.decision()
    except _NO_RUN as error:
        terminalreporter.write_line(f"candle-parity: {one_line(str(error))}")
        return
    terminalreporter.section("parity")
    terminalreporter.write_line(render_terminal(record, parity.specs))
    crowded = parity.crowded()
    for line in (*((decision.line,) if decision.line else ()), *map(one_line, decision.why), *filter(None, [crowded])):
        terminalreporter.write_line(line)
    if config.getoption("--parity-json") is not None:
        write_record(record, config.getoption("--parity-json"))
