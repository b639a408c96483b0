"""What became worse or better since a baseline: kernels by their statuses, and cases where both fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from conformance.outcome import Status
from conformance.record import KernelResult, Record
from conformance.report.about import labels
from conformance.report.tally import results
from conformance.spec.load import Specs

Kind = Literal["worse", "better", "other"]
KINDS: tuple[tuple[Kind, str], ...] = (("worse", "Worse"), ("better", "Better"), ("other", "Otherwise changed"))
"""In the order of the reports, with their headings."""

# From what says most for a kernel to what says least: a wrong answer is nearer to parity than none.
_ORDER: tuple[Status, ...] = ("pass", "known_failure", "fail", "signature", "timeout", "crash", "compile_error")


@dataclass(frozen=True)
class Change:
    """A kernel that differs between two runs: ``label`` names the new one, ``before`` and ``after`` say how it was."""

    kernel: str
    kind: Kind
    label: str
    before: str
    after: str


def changes(found: Sequence[Record], baseline: Record | None, specs: Specs) -> list[Change]:
    """What the runs in ``found`` changed against ``baseline``; none without one.

    Compared are the runs with the baseline's own runtime, architecture and wave size; where there is none, the first.
    """
    if baseline is None:
        return []
    (wanted,) = labels([baseline])
    names = labels(found)
    same = [pair for pair in zip(names, found, strict=True) if pair[0].partition(" #")[0] == wanted]
    before = {row.name: row for row in results(baseline, specs)}
    changed = []
    for name, record in same or [(names[0], found[0])]:
        rows = ((before[row.name], row) for row in results(record, specs))
        changed += [change for old, new in rows if (change := _change(name, old, new))]
    return [change for kind, _ in KINDS for change in changed if change.kind == kind]


def _change(label: str, old: KernelResult, new: KernelResult) -> Change | None:
    kind = _kind(old, new)
    return Change(new.name, kind, label, _told(old), _told(new)) if kind else None


def _kind(old: KernelResult, new: KernelResult) -> Kind | None:
    if old.status == new.status:
        if old.status == "pass" or (old.failed, old.cases) == (new.failed, new.cases):
            return None
        return "worse" if new.failed > old.failed else "better" if new.failed < old.failed else "other"
    if old.status == "not_run" or new.status == "not_run":
        return "worse" if old.status == "pass" else "other"
    return "worse" if _rank(new.status) > _rank(old.status) else "better"


def _rank(status: Status) -> int:
    return _ORDER.index(status) if status in _ORDER else len(_ORDER)


def _told(row: KernelResult) -> str:
    return f"{row.status}, {row.counts}" if row.failed else row.status
