"""What became worse or better since a baseline, as reports tell it: a comparison of two records, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from conformance.record import KernelResult, Record
from conformance.record.compare import Change as Compared
from conformance.record.compare import Comparison, compare
from conformance.report.about import identity, labels
from conformance.spec.load import Specs

Kind = Literal["worse", "declared", "better"]
KINDS: tuple[tuple[Kind, str], ...] = (
    ("worse", "Worse"),
    ("declared", "Worse, and declared by the port"),
    ("better", "Better"),
)
"""In the order of the reports, with their headings."""

_CASES = 3
_NEITHER = "judged in neither record"


@dataclass(frozen=True)
class Change:
    """A kernel that differs between two runs: ``label`` names the new one, ``before`` and ``after`` say how it was.

    ``cases`` says which cases fail or pass now that did not.
    """

    kernel: str
    kind: Kind
    label: str
    before: str
    after: str
    cases: str


@dataclass(frozen=True)
class Changes:
    """All changes against a baseline: ``about`` names it, ``notes`` say what could not be compared."""

    about: str
    kernels: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def counts(self) -> str:
        """``2 worse, 1 better``."""
        counts = [(len(self.of(kind)), heading.lower()) for kind, heading in KINDS]
        return ", ".join(f"{count} {what}" for count, what in counts if count) or "nothing changed"

    def of(self, kind: Kind) -> list[Change]:
        """The kernels of one kind."""
        return [change for change in self.kernels if change.kind == kind]


def changes(found: Sequence[Record], baseline: Record | None, specs: Specs) -> Changes | None:
    """What the runs in ``found`` changed against ``baseline``; ``None`` without one.

    Compared are the runs on the baseline's own kind of device, by the same cases; where there is none, the first.
    """
    if baseline is None:
        return None
    pairs = [(name, compare(baseline, record)) for name, record in zip(labels(found), found, strict=True)]
    pairs = [pair for pair in pairs if pair[1].same_place] or pairs[:1]
    (name,) = labels([baseline])
    kernels = [change for label, comparison in pairs for change in _told(label, comparison, specs)]
    notes = [text for _, comparison in pairs for text in _notes(comparison)]
    ordered = [change for kind, _ in KINDS for change in kernels if change.kind == kind]
    return Changes(f"{name} ({identity(baseline.run)})", tuple(ordered), tuple(dict.fromkeys(notes)))


def _told(label: str, found: Comparison, specs: Specs) -> Iterator[Change]:
    before = {row.name: row for row in found.old.kernels}
    after = {row.name: row for row in found.new.kernels}
    groups: tuple[tuple[Kind, Sequence[Compared]], ...] = (
        ("worse", found.worse),
        ("declared", found.declared),
        ("better", found.better),
    )
    for kind, group in groups:
        for one in group:
            if one.kernel in specs.kernels:
                was, now = _status(before[one.kernel]), _status(after[one.kernel])
                yield Change(one.kernel, kind, label, was, now, _cases(one))


def _status(row: KernelResult) -> str:
    return f"{row.status}, {row.counts}" if row.failed else row.status


def _cases(change: Compared) -> str:
    cases, what = (change.failing, "failing") if change.failing else (change.passing, "passing")
    more = f" and {len(cases) - _CASES} more" if len(cases) > _CASES else ""
    return f"newly {what}: {'; '.join(cases[:_CASES])}{more}" if cases else ""


def _notes(found: Comparison) -> list[str]:
    differing = [f"the runs differ in {', '.join(found.differing)}"] if found.differing else []
    left_out = [f"{len(names)} kernels {why}" for why, names in found.left_out.items() if why != _NEITHER]
    return [*differing, *(f"not compared: {text}" for text in left_out)]
