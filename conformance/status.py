"""The statuses of a kernel: a row for each, from which gates, comparisons and reports take what they need of it.

A status is part of the record, so none is renamed or taken away. A new one is an entry of ``Status``, a row here, a
field of ``Summary`` (``conformance.record.model``), a colour in ``conformance/report/html/page.css``, a line in
docs/judging.md, and the place where it is found (``docs/internals.md`` says which finds what).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Status = Literal[
    "pass", "fail", "signature", "missing", "compile_error", "crash", "timeout", "known_failure", "not_run"
]
STATUSES: tuple[Status, ...] = get_args(Status)
"""In the order of tables and of the record; docs/judging.md says what each means."""


@dataclass(frozen=True)
class StatusRow:
    """What a status amounts to.

    ``failed`` says that it is a failure unless the port declares it, ``launched`` that it says what became of launches.
    ``distance`` is how far it is from parity, for what became better or worse (``None``: nothing was judged).
    ``urgency`` is its place where the worst comes first. ``sign`` stands for it where there is no room for ``label``,
    and a section of a report about such kernels is called ``heading`` (none where there is nothing to say of them).
    ``junit`` is the element of JUnit XML: "failure" is no parity, "error" no answer, "skipped" not there, declared, or
    not selected; "" is a pass. ``style`` is that of rich.
    """

    failed: bool
    launched: bool
    distance: int | None
    urgency: int
    sign: str
    label: str
    heading: str
    junit: str
    style: str


ROWS: Mapping[Status, StatusRow] = {
    "pass": StatusRow(
        failed=False,
        launched=True,
        distance=0,
        urgency=7,
        sign="✓",
        label="at parity",
        heading="",
        junit="",
        style="green",
    ),
    "fail": StatusRow(
        failed=True,
        launched=True,
        distance=2,
        urgency=4,
        sign="F",
        label="wrong answers",
        heading="Wrong answers",
        junit="failure",
        style="red",
    ),
    "signature": StatusRow(
        failed=True,
        launched=False,
        distance=4,
        urgency=3,
        sign="S",
        label="other parameters",
        heading="Wrong parameter lists",
        junit="error",
        style="red",
    ),
    "missing": StatusRow(
        failed=True,
        launched=False,
        distance=6,
        urgency=6,
        sign="–",
        label="no source",
        heading="",
        junit="skipped",
        style="dim",
    ),
    "compile_error": StatusRow(
        failed=True,
        launched=False,
        distance=5,
        urgency=2,
        sign="E",
        label="does not compile",
        heading="Sources that do not compile",
        junit="error",
        style="red",
    ),
    "crash": StatusRow(
        failed=True,
        launched=True,
        distance=3,
        urgency=0,
        sign="C",
        label="crash",
        heading="Crashes",
        junit="error",
        style="red",
    ),
    "timeout": StatusRow(
        failed=True,
        launched=True,
        distance=3,
        urgency=1,
        sign="T",
        label="time-out",
        heading="Time-outs",
        junit="error",
        style="red",
    ),
    "known_failure": StatusRow(
        failed=False,
        launched=True,
        distance=1,
        urgency=5,
        sign="K",
        label="known failure",
        heading="Known failures",
        junit="skipped",
        style="yellow",
    ),
    "not_run": StatusRow(
        failed=False,
        launched=False,
        distance=None,
        urgency=8,
        sign="○",
        label="not run",
        heading="",
        junit="skipped",
        style="dim",
    ),
}

FAILURES: tuple[Status, ...] = tuple(status for status, row in ROWS.items() if row.failed)
"""Failures, but for those that the specs declare, which have a status of their own."""

EXPLAINED: tuple[Status, ...] = tuple(status for status in FAILURES if ROWS[status].heading)
"""Failures of which there is more to say than the kernel's name."""

FAILED_LAUNCHES: tuple[Status, ...] = tuple(status for status in FAILURES if ROWS[status].launched)
"""Failures of which some case has evidence."""

WORST_FIRST: tuple[Status, ...] = tuple(sorted(ROWS, key=lambda status: ROWS[status].urgency))

ABSENT: tuple[Status, ...] = ("missing", "not_run")
"""Statuses without a verdict."""
