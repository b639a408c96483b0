"""The parity matrix as pytest items: one per kernel of the specs, run by the same engine as ``candle-parity run``.

Launchers have items too, where a source of the port may define one, or an argument names them.

In our own checkout they are collected from ``specs/``, as other tests are from their files. In another repository they
are collected from the file that declares its port, ``candle-parity.toml::unary::uexp_f32``, wherever pytest would find
a test in that file, and where it is given no path at all. Without such a file they join what is collected there, when
``--parity-kernels`` names a port.

Every pytest process (the only one, or each worker of pytest-xdist) has one judge with an executor, on a GPU of its own
where there are several.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.coding import from_map
from conformance.engine.messages import Ready, RunCases, Setup
from conformance.engine.modes import JudgeGenerated
from conformance.engine.pool import EngineError, Pool
from conformance.engine.result import Result
from conformance.errors import UsageError
from conformance.files import SHIPPED, in_own_checkout, kernels_folder, source_tree
from conformance.outcome import Outcome
from conformance.port.config import OPTIONS_FILE, Config, config_in
from conformance.port.definitions.source_text import SourceError
from conformance.port.sources import find_sources
from conformance.pytest_nodes import (
    KEY,
    MARKER,
    STATE,
    DeclarationItem,
    KernelItem,
    ModuleNode,
    SpecNode,
    names_one,
    worker,
)
from conformance.record import FileError, Record, write_record
from conformance.record.assemble import assemble, shown
from conformance.record.commits import commit_of
from conformance.record.compare import compared_rows
from conformance.report.runs import judged_tree
from conformance.report.terminal import render_terminal
from conformance.runtimes import runtime_kind
from conformance.session.gate import (
    BAD_INPUT,
    MET,
    NOT_MET,
    Decision,
    Gating,
    Judged,
    asked_by,
    decide,
    gating_from,
    parts_of,
)
from conformance.session.outputs import check_outputs
from conformance.session.pinned import pinned_cases
from conformance.session.selection import without_undefined
from conformance.session.setup import checked, config_from, setup_from, specs_from, tree_from
from conformance.settings import NO_GATE, OPTIONS, PREFIX, Gate, Settings
from conformance.spec import SpecError
from conformance.spec.entry import ENTRIES
from conformance.spec.kernel import Kernel
from conformance.spec.load import SPEC_FOLDER, Specs
from conformance.status import EXPLAINED
from conformance.text import LOG, NARROWEST, Screen, one_line

_XFAIL = "wasxfail"
"""pytest's attribute of the report of a test that is expected to fail: the reason."""

_VERDICT = "candle-parity::verdict"
"""What is reported as failed where a gate is not met and no kernel has failed."""

_NO_RUN = (EngineError, SourceError, SpecError, UsageError)
_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


@dataclass(frozen=True)
class _Port:
    """The port of a session, what its file says, and why its kernels are collected."""

    settings: Settings
    config: Config | None
    own: bool
    """Whether the specs are found by their path: in our own checkout, or when an argument names them."""
    asked: bool
    """Whether an option asks for a verdict, so that a passing test of another kind cannot hide it."""
    bare: bool
    """Whether pytest was given no path."""
    walked: bool
    """Whether pytest comes to the file that declares the port by itself."""

    @property
    def declared(self) -> Config | None:
        """The file, where that and not an option names the kernels."""
        return self.config if self.settings.kernels is None else None

    @property
    def kernels(self) -> Path | None:
        return self.settings.kernels or (None if self.config is None else self.config.settings.kernels)

    @property
    def wanted(self) -> bool:
        """Whether kernels of another repository are to be collected."""
        return not self.own and (self.asked or self.bare or self.walked)


