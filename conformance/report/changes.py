"""What became worse or better since a baseline, as reports tell it: a comparison of two records, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from conformance.outcome import Status
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
    """All changes against a baseline: ``about`` names it, ``notes`` say what could not be compared."""

    about: str
    kernels: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def counts(self) -> str:
        """``2 worse, 1 better; launchers: 1 worse``."""
        kernels, launchers = (self._counts(called) for called in (False, True))
        parts = [kernels] if kernels or not launchers else []
        return "; ".join([*parts, *([f"launchers: {launchers}"] if launchers else [])]) or "nothing changed"

    def _counts(self, launchers: bool) -> str:
        counts = [(len(self.of(kind, launchers)), heading.lower()) for kind, heading in KINDS]
        return ", ".join(f"{count} {what}" for count, what in counts if count)

    def of(self, kind: Kind, launchers: bool = False) -> list[Change]:
        """The kernels of one kind, or the launchers."""
        return [change for change in self.kernels if change.kind == kind and change.launcher == launchers]


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
    old, new = ({row.name: row for row in (*one.kernels, *one.launchers)} for one in (found.old, found.new))
    for changed, known in ((found, specs.kernels), (found.launchers, specs.launchers)):
        groups: tuple[tuple[Kind, Sequence[Compared]], ...] = (
            ("worse", changed.worse),
            ("declared", changed.declared),
            ("better", changed.better),
        )
        for kind, group in groups:
            for one in group:
                if one.kernel in known:
                    was, now = _status(old.get(one.kernel), one.before), _status(new.get(one.kernel), one.after)
                    yield Change(one.kernel, kind, label, was, now, _cases(one), known is specs.launchers)


def _status(row: KernelResult | None, status: Status) -> str:
    """``row`` in words; a launcher that no source names any more has none."""
    return f"{row.status}, {row.counts}" if row is not None and row.failed else status


def _cases(change: Compared) -> str:
    cases, what = (change.failing, "failing") if change.failing else (change.passing, "passing")
    more = f" and {len(cases) - _CASES} more" if len(cases) > _CASES else ""
    return f"newly {what}: {'; '.join(cases[:_CASES])}{more}" if cases else ""


def _notes(found: Comparison) -> list[str]:
    differing = [f"the runs differ in {', '.join(found.differing)}"] if found.differing else []
    left_out = [
        f"{len(names)} {what} {why}"
        for what, changed in (("kernels", found), ("launchers", found.launchers))
        for why, names in changed.left_out.items()
        if why != _NEITHER
    ]
    return [*differing, *(f"not compared: {text}" for text in left_out)]
