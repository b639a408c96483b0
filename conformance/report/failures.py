"""The part of the Markdown report that says what failed and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.outcome import Failure, Status
from conformance.record import KernelResult, Record
from conformance.report.about import rerun
from conformance.report.tally import of_family, ulps
from conformance.spec.load import Specs
from conformance.text import code, fence, link, plain

SHOWN_FAILURES = 3
"""Failing cases written out per kernel; the record has more."""

SHOWN_MESSAGE = 4000
"""Characters of a compiler's or a crash's text."""

_HEADINGS: dict[Status, str] = {
    "fail": "Wrong answers",
    "crash": "Crashes",
    "timeout": "Time-outs",
    "compile_error": "Sources that do not compile",
    "signature": "Wrong parameter lists",
    "known_failure": "Known failures",
}


def failure_lines(record: Record, rows: Sequence[KernelResult], specs: Specs) -> list[str]:
    """Every kernel with a verdict other than pass, by status; kernels with the same message are listed together."""
    lines: list[str] = []
    for status, heading in _HEADINGS.items():
        groups: dict[str, list[KernelResult]] = {}
        for row in rows:
            if row.status == status:
                # Wrong answers differ per kernel; a compiler's error is often one for a whole file.
                key = row.name if row.failures or not row.message else row.message
                groups.setdefault(key, []).append(row)
        if not groups:
            continue
        count = sum(map(len, groups.values()))
        lines += [*([""] if lines else []), f"### {heading} ({count})"]
        for group in groups.values():
            lines += ["", *_group(record, group, specs)]
    return lines or ["Nothing: no kernel that was judged failed."]


def _group(record: Record, group: Sequence[KernelResult], specs: Specs) -> list[str]:
    first = group[0]
    lines = [f"**{', '.join(code(row.name) for row in group)}**"]
    places = [f"source {code(first.source)}"] if first.source else []
    places += [f"upstream {link(first.upstream, upstream_url(first, specs))}"]
    if first.cases:
        places.append(f"{first.counts}, largest error {ulps(first.max_ulp)}")
    lines += ["", f"{'; '.join(places)}."]
    if first.message:
        text = first.message
        if len(text) > SHOWN_MESSAGE:
            text = f"{text[:SHOWN_MESSAGE]}\n… {len(text) - SHOWN_MESSAGE} more characters in the record"
        lines += ["", *fence(text, "text")]
    for failure in first.failures[:SHOWN_FAILURES]:
        lines += ["", *_failure(failure)]
    more = first.failed - min(len(first.failures), SHOWN_FAILURES)
    if first.failures and more > 0:
        lines += ["", f"{more} more in the record."]
    if not any(failure.reproduce for failure in first.failures):
        lines += ["", *fence(rerun(record.run, first.name), "sh")]
    return lines


def _failure(failure: Failure) -> list[str]:
    lines = [f"- {code(failure.case)}: {plain(failure.why)}"]
    if failure.got is not None or failure.expected is not None:
        where = "" if failure.index is None else f"element {failure.index}: "
        distance = "" if failure.ulp is None else f", {ulps(failure.ulp)} apart"
        lines.append(f"  - {where}got {code(str(failure.got))}, expected {code(str(failure.expected))}{distance}")
    if failure.reproduce:
        lines += ["", *(f"  {line}" for line in fence(failure.reproduce, "sh"))]
    return lines


def missing_lines(rows: Sequence[KernelResult], specs: Specs) -> list[str]:
    """Kernels without a verdict: whole families by name, else kernel by kernel; those that were selected with why."""
    lines: list[str] = []
    for module in specs.modules.values():
        for label, belongs in _ABSENT:
            names: list[str] = []
            count = 0
            for family in module.families:
                mine = of_family(rows, module.name, family)
                found = [row for row in mine if belongs(row)]
                count += len(found)
                if len(found) == len(mine) and not any(row.message for row in found):
                    names.append(f"{plain(family)} (all {len(mine)})")
                else:
                    names += [code(row.name) + (f" ({plain(row.message)})" if row.message else "") for row in found]
            if names:
                lines.append(f"- {plain(module.name)}, {label} ({count}): {', '.join(names)}")
    return lines or ["None."]


_ABSENT: tuple[tuple[str, Callable[[KernelResult], bool]], ...] = (
    ("no source", lambda row: row.status == "missing"),
    ("not run", lambda row: row.status == "not_run" and not row.message),
    ("selected and not judged", lambda row: row.status == "not_run" and bool(row.message) and not row.lost),
    ("lost, which is not the kernels' doing", lambda row: row.lost),
)


def upstream_url(row: KernelResult, specs: Specs) -> str:
    """The address of the kernel's definition in Candle."""
    file, _, line = row.upstream.partition(":")
    return (
        f"https://github.com/{specs.upstream_repository}/blob/{specs.upstream_commit}/candle-kernels/src/{file}#L{line}"
    )
