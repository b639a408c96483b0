"""From the failing kernels of a record to causes, each with its kernels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import comb
from statistics import median

from conformance.cases.traits import BEYOND_INT, EMPTY, NOT_CONTIGUOUS, TRAITS, traits_of
from conformance.outcome import Evidence
from conformance.record import KernelResult
from conformance.report.causes import compile_errors
from conformance.report.causes.cause import FIXES_UPSTREAM, OTHER_GEOMETRIES, SCALED, Cause
from conformance.report.causes.compile_errors import CAUSE, compile_error_of
from conformance.report.causes.older_candle import older_candle
from conformance.report.causes.table import CAUSES
from conformance.report.tally import kernel_of
from conformance.spec.entry import ROWS
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.status import FAILED_LAUNCHES
from conformance.verdict.evidence import RIGHT_IN_BLOCKS, RIGHT_LAUNCHED_WITH
from conformance.verdict.wrong_buffers import SCALED_BY

MIXED = Cause("mixed", "", "Several causes in one kernel, not told apart", "take the failing cases one by one")
UNKNOWN = Cause("not recognised", "", "Not recognised", "the evidence fits no known cause: see the first case")

SIGNATURE = Cause(
    "signature",
    "L05",
    "Other parameters than Candle's",
    "declare Candle's parameters, in Candle's order",
    own_title="Other parameters than in its spec",
    own_advice="give kernel and spec the same parameters, in the same order",
)

_CHANCE = 5e-3
"""How likely it may be, for a trait to be named, that as many cases drawn from all of them have it."""

_NOISE = 0.05
"""How far off what rounding leaves of a factor's offset from 1 may be."""

_SAME_FACTOR = 0.5
"""How far the offsets from 1 of one factor may lie apart in several cases, relative to themselves: some cases have few
elements, and each is rounded."""

_TYPES = re.compile(
    r"\b(?:(?:__)?half|_Float16|float|double|bf16|hip_bfloat16|__(?:nv|hip)_bfloat16|bool|f\d+\w*|[ui]\d+|u?int\d+_t|"
    r"(?:(?:un)?signed )?(?:char|short|int|long))\b"
)


@dataclass(frozen=True)
class FailingCase:
    """A failing case: the text between the brackets of its id, and its evidence."""

    text: str
    evidence: Evidence
    traits: frozenset[str]


@dataclass(frozen=True)
class Share:
    """A kernel under a cause: its failing cases that the cause explains, and its cases that pass."""

    kernel: KernelResult
    cases: tuple[FailingCase, ...]
    passed: tuple[frozenset[str], ...]


@dataclass
class Finding:
    """A cause, with the kernels that have it.

    ``detail`` tells causes of one row apart, such as compile errors; ``places`` are where the compiler found these.
    ``what`` says what has the cause: kernels, launchers or library calls. ``age`` says which of Candle's changes the
    port has not followed, if the cause shows that.
    """

    cause: Cause
    shares: list[Share] = field(default_factory=list)
    detail: str = ""
    places: list[str] = field(default_factory=list)
    what: str = "kernel"
    age: str = ""

    @property
    def place(self) -> str:
        """The lines where the compiler found the error, if they are in one file; else ""."""
        return compile_errors.where(self.places)

    @property
    def files(self) -> int:
        """The number of files in which the compiler found the error."""
        return len(compile_errors.files_of(self.places))

    @property
    def advice(self) -> str:
        """What to do about it."""
        return compile_errors.advice(self.places, self.detail) if self.cause is CAUSE else self.cause.advice

    @property
    def declaration(self) -> list[str]:
        """The lines for candle-parity.toml that declare the launch geometry by which the cases pass; empty for other
        causes."""
        if self.cause.id not in OTHER_GEOMETRIES:
            return []
        several = f"  # and a row for each of the {len(self.shares)}, or one with *" if len(self.shares) > 1 else ""
        return ["[[launch]]", f'kernels = "{self.shares[0].kernel.name}"{several}', *self.detail.split("; ")]

    @property
    def failed(self) -> int:
        """The number of failing cases that it explains."""
        return sum(len(share.cases) for share in self.shares)


