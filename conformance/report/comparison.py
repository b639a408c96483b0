"""What two records differ in: as text of at most 100 columns, as JSON, and as reports say it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from conformance.record import KernelResult, Record
from conformance.record.compare import Change, Changed, Comparison, compare, compared_rows
from conformance.report.runs import identity, labels
from conformance.report.tally import ulps
from conformance.spec.entry import OWN, Entry
from conformance.spec.entry import ROWS as ENTRY_ROWS
from conformance.spec.load import Specs
from conformance.status import Status
from conformance.text import counted, one_line, some

WIDTH = 100
_NAMED = 8
_CASES = 3
_ROWS = 40
_SLOWER = 2.0
_SECONDS = 0.1
_NEITHER = "judged in neither record"


def render_comparison(comparison: Comparison, old: str, new: str) -> str:
    """A comparison as text of at most 100 columns, without a newline at the end. The records are called ``old`` and
    ``new``."""
    lines = [*_headed("old", old, comparison.old), *_headed("new", new, comparison.new)]
    if comparison.differing:
        lines += _wrapped(f"they differ in: {', '.join(comparison.differing)}", "  ")
    lines.append("")
    for entry, changed in comparison.parts.items():
        if ENTRY_ROWS[entry].in_coverage or changed.compared or changed.left_out:
            lines += _wrapped(_totals(changed, ENTRY_ROWS[entry].noun), "")
    lines += render_changes(comparison)
    every = (distance for changed in comparison.parts.values() for distance in changed.distances)
    distances = [f"{one.kernel}: {ulps(one.before)} -> {ulps(one.after)}" for one in every]
    lines += _section("largest error of kernels that pass in both, within their bounds", [[text] for text in distances])
    lines += ["", *_wrapped(_cost(comparison), "")]
    slower = [f"{name}: {before:.2f} s -> {after:.2f} s" for name, before, after in _slower(comparison)]
    lines += _section(f"kernels that took over {_SLOWER:g} times as long", [[text] for text in slower])
    return "\n".join(lines)


def render_changes(comparison: Comparison) -> list[str]:
    """What became worse, what became better, and what was not compared, as lines; empty where there is nothing to say.

    Launchers follow kernels, under titles of their own.
    """
    titled = {
        entry: "" if ENTRY_ROWS[entry].in_coverage else f"{ENTRY_ROWS[entry].plural} " for entry in comparison.parts
    }
    return [line for entry, changed in comparison.parts.items() for line in _changed(changed, titled[entry])]


def _changed(changed: Changed, what: str = "") -> list[str]:
    groups = (
        ("gone: sources define these no more", [change for change in changed.worse if change.gone]),
        ("newly failing, or further from parity", [change for change in changed.worse if not change.gone]),
        ("worse, and declared by the port", changed.declared),
        ("newly passing, or closer to parity", [change for change in changed.better if not change.new]),
        ("new: sources define these now", [change for change in changed.better if change.new]),
    )
    lines = [line for title, changes in groups for line in _section(what + title, map(_rows, changes))]
    idle = {why: names for why, names in changed.left_out.items() if why != _NEITHER}
    rows = [[f"{len(names)} {why}: {some(names, _NAMED)}"] for why, names in idle.items()]
    return lines + _section(f"{what}not compared", rows)


def comparison_json(comparison: Comparison, old: str, new: str) -> str:
    """The comparison as JSON, with a newline at the end. The records are called ``old`` and ``new``."""
    content: dict[str, Any] = {
        "schema": 1,
        "old": {"record": old, **_figures(comparison.old)},
        "new": {"record": new, **_figures(comparison.new)},
        "differing": comparison.differing,
        **_lists(comparison),
        "launchers": _lists(comparison.launchers),
        # Most ports have nothing of their own: their comparisons are as before there was such a thing.
        **{
            ENTRY_ROWS[entry].part: _lists(part)
            for entry, part in _of_port(comparison)
            if part.compared or part.left_out
        },
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _of_port(comparison: Comparison) -> list[tuple[Entry, Changed]]:
    return [(entry, part) for entry, part in comparison.parts.items() if entry in OWN]


def _lists(changed: Changed) -> dict[str, Any]:
    return {
        "compared": changed.compared,
        "same": changed.same,
        "worse": [_fields(change) for change in changed.worse],
        "declared": [_fields(change) for change in changed.declared],
        "better": [_fields(change) for change in changed.better],
        "distances": [{"kernel": one.kernel, "before": one.before, "after": one.after} for one in changed.distances],
        "not_compared": changed.left_out,
    }


def _figures(record: Record) -> dict[str, Any]:
    run, summary = record.run, record.summary
    return {
        "device": run.device,
        "runtime": run.runtime,
        "started": run.started,
        "coverage": summary.coverage,
        "pass": summary.passed,
        "cases": summary.cases,
        "seconds": run.seconds,
    }


def _fields(change: Change) -> dict[str, Any]:
    kind = "gone" if change.gone else "new" if change.new else "changed"
    return {
        "kernel": change.kernel,
        "module": change.module,
        "kind": kind,
        "before": change.before,
        "after": change.after,
        "newly_failing": change.failing,
        "newly_passing": change.passing,
        "declared": change.declared,
    }


def _headed(what: str, name: str, record: Record) -> list[str]:
    summary = record.summary
    text = (
        f"{what}: {name}: {labels([record])[0]}, {identity(record.run)}; {summary.passed} of {summary.total} kernels "
        f"at parity ({summary.coverage:.2f}%)"
    )
    passing = sum(row.status == "pass" for row in record.launchers)
    text += f", {passing} launchers" if record.launchers else ""  # a record has those that were selected alone
    return _wrapped(text, "")


def _totals(changed: Changed, what: str) -> str:
    gone, new = sum(change.gone for change in changed.worse), sum(change.new for change in changed.better)
    left_out = sum(map(len, changed.left_out.values()))
    declared = f", {len(changed.declared)} worse and declared" if changed.declared else ""
    return (
        f"{counted(changed.compared, what)} compared: {changed.same} the same, {len(changed.better)} better "
        f"({new} of them new), {len(changed.worse)} worse ({gone} of them gone){declared}; {left_out} not compared"
    )


def _cost(comparison: Comparison) -> str:
    old, new = ((record.run.seconds, record.summary.cases) for record in (comparison.old, comparison.new))
    return f"cost: {old[0]:.1f} s for {old[1]:,} cases -> {new[0]:.1f} s for {new[1]:,} cases"


def _slower(comparison: Comparison) -> list[tuple[str, float, float]]:
    """Kernels that took much longer, by name, with seconds before and after."""
    old, new = compared_rows(comparison.old), compared_rows(comparison.new)
    before = {row.name: row.seconds for row in old if row.cases}
    rows = [(row.name, before.get(row.name) or 0.0, row.seconds or 0.0) for row in new if row.cases]
    return [row for row in rows if row[1] > 0 and row[2] > _SLOWER * row[1] and row[2] - row[1] > _SECONDS]


def _rows(change: Change) -> list[str]:
    """A line for the kernel, then one for each of its first cases."""
    verdict = change.before if change.before == change.after else f"{change.before} -> {change.after}"
    parts = [verdict] + ([change.counts] if change.counts else [])
    parts += [f"{len(change.failing)} newly failing cases"] if change.failing else []
    parts += [f"{len(change.passing)} newly passing cases"] if change.passing else []
    parts += [change.declared] if change.declared else []
    cases = change.failing or change.passing
    more = [f"and {len(cases) - _CASES} cases more"] if len(cases) > _CASES else []
    return [f"{change.kernel}: {', '.join(parts)}", *cases[:_CASES], *more]


def _section(title: str, rows: Iterable[Sequence[str]]) -> list[str]:
    found = list(rows)
    if not found:
        return []
    lines = ["", f"{title} ({len(found)})"]
    for first, *more in found[:_ROWS]:
        lines += _wrapped(first, "  ")
        for text in more:
            lines += _wrapped(text, "    ")
    return lines + ([f"  and {len(found) - _ROWS} more; --json has them all"] if len(found) > _ROWS else [])


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        one_line(text), WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )


Kind = Literal["worse", "declared", "better"]
KINDS: tuple[tuple[Kind, str], ...] = (
    ("worse", "Worse"),
    ("declared", "Worse, and declared by the port"),
    ("better", "Better"),
)
"""In the order of the reports, with their headings."""


@dataclass(frozen=True)
class Difference:
    """A kernel, or ``launcher``, that differs between two runs: ``label`` names the new, ``before`` and ``after`` say
    how it was.

    ``cases`` says which cases fail or pass now that did not.
    """

    kernel: str
    kind: Kind
    label: str
    before: str
    after: str
    cases: str
    launcher: bool = False


@dataclass(frozen=True)
class Changes:
    """All changes against a baseline: ``about`` names it, ``notes`` say what could not be compared, and ``compared``
    are the labels of the runs that were compared with it."""

    about: str
    kernels: tuple[Difference, ...]
    notes: tuple[str, ...]
    compared: tuple[str, ...]

    @property
    def counts(self) -> str:
        """The counts in words: ``2 worse, 1 better; launchers: 1 worse``."""
        kernels, launchers = (self._counts(called) for called in (False, True))
        parts = [kernels] if kernels or not launchers else []
        return "; ".join([*parts, *([f"launchers: {launchers}"] if launchers else [])]) or "nothing changed"

    def _counts(self, launchers: bool) -> str:
        counts = [(len(self.of(kind, launchers)), heading.lower()) for kind, heading in KINDS]
        return ", ".join(f"{count} {what}" for count, what in counts if count)

    def of(self, kind: Kind, launchers: bool = False) -> list[Difference]:
        """The changes of one kind, of kernels or of launchers."""
        return [change for change in self.kernels if change.kind == kind and change.launcher == launchers]


def changes(records: Sequence[Record], baseline: Record | None, specs: Specs) -> Changes | None:
    """What the runs in ``records`` changed against ``baseline``; ``None`` without one.

    Compared are the runs with the same cases on the same kind of device as the baseline; if there is none, the first
    run.
    """
    if baseline is None:
        return None
    pairs = [(name, compare(baseline, record)) for name, record in zip(labels(records), records, strict=True)]
    pairs = [pair for pair in pairs if pair[1].same_place] or pairs[:1]
    (name,) = labels([baseline])
    kernels = [change for label, comparison in pairs for change in _told(label, comparison, specs)]
    notes = [text for _, comparison in pairs for text in _notes(comparison)]
    ordered = [change for kind, _ in KINDS for change in kernels if change.kind == kind]
    return Changes(
        f"{name} ({identity(baseline.run)})",
        tuple(ordered),
        tuple(dict.fromkeys(notes)),
        tuple(label for label, _ in pairs),
    )


def _told(label: str, comparison: Comparison, specs: Specs) -> Iterator[Difference]:
    old, new = ({row.name: row for row in compared_rows(record)} for record in (comparison.old, comparison.new))
    for entry, changed in comparison.parts.items():
        groups: tuple[tuple[Kind, Sequence[Change]], ...] = (
            ("worse", changed.worse),
            ("declared", changed.declared),
            ("better", changed.better),
        )
        for kind, group in groups:
            for one in group:
                if not ENTRY_ROWS[entry].in_specs or one.kernel in specs.of(entry):
                    was, now = _status(old.get(one.kernel), one.before), _status(new.get(one.kernel), one.after)
                    yield Difference(one.kernel, kind, label, was, now, _cases(one), entry == "launcher")


def _status(row: KernelResult | None, status: Status) -> str:
    """``row`` in words; a launcher that no source names any more has none."""
    return f"{row.status}, {row.counts}" if row is not None and row.failed else status


def _cases(change: Change) -> str:
    cases, what = (change.failing, "failing") if change.failing else (change.passing, "passing")
    return f"newly {what}: {some(cases, _CASES, '; ')}" if cases else ""


def _notes(comparison: Comparison) -> list[str]:
    differing = [f"the runs differ in {', '.join(comparison.differing)}"] if comparison.differing else []
    left_out = [
        f"{len(names)} {ENTRY_ROWS[entry].plural} {why}"
        for entry, changed in comparison.parts.items()
        for why, names in changed.left_out.items()
        if why != _NEITHER
    ]
    return [*differing, *(f"not compared: {text}" for text in left_out)]
