"""What goes to a timer and what comes back, and the mode that has timers in place of judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from conformance.cases.case import Case
from conformance.engine.messages import Answer, Request, add_checked_kinds
from conformance.engine.modes import Mode, Tree
from conformance.engine.timing.measure import Counted, Measurement
from conformance.spec.kernel import Kernel


@dataclass(frozen=True)
class TimeTrees(Mode):
    """``bench``: time the kernels of one tree, or of two in turn. Timers take the place of judges, with a request for
    each case."""

    process: ClassVar[str] = "conformance.engine.timing.timer"
    runs_kernels: ClassVar[bool] = True

    timed: tuple[Tree, ...]

    @property
    def trees(self) -> tuple[Tree, ...]:
        return self.timed


@dataclass(frozen=True)
class Timed:
    """What was measured or counted of a case, or why nothing was."""

    kernel: str
    case: str
    found: Measurement | Counted | None = None
    error: str | None = None
    ends_member: bool = False
    """A fault took the device's context with it: the process must be replaced."""
    is_open: ClassVar[bool] = False


@dataclass(frozen=True)
class Time(Request):
    """Time one case of a kernel for every tree. Answered by ``Timed``.

    ``size`` is the spec's name for the size of the case. ``broken`` has, for each tree and by label, the sources that
    do not compile, with the first error.
    """

    answered_by: ClassVar[type[Answer]] = Timed
    tries: ClassVar[int] = 1  # the next case may have a device that still works

    kernel: Kernel
    size: str
    case: Case
    broken: tuple[dict[str, str], ...]

    def unanswered(self, why: str) -> Timed:
        return Timed(self.kernel.name, self.case.id, error=why)

    def lost(self, doing: str, why: str) -> str:
        return f"{doing}: {why}" if doing != self.case.id else why


add_checked_kinds(TimeTrees, Time, Timed)
