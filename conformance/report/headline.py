"""What a page is about in one line: the port's name, its commit, and how much of Candle it is at parity with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from conformance.files import KERNELS, SHIPPED_KERNELS
from conformance.record import KernelResult, Record, RunInfo
from conformance.record.model import BUILD
from conformance.report.runs import given_specs
from conformance.report.tally import tally
from conformance.spec.load import Specs
from conformance.status import Status
from conformance.text import counted, one_line, some

OURS = "candle-parity"
"""What the port that ships with the harness is called."""

_NAMED = 3

_WITHOUT: tuple[tuple[Status, str], ...] = (("missing", "without a source"), ("not_run", "not run"))
"""The statuses without a verdict, in words that follow a number."""


def port_name(run: RunInfo) -> str:
    """The name of a run's port: that of the list of ports, else of its folder or file."""
    if run.subject == "reference":
        return "the reference" if run.program is None else one_line(PurePath(run.program.split(" ")[0]).name)
    if run.port is not None:
        return one_line(run.port.name)
    if run.kernels in (None, KERNELS, SHIPPED_KERNELS):
        return OURS
    return one_line(PurePath(run.kernels).name or run.kernels)


def port_commit(run: RunInfo) -> str:
    """The port's commit: ``8a17ca0a4c66``, ``8a17ca0a4c66 with changes``, or "" where it is in none or that is not
    known.

    The harness's own port has the harness's commit.
    """
    commit = run.git or (run.harness if port_name(run) == OURS else None) or ""
    clean = commit.removesuffix("-dirty")
    return one_line(f"{clean} with changes" if clean != commit else commit)


@dataclass(frozen=True)
class Headline:
    """The heading of a page about one record or several.

    ``port`` and ``commit`` name what was judged; ``commit`` is "" where unknown. ``share`` is a percentage of what
    ``of`` says. It is the lowest of the runs that judged kernels, and ``run`` is the position of that run among the
    records. ``notes`` say which run that is if there are several, and what is with kernels that have no verdict.
    """

    port: str
    commit: str
    share: str
    of: str
    run: int
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """The title of the page: ``candle-3801 at 8a17ca0a4c66: 95.7% of Candle’s CUDA kernels at parity``."""
        at = f" at {self.commit}" if self.commit else ""
        return f"{self.port}{at}: {self.share} {self.of}"


def headline(
    found: Sequence[Record], names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs
) -> Headline:
    """The headline for the records ``found``. ``names`` are the titles of their columns, ``rows`` their results over
    all kernels.

    Runs that only compiled, or that compared recorded launches, count only if there is no other, as they could not
    judge all kernels.
    """
    places = range(len(found))
    judged = [at for at in places if found[at].run.runtime != BUILD and found[at].run.traces is None] or list(places)
    least = min(judged, key=lambda at: tally(rows[at]).passing)
    about = [found[at].run for at in judged]
    ports, commits = (list(dict.fromkeys(map(says, about))) for says in (port_name, port_commit))
    given = given_specs(found[least].run, specs)
    percent = tally(rows[least]).percent
    which = [f"{names[least]}, the lowest of {counted(len(judged), 'run')}"] if len(judged) > 1 else []
    return Headline(
        port=some(ports, _NAMED),
        commit=commits[0] if len(commits) == 1 else "",
        share=f"{percent}%" if tally(rows[least]).total else percent,
        of=f"of the kernels{given} at parity" if given else "of Candle’s CUDA kernels at parity",
        run=least,
        notes=tuple(which + _without_verdict(rows[least])),
    )


def _without_verdict(rows: Sequence[KernelResult]) -> list[str]:
    """Where kernels have no verdict: how the others stand, and why these have none."""
    counts = Counter(row.status for row in rows)
    why = [f"{counts[status]:,} {text}" for status, text in _WITHOUT if counts[status]]
    judged = len(rows) - sum(counts[status] for status, _ in _WITHOUT)
    were = "was" if judged == 1 else "were"
    return [f"{counts['pass']:,} of the {counted(judged, 'kernel')} that {were} judged", *why] if why else []
