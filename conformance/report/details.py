"""The details in the Markdown report: what failed and why, what is missing, the linked launchers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from conformance.outcome import Failure
from conformance.record import KernelResult, Record
from conformance.report.again import again
from conformance.report.kernels import leak_of, misaligned_of
from conformance.report.runs import rerun
from conformance.report.tally import of_family, ulps
from conformance.spec.entry import Entry
from conformance.spec.load import Specs
from conformance.status import ROWS, Status
from conformance.text import code, counted, fence, link, plain

SHOWN_FAILURES = 3
"""Failing cases written out per kernel; the record has more."""

SHOWN_MESSAGE = 4000
"""Characters of a compiler's or a crash's text."""

_TOLD: tuple[Status, ...] = ("fail", "crash", "timeout", "compile_error", "signature", "known_failure")
"""The statuses of which a section tells, in the order of the sections."""

_DECLARED = "Known failures, declared by the port"
_EXCLUDED = "Not in the port, as it declares"


def _heading(row: KernelResult) -> str:
    """Empty for a kernel that no section is about."""
    if row.known_reason is None:
        return ROWS[row.status].heading
    return _EXCLUDED if row.status == "missing" else _DECLARED


Told = dict[str, list[tuple[str, KernelResult]]]
"""The failing kernels that stand in a report already, each with the runs that they failed in."""


def failure_lines(
    record: Record, rows: Sequence[KernelResult], specs: Specs, label: str = "", told: Told | None = None
) -> list[str]:
    """The kernels with another verdict than pass, by status. Kernels with the same message are listed together.

    Kernels that fail as in an earlier run, which is in ``told``, are only named. The others are added to ``told`` under
    ``label``.
    """
    rows, lines = _news(rows, label, {} if told is None else told)
    for heading in (*(ROWS[status].heading for status in _TOLD), _DECLARED, _EXCLUDED):
        groups: dict[str, list[KernelResult]] = {}
        for row in rows:
            if _heading(row) == heading:
                # Wrong answers differ per kernel; a compiler's error is often one for a whole file.
                key = row.known_reason or (row.name if row.failures or not row.message else row.message)
                groups.setdefault(key, []).append(row)
        if not groups:
            continue
        count = sum(map(len, groups.values()))
        lines += [*([""] if lines else []), f"### {heading} ({count})"]
        for reason, group in groups.items():
            known = group[0].known_reason is not None
            lines += ["", *(_known(reason, group) if known else _group(record, group, specs))]
    return lines or ["Nothing: no kernel that was judged failed."]


def _news(rows: Sequence[KernelResult], label: str, told: Told) -> tuple[list[KernelResult], list[str]]:
    """The failing rows that are not in ``told`` yet, and a line for those of each run that are."""
    new: list[KernelResult] = []
    known: dict[str, list[str]] = {}
    for row in rows:
        if not _heading(row):
            continue
        before = next((name for name, other in told.get(row.name, ()) if _alike(row, other)), None)
        if before is None:
            told.setdefault(row.name, []).append((label, row))
            new.append(row)
        else:
            known.setdefault(before, []).append(row.name)
    return new, [
        f"{counted(len(names), 'kernel')} as under {plain(name)}: {', '.join(map(code, names))}."
        for name, names in known.items()
    ]


def _alike(left: KernelResult, right: KernelResult) -> bool:
    """Whether a kernel failed alike in two runs: in the same cases, by the same elements."""
    one, other = (
        (
            row.status,
            row.cases,
            row.failed,
            row.message,
            row.max_ulp,
            [replace(item, reproduce="") for item in row.failures],
        )
        for row in (left, right)
    )
    return one == other


def _known(reason: str, group: Sequence[KernelResult]) -> list[str]:
    names = ", ".join(
        code(row.name) + (f" ({row.status}, {row.failed} of {row.cases} cases)" if row.status != "missing" else "")
        for row in group
    )
    return [f"- {plain(reason)}: {names}"]


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
    if not any(again(failure.reproduce) for failure in first.failures):
        lines += ["", *fence(rerun(record.run, first.name), "sh")]
    return lines


def _failure(failure: Failure) -> list[str]:
    lines = [f"- {code(failure.case)}: {plain(failure.why)}"]
    if failure.got is not None or failure.expected is not None:
        where = "" if failure.index is None else f"element {failure.index}: "
        distance = "" if failure.ulp is None else f", {ulps(failure.ulp)} apart"
        lines.append(f"  - {where}got {code(str(failure.got))}, expected {code(str(failure.expected))}{distance}")
    command = again(failure.reproduce)
    if command:
        lines += ["", *(f"  {line}" for line in fence(command, "sh"))]
    return lines


def missing_lines(rows: Sequence[KernelResult], specs: Specs) -> list[str]:
    """The kernels without a verdict: whole families by name, others one by one. Those that were selected have the
    reason."""
    lines: list[str] = []
    for module in specs.modules.values():
        for label, belongs in _ABSENT:
            names: list[str] = []
            count = 0
            for family in module.families:
                mine = of_family(rows, module.name, family)
                rows_there = [row for row in mine if belongs(row)]
                count += len(rows_there)
                if len(rows_there) == len(mine) and not any(row.message for row in rows_there):
                    names.append(f"{plain(family)} (all {len(mine)})")
                else:
                    names += [
                        code(row.name) + (f" ({plain(row.message)})" if row.message else "") for row in rows_there
                    ]
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
    """The address of the kernel's definition in Candle; for a library call, of the line of Rust that makes it."""
    file, _, line = row.upstream.partition(":")
    path = file if file.startswith("candle-") else f"candle-kernels/src/{file}"
    return f"https://github.com/{specs.upstream_repository}/blob/{specs.upstream_commit}/{path}#L{line}"


