"""What became of a kernel: status, failures, the row of the record. Judges make them, records keep them.

The text below a field is its description in docs/record.schema.json, which ``python -m conformance.record.schema``
writes, and in docs/record-fields.md (``python -m tests.house.schema_pages``).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field
from pydantic.dataclasses import dataclass

from conformance.spec.kernel import Kernel
from conformance.status import Status

INFRASTRUCTURE = "infrastructure: "
"""Begins the message of a selected kernel that is ``not_run`` because something failed that is not its doing."""


def _finite(value: object) -> object:
    """JSON has neither infinity nor NaN: both become null, which reads "beyond counting"."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


Ulp = Annotated[float | None, BeforeValidator(_finite)]
Count = Annotated[int, Field(ge=0)]
Texts = Annotated[tuple[str, ...], FailFast()]
"""Reading ends with the first error of a list: a stranger's file may have one in every row."""


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class Evidence:
    """How what a kernel answered to one case is related to what was expected."""

    elements: Texts = ()
    """The kinds of the wrong elements (``conformance.verdict.wrong_elements``)."""
    answers: Texts = ()
    """What holds for all wrong elements together (``conformance.verdict.wrong_buffers``)."""
    fault: str | None = None
    """The kind of fault that ended the launch (``conformance.verdict.evidence``)."""


NO_EVIDENCE = Evidence()


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class Observation:
    """The failing cases with the same evidence, as an id has them between its brackets."""

    evidence: Evidence
    """The evidence that these cases have in common."""
    cases: Texts
    """The text between the brackets of each case id."""


@dataclass(frozen=True, config=ConfigDict(extra="ignore", allow_inf_nan=False))
class Failure:
    """A case that failed, by its worst element."""

    case: str
    """The id of the case."""
    why: str
    """What is wrong, in a sentence."""
    index: int | None = None
    """The index of the worst element in its buffer (null: the failure is not about an element)."""
    got: str | None = None
    """Its value, with its bits."""
    expected: str | None = None
    """The value that was expected, with its bits."""
    ulp: Ulp = None
    """The distance in representable values of the buffer's type (null: there is none, as between 1 and NaN)."""
    reproduce: str = ""
    """A shell command that runs the case again."""
    evidence: Evidence = NO_EVIDENCE
    """How all wrong elements of the case differ."""


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class Robustness:
    """What became of the cases that Candle's Rust side never launches, or that its own kernel gets wrong; they have no
    part in the status."""

    planned: int
    """Cases that were selected."""
    cases: int
    """Cases that were run."""
    failed: int
    """Cases that failed."""
    failures: Annotated[tuple[Failure, ...], FailFast()] = ()
    """Failed cases; those beyond the first 20 are only counted."""
    message: str | None = None
    """Why cases were not run."""
    left_out: int = 0
    """Further cases, which were not launched because their right answer is a fault."""


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class Launched:
    """How often a program launched a kernel."""

    program: str
    """The program's command line."""
    launches: Count
    """The launches that ``capture`` counted, recorded or not."""