def _port_of(config: pytest.Config) -> _Port:
    """The port that options, the working directory or pytest's root folder name; raises ``pytest.UsageError`` for a
    file that cannot be used."""
    options, here = vars(config.option), config.invocation_params.dir
    settings, gate = Settings.of(options, PREFIX), Gate.of(options, PREFIX)
    places = [(here / arg.split("::")[0]).resolve() for arg in config.args]
    own = config.rootpath.resolve() == source_tree() or any(place.is_relative_to(SPEC_FOLDER) for place in places)
    given = settings.kernels is not None or settings.config is not None
    try:
        if given or own:
            file = config_from(settings)
        else:
            file = config_in((here, config.rootpath))
            file = None if file is None else checked(file)
    except SourceError as error:
        option = "" if settings.config is None else "--parity-config: "
        raise pytest.UsageError(f"{option}{error}") from None
    wishes = (gate.fail_under, gate.fail_under_launchers, gate.baseline, options[f"{PREFIX}json"])
    asked = given or any(one is not None for one in wishes) or not (own or (file is not None and file.settings.kernels))
    walked = file is not None and settings.kernels is None and any(map(file.file.is_relative_to, places))
    if file is not None and settings.kernels is None and here.resolve() != file.file.parent:
        settings = replace(settings, config=file.file)
    # A worker of pytest-xdist is always given paths; the controller sends it whether it has some.
    sent = getattr(config, "workerinput", {}).get(KEY)
    bare = config.args_source != pytest.Config.ArgsSource.ARGS if sent is None else sent
    return _Port(settings, file, own, asked, bool(bare), walked)


def screen_of(reporter: Any) -> Screen:
    """The screen that pytest's terminal ``reporter`` writes to: a terminal of the width that pytest found, or a log."""
    if not reporter.isatty:
        return LOG
    return Screen(max(reporter.config.get_terminal_writer().fullwidth, NARROWEST))


class _BeforeOthers:
    """Has the verdict reported before other plugins write what was reported."""

    def __init__(self, parity: Parity) -> None:
        self._parity = parity

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._parity.decide(session)


