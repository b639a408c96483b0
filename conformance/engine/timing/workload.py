"""Which cases of a kernel are timed, and their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.cases import launch_with
from conformance.cases.case import Case, parse_fields
from conformance.cases.launch import Launch
from conformance.cases.values import RandomStream
from conformance.spec import SpecError
from conformance.spec.kernel import Kernel

SIZES = ("large", "small")

PERIOD = 1_000_003
"""Elements after which operands repeat: a prime, so that rows of a tensor differ."""


def workloads(kernel: Kernel, sizes: Sequence[str], cases: Sequence[str] | None) -> Iterator[tuple[str, Case]]:
    """Size and case of what the specs have timed of ``kernel``, or of the ids ``cases`` under the size ``given``.

    Raises ``SpecError`` where a spec's row cannot be read.
    """
    if cases is not None:
        yield from (("given", Case.parse(case)) for case in cases)
        return
    for size in sizes:
        for fields in kernel.bench.get(size, ()):
            try:
                yield size, Case(kernel.name, parse_fields(fields))
            except ValueError as error:
                problem = f"kernel {kernel.name}: {fields!r}, which bench times, is not a case ({error})"
                raise SpecError(f"{kernel.module}.yaml", None, problem, "write it as shape=[3],values=unit") from None


def large_launch(kernel: Kernel, case: Case) -> Launch:
    """The launch of a case whose operands may be large; their data repeats. Raises ``ValueError`` for a bad case."""
    return launch_with(kernel, case, RandomStream(case.seed(), PERIOD))
