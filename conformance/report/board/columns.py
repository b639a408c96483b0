"""What the board shows: a column for each record of a port, and a state for each kernel in it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from conformance.record import KernelResult, Record
from conformance.report.again import fetched
from conformance.report.causes.find import Finding, find_causes
from conformance.report.headline import port_name
from conformance.report.kernels import declared
from conformance.report.runs import executed, labels, rerun
from conformance.report.tally import own_kernels, results
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.status import Status
from conformance.text import counted, one_line, shortened, some

NAMES = "names"
"""The level that a run shows as well: whether the port has the kernel under Candle's name, with its parameters."""

_NAMED = 5

_SHORT = 160
"""Characters that say of an own kernel what is wrong."""


@dataclass(frozen=True)
class Figure:
    """The counts of some kernels: those at parity, those that fail, those without a source, and those without a
    verdict."""

    passing: int
    total: int
    unknown: int
    missing: int

    @property
    def failing(self) -> int:
        """How many kernels have a source and a verdict, and are not at parity."""
        return self.total - self.passing - self.unknown - self.missing

    @property
    def percent(self) -> str:
        """The percentage at parity of all, with one decimal (``95.7``). It is rounded down, so that only all of them
        are 100.0."""
        return f"{math.floor(1000 * self.passing / self.total) / 10:.1f}" if self.total else "0.0"

    @property
    def text(self) -> str:
        """The counts in words: ``12 of 20``, ``12 of 20, 4 unknown``, or ``unknown``."""
        if self.unknown == self.total:
            return "unknown"
        return f"{self.passing} of {self.total}" + (f", {self.unknown} unknown" if self.unknown else "")


@dataclass(frozen=True)
class Column:
    """A column of the board: one record of one port, or its names. ``rows`` are the kernels that all records have, in
    the order of the specs."""

    port: str
    level: str
    record: Record
    rows: Sequence[KernelResult]
    findings: Sequence[Finding] = field(default=())

    @property
    def prefix(self) -> str:
        """The first words of the command that judges a kernel or a case again."""
        return rerun(self.record.run, "KERNEL").removesuffix("KERNEL")

    @property
    def places(self) -> tuple[str, str]:
        """The port's commit and the date of the record."""
        run = self.record.run
        return run.git or "unknown", run.started[:10]

    @property
    def prepare(self) -> str:
        """The command that fetches the port, if the record names its repository and commit as a list of ports may; else
        ""."""
        port = self.record.run.port
        if port is None:
            return ""
        return fetched(port.name, port.repository, port.commit)

    def state(self, row: KernelResult) -> Status:
        """The status of a kernel in this column."""
        if self.level != NAMES:
            return row.status
        if row.status in ("missing", "signature"):
            return row.status
        return "not_run" if row.status == "not_run" and row.source is None else "pass"

    def figure(self, rows: Iterable[KernelResult] | None = None) -> Figure:
        """The counts of ``rows``; of all kernels for ``None``."""
        counts = Counter(map(self.state, self.rows if rows is None else rows))
        return Figure(counts["pass"], counts.total(), counts["not_run"], counts["missing"])


@dataclass(frozen=True)
class PortRow:
    """A port on the board: its run with most kernels at parity, its other runs, and how many kernels have no verdict in
    any of them."""

    port: str
    best: Column
    others: Sequence[Column]
    unknown: int

    @property
    def text(self) -> str:
        """The best run in words: ``700 of 748 kernels; 30 fail, 6 without a source (4 of them declared), 12 unknown; of
        those at parity, 8 through an adapter; own kernels: 3 of 4 at parity``."""
        figure = self.best.figure()
        known = sum(row.status == "missing" and row.known_reason is not None for row in self.best.rows)
        declared_missing = "all" if known == figure.missing else f"{known:,} of them"
        passing = [row for row in self.best.rows if row.status == "pass"]
        ways = (
            (sum(row.adapter is not None for row in passing), "through an adapter"),
            (sum(row.launched_when is not None for row in passing), "only in cases that the port declares to launch"),
        )
        declares = ", ".join(f"{count:,} {how}" for count, how in ways if count)
        elsewhere = figure.unknown - self.unknown
        counts = (
            (figure.failing, "fail"),
            (figure.missing, "without a source" + (f" ({declared_missing} declared)" if known else "")),
            (elsewhere, "judged in other runs only"),
            (self.unknown, "unknown"),
        )
        said = ", ".join(f"{count:,} {what}" for count, what in counts if count)
        at_parity = f"of those at parity, {declares}" if declares else ""
        kernels = f"{figure.passing:,} of {counted(figure.total, 'kernel')}"
        return "; ".join(filter(None, (kernels, said, at_parity, own_kernels(self.best.record))))


@dataclass(frozen=True)
class OwnKernels:
    """The port's own kernels in a run, which Candle does not have: how many there are, how many pass, and those that do
    not."""

    port: str
    level: str
    total: int
    passing: int
    failing: Sequence[KernelResult]

    @property
    def not_at_parity(self) -> str:
        """Those not at parity in words: ``uown_f32 (fail, 1 of 4 cases: 9 ulp off)``. Not escaped; of many only the
        first."""
        return some([_shortly(row) for row in self.failing], _NAMED, "; ")


