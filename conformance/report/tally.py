"""The figures of every report: kernels present and passing, by module and family, and the columns that show them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.record import KernelResult, Record, every_kernel
from conformance.spec.entry import ENTRIES, OWN, Entry
from conformance.spec.entry import ROWS as ENTRY_ROWS
from conformance.spec.kernel import Kernel, Tolerance
from conformance.spec.load import SpecModule, Specs
from conformance.status import ABSENT, EXPLAINED, ROWS, WORST_FIRST


@dataclass(frozen=True)
class Tally:
    """Counts of kernels: all, those with a source, those at parity, and those that fail although they have a source."""

    total: int
    present: int
    passing: int
    failing: int = 0

    @property
    def percent(self) -> str:
        """The percentage at parity with one decimal. It is rounded down, so that only all kernels are 100.0."""
        return f"{math.floor(1000 * self.passing / self.total) / 10:.1f}" if self.total else "–"

    @property
    def mark(self) -> str:
        """✅ for all at parity, ❌ for none, ⚠️ for some."""
        if self.total and self.passing == self.total:
            return "✅"
        return "⚠️" if self.passing else "❌"

    @property
    def sign(self) -> str:
        """``✓``: all are at parity; ``✗``: some fail; ``–``: the others are missing. One column wide in every
        terminal."""
        if self.failing:
            return "✗"
        return "✓" if self.total and self.passing == self.total else "–"

    @property
    def style(self) -> str:
        """The style for rich. It is grey where the port has none of the kernels, because that is no failure."""
        if not self.present:
            return "dim"
        if self.failing:
            return "yellow" if self.passing else "red"
        return "green"


def is_present(kernel: KernelResult) -> bool:
    """Whether the port has a source of the kernel, whatever became of it."""
    return kernel.source is not None or kernel.status not in ABSENT


def tally(kernels: Iterable[KernelResult]) -> Tally:
    """The figures of ``kernels``."""
    rows = list(kernels)
    passing = sum(row.status == "pass" for row in rows)
    return Tally(len(rows), sum(map(is_present, rows)), passing, sum(row.status in EXPLAINED for row in rows))


@dataclass(frozen=True)
class FigureColumn:
    """A column with a figure of a module's or family's kernels, and the ``tables`` that have it.

    ``coloured`` says that its colour shows how many are at parity. A column ``of_everything`` is left out where kernels
    were selected or the screen is narrow.
    """

    title: str
    text: Callable[[Sequence[KernelResult]], str]
    tables: tuple[str, ...] = ("terminal", "Markdown", "HTML")
    coloured: bool = False
    of_everything: bool = False


TABLE_COLUMNS = (
    FigureColumn("present", lambda rows: str(tally(rows).present), ("terminal", "HTML")),
    FigureColumn("passing", lambda rows: str(tally(rows).passing), ("terminal", "HTML"), coloured=True),
    FigureColumn("percent", lambda rows: tally(rows).percent, ("terminal",), coloured=True, of_everything=True),
    FigureColumn("%", lambda rows: tally(rows).percent, ("HTML",)),
    FigureColumn("", lambda rows: tally(rows).sign, ("terminal",), coloured=True),
)
"""What every table says of its rows, for each run; Markdown has the first of these in its verdict."""


def columns_of(table: str) -> list[FigureColumn]:
    """The columns of ``table``: ``terminal``, ``Markdown`` or ``HTML``."""
    return [column for column in TABLE_COLUMNS if table in column.tables]


def results(record: Record, specs: Specs) -> list[KernelResult]:
    """A result for every kernel of the specs, in their order. Kernels that no spec has are left out.

    Module, family and place in Candle are those of the specs, whatever the record says.
    """
    return every_kernel(
        specs, (_placed(row, specs.kernels[row.name]) for row in record.kernels if row.name in specs.kernels)
    )


def _placed(row: KernelResult, kernel: Kernel) -> KernelResult:
    place = {"module": kernel.module, "family": kernel.family, "upstream": kernel.upstream}
    return row.model_copy(update=place)


def results_of(entry: Entry, record: Record, specs: Specs) -> list[KernelResult]:
    """``results`` for another kind of entry: launchers, library calls, own kernels. What was not selected is
    ``not_run``.

    Own kernels are those of the record, as a report knows of no others.
    """
    if not ENTRY_ROWS[entry].in_specs:
        return [*record.rows_of(entry)]
    given = {row.name: row for row in record.rows_of(entry)}
    known = specs.of(entry).items()
    return [_placed(given.get(name) or KernelResult.not_run(kernel), kernel) for name, kernel in known]


def aligned(entry: Entry, records: Sequence[Record], specs: Specs) -> list[list[KernelResult]]:
    """``results_of`` for each of ``records``, in one order for all. An own kernel that a record does not have is
    ``not_run`` there.

    ``specs`` must have the own kernels of all ``records`` (``with_recorded_own``).
    """
    if ENTRY_ROWS[entry].in_specs:
        return [results_of(entry, record, specs) for record in records]
    names = dict.fromkeys(row.name for record in records for row in record.rows_of(entry))
    given = [{row.name: row for row in record.rows_of(entry)} for record in records]
    return [[rows.get(name) or KernelResult.not_run(specs.of(entry)[name]) for name in names] for rows in given]


def selected_entries(records: Iterable[Record]) -> list[Entry]:
    """The kinds of entry that reports of these records are about: kernels, and what else some record has."""
    found = list(records)
    return [
        entry for entry in ENTRIES if ENTRY_ROWS[entry].in_coverage or any(record.rows_of(entry) for record in found)
    ]


def launcher_results(record: Record, specs: Specs) -> list[KernelResult]:
    """A result for every launcher of the specs, in their order."""
    return results_of("launcher", record, specs)


def kernel_of(row: KernelResult, specs: Specs, entry: Entry = "own") -> Kernel:
    """What the specs say of the kernel of ``row``; of an own kernel or launcher (``entry``) in a record, as much as the
    row does."""
    try:
        return specs.entry(row.name)
    except KeyError:
        bound = Tolerance(0, 0, "not in the record")
        return Kernel(row.name, row.module, row.family, {}, (), row.family, bound, row.upstream, entry=entry)


def with_recorded_own(specs: Specs, records: Sequence[Record]) -> Specs:
    """``specs`` with the own kernels and launchers that ``records`` have and they have not, as far as records say:
    their specs lie in the port's repository."""
    parts: dict[str, Any] = {}
    for entry in OWN:
        found = {row.name: kernel_of(row, specs, entry) for record in records for row in record.rows_of(entry)}
        parts[ENTRY_ROWS[entry].part] = {**found, **specs.of(entry)}
        parts[ENTRY_ROWS[entry].modules] = {**own_modules(entry, records), **specs.modules_of(entry)}
    return replace(specs, **parts)


