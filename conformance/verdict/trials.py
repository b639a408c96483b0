"""The cases of one kernel with what is expected of them, generated from its rows. Other sources of cases make
trials too (``conformance.engine.recordings``)."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

import reference
from conformance.cases import cases_for, has_cases, launch_for
from conformance.cases.candle_changes import CandleChange, launched_before
from conformance.cases.case import Case
from conformance.cases.launch import Buffer, Launch
from conformance.cases.never_launched import never_launched
from conformance.dtypes import dtype
from conformance.outcome import NO_EVIDENCE, Evidence
from conformance.processes import InfrastructureError
from conformance.spec.kernel import Kernel
from conformance.verdict import references
from conformance.verdict.compare import is_poison
from conformance.verdict.kept_answers import KeptAnswers
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


def generated_parts(kernel: Kernel, changes: Sequence[CandleChange] = ()) -> Parts:
    """All generated cases of ``kernel`` as Candle launched them before ``changes``, none where its family has no
    generator yet."""
    judged, others = parts_of(kernel, cases_for(kernel) if has_cases(kernel) else ())
    before = {case: launched_before(changes, kernel.launch, case) for case in judged}
    return Parts(
        tuple(then for then in before.values() if then is not None),
        (*others, *(case for case, then in before.items() if then is None)),
    )


def parts_of(kernel: Kernel, cases: Iterable[Case]) -> Parts:
    """``cases`` of ``kernel``, those that its verdict comes from and those that only robustness is told from."""
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
    cases = tuple(cases)
    answers = KeptAnswers(kernel, cases, salt, expected_of)
    for case in cases:
        launch = launch_for(kernel, case, salt)
        try:
            yield TrialCase(case, launch, answers.of(case, launch))
        except reference.Faults as fault:
            yield TrialCase(case, launch, {}, must_fault=str(fault))
    answers.keep()


def with_wave(cases: Iterable[TrialCase], wave: int) -> Iterator[TrialCase]:
    """``cases``, those of a launcher with the device's own number of lanes for the argument that tells it."""
    for case in cases:
        yield replace(case, launch=case.launch.with_lanes(wave))


def with_equivalents(
    kernel: Kernel, launch: Launch, name: str, expected: Expected, buffers: Mapping[str, NDArray[Any]]
) -> Expected:
    """``expected`` of buffer ``name`` with the elements that the reference calls as good put in its place.

    ``buffers`` holds the whole content of every buffer after the launch.
    """
    starts = {arg.name: arg.start for arg in launch.args if isinstance(arg, Buffer)}
    got = {other: buffers[other][start:] for other, start in starts.items() if other in buffers}
    masks = references.equivalent(kernel, launch.reference_arguments(), got)
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
    left = expected_of(kernel, replace(launch, args=args))[argument.name].value
    return replace(expected, written=left.view(bits) != ~before)


def otherwise_fixed(kernel: Kernel, case: TrialCase) -> tuple[Kernel, TrialCase]:
    """``kernel`` and ``case`` with Candle's result expected in place of the right one, or the other way round."""
    other = kernel.as_upstream() if kernel.is_fixed else kernel.fixed()
    return other, replace(case, expected=expected_of(other, case.launch))


def expected_of(kernel: Kernel, launch: Launch) -> dict[str, Expected]:
    """What the reference expects of ``launch``.

    Raises ``NoReference``, which a port's own reference that fails is too, ``Faults``, and ``InfrastructureError`` for
    one of ours that fails: no doing of the kernel.
    """
    try:
        return references.evaluate(kernel, launch.reference_arguments())
    except (reference.NoReference, reference.Faults):
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        raise InfrastructureError(f"the reference of {kernel.name} raised {error!r} at {where}") from error
