"""Two records of the same kernels: what became worse, what became better, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from conformance.outcome import KernelResult
from conformance.record.model import Record, RunInfo
from conformance.spec.entry import OWN, Entry
from conformance.spec.entry import ROWS as ENTRY_ROWS
from conformance.status import ROWS, Status

RANK: Mapping[Status, int] = {status: row.distance for status, row in ROWS.items() if row.distance is not None}
"""How far a status is from parity; ``not_run`` has no place in it, for nothing was judged."""

_FACTS = {
    "runtime": "runtime",
    "device": "device",
    "arch": "architecture",
    "wave": "wave size",
    "orders": "thread orders",
    "kernels": "kernels",
    "specs_digest": "specs",
    "subject": "subject",
    "traces": "recorded cases",
    "compiler": "compiler",
}
_PLACE = ("runtime", "arch", "wave", "subject", "traces")
_OLD_IDLE, _NOT_SELECTED = "not judged in the old record", "not selected in the new record"
_OF_KERNELS = ("not in the specs of the old record", "no longer in the specs")
_OF_LAUNCHERS = (_OLD_IDLE, _NOT_SELECTED)
"""What it means that only the new record has a row, and only the old one; a record has the launchers of its run."""


@dataclass(frozen=True)
class Change:
    """A kernel that has a verdict in both records, and not the same one.

    ``failing`` are the ids of cases that passed in the old record and fail in the new one, ``passing`` of those that
    failed and pass now. An older record does not name the cases; then ``counts`` says ``3 of 30 cases fail, before 2``.
    """

    kernel: str
    module: str
    before: Status
    after: Status
    failing: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    counts: str | None = None
    declared: str | None = None

    @property
    def gone(self) -> bool:
        """Whether a source defined the kernel in the old record, and none does in the new one."""
        return self.after == "missing" and self.before != "missing"

    @property
    def new(self) -> bool:
        """Whether no source defined the kernel in the old record, and one does in the new one."""
        return self.before == "missing" and self.after != "missing"


@dataclass(frozen=True)
class Distance:
    """The largest error of a kernel that passes in both records, in ulp. ``None`` means that no number of ulp expresses
    it."""

    kernel: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Changed:
    """What differs between two lists of rows, over the kernels that have a verdict in both.

    ``declared`` are kernels that became worse in a way that the port declares; they do not count as worse. ``left_out``
    has, by reason, the kernels that only one of the records judged. ``unjudged`` are those with a verdict in the old
    record and none in the new one, although the specs still have them.
    """

    worse: tuple[Change, ...]
    better: tuple[Change, ...]
    declared: tuple[Change, ...]
    distances: tuple[Distance, ...]
    same: int
    left_out: Mapping[str, tuple[str, ...]]
    unjudged: tuple[str, ...]

    @property
    def compared(self) -> int:
        """The number of kernels with a verdict in both records."""
        return self.same + len(self.worse) + len(self.better) + len(self.declared)


@dataclass(frozen=True)
class Comparison(Changed):
    """What differs between the records ``old`` and ``new``.

    Its own fields are about Candle's kernels, ``launchers`` is about launchers, ``own`` about the port's own kernels,
    ``own_launchers`` about its own launchers. ``differing`` names the facts of the two runs that are not the same, such
    as the device.
    """

    old: Record
    new: Record
    differing: tuple[str, ...]
    launchers: Changed
    own: Changed
    own_launchers: Changed

    @property
    def parts(self) -> Mapping[Entry, Changed]:
        """What differs by kind of entry. Library calls are not compared."""
        return {
            "kernel": self,
            "launcher": self.launchers,
            "own": self.own,
            "own_launcher": self.own_launchers,
        }

    @property
    def same_place(self) -> bool:
        """Whether both runs used the same cases on the same kind of device."""
        return all(getattr(self.old.run, name) == getattr(self.new.run, name) for name in _PLACE)


def compare(old: Record, new: Record) -> Comparison:
    """What became better, worse or incomparable from ``old`` to ``new``."""
    kernels = _changed(old, old.kernels, new, new.kernels, _OF_KERNELS)
    launchers = _changed(old, _launchers(old, new), new, _launchers(new, old), _OF_LAUNCHERS)
    of_port: dict[str, Any] = {
        ENTRY_ROWS[entry].part: _changed(old, old.rows_of(entry), new, new.rows_of(entry), _OF_LAUNCHERS)
        for entry in OWN
    }
    differing = tuple(text for name, text in _FACTS.items() if getattr(old.run, name) != getattr(new.run, name))
    return Comparison(**vars(kernels), old=old, new=new, differing=differing, launchers=launchers, **of_port)


def _changed(
    old: Record, before: Sequence[KernelResult], new: Record, after: Sequence[KernelResult], absent: tuple[str, str]
) -> Changed:
    """The rows ``after`` against those ``before``; ``absent`` says what it means that a row is in one list only."""
    known = {row.name: row for row in before}
    worse: list[Change] = []
    better: list[Change] = []
    declared: list[Change] = []
    distances: list[Distance] = []
    left_out: dict[str, list[str]] = {}
    same = 0
    for row in after:
        was = known.get(row.name)
        why = absent[0] if was is None else _not_compared(was, row)
        if was is None or why is not None:
            left_out.setdefault(why or "", []).append(row.name)
            continue
        change, verdict = _change(old.run, was, new.run, row)
        if verdict > 0:
            (worse if row.known_reason is None else declared).append(change)
        elif verdict < 0:
            better.append(change)
        else:
            same += 1
        if was.status == row.status == "pass" and was.max_ulp != row.max_ulp:
            distances.append(Distance(row.name, was.max_ulp, row.max_ulp))
    names = {row.name for row in after}
    removed = [row.name for row in before if row.name not in names]
    if removed:
        left_out.setdefault(absent[1], []).extend(removed)
    verdicts = {row.name for row in before if row.status != "not_run"}
    idle = [row.name for row in after if row.status == "not_run"]
    idle += removed if absent is _OF_LAUNCHERS else []
    unjudged = tuple(name for name in idle if name in verdicts)
    kept = {why: tuple(names) for why, names in left_out.items()}
    return Changed(tuple(worse), tuple(better), tuple(declared), tuple(distances), same, kept, unjudged)


def _launchers(record: Record, other: Record) -> tuple[KernelResult, ...]:
    """The launchers of ``record``. A run of everything has none where no source names one: then all that ``other`` has
    are missing there."""
    run = record.run
    whole = run.selected == len(record.kernels) and not run.patterns and run.complete and run.shard is None
    alike = all(getattr(run, name) == getattr(other.run, name) for name in ("specs_digest", "subject", "traces"))
    if record.launchers or run.specs_digest is None or not (whole and alike):
        return record.launchers
    about = [row.model_dump(include={"name", "module", "family", "upstream"}) for row in other.launchers]
    return tuple(KernelResult(status="missing", **fields) for fields in about)


def compared_rows(record: Record) -> list[KernelResult]:
    """The rows of ``record`` that a comparison is about: kernels, launchers, and the port's own."""
    return [row for entry, kind in ENTRY_ROWS.items() if kind.in_baseline for row in record.rows_of(entry)]


