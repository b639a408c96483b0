"""The table that a run prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from conformance.record import KernelResult, Record
from conformance.record.merge import is_of_other_shard
from conformance.report import tally as figures
from conformance.report.builds import compiles
from conformance.report.lines import rendered, wrapped
from conformance.report.places import Places
from conformance.report.run_notes import remarks
from conformance.report.runs import Records, executed, given_specs, labels, listed, what_was_judged
from conformance.report.tally import (
    FigureColumn,
    columns_of,
    is_present,
    modules_of,
    of_family,
    of_module,
    results,
    results_of,
    tally,
    worst,
)
from conformance.spec.entry import BESIDES, ENTRIES, Entry
from conformance.spec.entry import ROWS as ENTRY_ROWS
from conformance.spec.load import SpecModule, Specs
from conformance.status import EXPLAINED, ROWS, STATUSES
from conformance.text import LOG, Screen, one_line, shortened

"""What is judged beside kernels, and counted apart."""

_WORST_WIDTH = 48
_SHORTEST_NAME = 5
_TEXT_WIDTH = 110
"""Columns of a line of text on a terminal, however wide that is: longer ones are hard to read."""


def render_terminal(
    records: Records,
    specs: Specs,
    screen: Screen = LOG,
    verbose: bool = False,
    failures: Sequence[str] = (),
) -> str:
    """What a run prints: a table, the verdict, the causes, and notes; without a newline at the end.

    The table has a row for each module that was selected from, and for each family of a module that the port has begun.
    Modules with failures come first, those that the port does not have last. Percentages are of all kernels. Several
    records have columns side by side. ``failures`` are lines about single kernels, which follow the causes. ``verbose``
    adds notes about cases without a part in the verdict.
    """
    found = listed(records)
    rows = [results(record, specs) for record in found]
    besides = {row.name for record in found for row in (*record.launchers, *record.libraries, *record.of_port)}
    kernels = _chosen(found, rows)
    out: list[Text | Table] = []
    if kernels or not besides:
        out.append(_table(_Kind.of("kernel", found, rows, specs), found, rows, kernels, screen))
    for entry in BESIDES:
        called = [results_of(entry, record, specs) for record in found]
        chosen = _chosen(found, called) & besides
        if chosen:
            out += [Text()] if out else []
            out.append(_table(_Kind.of(entry, found, called, specs), found, called, chosen, screen))
    out.append(Text())
    width = screen.width if screen == LOG else min(screen.width, _TEXT_WIDTH)
    for name, record, part in zip(labels(found), found, rows, strict=True):
        out += _about(name, record, part, specs, width, verbose, failures)
    return rendered(out, screen)


def verdict_line(record: Record, specs: Specs, screen: Screen = LOG) -> str:
    """The verdict in one line: what was asked and how it ended, how many of all kernels are at parity, and where they
    ran."""
    (name,) = labels([record])
    rows = results(record, specs)
    line = _headline(name, record, rows, specs)
    judged = what_was_judged(record.run)
    besides = [_coverage(record, rows, specs)] if _asked_for_less(record, rows) else []
    besides += [f"judged: {judged}"] if judged else []
    for text in (*besides, executed(record.run)):
        line.append(f"; {one_line(text)}", style="not bold default")
    return rendered([line], screen)


def _selected(record: Record, row: KernelResult) -> bool:
    """Whether ``row`` was asked for, as far as the record says."""
    if record.run.selected is None or row.status != "not_run":
        return True
    return row.message is not None and not (record.run.shard is not None and is_of_other_shard(row))


@dataclass(frozen=True)
class _Kind:
    """What a table is of: one kind of entry, which is counted apart. ``total`` is how many there are."""

    what: str
    modules: Mapping[str, SpecModule]
    total: int

    @classmethod
    def of(cls, entry: Entry, records: Sequence[Record], rows: Sequence[list[KernelResult]], specs: Specs) -> _Kind:
        """That of ``entry``, of which the records have ``rows``."""
        return cls(ENTRY_ROWS[entry].plural, modules_of(entry, records, specs), max(map(len, rows)))


def _chosen(records: Sequence[Record], rows: Sequence[list[KernelResult]]) -> set[str]:
    """The names that were asked for in one of the runs."""
    return {row.name for record, part in zip(records, rows, strict=True) for row in part if _selected(record, row)}


def _table(
    kind: _Kind, records: Sequence[Record], rows: Sequence[list[KernelResult]], chosen: set[str], screen: Screen
) -> Table:
    """The figures by module and family of the ``chosen`` ones, of all where none is."""
    partly = 0 < len(chosen) < kind.total
    chosen = chosen if partly else {row.name for row in rows[0]}
    columns = [one for one in columns_of("terminal") if not (one.of_everything and (partly or screen.narrow))]
    gap = 1 if screen.narrow else 2
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    table.add_column("module", no_wrap=True)
    in_all = not (partly and screen.narrow)  # how many there are, selected or not
    if in_all:
        table.add_column(kind.what, justify="right", no_wrap=True)
    if partly:
        table.add_column("selected", justify="right", no_wrap=True)
    names = labels(records)
    for name in names:
        mark = "" if len(names) == 1 else f"\n{name}"
        for column in columns:
            head = Text(f"{column.title}{mark}" if column.title else "")
            table.add_column(head, justify="right" if column.title else "left", no_wrap=True)
    blocks: list[_Block] = []

    def line(label: str, parts: Sequence[list[KernelResult]], shown_worst: bool, style: str = "") -> _Line:
        mine = [[row for row in part if row.name in chosen] for part in parts]
        cells = [Text(label), *([Text(str(len(parts[0])))] if in_all else [])]
        cells += [Text(str(len(mine[0])))] if partly else []
        for part in mine:
            cells += _figures(part, columns)
        remark = next((one for one in map(worst, mine) if one), "") if shown_worst else ""
        absent = not any(is_present(row) for part in mine for row in part)
        return _Line(cells, shortened(one_line(remark), _WORST_WIDTH), "dim" if absent else style)

    for module in kind.modules.values():
        parts = [of_module(part, module.name) for part in rows]
        mine = [row for part in parts for row in part if row.name in chosen]
        if not mine:
            continue
        lines = [line(one_line(module.name), parts, len(module.families) == 1)]
        if len(module.families) > 1 and any(is_present(row) for part in parts for row in part):
            for family in module.families:
                of = [of_family(part, module.name, family) for part in rows]
                if any(row.name in chosen for row in of[0]):
                    lines.append(line(one_line(f"· {family}"), of, True))
        blocks.append(_Block(_urgency(mine), lines))
    lines = [one for block in sorted(blocks, key=lambda block: block.urgency) for one in block.lines]
    if not partly:
        lines.append(line(f"all {kind.what}", rows, False, "bold"))
    heads = [max(map(len, str(column.header).split("\n"))) for column in table.columns]
    widths = [max([head, *(one.cells[place].cell_len for one in lines)]) for place, head in enumerate(heads)]
    room = screen.width - sum(widths) - gap * len(widths)
    wrong = any(one.worst for one in lines)
    if wrong:
        table.add_column("worst", overflow="ellipsis")
    for one in lines:
        last = [Text(_fitted(one.worst, room), no_wrap=True, overflow="ellipsis")] if wrong else []
        table.add_row(*one.cells, *last, style=one.style)
    return table


@dataclass(frozen=True)
class _Line:
    """A row of the table: its figures, and the kernel that is furthest from parity."""

    cells: list[Text]
    worst: str
    style: str


@dataclass(frozen=True)
class _Block:
    """The rows of a module and its families; those of the least ``urgency`` stand first."""

    urgency: int
    lines: list[_Line]


def _urgency(rows: Sequence[KernelResult]) -> int:
    """0 where a kernel fails, 1 where none does, 2 where the port has none."""
    count = tally(rows)
    return 0 if count.failing else 1 if count.present else 2


def _figures(rows: Sequence[KernelResult], columns: Iterable[FigureColumn]) -> list[Text]:
    style = tally(rows).style
    return [Text(one_line(column.text(rows)), style if column.coloured else "") for column in columns]


def _fitted(text: str, room: int) -> str:
    """``text`` in at most ``room`` characters: of ``uexp_f32: 1 of 2 cases fail`` the name is shortened first."""
    name, _, rest = text.partition(": ")
    kept = room - len(rest) - 2
    if len(text) <= room or kept < _SHORTEST_NAME:
        return shortened(text, max(room, 1))
    return f"{shortened(name, kept)}: {rest}"


def _asked_for_less(record: Record, rows: Sequence[KernelResult]) -> bool:
    """Whether the headline is of fewer than all kernels: of those that were selected, or that the port has."""
    return any(not _selected(record, row) for row in rows) or (
        any(row.status == "missing" for row in rows) and any(map(is_present, rows))
    )


def _headline(name: str, record: Record, rows: Sequence[KernelResult], specs: Specs) -> Text:
    """What came of what was asked: of a selection, of the kernels that the port has, or of all."""
    judged = [
        row
        for entry in ENTRIES
        for row in _asked_for(entry, record, rows)
        if not (ENTRY_ROWS[entry].may_be_not_run and row.status == "not_run")
    ]
    style = "bold green" if judged and all(row.status == "pass" for row in judged) else "bold"
    return Text(f"{name}: {_result(record, rows, specs)}", style)


def _result(record: Record, rows: Sequence[KernelResult], specs: Specs) -> str:
    chosen = [row for row in rows if _selected(record, row)]
    if len(chosen) < len(rows):
        what = "recorded" if record.run.traces is not None and not record.run.patterns else "selected"
        parts = ((entry, _asked_for(entry, record, rows)) for entry in ENTRIES)
        said = [_of_selected(entry, what, part, specs) for entry, part in parts if part]
        return ", ".join(said) if said else _coverage(record, rows, specs)
    total = tally(rows)
    missing = sum(row.status == "missing" for row in rows)
    if not missing or not total.present:
        return _coverage(record, rows, specs)
    if total.present == 1:
        have = f"the 1 kernel you have is {'at parity' if total.passing else 'not at parity'}"
    else:
        verb = "is" if total.passing == 1 else "are"
        have = f"{total.passing} of the {total.present} kernels you have {verb} at parity"
    lack = f"{missing} of Candle's {total.total} {'are' if missing > 1 else 'is'} missing"
    return "; ".join(filter(None, (have, lack, figures.own_kernels(record))))


def _asked_for(entry: Entry, record: Record, rows: Sequence[KernelResult]) -> list[KernelResult]:
    """The results of one kind of entry that were asked for; ``rows`` are those of all kernels."""
    every = rows if ENTRY_ROWS[entry].in_coverage else record.rows_of(entry)
    return [row for row in every if _selected(record, row)]


def _of_selected(entry: Entry, what: str, rows: Sequence[KernelResult], specs: Specs) -> str:
    """``5 of 5 selected pass (of 748)``, ``1 of 1 selected launcher passes (of 49)``."""
    kind, one = ENTRY_ROWS[entry], len(rows) == 1
    passing = sum(row.status == "pass" for row in rows)
    noun = "" if kind.in_coverage else f" {kind.noun if one else kind.plural}"
    among = f"of {len(specs.of(entry))}" if kind.in_specs else "none is Candle's"
    return f"{passing} of {len(rows)} {what}{noun} pass{'es' if one else ''} ({among})"


def _coverage(record: Record, rows: Sequence[KernelResult], specs: Specs) -> str:
    """``716 of 748 kernels at parity (95.7%), 0 of 49 launchers``."""
    total = tally(rows)
    besides = figures.launchers(record, specs)
    text = f"{total.passing} of {total.total} kernels{given_specs(record.run, specs)} at parity ({total.percent}%)"
    return f"{text}, {besides}" if besides else text


def _about(
    name: str,
    record: Record,
    rows: list[KernelResult],
    specs: Specs,
    width: int,
    verbose: bool,
    failures: Sequence[str],
) -> list[Text]:
    """What is said of one record below the table."""
    places = Places.of(record.run)

    def indented(text: str, style: str = "") -> list[Text]:
        return wrapped(places.linked(f"  {one_line(text)}", style), width)

    lines = wrapped(_headline(name, record, rows, specs), width)
    counts = Counter(row.status for row in rows if _selected(record, row))
    totals = [Text(f"{counts[status]} {status}", ROWS[status].style) for status in STATUSES if counts[status]]
    lines += [Text("  ").append(Text(", ").join(totals))] if totals else []
    for entry in BESIDES:
        called = Counter(row.status for row in record.rows_of(entry))
        if called:
            said = ", ".join(f"{called[status]} {status}" for status in STATUSES if called[status])
            lines += [Text(f"  {ENTRY_ROWS[entry].plural}: {said}")]
    lines += indented(f"of all: {_coverage(record, rows, specs)}") if _asked_for_less(record, rows) else []
    for library in dict.fromkeys(row.source for row in record.libraries if row.source):
        lines += indented(f"library: {library}")
    tree = what_was_judged(record.run)
    lines += indented(f"judged: {tree}") if tree else []
    lines += indented(f"{record.run.device}: {executed(record.run)}")
    if record.run.sandbox and not record.run.sandbox.startswith("none"):
        lines += indented(f"sandbox: {record.run.sandbox}")
    notes = [one for one in remarks(record, rows, specs) if verbose or not one.aside]
    for remark in notes:
        lines += indented(str(remark), "yellow") if remark.kind == "warning" else []
    lines += [Text(f"  {one_line(target)}: {compiles(rows, target)}") for target in record.run.builds]
    for judged in (rows, *(results_of(entry, record, specs) for entry in BESIDES)):
        if all(row.status not in EXPLAINED for row in judged):
            continue
        from conformance.report.causes import cause_lines, find_causes  # what a run without a failure does without

        causes = cause_lines(find_causes(judged, specs))
        if causes:
            head, *rest = causes
            lines += [Text(), *wrapped(Text(head, "bold"), width)]
            for line in rest:
                lines += wrapped(places.linked(line), width)
    calm = [one_line(str(remark)) for remark in notes if remark.kind != "warning"]
    for line in (*failures, *([""] if calm else []), *calm):
        lines += wrapped(places.linked(line), width)
    return lines