def own_modules(entry: Entry, records: Iterable[Record]) -> dict[str, SpecModule]:
    """The modules of the own kernels, or the own launchers, of ``records``."""
    families: dict[str, dict[str, None]] = {}
    for row in (row for record in records for row in record.rows_of(entry)):
        families.setdefault(row.module, {})[row.family] = None
    return {name: SpecModule(name, "", "", 0, tuple(its)) for name, its in families.items()}


def modules_of(entry: Entry, records: Iterable[Record], specs: Specs) -> dict[str, SpecModule]:
    """The modules of one kind of entry, by name; of own kernels and launchers those that ``records`` have."""
    return specs.modules_of(entry) if ENTRY_ROWS[entry].in_specs else own_modules(entry, records)


def own_kernels(record: Record) -> str:
    """``own kernels: 12 of 14 at parity``, and likewise of own launchers; empty where none was judged."""
    parts = [(ENTRY_ROWS[entry].plural, record.rows_of(entry)) for entry in OWN]
    said = [
        f"{what}: {sum(row.status == 'pass' for row in rows)} of {len(rows)} at parity" for what, rows in parts if rows
    ]
    return ", ".join(said)


def launchers(record: Record, specs: Specs) -> str:
    """``3 of 49 launchers``, the linked host functions at parity, or that none was run; empty where the specs have
    none, and for a run of chosen kernels; ``4 of 4 library calls`` and ``own kernels: 12 of 14 at parity`` follow where
    one was selected."""
    called = _launchers(record, specs)
    passing = sum(row.status == "pass" for row in record.libraries)
    calls = f"{passing} of {len(specs.libraries)} library calls" if record.libraries else ""
    return ", ".join(filter(None, (called, calls, own_kernels(record))))


def _launchers(record: Record, specs: Specs) -> str:
    if not specs.launchers or (not record.launchers and record.run.patterns):
        return ""
    if record.launchers and all(row.status == "not_run" for row in record.launchers):
        return f"{len(record.launchers)} launchers not run"
    passing = sum(row.status == "pass" and row.name in specs.launchers for row in record.launchers)
    return f"{passing} of {len(specs.launchers)} launchers"


def unknown(record: Record, specs: Specs) -> list[str]:
    """The names in the record that no spec has; then the record is of other specs."""
    return [kernel.name for kernel in record.kernels if kernel.name not in specs.kernels]


def of_module(rows: Sequence[KernelResult], module: str) -> list[KernelResult]:
    """The results of one module."""
    return [row for row in rows if row.module == module]


def of_family(rows: Sequence[KernelResult], module: str, family: str) -> list[KernelResult]:
    """The results of one family."""
    return [row for row in rows if row.module == module and row.family == family]


def worst(rows: Iterable[KernelResult]) -> str:
    """The kernel with a verdict that is furthest from parity, and why; "" where none is wrong."""
    order = [status for status in WORST_FIRST if ROWS[status].heading]
    bad = [row for row in rows if row.status in order]
    if not bad:
        return ""
    row = min(bad, key=lambda item: (order.index(item.status), -item.failed, item.name))
    if row.status == "fail" and row.cases:
        return f"{row.name}: {row.failed} of {max(row.planned, row.cases)} cases fail"
    return f"{row.name}: {row.status}"


def share(row: KernelResult) -> float | None:
    """The part of its bound that the element nearest to the bound took (1: all of it); ``None`` where the record does
    not say."""
    if row.nearest_ulp is None or not row.nearest_ulp_bound:
        return None
    return row.nearest_ulp / row.nearest_ulp_bound


def margin(row: KernelResult) -> str:
    """The error of the element nearest to its bound: ``14 of 24 ulp``. Without a recorded bound it is the largest
    error."""
    if share(row) is None:
        return ulps(row.max_ulp)
    return f"{row.nearest_ulp:.4g} of {row.nearest_ulp_bound:.4g} ulp"


def ulps(value: float | None) -> str:
    """A number of ulp in words."""
    return "–" if value is None else f"{value:g} ulp"


def source_files(rows: Iterable[KernelResult]) -> list[str]:
    """The files that define the kernels, sorted."""
    return sorted({row.source.rsplit(":", 1)[0] for row in rows if row.source})


def source_lines(rows: Sequence[KernelResult], lines: Mapping[str, int]) -> int | None:
    """The number of lines of the files that define the kernels, else of the kernels themselves; ``None`` where
    unknown."""
    files = source_files(rows)
    if files and all(file in lines for file in files):
        return sum(lines[file] for file in files)
    known = [row.source_lines for row in rows if row.source_lines is not None]
    return sum(known) if known else None
