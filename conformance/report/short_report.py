"""A short report in Markdown, for the summary of a CI job or a comment under a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.record import KernelResult, Record
from conformance.report.causes import shared_causes
from conformance.report.causes.text import described
from conformance.report.causes.text import heading as causes_heading
from conformance.report.comparison import KINDS, Changes, Difference, changes
from conformance.report.run_notes import shared_remarks
from conformance.report.runs import Records, executed, given_specs, identity, labels, listed
from conformance.report.tally import (
    launchers,
    modules_of,
    of_module,
    results,
    results_of,
    selected_entries,
    tally,
)
from conformance.spec.entry import ROWS as ENTRY_ROWS
from conformance.spec.load import Specs
from conformance.status import ROWS
from conformance.text import code, counted, plain, shortened

LIMIT = 60_000
"""Bytes of a summary: GitHub takes 65,536 characters in a comment."""

_LINE = 400
_RESERVE = 200
_OPEN_CAUSES = 10
_FAILING = tuple(status for status, row in ROWS.items() if row.heading)


def render_summary(records: Records, specs: Specs, baseline: Record | None = None, limit: int = LIMIT) -> str:
    """A short report in Markdown of fewer than ``limit`` bytes: verdicts, changes since ``baseline``, modules, causes,
    failing kernels.

    What does not fit is counted: first failing kernels, then causes and changes.
    """
    found = listed(records)
    names = labels(found)
    rows = [results(record, specs) for record in found]
    page = _Page(limit)
    page.add([_verdict(*each, specs) for each in zip(names, found, rows, strict=True)], "run")
    page.add(_remarks(found, names, rows, specs), "remark")
    changed = changes(found, baseline, specs)
    if changed is not None:
        _changes(page, changed)
    parts = {entry: [results_of(entry, record, specs) for record in found] for entry in selected_entries(found)}
    for entry, part in parts.items():
        page.table(*_modules(ENTRY_ROWS[entry].plural.capitalize(), names, part, modules_of(entry, found, specs)))
    for name, findings in (pair for part in parts.values() for pair in shared_causes(names, part, specs)):
        about = f"{causes_heading(findings)}{f' ({name})' if len(names) > 1 else ''}"
        lines = [_cause(described(finding)) for finding in findings]
        page.add(lines[:_OPEN_CAUSES], "cause", title=f"**{plain(about)}**")
        page.add(lines[_OPEN_CAUSES:], "cause", folded="more causes")
    for entry, part in parts.items():
        noun = ENTRY_ROWS[entry].noun
        for name, of_run in zip(names, part, strict=True):
            bad = [row for row in of_run if row.status in _FAILING]
            title = f"{counted(len(bad), noun)} with a verdict other than pass{f': {name}' if len(names) > 1 else ''}"
            page.add(map(_kernel, bad), noun, folded=title)
    return page.text()


class _Page:
    """Blocks of lines, as many as fit; of what does not fit only the number is given."""

    def __init__(self, limit: int) -> None:
        self._lines = ["## Parity with Candle's CUDA kernels"]
        self._left = limit - _RESERVE - len(self._lines[0])

    def add(self, items: Iterable[str], what: str, title: str = "", folded: str = "") -> None:
        """A list; ``title`` stands before it, under ``folded`` it is closed at first."""
        lines = list(items)
        if not lines:
            return
        head = ["", f"<details><summary>{plain(folded)}</summary>"] if folded else ["", title] if title else []
        foot = ["", "</details>"] if folded else []
        left = self._left - _size([*head, *foot, ""]) - _RESERVE
        fitting: list[str] = []
        for line in lines:
            left -= _size([f"- {line}"])
            if left < 0:
                break
            fitting.append(f"- {line}")
        missing = len(lines) - len(fitting)
        more = [f"- … and {counted(missing, what)} more in the full report"] if missing else []
        self._put([*head, "", *fitting, *more, *foot])

    def table(self, heads: Sequence[str], body: Sequence[Sequence[str]]) -> None:
        """A table with numbers behind the first column, where there is room for it."""
        lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *body]
        rows = ["", *("| " + " | ".join(line) + " |" for line in lines)]
        if _size(rows) + _RESERVE < self._left:
            self._put(rows)

    def _put(self, lines: Sequence[str]) -> None:
        if _size(lines) <= self._left:
            self._lines += lines
            self._left -= _size(lines)

    def text(self) -> str:
        """The whole page."""
        return "\n".join(self._lines) + "\n"


def _size(lines: Iterable[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _verdict(name: str, record: Record, part: Sequence[KernelResult], specs: Specs) -> str:
    count = tally(part)
    of = given_specs(record.run, specs)
    headline = f"{count.passing} of {count.total} kernels{plain(of) and f' {plain(of)}'} at parity ({count.percent}%)"
    called = launchers(record, specs)
    headline += f", {called}" if called else ""
    where = f"{plain(executed(record.run))} ({plain(shortened(identity(record.run), _LINE))})"
    return f"{count.mark} {plain(name)}: **{headline}**, {where}"


def _remarks(
    records: Sequence[Record], names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs
) -> list[str]:
    whose = "{}: " if len(names) > 1 else ""
    return [
        f"**{remark.kind.capitalize()}:** {plain(shortened(whose.format(about) + remark.text, _LINE))}"
        for remark, about in shared_remarks(records, names, rows, specs)
    ]


def _changes(page: _Page, changes: Changes) -> None:
    page.add([f"**{plain(f'Against {shortened(changes.about, _LINE)}: {changes.counts}')}**"], "line")
    page.add((plain(shortened(note, _LINE)) for note in changes.notes), "note")
    for what, called in (("kernel", False), ("launcher", True)):
        for kind, heading in KINDS:
            title = f"Launchers: {heading.lower()}" if called else heading
            some = changes.of(kind, called)
            lines = [f"{code(change.kernel)}: {plain(shortened(_told(change), 2 * _LINE))}" for change in some]
            worse = kind == "worse"
            page.add(lines, what, folded="" if worse else title, title=f"{title}:" if worse else "")


def _told(change: Difference) -> str:
    return f"{change.before} → {change.after}{f'; {change.cases}' if change.cases else ''}"


def _modules(
    what: str, names: Sequence[str], rows: Sequence[Sequence[KernelResult]], modules: Iterable[str]
) -> tuple[list[str], list[list[str]]]:
    heads = ["Module", what, *(plain(name) for name in names)]
    parts = [(plain(module), [of_module(part, module) for part in rows]) for module in modules]
    return heads, [_figures(*part) for part in parts] + [_figures("**all**", rows)]


def _figures(name: str, parts: Sequence[Sequence[KernelResult]]) -> list[str]:
    cells = [f"{count.mark} {count.passing} ({count.percent}%)" for count in map(tally, parts)]
    return [name, str(len(parts[0])), *cells]


def _cause(lines: Sequence[str]) -> str:
    first, *rest = lines
    return f"**{plain(shortened(first, _LINE))}**: {plain(shortened('; '.join(rest), 2 * _LINE))}"


def _kernel(row: KernelResult) -> str:
    why = row.known_reason or (row.failures[0].why if row.failures else row.message or "")
    case = f" {code(shortened(row.failures[0].case, _LINE))}:" if row.failures else ""
    counts = f", {row.counts}" if row.cases else ""
    return f"{code(row.name)}: {row.status}{counts}.{case} {plain(shortened(why, _LINE))}".rstrip()