class Row(BaseModel):
    """The base of everything in a record: a JSON object that does not change. Unknown keys are ignored when it is
    read."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, populate_by_name=True, defer_build=True)


class Resources(Row):
    """What a kernel takes in a code object: that it compiles for a target, and nothing of its results."""

    vgpr: Count
    """Vector registers of a lane."""
    sgpr: Count
    """Scalar registers of a wave."""
    spills: Count
    """Registers of both kinds that are spilled to memory."""
    lds: Count
    """Bytes of static shared memory (LDS) of a block."""
    scratch: Count
    """Bytes of scratch memory of a thread."""
    wave: Count
    """Lanes of a wave."""
    kernarg: Count
    """Bytes of the argument segment."""


class KernelResult(Row):
    """What became of one kernel."""

    name: str
    """Candle's name of the kernel."""
    module: str
    """The spec file that has it, such as ``unary``."""
    family: str
    """The family in that spec."""
    status: Status
    """What became of it; docs/judging.md explains each status."""
    cases: Count = 0
    """Cases that were run."""
    failed: Count = 0
    """Cases that failed."""
    max_ulp: Ulp = None
    """The largest error of all elements, in representable values of the output's type (null: no case was run, or it is
    beyond counting)."""
    source: str | None = None
    """Where the port defines it: ``FILE:LINE``, or the file alone where the line is not known."""
    upstream: str
    """Where Candle defines it: ``FILE:LINE``."""
    failures: Annotated[tuple[Failure, ...], FailFast()] = ()
    """The first 20 failed cases in full; ``observations`` names all of them."""
    message: str | None = None
    """Why it has a status that does not come from cases, such as the compiler's error."""
    seconds: float | None = None
    """Wall time of judging it."""
    source_lines: Count | None = None
    """Lines of the kernel's definition."""
    compiles_for: dict[str, Resources] = {}
    """What it takes on each AMD target that it was compiled for, by the target's name."""
    wired_at: tuple[str, ...] | None = None
    """Where Candle's Rust code asks for the kernel (empty: nowhere; null: not looked for)."""
    launched_by: tuple[Launched, ...] | None = None
    """The programs that launched the kernel, as ``capture`` counted (empty: none of those that were recorded; null: no
    recording was given)."""
    left_out: Count = 0
    """Selected cases that were not launched, because a right kernel would fault in them or because their buffers need
    gaps of memory that the runtime does not have."""
    compiler: str | None = None
    """Which compiler compiled it, "hiprtc" or "hipcc" (null: the runtime has only one)."""
    compiler_name: str | None = None
    """The full name of the compiler that "hipcc" stands for, such as "ROCm's amdclang++, AMD clang version 19.0.0"."""
    pinned: Count = 0
    """How many of the selected cases are pinned: launches of programs that the port keeps."""
    planned: Count = 0
    """Cases that were selected, where not all of them were run (else 0)."""
    robustness: Robustness | None = None
    """The result of cases without a part in the status, where they were run (``--all-cases``)."""
    unasked: Count = 0
    """Cases without a part in the status that were not run, because ``--all-cases`` was not given."""
    port_name: str | None = None
    """The port's name of the kernel, where it is not Candle's."""
    known_reason: str | None = None
    """The reason that the port declares, where ``known_failures`` covers every failure of the kernel."""
    fixed: str | None = None
    """The defect of Candle's that the port declares to mend; the right result was expected."""
    geometry: str | None = None
    """The grid, block or shared memory that the port declares in the place of Candle's."""
    adapter: str | None = None
    """The parameters of the port's kernel in order, where it was judged through an ``[[adapter]]``."""
    launched_when: str | None = None
    """The condition of ``[[launch]] when``: the port launches the kernel only where it holds."""
    never_launched: Count = 0
    """Cases in which that condition does not hold; they have no part in the status and are counted in ``unasked`` or
    ``robustness`` too."""
    observations: Annotated[tuple[Observation, ...], FailFast()] = ()
    """Of a kernel that failed: every failing case, grouped by evidence."""
    passed: Texts = ()
    """Of a kernel that failed: every case that did not fail, as the text between the brackets of its id."""
    max_ulp_bound: Ulp = None
    """The error that was allowed for the element with ``max_ulp`` (null: that element is wrong, or nothing was off)."""
    nearest_ulp: Ulp = None
    """The error of the right element that came nearest to its bound."""
    nearest_ulp_bound: Ulp = None
    """The bound of that element."""
    profile: Annotated[str, Field(pattern="^[.0-9a-kx]{64}$")] | None = None
    """Of a unary kernel of floats that is not bit-equal, the worst element at each power of two of its input, from the
    largest negative ones over 0 to the largest positive ones: "." none, "0" to "k" twentieths of its bound, "x" wrong.
    """
    leak: str | None = None
    """What every call of a launcher leaves allocated: memory, streams or events (null: nothing, or unknown). It has no
    part in the status."""
    misaligned: str | None = None
    """The first case in which a HIP kernel accessed a vector or a structure at an address that is not aligned for its
    type, and the access: AMD GPUs allow it, NVIDIA's do not (null: none, or unknown). It has no part in the status."""

    @property
    def counts(self) -> str:
        """How many cases failed, in words: ``3 of 53 cases failed, 12 not run``."""
        missed = self.planned - self.cases if self.planned else 0
        not_run = f", {missed} not run" if missed > 0 else ""
        return f"{self.failed} of {max(self.planned, self.cases)} cases failed{not_run}"

    @property
    def failed_cases(self) -> list[str]:
        """The full ids of all failing cases, also of those that ``failures`` leaves out."""
        return [f"{self.name}({case})" for one in self.observations for case in one.cases]

    @property
    def lost(self) -> bool:
        """Whether the kernel was selected but has no verdict, for a reason that is not its own doing, such as a full
        disk."""
        return self.status == "not_run" and (self.message or "").startswith(INFRASTRUCTURE)

    @classmethod
    def not_run(cls, kernel: Kernel, **fields: Any) -> Self:
        """The row of a ``kernel`` without a verdict. ``fields`` are further fields of the row, such as ``message``."""
        return cls(status="not_run", **of_specs(kernel), **fields)


def of_specs(kernel: Kernel) -> dict[str, Any]:
    """The fields of ``KernelResult`` that the spec of ``kernel`` decides: name, module, family, upstream line."""
    return {name: getattr(kernel, name) for name in ("name", "module", "family", "upstream")}


class Outcome(KernelResult):
    """What a judge says of a kernel: the row of the record, and what only the run needs besides.

    The fields that come from the specs are still empty; ``row`` fills them.
    """

    model_config = ConfigDict(extra="forbid")

    module: str = ""
    family: str = ""
    upstream: str = ""
    seconds: float | None = 0.0
    launches: int = 0
    kept: bool = False
    """It is that of an earlier run (``conformance.engine.reuse``)."""
    poisoned: bool = False
    """A fault took the device's context with it, so that the executor must be replaced."""
    warnings: Texts = ()
    """What went wrong without costing the verdict."""
    ends_member: ClassVar[bool] = False

    @property
    def is_open(self) -> bool:
        """Whether there is no verdict yet: what went wrong was not the kernel's doing, so that it may be judged
        again."""
        return self.status == "not_run"

    @classmethod
    def infrastructure(cls, name: str, why: str) -> Outcome:
        """The outcome of the kernel ``name`` when there is no verdict because of ``why``, which is not the kernel's
        doing."""
        return cls(name=name, status="not_run", message=f"{INFRASTRUCTURE}{why}")

    def row(self, kernel: Kernel, **fields: Any) -> KernelResult:
        """The row of ``kernel`` in the record: this outcome with the fields of the spec, and with ``fields``."""
        mine = {name: getattr(self, name) for name in KernelResult.model_fields}
        return KernelResult(**{**mine, **of_specs(kernel), **fields})