def find_causes(rows: Sequence[KernelResult], specs: Specs) -> list[Finding]:
    """The causes of all failing kernels (or launchers) in ``rows``, the one with most kernels first.

    Failures that are not recognised come last. A kernel with several causes is listed under each of them. One whose
    failures the port declares is listed under none.
    """
    findings: dict[tuple[str, str], Finding] = {}
    for row in rows:
        entry = kernel_of(row, specs).entry
        what = ROWS[entry].noun
        if row.known_reason:
            continue
        if row.status == "compile_error":
            error = compile_error_of(row)
            finding = findings.setdefault((CAUSE.id, error.key), Finding(CAUSE, detail=error.text, what=what))
            finding.detail = compile_errors.shared(finding.detail, error.text)
            finding.shares.append(Share(row, (), ()))
            finding.places += [error.place] if error.place and error.place not in finding.places else []
            continue
        for cause, detail, share in _causes_of(row, specs):
            key = _TYPES.sub("T", detail) if cause is SIGNATURE else detail
            text = detail if key == detail else f"{detail}, in {row.name}"
            told = cause if ROWS[entry].in_specs else cause.of_own_kernels()
            findings.setdefault((cause.id, key), Finding(told, detail=text, what=what)).shares.append(share)
    last = (MIXED.id, UNKNOWN.id)
    ages = older_candle(
        {key[0]: {share.kernel.name for share in finding.shares} for key, finding in findings.items()},
        {row.name for row in rows if row.status == "pass"},
        specs,
    )
    for finding in findings.values():
        finding.age = ages.get(finding.cause.id, "")
    order = {key: number for number, key in enumerate(findings)}
    return [
        findings[key]
        for key in sorted(
            findings,
            key=lambda key: (key[0] in last and last.index(key[0]) + 1, -len(findings[key].shares), order[key]),
        )
    ]


def _causes_of(row: KernelResult, specs: Specs) -> Iterable[tuple[Cause, str, Share]]:
    if row.status == "signature":
        text = re.sub(r" \(.*", "", row.message or "other parameters than Candle's")
        yield SIGNATURE, text, Share(row, (), ())
    elif row.status in FAILED_LAUNCHES:
        kernel = kernel_of(row, specs)
        failing = _failing(row)
        passed = tuple(traits_of(text) for text in row.passed)
        told, beyond = _without_far_rows(failing)
        for cause, detail, cases in _assigned(told, passed, kernel):
            yield cause, _detail(cause, kernel, cases) or detail, Share(row, (*cases, *beyond), passed)
            beyond = ()
        if not failing:
            yield UNKNOWN, "", Share(row, (), ())


def _without_far_rows(cases: tuple[FailingCase, ...]) -> tuple[tuple[FailingCase, ...], tuple[FailingCase, ...]]:
    """``cases`` without those whose rows lie beyond 2^31 elements, and these, where others of strided operands fail: a
    mistake with strides shows in gaps as something else, a fault or zeros."""
    near = tuple(case for case in cases if BEYOND_INT not in case.traits)
    if not any(NOT_CONTIGUOUS in case.traits for case in near):
        return cases, ()
    return near, tuple(case for case in cases if BEYOND_INT in case.traits)


def _detail(cause: Cause, kernel: Kernel, cases: Sequence[FailingCase]) -> str:
    """What candle-parity.toml has to say of ``kernel``, or the factor by which its answers are off; empty for other
    causes."""
    if cause.id == FIXES_UPSTREAM and kernel.fix is not None:
        return f'fixes = ["{kernel.fix.name}"]'
    if cause.id in OTHER_GEOMETRIES:
        return _geometry(next(iter(_common(cause, [case for case in cases if cause.matching(case.evidence)]))))
    if cause.id == SCALED:
        return _factor(median(_offsets(cause, cases)))
    return ""


def _common(cause: Cause, cases: Sequence[FailingCase]) -> list[str]:
    """The answers that ``cause`` asks for and all ``cases`` have, in the order of the first."""
    shared = frozenset.intersection(*(cause.matching(case.evidence) for case in cases))
    return [name for name in cases[0].evidence.answers if name in shared]


