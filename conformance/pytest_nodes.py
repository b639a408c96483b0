"""What pytest collects: a file, a module of the specs, a kernel or launcher. ``pytest_items.py`` chooses and judges."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from conformance.engine.coding import to_map
from conformance.engine.messages import Ready
from conformance.engine.pool import EngineError
from conformance.errors import UsageError
from conformance.outcome import INFRASTRUCTURE, Outcome
from conformance.port.definitions.source_text import SourceError
from conformance.report.kernels import explain
from conformance.spec import SpecError
from conformance.spec.entry import ROWS
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.text import one_line

MARKER = "candle_parity"
KEY = "candle_parity"
"""Of a report with an outcome, and of what workers of pytest-xdist and their controller send."""


class SessionJudge(Protocol):
    """What pytest's items need of the object that judges the kernels of a session
    (``conformance.pytest_items.Parity``)."""

    @property
    def specs(self) -> Specs: ...
    @property
    def allowed(self) -> Callable[[str], str] | None: ...
    @property
    def modules(self) -> list[str]: ...
    @property
    def entries(self) -> list[Kernel]: ...
    @property
    def ready(self) -> Ready: ...
    def outcome_of(self, kernel: Kernel) -> Outcome: ...
    def known_reason(self, outcome: Outcome) -> str | None: ...


STATE = pytest.StashKey[SessionJudge]()


class SpecNode(pytest.File):
    """A file of ``specs/`` as pytest collects it: an item for each kernel or launcher of the module."""

    def collect(self) -> Iterator[pytest.Item]:
        return _items(self, self.path.stem)


class DeclarationItem(pytest.File):
    """The ``candle-parity.toml`` of a port as pytest collects it: a ``ModuleNode`` for each module of the specs."""

    def collect(self) -> Iterator[pytest.Collector]:
        for module in _judge(self).modules:
            yield ModuleNode.from_parent(self, name=module)


class ModuleNode(pytest.Collector):
    """The kernels of a module, collected without a file: pytest may leave out files, as it does with ``--lf``."""

    def collect(self) -> Iterator[pytest.Item]:
        return _items(self, self.name.removesuffix(".yaml"))


def _judge(collector: pytest.Collector) -> SessionJudge:
    """What judges, with specs that load."""
    judge = collector.config.stash[STATE]
    try:
        judge.specs  # noqa: B018 (read here, so that an error is the collector's)
    except SpecError as error:
        raise collector.CollectError(str(error)) from error
    return judge


def _items(collector: pytest.Collector, module: str) -> Iterator[pytest.Item]:
    for kernel in _judge(collector).entries:
        if kernel.module == module:
            yield KernelItem.from_parent(collector, name=kernel.name, kernel=kernel)


class KernelItem(pytest.Item):
    """One kernel or launcher, judged over all its cases: ``specs/unary.yaml::uexp_f32``."""

    def __init__(self, *, kernel: Kernel, **rest: Any) -> None:
        super().__init__(**rest)
        self.kernel = kernel
        self.judged: dict[str, Any] | None = None
        for name in dict.fromkeys((MARKER, kernel.module, kernel.family)):
            self.add_marker(name)

    def runtest(self) -> None:
        """Judge the kernel. Skips a missing kernel and a known failure; raises ``NotAtParity`` for any other status
        than a pass."""
        parity = self.config.stash[STATE]
        outcome = parity.outcome_of(self.kernel)
        self.judged = {"outcome": to_map(outcome), "ready": to_map(parity.ready), "worker": worker()}
        if outcome.status in ("known_failure", "missing"):
            pytest.skip(one_line(f"{outcome.status}: {outcome.message or 'no source defines it'}"))
        may_be_not_run = ROWS[self.kernel.entry].may_be_not_run
        if may_be_not_run and outcome.status == "not_run" and not (outcome.message or "").startswith(INFRASTRUCTURE):
            pytest.skip(one_line(f"not run: {outcome.message}"))
        known = parity.known_reason(outcome)
        if known is not None:
            pytest.skip(one_line(f"{outcome.status}, known: {known}"))
        if outcome.status != "pass":
            raise NotAtParity(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What pytest prints of a failure: the failing cases, or the sentence of an error, without a traceback."""
        if isinstance(excinfo.value, NotAtParity):
            return "\n".join(explain(excinfo.value.outcome.name, excinfo.value.outcome, shown=5))
        if isinstance(excinfo.value, EngineError | SourceError | UsageError):
            return one_line(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The file, no line, and ``MODULE: KERNEL`` as the item's title."""
        return self.path, None, f"{self.kernel.module}: {self.kernel.name}"


def names_one(args: Iterable[str], names: Collection[str]) -> bool:
    """Whether one of pytest's arguments, such as ``specs/unary.yaml::uexp_f32``, names one of ``names``."""
    parts = (arg.split("::") for arg in args)
    return any(not {Path(file).stem, *inside}.isdisjoint(names) for file, *inside in parts)


def worker() -> str:
    """The name of this process among the workers of pytest-xdist; ``gw0`` without them."""
    return os.environ.get("PYTEST_XDIST_WORKER", "gw0")


class NotAtParity(Exception):
    """The kernel of ``outcome`` is not at parity: the failure of its item."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(f"{outcome.name}: {outcome.status}")
        self.outcome = outcome
