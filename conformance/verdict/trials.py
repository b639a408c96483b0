"""The cases of one kernel with what is expected of them: generated from its rows, or recorded in traces."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

import reference
from conformance.cases import cases_for, has_cases, launch_for
from conformance.cases.candle_changes import Change, launched_before
from conformance.cases.case import Case
from conformance.cases.launch import Buffer, Launch
from conformance.cases.never_launched import never_launched
from conformance.dtypes import dtype
from conformance.outcome import NO_EVIDENCE, Evidence
from conformance.port.config import OPTIONS_FILE
from conformance.port.declared.declared import Declared
from conformance.port.declared.geometry import geometry_of, launched_as
from conformance.processes import InfrastructureError
from conformance.reading import shortened
from conformance.replay.traces import Trace, Traces
from conformance.spec.kernel import Kernel
from conformance.verdict.compare import is_poison, judge_argument
from conformance.verdict.evidence import IMPOSSIBLE_GEOMETRY
from reference.expected import Expected

Subject = Literal["kernels", "reference"]
"""What is judged."""


@dataclass(frozen=True)
class TrialCase:
    """One launch and the expected content of each written buffer, from the address that the kernel gets.

    ``answer`` is what somebody recorded, whole buffers by name, where the trial comes from a trace. ``must_fault`` says
    why upstream stops this launch with an assert: the kernel has to end in a fault, and nothing is expected of buffers.
    ``flaw`` says what is wrong with the trial itself: a recorded answer that the reference does not allow, or a launch
    geometry of the port's that is impossible; ``evidence`` is of that.
    """

    case: Case
    launch: Launch
    expected: dict[str, Expected]
    answer: dict[str, NDArray[Any]] | None = None
    must_fault: str | None = None
    flaw: str | None = None
    evidence: Evidence = NO_EVIDENCE

    @property
    def id(self) -> str:
        return self.case.id


class Parts(NamedTuple):
    """A kernel's cases: those of its verdict, and the others.

    Others are what Candle's Rust side never launches, and what Candle's own kernel gets wrong, unless the port declares
    that it mends that.
    """

    judged: tuple[Case, ...]
    others: tuple[Case, ...]


def generated_parts(kernel: Kernel, changes: Sequence[Change] = ()) -> Parts:
    """All generated cases of ``kernel`` as Candle launched them before ``changes``, none where its family has no
    generator yet."""
    judged, others = _parts(kernel, cases_for(kernel) if has_cases(kernel) else ())
    before = {case: launched_before(changes, kernel.launch, case) for case in judged}
    return Parts(
        tuple(then for then in before.values() if then is not None),
        (*others, *(case for case, then in before.items() if then is None)),
    )


def recorded_parts(kernel: Kernel, traces: Path) -> Parts:
    """All recorded cases of ``kernel``; raises ``TraceError``."""
    return _parts(kernel, _traces(traces).cases(kernel.name))


def _parts(kernel: Kernel, cases: Iterable[Case]) -> Parts:
    judged: list[Case] = []
    others: list[Case] = []
    for case in cases:
        wrong = kernel.is_wrong_upstream(case.text) and not kernel.is_fixed
        (others if wrong or never_launched(kernel.launch, case) else judged).append(case)
    return Parts(tuple(judged), tuple(others))


def generated(kernel: Kernel, cases: Iterable[Case] | None, salt: str) -> Iterator[TrialCase]:
    """``cases`` of ``kernel``; without them, all of it, none where its family has no generator yet.

    Raises ``ValueError`` for one that is not a case of the kernel.
    """
    if cases is None:
        cases = cases_for(kernel) if has_cases(kernel) else ()
    for case in cases:
        launch = launch_for(kernel, case, salt)
        try:
            yield TrialCase(case, launch, _reference(kernel, launch))
        except reference.Faults as fault:
            yield TrialCase(case, launch, {}, must_fault=str(fault))


def with_geometry(cases: Iterable[TrialCase], declared: Declared, kernel: str, wave: int) -> Iterator[TrialCase]:
    """``cases`` of ``kernel`` with the geometry that the port declares, if it does; a case that cannot be launched with
    it has a flaw, which names the file and the row."""
    row = geometry_of(declared.launch, kernel)
    if row is None:
        yield from cases
        return
    number = declared.launch.index(row) + 1
    where = f"{Path(declared.file).name or OPTIONS_FILE}: launch, row {number} ({shortened(row.kernels)!r})"
    for case in cases:
        try:
            yield replace(case, launch=launched_as(row, case.case, case.launch, wave, where))
        except ValueError as error:
            yield replace(case, flaw=str(error), evidence=Evidence(fault=IMPOSSIBLE_GEOMETRY))


def with_wave(cases: Iterable[TrialCase], wave: int) -> Iterator[TrialCase]:
    """``cases`` of a launcher with the device's own number of lanes for the argument that tells it."""
    for case in cases:
        yield replace(case, launch=case.launch.with_lanes(wave))