def _shortly(row: KernelResult) -> str:
    counts = f", {row.failed} of {row.cases} cases" if row.failed else ""
    why = row.failures[0].why if row.failures else row.message or row.known_reason or ""
    return shortened(one_line(f"{row.name} ({row.status}{counts}{': ' if why else ''}{why}"), _SHORT) + ")"


@dataclass(frozen=True)
class DeclaredChoice:
    """What a port declares of some kernels in its candle-parity.toml. Not escaped.

    ``levels`` are the runs, each with how many of the kernels are at parity.
    """

    port: str
    levels: str
    text: str
    kernels: str


@dataclass(frozen=True)
class Board:
    """Everything on the board: the columns, those of a port side by side, and what one has to know about them."""

    columns: Sequence[Column]
    kernels: Sequence[Kernel]
    notes: Sequence[str]

    @property
    def judged(self) -> list[Column]:
        """The columns that are runs, without those about names."""
        return [column for column in self.columns if column.level != NAMES]

    def ports(self) -> dict[str, list[Column]]:
        """The columns by port."""
        found: dict[str, list[Column]] = {}
        for column in self.columns:
            found.setdefault(column.port, []).append(column)
        return found

    def rows(self) -> list[PortRow]:
        """A row for each port, the one with most kernels at parity first."""
        found = []
        for port, columns in self.ports().items():
            judged = [column for column in columns if column.level != NAMES]
            best = max(judged, key=lambda column: column.figure().passing)
            unknown = sum(
                all(row.status == "not_run" for row in rows) for rows in zip(*(one.rows for one in judged), strict=True)
            )
            found.append(PortRow(port, best, [one for one in judged if one is not best], unknown))
        return sorted(found, key=lambda row: -row.best.figure().passing)

    def own(self) -> list[OwnKernels]:
        """The own kernels of each run that judged some."""
        found = []
        for column in self.judged:
            rows = column.record.of_port
            failing = [row for row in rows if row.status != "pass"]
            if rows:
                found.append(OwnKernels(column.port, column.level, len(rows), len(rows) - len(failing), failing))
        return found

    def declared(self) -> list[DeclaredChoice]:
        """What each port declares, with the runs whose records contain it and how many of the kernels are at parity
        there."""
        runs: dict[tuple[str, str, str], list[str]] = {}
        for column in self.judged:
            for one in declared(column.record.rows):
                standing = "" if one.passing is None else f": {one.passing} of {len(one.rows)} at parity"
                runs.setdefault((column.port, one.text, one.kernels), []).append(f"{column.level}{standing}")
        return [DeclaredChoice(port, ", ".join(levels), text, names) for (port, text, names), levels in runs.items()]

    def groups(self) -> list[tuple[str, str, list[int]]]:
        """Module, family ("" for the whole module) and the positions of their kernels. The first group is all
        kernels."""
        found: dict[tuple[str, str], list[int]] = {("", ""): list(range(len(self.kernels)))}
        families: dict[str, set[str]] = {}
        for kernel in self.kernels:
            families.setdefault(kernel.module, set()).add(kernel.family)
        for at, kernel in enumerate(self.kernels):
            found.setdefault((kernel.module, ""), []).append(at)
            if len(families[kernel.module]) > 1:
                found.setdefault((kernel.module, kernel.family), []).append(at)
        modules = {kernel.module: at for at, kernel in reversed(list(enumerate(self.kernels)))}
        order = sorted(found, key=lambda key: (modules.get(key[0], -1), found[key][0] if key[1] else -1))
        return [(*key, found[key]) for key in order]


def board_of(records: Sequence[Record], specs: Specs) -> Board:
    """The board of ``records``, over the kernels that all of them and ``specs`` have."""
    shared = set(specs.kernels).intersection(*({row.name for row in record.kernels} for record in records))
    ports: dict[str, list[Record]] = {}
    for record in records:
        ports.setdefault(port_name(record.run), []).append(record)
    columns: list[Column] = []
    for port, mine in ports.items():
        for level, record in zip(labels(mine), mine, strict=True):
            rows = [row for row in results(record, specs) if row.name in shared]
            if not any(column.port == port for column in columns):
                columns.append(Column(port, NAMES, record, rows))
            columns.append(Column(port, one_line(level), record, rows, find_causes(rows, specs)))
    kernels = [kernel for name, kernel in specs.kernels.items() if name in shared]
    return Board(columns, kernels, _notes(records, columns, specs, shared))


def _notes(records: Sequence[Record], columns: Sequence[Column], specs: Specs, shared: set[str]) -> list[str]:
    notes = [
        f"Where kernels ran: {' · '.join(sorted({executed(record.run) for record in records}))}.",
        "Kernels without a verdict in any record are shown as unknown (grey). They count among all kernels, never "
        "among those at parity.",
    ]
    runs = [column for column in columns if column.level != NAMES]
    others = [f"{one.port} {one.level}" for one in runs if one.record.run.specs_digest != specs.digest]
    if others:
        notes.append(
            f"Judged by other specs than these, so that cases and bounds may differ: {some(others, _NAMED)}. Compared "
            f"are the {counted(len(shared), 'kernel')} that all records have."
        )
    every = {row.name for record in records for row in record.kernels} | set(specs.kernels)
    if every - shared:
        notes.append(f"In no figure, as not every record has it: {some(sorted(every - shared), _NAMED)}.")
    return notes
