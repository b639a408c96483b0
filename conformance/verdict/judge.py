"""Judging: every buffer of every answer against what the reference expects, and the status of the kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Buffer, Scalar
from conformance.dtypes import dtype
from conformance.outcome import Evidence
from conformance.spec.kernel import Kernel
from conformance.status import Status
from conformance.verdict import references
from conformance.verdict.compare import Margins, Mismatch, judge_argument
from conformance.verdict.evidence import evidence_of
from conformance.verdict.loop import Buffers, Counts
from conformance.verdict.operands import operands
from conformance.verdict.profile import Profile
from conformance.verdict.trials import TrialCase, otherwise_fixed, with_equivalents, with_written
from reference.expected import Expected, Faults

TIE_ORDER_DIFFERS = "equal values are in another order than after Candle's sorting network; any order of them is right"
INDEX_DIFFERS = (
    "among equal extreme values another index is chosen than by Candle's reduction tree; any of them is right"
)

NEARER = "nearer to the true value than Candle's in {} cases"

RIGHT_ANSWER = "right where upstream is wrong"
"""What a failing case answers that has the right result, and not Candle's."""

ONLY_EMPTY = "only empty cases were selected: nothing was judged"


class Judging:
    """Judges the answers of one kernel. It passes only with a case that is not empty."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._only_empty = True
        self._tie_order_differs = False
        self._margins = Margins()
        self._nearer: set[str] = set()
        self._profile = Profile(kernel)

    def begin(self, case: TrialCase) -> None:
        """Whether nothing but empty cases was met so far."""
        self._only_empty = self._only_empty and is_empty(case)

    def take(self, case: TrialCase, buffers: Buffers, again: bool = False) -> Mismatch | None:
        """The first buffer that is not as expected; notes the largest error, but not of an answer ``again``."""
        margins = Margins()
        mismatch, tie_order_differs = _compare(self._kernel, case, buffers, margins)
        if not again:
            self._margins.add(margins)
            if margins.nearer_than_candle and mismatch is None:
                self._nearer.add(case.id)
            self._tie_order_differs |= tie_order_differs
        self._profile.take(case, buffers, right=mismatch is None)
        if mismatch is not None and self._kernel.fix is not None and not case.must_fault:
            mismatch = _of_defect(self._kernel, case, buffers, mismatch)
        return mismatch

    def is_right(self, case: TrialCase, buffers: Buffers) -> bool:
        """Whether every buffer is as expected, or untouched."""
        for argument in case.launch.args:
            if isinstance(argument, Buffer) and argument.role != "scratch":
                expected = case.expected.get(argument.name, Expected(argument.data[argument.start :]))
                if judge_argument(argument, buffers[argument.name], expected, self._kernel.tolerance.ulp):
                    return False
        return True

    def finish(self, counts: Counts) -> dict[str, Any]:
        """The status, of all cases and of what the spec says of known failures, and the errors."""
        if counts.cases and not counts.failed and self._only_empty:
            return {"status": "not_run", "message": ONLY_EMPTY, "cases": 0, "left_out": 0}
        status, message = self._status(counts)
        far = self._margins
        return {
            "status": status,
            "message": message,
            # An error of 0 says something only where an answer was compared.
            "max_ulp": far.largest if counts.cases else None,
            "max_ulp_bound": far.largest_bound,
            "nearest_ulp": far.nearest,
            "nearest_ulp_bound": far.nearest_bound,
            "profile": self._profile.text(),
        }

    def _status(self, counts: Counts) -> tuple[Status, str | None]:
        known = self._kernel.known_failure
        if not counts.cases:
            return "not_run", "no case was run"
        if known and counts.failed:
            return "known_failure", known
        if known:
            return "fail", f"passes, though the spec declares a known failure ({known}); remove it from the spec"
        message = counts.message
        if not message and self._tie_order_differs:
            message = TIE_ORDER_DIFFERS if self._kernel.module == "sort" else INDEX_DIFFERS
        if not message and self._nearer and not counts.failed:
            message = NEARER.format(len(self._nearer))
        return counts.failed_status if counts.failed else "pass", message


def recorded_answer(case: TrialCase, _: str) -> Buffers:
    """The recorded answer, to judge the reference by; buffers that are only read stay as they were."""
    assert case.answer is not None
    return {arg.name: case.answer.get(arg.name, arg.data) for arg in case.launch.args if isinstance(arg, Buffer)}


def is_empty(case: TrialCase) -> bool:
    """Whether the case has a size of 0 and no element to write: a kernel that does nothing would be right."""
    if case.must_fault or case.flaw:
        return False
    if not any(isinstance(arg, Scalar) and arg.value.dtype.kind in "iu" and not arg.value for arg in case.launch.args):
        return False
    return all(
        np.array_equal(case.expected[arg.name].value.view(np.uint8), arg.data[arg.start :].view(np.uint8))
        for arg in case.launch.args
        if isinstance(arg, Buffer) and arg.name in case.expected
    )


def _compare(
    kernel: Kernel, case: TrialCase, buffers: Buffers, margins: Margins | None = None
) -> tuple[Mismatch | None, bool]:
    """The first buffer that is not as expected, and whether only ties are in other order; ``margins`` takes note of
    the errors."""
    if case.must_fault:
        why = f"ended without a fault, but upstream stops this launch: {case.must_fault}"
        return Mismatch(why, 0, "no fault", "a fault", None, Evidence(fault="no fault")), False
    flaw = references.flaw(kernel, case.launch.reference_arguments, buffers)
    if flaw is not None:
        why = f"{flaw.what}: {flaw.got}; expected: {flaw.expected}"
        return Mismatch(why, 0, flaw.got, flaw.expected, None, Evidence(answers=(flaw.what,))), False
    tie_order_differs = False
    for argument in case.launch.buffers.values():
        if argument.role == "scratch":
            continue
        got, before, start = buffers[argument.name], argument.data, argument.start
        row = dtype(argument.dtype)
        expected = case.expected.get(argument.name)
        if expected is None:
            if not np.array_equal(got.view(np.uint8), before.view(np.uint8)):
                return _overwritten(argument, got), False
            continue
        if start and not np.array_equal(got[:start].view(row.bits), before[:start].view(row.bits)):
            return _overwritten(argument, got[:start]), False
        mismatch = judge_argument(argument, got, expected, kernel.tolerance.ulp, margins)
        if mismatch is not None:
            others = with_equivalents(kernel, case.launch, argument.name, expected, buffers)
            has_ties = others is not expected
            expected = with_written(kernel, case.launch, argument, others, got[start:])
            mismatch = judge_argument(argument, got, expected, kernel.tolerance.ulp)
            tie_order_differs = mismatch is None and has_ties
        if mismatch is not None:
            read = operands(case.launch, mismatch.index)
            why = f"{mismatch.why}; {read}" if read else mismatch.why
            if case.launch.spread is not None and argument.name in case.launch.spread.pieces:
                place = case.launch.spread.place(argument.name, start + mismatch.index)
                why = f"{why}; this index leaves the gaps out; in the allocation it is element {place}"
            evidence = evidence_of(kernel, case.launch, argument, got[start:], expected)
            return replace(mismatch, why=why, evidence=evidence), False
    return None, tie_order_differs


def _of_defect(kernel: Kernel, case: TrialCase, buffers: Buffers, mismatch: Mismatch) -> Mismatch:
    """``mismatch`` with what it has to do with the upstream defect of ``kernel``, if it has."""
    assert kernel.fix is not None
    try:
        if _compare(*otherwise_fixed(kernel, case), buffers)[0] is not None:
            return mismatch
    except (Faults, ValueError):  # the one result is defined, the other is not
        return mismatch
    if kernel.is_fixed:
        finding, answer = "this is what Candle's kernel computes, with the defect that the port declares as fixed", ""
    else:
        answer = RIGHT_ANSWER
        finding = f"this is what the kernel should compute, Candle's has a defect: {kernel.fix.defect.rstrip('.')}; "
        finding += f'add fixes = ["{kernel.fix.name}"] to candle-parity.toml to have it judged so'
    evidence = mismatch.evidence
    answers = (answer, *evidence.answers) if answer else evidence.answers
    return replace(mismatch, why=f"{mismatch.why}; {finding}", evidence=replace(evidence, answers=answers))


def _overwritten(argument: Buffer, got: NDArray[Any]) -> Mismatch:
    """An element that the kernel had no business to write."""
    row = dtype(argument.dtype)
    before = argument.data[: got.size]
    changed = np.flatnonzero(got.view(row.bits) != before.view(row.bits))
    index = int(changed[0])
    where = "before the start of" if argument.role != "in" else "of input"
    why = f"element {index} {where} {argument.name} was overwritten; {changed.size} elements in all"
    where = "before the start" if argument.role != "in" else "input overwritten"
    return Mismatch(why, index, str(got[index]), str(before[index]), None, Evidence(elements=(where,)))