def same_rows(one: Record, other: Record) -> bool:
    """Whether two records have the same rows, launchers included, apart from how long kernels took.

    Cases without a part in the verdict are ignored if only one of the two runs had them.
    """
    rows, others = compared_rows(one), compared_rows(other)
    return len(rows) == len(others) and all(map(_same_row, rows, others))


def _same_row(row: KernelResult, other: KernelResult) -> bool:
    """Whether both say the same of a kernel, as ``same_rows`` has it."""
    if bool(row.unasked) != bool(other.unasked):
        row, other = (_without_robustness(one) for one in (row, other))
    return row.model_copy(update={"seconds": None}) == other.model_copy(update={"seconds": None})


def _without_robustness(row: KernelResult) -> KernelResult:
    left_out = row.left_out - (row.robustness.left_out if row.robustness else 0)
    return row.model_copy(update={"robustness": None, "unasked": 0, "left_out": left_out})


def same_verdicts(one: Record, other: Record) -> bool:
    """Whether the records have the same rows of the same specs, apart from how long kernels took."""
    return same_rows(one, other) and one.run.specs_digest == other.run.specs_digest


def _not_compared(was: KernelResult, row: KernelResult) -> str | None:
    """Why there is nothing to compare; ``None`` where both are verdicts."""
    idle = [one.status == "not_run" for one in (was, row)]
    if all(idle):
        return "judged in neither record"
    if idle[0]:
        return _OLD_IDLE
    if idle[1]:
        return _NOT_SELECTED if row.message is None else "selected and not judged in the new record"
    return None


def _change(old: RunInfo, was: KernelResult, new: RunInfo, row: KernelResult) -> tuple[Change, int]:
    """The change of one kernel, and 1 where it became worse, -1 better, 0 neither."""
    failed, passed = _cases(old, was)
    fails, passes = _cases(new, row)
    one, other = _asked(old, row.name), _asked(new, row.name)
    alike = sorted(one) == sorted(other)
    if alike and was.status == "pass":
        passed = None
    if alike and row.status == "pass":
        passes = None
    failing = tuple(case for case in fails if passed is None or case in passed)
    passing = tuple(case for case in failed if passes is None or case in passes)
    counts = None
    if was.failed < was.cases and passed == set() and row.cases == was.cases and row.failed != was.failed:
        counts = f"{row.failed} of {row.cases} cases fail, before {was.failed}"
    change = Change(row.name, row.module, was.status, row.status, failing, passing, counts, row.known_reason)
    step = RANK[row.status] - RANK[was.status]
    if not alike:
        step = 0  # verdicts on other cases: only those that both judged can be compared
    more = row.failed - was.failed if counts else 0
    if failing or step > 0 or (step == 0 and more > 0):
        return change, 1
    return change, -1 if step < 0 or passing or more < 0 else 0


def _cases(run: RunInfo, row: KernelResult) -> tuple[list[str], set[str] | None]:
    """The cases of a row that failed, and those that passed (``None``: all others); empty without a launch."""
    failing = [f"{row.name}({case})" for one in row.observations for case in one.cases]
    failing = failing or [failure.case for failure in row.failures]
    if row.status == "pass":
        asked = _asked(run, row.name)
        return failing, set(asked) if asked else None
    return failing, {f"{row.name}({case})" for case in row.passed}


def _asked(run: RunInfo, name: str) -> list[str]:
    """The case ids of the kernel that were asked for, where not all its cases were."""
    ids = [pattern for pattern in run.patterns if pattern.startswith(f"{name}(")]
    whole = any("(" not in pattern and fnmatchcase(name, pattern) for pattern in run.patterns)
    return [] if whole else ids
