"""What pytest collects: a file, a module of the specs, a kernel. ``pytest_items.py`` says which of them, and judges."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import pytest

from conformance.cli.usage import UsageError
from conformance.engine.pool import EngineError
from conformance.engine.tasks import Ready
from conformance.outcome import Outcome
from conformance.port.sources import SourceError
from conformance.report.explain import explain
from conformance.spec.errors import SpecError
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs

MARKER = "candle_parity"
KEY = "candle_parity"
"""Of a report with an outcome, and of what a worker of pytest-xdist is told and tells."""


class Judge(Protocol):
    """What judges the kernels of a session."""

    @property
    def specs(self) -> Specs: ...
    @property
    def gated(self) -> bool: ...
    @property
    def ready(self) -> Ready: ...
    def outcome_of(self, kernel: Kernel) -> Outcome: ...
    def known_reason(self, outcome: Outcome) -> str | None: ...


STATE = pytest.StashKey[Judge]()


class SpecFile(pytest.File):
    """A spec as a pytest file: an item per kernel."""

    def collect(self) -> Iterator[pytest.Item]:
        return _items(self, self.path.stem)


class Declaration(pytest.File):
    """The file that declares a port: a collector for each module of the specs."""

    def collect(self) -> Iterator[pytest.Collector]:
        for module in _specs(self).modules:
            yield Module.from_parent(self, name=module)


class Module(pytest.Collector):
    """The kernels of a module where no file is collected: pytest may leave out files, as with ``--lf``."""

    def collect(self) -> Iterator[pytest.Item]:
        return _items(self, self.name.removesuffix(".yaml"))


def _specs(collector: pytest.Collector) -> Specs:
    try:
        return collector.config.stash[STATE].specs
    except SpecError as error:
        raise collector.CollectError(str(error)) from error


def _items(collector: pytest.Collector, module: str) -> Iterator[pytest.Item]:
    for kernel in _specs(collector).kernels.values():
        if kernel.module == module:
            yield KernelItem.from_parent(collector, name=kernel.name, kernel=kernel)


class KernelItem(pytest.Item):
    """One kernel judged over all its cases."""

    def __init__(self, *, kernel: Kernel, **rest: Any) -> None:
        super().__init__(**rest)
        self.kernel = kernel
        self.judged: dict[str, Any] | None = None
        for name in dict.fromkeys((MARKER, kernel.module, kernel.family)):
            self.add_marker(name)

    def runtest(self) -> None:
        parity = self.config.stash[STATE]
        outcome = parity.outcome_of(self.kernel)
        self.judged = {"outcome": asdict(outcome), "ready": asdict(parity.ready), "worker": worker()}
        if outcome.status == "known_failure" or (outcome.status == "missing" and parity.gated):
            pytest.skip(f"{outcome.status}: {outcome.message or 'no source defines it'}")
        known = parity.known_reason(outcome)
        if known is not None:
            pytest.skip(f"{outcome.status}, known: {known}")
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
