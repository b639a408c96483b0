"""What became of a kernel: status, failures, outcome. Judges make them, records keep them, reports show them."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, ConfigDict
from pydantic.dataclasses import dataclass

Status = Literal[
    "pass", "fail", "signature", "missing", "compile_error", "crash", "timeout", "known_failure", "not_run"
]
STATUSES: tuple[Status, ...] = get_args(Status)
"""In the order of the design; docs/judging.md says what each means."""

INFRASTRUCTURE = "infrastructure: "
"""Begins the message of a selected kernel that is ``not_run`` because something failed that is not its doing."""


def _finite(value: object) -> object:
    """JSON has neither infinity nor NaN: both become null, which reads "beyond counting"."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


Ulp = Annotated[float | None, BeforeValidator(_finite)]


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class Evidence:
    """How what a kernel answered to one case is related to what was expected.

    ``elements`` has the kinds of the wrong elements (``conformance.verdict.elements``),
    ``answers`` what holds for all of them together (``conformance.verdict.answers``), ``fault`` the kind of fault that
    ended the launch (``conformance.verdict.faults``).
    """

    elements: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    fault: str | None = None


NO_EVIDENCE = Evidence()


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class Observation:
    """The failing cases with the same evidence, as an id has them between its brackets."""

    evidence: Evidence
    cases: tuple[str, ...]


@dataclass(frozen=True, config=ConfigDict(extra="ignore", allow_inf_nan=False))
class Failure:
    """A case that failed, by its worst element.

    ``index`` counts elements of the buffer, ``got`` and ``expected`` are the values as text, ``ulp`` is the distance in
    representable steps of the buffer's type (``None`` where there is none, as between a number and NaN), ``reproduce``
    a shell command. ``evidence`` tells how all wrong elements differ.
    """

    case: str
    why: str
    index: int | None = None
    got: str | None = None
    expected: str | None = None
    ulp: Ulp = None
    reproduce: str = ""
    evidence: Evidence = NO_EVIDENCE


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class Robustness:
    """What became of the cases that Candle's Rust side never launches, or that its own kernel gets wrong; they have no
    part in the status.

    ``planned`` cases were selected, ``cases`` of them run and ``failed`` of those failed; ``failures`` may hold
    fewer. ``message`` says why cases were not run. ``left_out`` more were not launched because their right answer is a
    fault.
    """

    planned: int
    cases: int
    failed: int
    failures: tuple[Failure, ...] = ()
    message: str | None = None
    left_out: int = 0


@dataclass
class Outcome:
    """What became of one kernel.

    ``cases`` were run of ``planned`` and ``failed`` of them failed; ``failures`` may hold fewer. ``max_ulp`` is over
    all cases and ``seconds`` wall time; ``max_ulp_bound`` is what was allowed of that element (``None``: it is wrong,
    or nothing was off), ``nearest_ulp`` and ``nearest_ulp_bound`` are those of the right element that came nearest to
    its bound. ``source`` is ``FILE:LINE`` in the port. ``poisoned`` says that a fault took
    the device's context with it, so that the executor must be replaced; ``left_out`` counts cases that were not
    launched because their right answer is a fault, ``warnings`` what went wrong without costing the verdict.
    ``compiler`` is ``hiprtc`` or ``hipcc`` on the rocm runtime, ``compiler_name`` what ``hipcc`` was, in full. The
    cases that Candle's Rust side never launches are in ``robustness`` only. ``port_name`` is what the port calls the
    kernel, where that is not Candle's name, ``fixed`` the upstream defect in place of which the right result was
    expected, ``geometry`` what of the launches is the port's own. Of a kernel that failed, ``observations`` has every
    failing case and ``passed`` every other one that was judged. ``profile`` says where over its input a unary kernel is
    how far off (``conformance.verdict.profile``). ``leak`` says what every call of a launcher leaves behind.
    """

    kernel: str
    status: Status
    cases: int = 0
    failed: int = 0
    launches: int = 0
    max_ulp: float = 0.0
    seconds: float = 0.0
    source: str | None = None
    message: str | None = None
    failures: list[Failure] = field(default_factory=list)
    poisoned: bool = False
    left_out: int = 0
    warnings: list[str] = field(default_factory=list)
    compiler: str | None = None
    compiler_name: str | None = None
    planned: int = 0
    robustness: Robustness | None = None
    port_name: str | None = None
    fixed: str | None = None
    geometry: str | None = None
    observations: list[Observation] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    max_ulp_bound: Ulp = None
    nearest_ulp: Ulp = None
    nearest_ulp_bound: Ulp = None
    profile: str | None = None
    leak: str | None = None

    @property
    def failed_cases(self) -> list[str]:
        """The ids of all cases that failed."""
        return [f"{self.kernel}({case})" for one in self.observations for case in one.cases]

    @classmethod
    def infrastructure(cls, kernel: str, why: str) -> Outcome:
        """No verdict, for a reason that is not the kernel's doing."""
        return cls(kernel, "not_run", message=f"{INFRASTRUCTURE}{why}")
