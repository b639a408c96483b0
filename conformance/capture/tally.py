"""What a program launched and what became of it: figures per kernel, and the first wrong launch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.capture.launches import STATES, Log, Seen
from conformance.outcome import Failure, KernelResult
from conformance.spec.load import Specs


@dataclass
class KernelTally:
    """A kernel's launches: how many, of how many distinct shapes, recorded, judged and wrong."""

    name: str
    launches: int = 0
    shapes: set[str] = field(default_factory=set)
    recorded: int = 0
    judged: int = 0
    wrong: int = 0

    @property
    def right(self) -> int:
        return self.judged - self.wrong

    def as_json(self) -> dict[str, Any]:
        """The row of ``capture.json``."""
        return {"launches": self.launches, "shapes": len(self.shapes), "recorded": self.recorded}


def tallies(logs: Iterable[Log]) -> dict[str, KernelTally]:
    """The figures of every kernel in ``logs``, in the order of their first launches; nothing is judged yet."""
    found: dict[str, KernelTally] = {}
    for seen in in_order(logs):
        row = found.setdefault(seen.kernel, KernelTally(seen.kernel))
        row.launches += 1
        row.shapes.add(seen.shape)
        row.recorded += seen.is_recorded
    return found


def in_order(logs: Iterable[Log]) -> list[Seen]:
    """The launches of all processes, as they came."""
    return sorted((seen for log in logs for seen in log.launches), key=lambda seen: seen.number)


def add_verdicts(found: Mapping[str, KernelTally], rows: Iterable[KernelResult]) -> None:
    """Put what judges said into the figures."""
    for row in rows:
        if row.name in found:
            found[row.name].judged, found[row.name].wrong = row.cases, row.failed


def first_wrong(rows: Iterable[KernelResult]) -> tuple[int, KernelResult, Failure] | None:
    """The first wrong launch in the program's order: its number, its kernel, and what is wrong."""
    failures = [(number_of(failure.case), row, failure) for row in rows for failure in row.failures]
    return min(failures, key=lambda one: one[0], default=None)


def number_of(case: str) -> int:
    """The number of the launch that is the case ``KERNEL(trace=17)``."""
    return int(case.rpartition("=")[2].rstrip(")"))


def unrecorded(seen: Sequence[Seen]) -> list[str]:
    """Why launches are not recorded, a line each with how many, but for those of which an equal one is."""
    counts = Counter(
        (one.state, one.kernel) for one in seen if not one.is_recorded and one.state not in ("count", "unknown")
    )
    return [
        f"{name}: {count} {'launch' if count == 1 else 'launches'} not recorded: {STATES.get(state, state)}"
        for (state, name), count in counts.items()
    ]


def without_verdict(
    found: Mapping[str, KernelTally], rows: Iterable[KernelResult], refused: Mapping[str, int]
) -> list[str]:
    """A line on each kernel of which recorded launches have no verdict; ``refused`` are those of each that are no case,
    which are told by themselves."""
    lines = []
    for row in rows:
        tally = found.get(row.name, KernelTally(row.name))
        left = tally.recorded - refused.get(row.name, 0) - row.cases
        if row.lost or (row.status == "not_run" and row.message):
            lines.append(f"{row.name}: {row.message or 'it could not be judged'}")
        elif left > 0:
            count = f"{left} recorded {'launch' if left == 1 else 'launches'}"
            lines.append(f"{row.name}: {count} not judged: the reference does not take such arguments")
    return lines


def never_launched(found: Mapping[str, KernelTally], specs: Specs) -> list[str]:
    """The kernels of the specs that the program did not launch."""
    return [name for name in specs.kernels if name not in found]