def recorded(kernel: Kernel, cases: Iterable[Case] | None, traces: Path, subject: Subject) -> Iterator[TrialCase]:
    """The recorded ones of ``cases`` of ``kernel``, or all.

    Expected is the reference's answer, or, where ``kernels`` are the subject, the recording.
    """
    ids = None if cases is None else {case.id for case in cases}
    for trace in _traces(traces).of(kernel):
        if ids is not None and trace.case.id not in ids:
            continue
        try:
            bound = _reference(kernel, trace.launch)
        except reference.Faults as fault:
            yield TrialCase(trace.case, trace.launch, {}, flaw=f"there is an answer, but upstream stops this: {fault}")
            continue
        if subject == "reference":
            order = {name: replace(expected, exact=None) for name, expected in bound.items()}
            yield TrialCase(trace.case, trace.launch, order, trace.answer)
        else:
            yield against_recording(kernel, trace, bound)


def against_recording(kernel: Kernel, trace: Trace, bound: dict[str, Expected]) -> TrialCase:
    """The trial of a kernel by a recorded answer.

    The answer is expected; where the reference gives an interval (a library function, a free order of summation) the
    kernel may lie anywhere in it, as the answer may. An answer outside what the reference allows judges nobody. Where
    the port fixes an upstream defect the reference's answer is expected.
    """
    expected: dict[str, Expected] = {}
    flaw: str | None = None
    after = {arg.name: trace.answer.get(arg.name, arg.data) for arg in trace.launch.args if isinstance(arg, Buffer)}
    for argument in trace.launch.args:
        if not isinstance(argument, Buffer) or argument.name not in trace.answer:
            continue
        answer, ulp = trace.answer[argument.name], kernel.tolerance.ulp
        allowed = bound.get(argument.name, Expected(argument.data[argument.start :]))
        order = replace(allowed, exact=None)  # Candle's own answer is in its own order of operations
        mismatch = judge_argument(argument, answer, order, ulp)
        if mismatch is not None:
            others = with_equivalents(kernel, trace.launch, argument.name, order, after)
            mismatch = judge_argument(argument, answer, others, ulp)
        if mismatch is not None:
            flaw = f"the recorded answer is not what the reference allows: {mismatch.why}"
        if kernel.is_fixed:
            expected[argument.name], flaw = allowed, None
            continue
        limits = (allowed.low, allowed.high, allowed.free)
        expected[argument.name] = Expected(answer[argument.start :], *limits, exact=allowed.exact)
    return TrialCase(trace.case, trace.launch, expected, trace.answer, flaw=flaw)


def with_equivalents(
    kernel: Kernel, launch: Launch, name: str, expected: Expected, buffers: Mapping[str, NDArray[Any]]
) -> Expected:
    """``expected`` of buffer ``name`` with the elements that the reference calls as good put in its place.

    ``buffers`` holds the whole content of every buffer after the launch.
    """
    starts = {arg.name: arg.start for arg in launch.args if isinstance(arg, Buffer)}
    got = {other: content[starts[other] :] for other, content in buffers.items()}
    masks = reference.equivalent(kernel.module, kernel.variant, launch.reference_arguments(), got)
    mask = masks.get(name)
    return expected if mask is None else Expected(np.where(mask, got[name], expected.value))


def with_written(kernel: Kernel, launch: Launch, argument: Buffer, expected: Expected, got: NDArray[Any]) -> Expected:
    """``expected`` of output ``argument`` with the elements that the reference writes, where ``got`` differs from one
    that is to have the very bytes that it had before: what the reference writes does not depend on these."""
    row = dtype(argument.dtype)
    bits = row.bits
    value, before = expected.value.view(bits), argument.data[argument.start :].view(bits)
    kept = (value == before) & (got.view(bits) != value)
    if argument.role != "out" or not is_poison(value[kept], row).any():
        return expected
    other = replace(argument, data=(~argument.data.view(bits)).view(argument.data.dtype))
    args = tuple(other if arg is argument else arg for arg in launch.args)
    left = _reference(kernel, replace(launch, args=args))[argument.name].value
    return replace(expected, written=left.view(bits) != ~before)


def otherwise_fixed(kernel: Kernel, case: TrialCase) -> tuple[Kernel, TrialCase]:
    """``kernel`` and ``case`` with Candle's result expected in place of the right one, or the other way round."""
    other = kernel.as_upstream() if kernel.is_fixed else kernel.fixed()
    return other, replace(case, expected=_reference(other, case.launch))


def _reference(kernel: Kernel, launch: Launch) -> dict[str, Expected]:
    """What the reference expects of ``launch``.

    Raises ``NoReference``, ``Faults``, and ``InfrastructureError`` for a reference that fails: no doing of the kernel.
    """
    try:
        return reference.evaluate(
            kernel.module, kernel.family, kernel.variant, kernel.tolerance.library_ulp, launch.reference_arguments()
        )
    except (reference.NoReference, reference.Faults):
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        raise InfrastructureError(f"the reference of {kernel.name} raised {error!r} at {where}") from error


@lru_cache(maxsize=1)
def _traces(folder: Path) -> Traces:
    return Traces(folder)