LAUNCHERS = "Launcher", "Host functions that Candle's Rust side is linked with. They are in no figure of the kernels."
OWN = "Kernel", "Kernels that the port has and Candle has not. They are in no figure of Candle's kernels."
LIBRARIES = "Call", "Functions of the vendor's libraries that Candle's Rust side calls. They are in no other figure."
OWN_LAUNCHERS = "Launcher", "Host functions that the port has and Candle has not. They are in no other figure."
BESIDES: Mapping[Entry, tuple[str, str]] = {
    "launcher": LAUNCHERS,
    "library": LIBRARIES,
    "own": OWN,
    "own_launcher": OWN_LAUNCHERS,
}
"""What reports say of the entries that are counted apart: what one is, and a sentence."""


def launcher_lines(judged: Sequence[KernelResult], about: tuple[str, str]) -> list[str]:
    """A Markdown table with a row for each launcher, library call or own kernel that was judged; empty where there is
    none.

    ``about`` is what one of them is called, and a sentence about them.
    """
    rows = [row for row in judged if row.status != "missing"]
    if not rows:
        return []
    missing = len(judged) - len(rows)
    lines = [about[1], "", f"| {about[0]} | Port | Candle | Called at | Verdict |", "| :-- | :-- | :-- | :-- | :-- |"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    return [*lines, "", f"{missing} more are defined in no source."] if missing else lines


def _cells(row: KernelResult) -> list[str]:
    where = code(row.source) if row.source else "–"
    return [code(row.name), where, code(row.upstream), ", ".join(map(code, row.wired_at or ())), _verdict(row)]


def _verdict(row: KernelResult) -> str:
    if row.status == "pass":
        fixed = ", fixed here, wrong upstream" if row.fixed else ""
        told = [f"; {plain(text)}" for text in (leak_of(row), misaligned_of(row)) if text]
        return f"✅ {row.cases} cases{fixed}{''.join(told)}"
    first: Failure | None = next(iter(row.failures), None)
    why = row.message or (first.why if first is not None else "")
    counts = f", {row.counts}" if row.failed else ""
    return plain(f"❌ {row.status}{counts}{': ' + why if why else ''}")