class Parity:
    """The plugin object of a session: it judges kernels in this process, and in the controller of pytest-xdist it
    collects the outcomes of all workers."""

    def __init__(self, config: pytest.Config) -> None:
        """Raises ``pytest.UsageError`` where no port is named, or one that holds nothing that can be judged."""
        config.stash[STATE] = self
        self._config = config
        self._port = _port_of(config)
        self._gating = self._gates()
        self._check_kernels()
        self._check_outputs()
        self._collected: int | None = None
        """Kernels before some were deselected; of pytest-xdist's workers, those of one that has ended."""
        self._stranger = False
        """Whether a worker of pytest-xdist knows no port."""
        self._pool: Pool | None = None
        self._chosen: list[Kernel] = []
        self._ready: Ready | None = None
        self.outcomes: dict[str, Outcome] = {}
        self.workers: set[str] = set()
        self.other_failures = False
        """Whether a test that is not a kernel's has failed, which overrides any gate."""
        self._ended = True
        self._deciding = False
        self._allowed_failures: dict[str, pytest.TestReport] = {}
        self.started = datetime.now(UTC)
        self._register_markers()
        config.pluginmanager.register(_BeforeOthers(self), "candle-parity-verdict")

    def _check_kernels(self) -> None:
        port = self._port
        if port.settings.kernels is not None:
            try:
                find_sources(port.settings.kernels)
            except SourceError as error:
                raise pytest.UsageError(f"--parity-kernels: {error}") from None
        if port.kernels is None and not (port.own and in_own_checkout()):
            where = port.settings.config or f"{OPTIONS_FILE} in the working directory"
            pytest.exit(
                f"candle-parity: no port is named that could be judged; give --parity-kernels PATH, or add kernels = "
                f'"PATH" to {where}; --parity-kernels {SHIPPED} stands for the kernels that come with candle-parity',
                BAD_INPUT,
            )

    def _check_outputs(self) -> None:
        given = {row.name: getattr(self._config.option, f"{PREFIX}{row.name}") for row in OPTIONS if row.pytest}
        absent = {row.name: None for row in OPTIONS if not row.pytest}
        try:
            check_outputs(Namespace(**absent, **given, command="run"), "--parity-")
        except UsageError as error:
            pytest.exit(f"candle-parity: {error}", BAD_INPUT)

    def _register_markers(self) -> None:
        lines = [f"{MARKER}: kernels that candle-parity judges"]
        if self._port.wanted or self._port.own or getattr(self._config.option, "markers", False):
            modules = [module for entry in ENTRIES for module in self.specs.modules_of(entry).values()]
            titles = {family: module.title for module in modules for family in module.families}
            titles |= {module.name: module.title for module in modules}
            lines += [f"{name}: kernels of candle-parity: {title}" for name, title in titles.items()]
        for line in lines:
            self._config.addinivalue_line("markers", line)

    def _gates(self) -> Gating:
        """The gates of the options, else of the port's file; raises ``pytest.UsageError`` for one that cannot be."""
        file = self._port.config if self._port.asked or self._port.wanted else None
        try:
            return gating_from(Gate.of(vars(self._config.option), PREFIX), file, own=self._port.settings.own)
        except (UsageError, FileError) as error:
            raise pytest.UsageError(str(error)) from None

    @cached_property
    def allowed(self) -> Callable[[str], str] | None:
        """A function that gives, by a kernel's name, the reason why its failure does not fail its item, if a gate
        decides.

        The kernel fails in the baseline too, or a gate decides at the end of the session. ``None`` without such a gate:
        then each failing kernel is a failed test.
        """
        asked = self._gating.asked
        if asked.strict or replace(asked, strict=None) == NO_GATE:
            return None
        standing = self._gating.standing
        known = {} if standing is None else {row.name for row in compared_rows(standing) if row.failed}
        return lambda name: "fails in the baseline too" if name in known else "the gate decides at the end"

    @cached_property
    def specs(self) -> Specs:
        """The specs, with the port's own kernels. Raises ``SpecError``."""
        return specs_from(self._port.settings, self._port.config)

    @property
    def modules(self) -> list[str]:
        """The modules of the specs of which there are items. Raises ``SpecError``."""
        return list(dict.fromkeys(kernel.module for kernel in self.entries))

    @cached_property
    def entries(self) -> list[Kernel]:
        """What there are items for: Candle's kernels; the launchers, if a source seems to define one or an argument
        names one; and with ``--parity-own`` the port's own kernels. Raises ``SpecError``."""
        kernels, launchers = self.specs.kernels, self.specs.launchers
        named = names_one(self._config.args, (*self.specs.launcher_modules, *launchers))
        called = [*launchers.values()] if named or self._defines_one([*launchers.values()]) else []
        own = [kernel for kernel in self.specs.of_port.values() if not kernel.is_untrusted]
        return [*kernels.values(), *called, *own]

    def _defines_one(self, launchers: list[Kernel]) -> bool:
        """Whether a source of the port may define one of ``launchers``."""
        try:
            return bool(without_undefined(launchers, self.mode.tree))
        except (SourceError, UsageError):  # each item says why
            return False

    @property
    def ready(self) -> Ready:
        """What the kernels run on: device, architecture, wave size. Only there once a kernel was judged."""
        assert self._ready is not None
        return self._ready

    @cached_property
    def setup(self) -> Setup:
        """The setup of this process's run, on the device that is this worker's. Raises ``UsageError`` and
        ``EngineError`` as the command line does."""
        setup = setup_from(self._port.settings, ["candle-parity", "run"], self.mode.tree, self._port.config)
        return setup.for_member(int(worker().removeprefix("gw")))

    @cached_property
    def mode(self) -> JudgeGenerated:
        """The mode of the run: it judges the port's tree by generated and pinned cases.

        Raises ``SourceError``, and ``UserError`` for pinned cases that cannot be used.
        """
        settings, config = self._port.settings, self._port.config
        return pinned_cases(settings, config, self.specs).mode(tree_from(settings, self.specs, config))

    def outcome_of(self, kernel: Kernel) -> Outcome:
        """Judge ``kernel`` over all its cases. The judge and its executor are started by the first call."""
        if self._pool is None:
            self._pool = Pool([self.setup.for_kernels(self._chosen)], self.mode)
            self._ready = self._pool.greet()
        (outcome,) = self._pool.answers([RunCases(kernel, None)])
        assert isinstance(outcome, Outcome)
        return outcome

    def known_reason(self, outcome: Outcome) -> str | None:
        """The reason that the port declares for this failure, if it declares all failing cases; else ``None``."""
        result = replace(self.result(), outcomes={outcome.name: outcome})
        return result.settled(()).reasons.get(outcome.name)

    def close(self) -> None:
        """End the judge and its executor."""
        if self._pool is not None:
            self._pool.__exit__()

    def pytest_report_header(self) -> list[str]:
        """The line that says which port is judged, and a second one if its own kernels are left out."""
        if not self._port.wanted:
            return []
        declared = "--parity-kernels" if self._port.declared is None else shown(self._port.declared.file)
        tree = self._port.kernels or kernels_folder()
        of = judged_tree(shown(tree), len(find_sources(tree)), commit_of(tree))
        lines = [f"candle-parity judges {one_line(of)}, named by {one_line(declared)}"]
        if self._port.config is not None and self._port.config.own is not None and not self._port.settings.own:
            lines.append("candle-parity leaves out the port's own kernels: give --parity-own where you trust the port")
        return lines

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect the port's declaration, and in our own checkout the files of ``specs/``; no other file."""
        if self._port.declared is not None and self._port.wanted and file_path == self._port.declared.file:
            return DeclarationItem.from_parent(parent, path=file_path)
        if file_path.suffix == ".yaml" and file_path.parent == SPEC_FOLDER:
            return SpecNode.from_parent(parent, path=file_path)
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add the kernels to what a session in another repository collects by itself."""
        report = yield
        if isinstance(collector, pytest.Session) and self._port.wanted and not self._port.walked:
            report.result = [*report.result, *self._added(collector)]
        return report

    def _added(self, session: pytest.Session) -> list[pytest.Collector]:
        if self._port.declared is not None:
            return [DeclarationItem.from_parent(session, path=self._port.declared.file)]
        files = sorted(SPEC_FOLDER.glob("*.yaml"))
        return [
            ModuleNode.from_parent(session, name=file.name, path=file, nodeid=f"specs/{file.name}") for file in files
        ]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember the kernels that are left after deselection; the judge compiles for these only."""
        self._chosen = [item.kernel for item in session.items if isinstance(item, KernelItem)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Count the kernels before other plugins deselect some."""
        self._collected = sum(isinstance(item, KernelItem) for item in items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist whether pytest was given a path."""
        node.workerinput[KEY] = self._port.bare

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take from a worker of pytest-xdist that has ended how many kernels it collected, and whether it knew the
        port."""
        if hasattr(node, "workeroutput"):  # of a worker that ended by itself; one in another folder knows no port
            self._collected = node.workeroutput.get(KEY, 0)
            self._stranger = KEY not in node.workeroutput

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send the outcome with the report, as an attribute: properties would end up in JUnit files."""
        report = yield
        if isinstance(item, KernelItem) and call.when == "call" and item.judged is not None:
            setattr(report, KEY, item.judged)
            if report.failed and self.allowed is not None:
                report.outcome = "skipped"
                setattr(report, _XFAIL, self.allowed(item.name))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the outcome that an item reported, in this process or in a worker of pytest-xdist.

        An item that could not report one, as when its worker died, has no verdict.
        """
        if self._deciding:
            return
        reported = getattr(report, KEY, None)
        path, _, name = report.nodeid.rpartition("::")
        if report.when == "call" and isinstance(reported, dict):
            self._take(dict(reported))
            if hasattr(report, _XFAIL):
                self._allowed_failures[name] = report
        elif report.failed and self._is_kernel(path, name) and name not in self.outcomes:
            self.outcomes[name] = Outcome.infrastructure(name, "its test process died or could not be set up")
        elif report.failed:
            self.other_failures = True

    def _is_kernel(self, path: str, name: str) -> bool:
        """Whether a node is an item of ours, by the parts of its id."""
        file = Path(path.partition("::")[0])
        known = file.suffix == ".yaml" or (
            self._port.declared is not None and file.name == self._port.declared.file.name
        )
        return known and (name in self.specs.loaded_by_name or name in self.specs.linked_by_name)

    def _take(self, properties: dict[str, Any]) -> None:
        outcome: Outcome = from_map(properties["outcome"])
        self.outcomes[outcome.name] = outcome
        self.workers.add(properties["worker"])
        self._ready = self._ready or from_map(properties["ready"])

    def result(self) -> Result:
        seconds = (datetime.now(UTC) - self.started).total_seconds()
        ready = self._ready or Ready("none", "", 0, "no executor was set up", "")
        return Result(
            self.setup, self.mode, ready, self.outcomes, self.started, seconds, selected=(*self.outcomes,)
        ).placed()

    def record(self) -> Record:
        """The record of what has been judged."""
        return assemble(self.specs, self.result(), ())

    def crowded(self) -> str | None:
        """A warning where more workers than there are GPUs have run kernels: their executors share one."""
        devices = len(self.setup.choice.devices)
        if runtime_kind(self.setup.runtime).on_host or len(self.workers) <= devices:
            return None
        return (
            f"warning: {len(self.workers)} pytest workers shared {devices} GPU{'s' if devices > 1 else ''}: a fault or "
            f"reset that one causes may hit the others; run pytest -n {devices}, or candle-parity run -j N"
        )

    def decision(self, ended: bool = True) -> Decision:
        """What the verdicts come to; ``ended`` is false where pytest itself did not come to its end."""
        record = self.record()
        judged = Judged(
            parts_of([row for row in record.rows if row.name in self.outcomes], self.specs),
            problems=self.result().settled(self.specs.loaded_by_name, self.specs.linked_by_name).problems,
            undecided=None if ended else "pytest was stopped",
            spoiled="a test that judges no kernel failed" if self.other_failures else None,
        )
        asked = self._gating.asked
        if len(judged.part("kernel").rows) != judged.part("kernel").total:
            # Else fail_under of the port's file is not asked, as in ``run`` with a PATTERN.
            given = Gate.of(vars(self._config.option), PREFIX)
            asked = replace(asked, fail_under=given.fail_under, fail_under_launchers=given.fail_under_launchers)
        return decide(judged, asked, self._gating.against(record))

    def decide(self, session: pytest.Session) -> None:
        """Report as failed what the gate does not allow in the end, or the verdict itself where that is no kernel's
        failure: the summary and JUnit files of pytest have a failure where the exit code is 1, and none where it is 0.
        """
        ended = session.exitstatus in _ENDED and not hasattr(session.config, "workerinput")
        if not (ended and self.outcomes) or session.config.option.collectonly:
            return
        try:
            decision = self.decision()
        except _NO_RUN:  # every item has said why
            return
        if decision.code != NOT_MET:
            return
        against = self._gating.against(self.record())
        expected = asked_by(
            decision, [*self.record().kernels, *self.record().of_port], self._gating.asked, against
        ).expected
        below = [report for name, report in self._allowed_failures.items() if name not in expected]
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        shown: list[Any] = reporter.stats.get("xfailed", []) if reporter is not None else []
        self._deciding = True
        for report in below:
            if report in shown:
                shown.remove(report)
            delattr(report, _XFAIL)
            report.outcome = "failed"
            session.config.hook.pytest_runtest_logreport(report=report)
        if not below and not session.testsfailed:
            why = one_line("; ".join([*decision.lines, *decision.why]))
            verdict = pytest.TestReport(_VERDICT, ("candle-parity", None, "verdict"), {}, "failed", why, "call")
            session.config.hook.pytest_runtest_logreport(report=verdict)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """The exit code: the gate's where there is one, which a failed test of another kind overrides.

        Where kernels were asked for and none was judged, it is not 0, whatever else passed.
        """
        self.close()
        if hasattr(session.config, "workerinput"):
            vars(session.config)["workeroutput"][KEY] = self._collected
            return
        if session.config.option.collectonly:
            if self._port.asked and not any(isinstance(item, KernelItem) for item in session.items):
                session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
            return
        self._ended = session.exitstatus in _ENDED
        if not self._ended or self.other_failures:
            return
        if self._none_collected():
            session.exitstatus = BAD_INPUT
        elif self.outcomes or self._port.asked:
            try:
                session.exitstatus = self.decision().code
            except _NO_RUN:  # every item has said why
                session.exitstatus = BAD_INPUT

    def _none_collected(self) -> bool:
        """Whether the declared kernels are left out, and not by a choice among tests that were collected."""
        chosen = self._collected != 0 or self._config.getoption("lf", False)
        return self._port.declared is not None and self._port.wanted and not chosen

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._config.option.collectonly:
            return
        if self._none_collected() and self._port.declared is not None:
            file = shown(self._port.declared.file)
            why = "; pytest-xdist's workers lack it (--tx ssh=HOST//chdir=FOLDER)" if self._stranger else ""
            text = f"candle-parity: {file} declares a port, and none of its kernels was collected{why}"
            terminalreporter.write_line(text)
        if not (self.outcomes or self._port.asked):
            return
        try:
            record, decision = self.record(), self.decision(self._ended)
        except _NO_RUN as error:
            terminalreporter.write_line(f"candle-parity: {one_line(str(error))}")
            return
        terminalreporter.section("parity")
        verbose = terminalreporter.verbosity > 0
        terminalreporter.write_line(render_terminal(record, self.specs, screen_of(terminalreporter), verbose))
        lines = [*map(one_line, (*decision.lines, *decision.why)), *filter(None, [self.crowded()])]
        failed = sum(outcome.status in EXPLAINED for outcome in self.outcomes.values())
        if failed and decision.code == MET and self._ended and not self.other_failures:
            lines.append(
                f"the gate is met, though kernels fail ({failed}, shown as xfailed); --parity-strict "
                "makes a failure exit code 1"
            )
        for line in lines:
            terminalreporter.write_line(line)
        if self._config.getoption("--parity-json") is not None:
            write_record(record, self._config.getoption("--parity-json"))