def _geometry(answer: str) -> str:
    """``grid = ["ceildiv(numel, 256)"]; block = [256]``: what an answer says of a launch geometry."""
    older = f"block = {answer.removeprefix(RIGHT_IN_BLOCKS)}" if answer.startswith(RIGHT_IN_BLOCKS) else answer
    return older.removeprefix(RIGHT_LAUNCHED_WITH)


def _offsets(cause: Cause, cases: Sequence[FailingCase]) -> list[float]:
    """How far from 1 the factors are that ``cause`` sees in ``cases``."""
    return [float(name.removeprefix(SCALED_BY)) for case in cases for name in cause.matching(case.evidence)]


def _factor(offset: float) -> str:
    """``1.000001``: 1 and ``offset``, of which a second digit is told where it is more than noise."""
    short = f"{offset:.0e}"
    return str(Decimal(1) + Decimal(short if abs(float(short) / offset - 1) < _NOISE else f"{offset:.1e}"))


def _failing(row: KernelResult) -> tuple[FailingCase, ...]:
    """The failing cases of a kernel; of records without observations those whose failures were written out."""
    observed = [(text, group.evidence) for group in row.observations for text in group.cases]
    kept = [(failure.case.partition("(")[2].removesuffix(")"), failure.evidence) for failure in row.failures]
    return tuple(FailingCase(text, evidence, traits_of(text)) for text, evidence in observed or kept)


Passed = tuple[frozenset[str], ...]


def _assigned(
    cases: tuple[FailingCase, ...], passed: Passed, kernel: Kernel, every: tuple[FailingCase, ...] | None = None
) -> list[tuple[Cause, str, tuple[FailingCase, ...]]]:
    """``cases`` under their causes: one for all of them if there is one, else those that may take a part.

    ``every`` are all failing cases of the kernel.
    """
    if not cases:
        return []
    every = every or cases
    for cause in CAUSES:
        if all(cause.fits(case.evidence, case.traits, kernel) for case in cases) and _hold(cause, cases, every, passed):
            return [(cause, "", cases)]
    for cause in CAUSES:
        fitting = _fitting(cause, cases, kernel) if cause.part else ()
        if fitting and _hold(cause, fitting, cases, passed):
            taken = tuple(case for case in cases if case in fitting or _spreads_to(cause, case))
            rest = tuple(case for case in cases if case not in taken)
            return [(cause, "", taken), *_assigned(rest, passed, kernel, every)]
    named = [
        next((one for one in CAUSES if not one.holds and one.fits(case.evidence, case.traits, kernel)), None)
        for case in cases
    ]
    if None in named:
        return [(UNKNOWN, "", cases)]
    titles = sorted({cause.title.partition(":")[0] for cause in named if cause is not None})
    return [(MIXED, "; ".join(titles), cases)]


def _spreads_to(cause: Cause, case: FailingCase) -> bool:
    """Whether ``cause``, which explains other cases of the kernel, explains ``case`` with them."""
    return "spreads" in cause.holds or (
        "spreads to the trait" in cause.holds and not case.traits.isdisjoint(cause.traits)
    )


def _fitting(cause: Cause, cases: Sequence[FailingCase], kernel: Kernel) -> tuple[FailingCase, ...]:
    return tuple(case for case in cases if cause.fits(case.evidence, case.traits, kernel))


def _hold(cause: Cause, fitting: Sequence[FailingCase], cases: Sequence[FailingCase], passed: Passed) -> bool:
    return all(_HOLDS[name](cause, fitting, cases, passed) for name in cause.holds)


def _none_passes(passed: Passed, traits: Iterable[str]) -> bool:
    """Whether no case passes that has one of ``traits`` and elements to be wrong."""
    return not any(EMPTY not in case and not case.isdisjoint(traits) for case in passed)


def _no_fault_without(cause: Cause, fitting: Sequence[FailingCase], cases: Sequence[FailingCase], _: Passed) -> bool:
    return all(case in fitting for case in cases if case.evidence.fault in cause.faults)


