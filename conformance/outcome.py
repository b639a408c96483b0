"""What became of a kernel: status, failures, outcome. Judges make them, records keep them, reports show them."""

from __future__ import annotations

import math
from collections.abc import Iterable
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


def line_runs(numbers: Iterable[int]) -> str:
    """Line numbers, from 1 and each once: ``31,33-35``."""
    found: list[list[int]] = []
    for number in sorted({*numbers} - {0}):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class MissedSites:
    """Instruction sites of one place that no case has executed.

    ``functions`` has the function that they are of, then those that it was inlined into: ``divide < offsets``.
    ``lines`` is ``FILE:31,33-35`` in the port, empty where there are no line tables. ``reason`` is the row of the
    port's ``sites.yaml`` that says why (null: none does).
    """

    functions: str
    lines: str
    sites: int
    reason: str | None = None

    @property
    def file(self) -> str:
        """The file alone."""
        return self.lines.partition(":")[0]

    @property
    def numbers(self) -> set[int]:
        """The numbers of the lines; what ``line_runs`` does not write is left out, as a record may have anything."""
        found: set[int] = set()
        for run in self.lines.partition(":")[2].split(","):
            first, _, last = run.partition("-")
            if first.isdecimal() and (last or first).isdecimal() and int(last or first) - int(first) < 10_000:
                found.update(range(int(first), int(last or first) + 1))
        return found


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class Sites:
    """Instruction sites of a kernel: of the machine code that it can come to by branches and calls.

    ``executed`` of ``total`` were, at least once over all cases of the run. ``missed`` has the others in runs of
    neighbours, by the offsets in the code object of the first and the last: ``0x1a00-0x1a3c``;
    ``places`` says where in the sources they are, most first.
    """

    total: int
    executed: int
    missed: tuple[str, ...] = ()
    places: tuple[MissedSites, ...] = ()

    @property
    def explained(self) -> int:
        """How many of those that were not executed have a reason."""
        return sum(place.sites for place in self.places if place.reason is not None)


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
    how far off (``conformance.verdict.profile``), ``sites`` how much of its machine code was executed, where that was
    asked for. ``leak`` says what every call of a launcher leaves behind.
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
    sites: Sites | None = None
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
