"""Cases and arguments: what a kernel is tried with, and a case as the kernel's own argument list."""

from __future__ import annotations

from conformance.cases.arguments import Family
from conformance.cases.case import Case
from conformance.cases.described import described
from conformance.cases.families import (
    binary,
    convolution,
    elementwise,
    fill,
    indexing,
    launchers,
    libraries,
    norm,
    quantized,
    reduce,
    resampling,
    rope,
    sort,
    where,
)
from conformance.cases.large import large_rows
from conformance.cases.launch import Launch
from conformance.cases.values import RandomStream
from conformance.spec.kernel import Kernel

FAMILIES: dict[str, Family] = {
    **elementwise.FAMILIES,
    **binary.FAMILIES,
    **where.FAMILIES,
    **fill.FAMILIES,
    **indexing.FAMILIES,
    **convolution.FAMILIES,
    **resampling.FAMILIES,
    **reduce.FAMILIES,
    **norm.FAMILIES,
    **rope.FAMILIES,
    **sort.FAMILIES,
    **quantized.FAMILIES,
    **launchers.FAMILIES,
    **libraries.FAMILIES,
}


def has_cases(kernel: Kernel) -> bool:
    """Whether the kernel's launch family has a case generator."""
    return kernel.launch in FAMILIES or kernel.own is not None


def family_of(kernel: Kernel) -> Family:
    """The launch family of ``kernel``; raises ``ValueError`` where there is none of its name."""
    if kernel.own is not None and kernel.launch not in FAMILIES:
        return described(kernel.own.families, kernel.launch, kernel.own.digest)
    try:
        return FAMILIES[kernel.launch]
    except KeyError:
        known = ", ".join(FAMILIES)
        message = f"kernel {kernel.name}: no cases for launch family {kernel.launch!r}; known: {known}"
        raise ValueError(message) from None


def cases_for(kernel: Kernel) -> list[Case]:
    """The cases of ``kernel``, always the same ones in the same order; raises ``ValueError`` where it has none."""
    return [Case(kernel.name, row) for row in (*family_of(kernel).rows(kernel), *large_rows(kernel.name))]


def case_count(kernel: Kernel) -> int:
    """How many ``cases_for`` gives."""
    return len(family_of(kernel).rows(kernel)) + len(large_rows(kernel.name))


def launch_for(kernel: Kernel, case: Case, salt: str = "") -> Launch:
    """The argument list of ``case``, generated or written by hand: the same bytes for the same id and ``salt``.

    Raises ``ValueError`` for a case of another kernel, an unknown field or value, and a family without cases. Arrays
    may be shared between launches and read-only: copy them before writing.
    """
    return launch_with(kernel, case, RandomStream(case.seed(salt)))


def launch_with(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """The argument list of ``case`` with data from ``stream``; raises as ``launch_for`` does."""
    if case.kernel != kernel.name:
        raise ValueError(f"case {case.id} belongs to kernel {case.kernel}, not to {kernel.name}")
    try:
        return family_of(kernel).build(kernel, case, stream)
    except OverflowError as error:
        raise ValueError(f"case {case.id}: a number is too large for its parameter ({error})") from None
