"""The evidence of a kernel's failures, and which of its cases failed with which: what causes are named from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from conformance.cases.launch import Buffer, Launch
from conformance.dtypes import dtype
from conformance.outcome import NO_EVIDENCE, Evidence
from conformance.reading import own_yaml
from conformance.spec.kernel import Kernel
from conformance.verdict.compare import wrong_elements
from conformance.verdict.mistakes import has_dims_of_several_words, leaving_the_buffer
from conformance.verdict.wrong_buffers import answers
from conformance.verdict.wrong_elements import Elements, WrongBuffer, kinds
from reference.expected import Expected

RIGHT_IN_ANOTHER_ORDER = "right in another thread order"
"""What holds of an answer that depends on the order in which threads run."""

UNWRITTEN = "unwritten "
"""How what holds of an answer begins that depends on registers or memory which nothing has written."""

INFO_IN_32_BITS = "info in 32-bit words"
"""What may hold of an integer division by zero: a dimension that is read as 32-bit words would be 0."""

RIGHT_WITH_NARROW_INFO = "right with info in 32-bit words"
"""What holds of a case that the kernel answers right once it gets dimensions and strides so."""

RIGHT_IN_BLOCKS = "right in blocks of "
"""How that begins in older records, with nothing but the sizes of the block."""

RIGHT_LAUNCHED_WITH = "right launched with "
"""How what holds of a case begins that the kernel answers right in another launch geometry, as candle-parity.toml has
it: ``grid = ["ceildiv(numel, 256)"]; block = [256]``."""

_BY_ROUNDING = frozenset(
    (
        "1 ulp towards zero",
        "1 ulp away from zero",
        "few ulp",
        "sign of zero",
        "zero for subnormal",
        "subnormal for zero",
    )
)
"""Kinds of wrong elements that no launch geometry makes."""

_ADDRESS_FAULTS = ("read past the end", "write past the end", "wild address", "illegal address", "canary overwritten")

IMPOSSIBLE_GEOMETRY = "impossible geometry"
"""The fault of a launch that is not made: the port declares a geometry that no device has."""

IMPOSSIBLE_ARGUMENTS = "impossible arguments"
"""The fault of a launch that is not made: the parameters that the port declares have no arguments in this case."""

_FAULTS: list[tuple[str, str]] = own_yaml(Path(__file__).with_name("faults.yaml"))


def evidence_of(kernel: Kernel, launch: Launch, argument: Buffer, got: NDArray[Any], expected: Expected) -> Evidence:
    """The evidence in a buffer with wrong elements; ``got`` is its content from the argument's start on."""
    row, before = dtype(argument.dtype), argument.data[argument.start :]
    wrong = wrong_elements(got, expected, before, row, kernel.tolerance.ulp)
    if wrong is None:
        return NO_EVIDENCE
    elements = Elements(wrong, before[wrong.at], row)
    return Evidence(
        kinds(elements), answers(WrongBuffer(kernel, launch, argument.name, got, expected, before, elements))
    )


def evidence_of_fault(kernel: Kernel, launch: Launch, message: str) -> Evidence:
    """The evidence in a launch that ended in a fault, by the runtime's ``message``: its kind, and which mistakes with
    strides would have led outside of a buffer."""
    kind = fault_kind(message)
    if kind in _ADDRESS_FAULTS:
        return Evidence(answers=leaving_the_buffer(kernel, launch), fault=kind)
    narrow = kind == "integer division" and has_dims_of_several_words(kernel, launch)
    return Evidence(answers=(INFO_IN_32_BITS,) if narrow else (), fault=kind)


def may_be_of_geometry(evidence: Evidence) -> bool:
    """Whether a launch in another geometry than the port's own may leave ``evidence``."""
    return evidence.fault is not None or not _BY_ROUNDING.issuperset(evidence.elements)


def in_one_order_only(evidence: Evidence) -> Evidence:
    """``evidence`` of a case that was right in another thread order."""
    return replace(evidence, answers=(RIGHT_IN_ANOTHER_ORDER, *evidence.answers))


def with_unwritten(why: str, evidence: Evidence, what: Sequence[str], depends: str) -> tuple[str, Evidence]:
    """The reason and evidence of a failing case that depends on ``what``, which nothing has written."""
    if not what:
        return why, evidence
    reason = f"{why}; {depends} depends on {' and '.join(what)} that nothing has written"
    return reason, replace(evidence, answers=(*evidence.answers, *(f"{UNWRITTEN}{name}" for name in what)))


def fault_kind(message: str) -> str:
    """A word or two for the fault that ``message`` tells; ``other`` for what is not known."""
    return next((kind for pattern, kind in _FAULTS if re.search(pattern, message, re.DOTALL)), "other")