def _one_answer(cause: Cause, fitting: Sequence[FailingCase], _: Sequence[FailingCase], __: Passed) -> bool:
    return bool(frozenset.intersection(*(cause.matching(case.evidence) for case in fitting)))


def _one_factor(cause: Cause, fitting: Sequence[FailingCase], _: Sequence[FailingCase], __: Passed) -> bool:
    offsets = _offsets(cause, fitting)
    return max(offsets) - min(offsets) <= _SAME_FACTOR * abs(median(offsets))


def _both_kinds(_: Cause, fitting: Sequence[FailingCase], __: Sequence[FailingCase], ___: Passed) -> bool:
    kinds = {kind for case in fitting for kind in case.evidence.elements}
    return "sign of zero" in kinds and len(kinds) > 1


def _most_strided(_: Cause, fitting: Sequence[FailingCase], cases: Sequence[FailingCase], __: Passed) -> bool:
    """Whether it explains at least half of the failing cases with strided operands, of which there are some."""
    strided = [case for case in cases if NOT_CONTIGUOUS in case.traits]
    return bool(strided) and 2 * sum(case in fitting for case in strided) >= len(strided)


def _bears_out(failed: int, with_it: int, without: int) -> bool:
    """Whether ``failed`` cases, all with a trait, and those that pass, some ``with_it`` and some ``without``, show that
    the trait decides: at least half with it fail, and as many drawn from all would hardly all have it by chance."""
    chance = comb(failed + with_it, failed) / comb(failed + with_it + without, failed)
    return with_it <= failed and chance <= _CHANCE


def _not_by_chance(cause: Cause, fitting: Sequence[FailingCase], _: Sequence[FailingCase], passed: Passed) -> bool:
    judged = [case for case in passed if EMPTY not in case]
    with_it = sum(not case.isdisjoint(cause.traits) for case in judged)
    return _bears_out(len(fitting), with_it, len(judged) - with_it)


_HOLDS: dict[str, Callable[[Cause, Sequence[FailingCase], Sequence[FailingCase], Passed], bool]] = {
    "all that are not contiguous": lambda _, __, ___, passed: _none_passes(passed, (NOT_CONTIGUOUS,)),
    "all with the trait": lambda cause, _, __, passed: _none_passes(passed, cause.traits),
    "not without the trait": _no_fault_without,
    "no such fault else": _no_fault_without,
    "not only broadcast": lambda _, fitting, __, ___: any("a broadcast operand" not in case.traits for case in fitting),
    "one factor": _one_factor,
    "two cases, if two fail": lambda _, fitting, cases, __: len(fitting) >= min(2, len(cases)),
    "several cases": lambda _, fitting, __, ___: len(fitting) > 1,
    "both kinds": _both_kinds,
    "most that are not contiguous": _most_strided,
    "one answer": _one_answer,
    "not always all": lambda _, fitting, __, ___: any("all elements" not in case.evidence.answers for case in fitting),
    "all that fail": lambda _, fitting, cases, __: len(fitting) == len(cases),
    "not by chance": _not_by_chance,
    "spreads": lambda *_: True,
    "spreads to the trait": lambda *_: True,
}
"""Conditions on all cases of a kernel, by the names that the table has."""


def deciding_trait(finding: Finding) -> tuple[str, int, int] | None:
    """The trait that all failing cases of ``finding`` have, and the fewest others; with the number of cases with it
    that fail and that pass.

    ``None`` where the cases do not show one.
    """
    failing = [case.traits for share in finding.shares for case in share.cases]
    passed = [case for share in finding.shares for case in share.passed if EMPTY not in case]
    if not failing:
        return None
    common = frozenset.intersection(*failing) - {EMPTY}
    ranked = sorted(common, key=lambda name: (sum(name in case for case in passed), name not in TRAITS, name))
    if not ranked:
        return None
    with_it = sum(ranked[0] in case for case in passed)
    return (ranked[0], len(failing), with_it) if _bears_out(len(failing), with_it, len(passed) - with_it) else None
