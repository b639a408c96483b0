"""Which cases of a kernel are timed, and their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.cases import launch_with
from conformance.cases.case import Case
from conformance.cases.launch import Launch
from conformance.cases.values import RandomStream
from conformance.spec.kernel import Kernel

SIZES = ("large", "small")

PERIOD = 1_000_003
"""Elements after which operands repeat: a prime, so that rows of a tensor differ."""


def workloads(kernel: Kernel, sizes: Sequence[str], cases: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """Size and case id of what the specs have timed of ``kernel``, or ``cases`` under the size ``given``."""
    if cases is not None:
        yield from (("given", case) for case in cases)
        return
    for size in sizes:
        for fields in kernel.bench.get(size, ()):
            yield size, f"{kernel.name}({fields})"


def large_launch(kernel: Kernel, case_id: str) -> Launch:
    """The launch of a case whose operands may be large; their data repeats. Raises ``ValueError`` for a bad id."""
    case = Case.parse(case_id)
    return launch_with(kernel, case, RandomStream(case.seed(), PERIOD))
