"""The table that a run prints."""

from __future__ import annotations

import io
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.record import KernelResult, Record
from conformance.record.merge import is_of_other_shard
from conformance.report import tally as figures
from conformance.report.builds import compiles
from conformance.report.run_notes import remarks
from conformance.report.runs import Records, executed, given_specs, labels, listed, what_was_judged
from conformance.report.tally import (
    Column,
    columns_of,
    is_present,
    launcher_results,
    library_results,
    of_family,
    of_module,
    own_results,
    results,
    tally,
    worst,
)
from conformance.spec.load import Module, Specs
from conformance.status import EXPLAINED, ROWS, STATUSES
from conformance.text import LOG, Screen, one_line, shortened

_WORST_WIDTH = 48
_SHORTEST_NAME = 5
_TEXT_WIDTH = 110


def render_terminal(records: Records, specs: Specs, screen: Screen = LOG) -> str:
    """A row per module that was selected from, and per family of a module that the port has begun, of kernels, of
    launchers and of calls of libraries; ends without a newline.

    Percentages are of all kernels. With several records the columns repeat per record.
    """
    found = listed(records)
    rows = [results(record, specs) for record in found]
    besides = {row.name for record in found for row in (*record.launchers, *record.libraries, *record.own)}
    parts = (
        (_Kind("launchers", specs.launcher_modules, len(specs.launchers)), launcher_results),
        (_Kind("library calls", specs.library_modules, len(specs.libraries)), library_results),
        (_Kind("own kernels", figures.own_modules(found), max(len(record.own) for record in found)), own_results),
    )
    kernels = _chosen(found, rows)
    out: list[Text | Table] = []
    if kernels or not besides:
        out += _part(_Kind("kernels", specs.modules, len(specs.kernels)), found, rows, kernels, screen)
    for kind, results_of in parts:
        called = [results_of(record, specs) for record in found]
        chosen = _chosen(found, called) & besides
        if chosen:
            out += [Text()] if out else []
            out += _part(kind, found, called, chosen, screen)
    out.append(Text())
    for name, record, part in zip(labels(found), found, rows, strict=True):
        out += _about(name, record, part, specs, min(screen.width, _TEXT_WIDTH))
    return _rendered(out, screen)


def verdict_line(record: Record, specs: Specs, screen: Screen = LOG) -> str:
    """How many kernels are at parity and where they ran, in one line."""
    (name,) = labels([record])
    line = _verdict(name, record, results(record, specs), specs)
    judged = what_was_judged(record.run)
    of = f"; judged: {one_line(judged)}" if judged else ""
    line.append(f"{of}; {one_line(executed(record.run))}", style="not bold default")
    return _rendered([line], screen)


def _selected(record: Record, row: KernelResult) -> bool:
    """Whether ``row`` was asked for, as far as the record says."""
    if record.run.selected is None or row.status != "not_run":
        return True
    return row.message is not None and not (record.run.shard is not None and is_of_other_shard(row))


@dataclass(frozen=True)
class _Kind:
    """What a table is of: kernels or launchers, which are counted apart."""

    what: str
    modules: Mapping[str, Module]
    total: int


def _chosen(found: Sequence[Record], rows: Sequence[list[KernelResult]]) -> set[str]:
    """The names that were asked for in one of the runs."""
    return {row.name for record, part in zip(found, rows, strict=True) for row in part if _selected(record, row)}


def _part(
    kind: _Kind, found: Sequence[Record], rows: Sequence[list[KernelResult]], chosen: set[str], screen: Screen
) -> list[Text | Table]:
    """The table of the ``chosen`` ones, of all where none is, and how many they are."""
    partly = 0 < len(chosen) < kind.total
    table = _table(kind, found, rows, chosen if partly else {row.name for row in rows[0]}, screen)
    return [table, *([Text(f"selected: {len(chosen)} of all {kind.total} {kind.what}")] if partly else [])]


def _table(
    kind: _Kind, found: Sequence[Record], rows: Sequence[list[KernelResult]], chosen: set[str], screen: Screen
) -> Table:
    """The figures by module and family; those of kernels that are not ``chosen`` are left out."""
    partly = len(chosen) < kind.total
    columns = [one for one in columns_of("terminal") if not (one.of_everything and (partly or screen.narrow))]
    gap = 1 if screen.narrow else 2
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    table.add_column("module", no_wrap=True)
    table.add_column(kind.what, justify="right", no_wrap=True)
    if partly:
        table.add_column("selected", justify="right", no_wrap=True)
    names = labels(found)
    for name in names:
        mark = "" if len(names) == 1 else f"\n{name}"
        for column in columns:
            head = Text(f"{column.title}{mark}" if column.title else "")
            table.add_column(head, justify="right" if column.title else "left", no_wrap=True)
    table.add_column("worst", overflow="ellipsis")

    lines: list[tuple[list[Text], str, str]] = []

    def add(label: str, parts: Sequence[list[KernelResult]], shown_worst: bool, style: str = "") -> None:
        mine = [[row for row in part if row.name in chosen] for part in parts]
        cells = [Text(label), Text(str(len(parts[0])))]
        cells += [Text(str(len(mine[0])))] if partly else []
        for part in mine:
            cells += _figures(part, columns)
        remark = next((one for one in map(worst, mine) if one), "") if shown_worst else ""
        lines.append((cells, shortened(one_line(remark), _WORST_WIDTH), style))

    for module in kind.modules.values():
        parts = [of_module(part, module.name) for part in rows]
        if not any(row.name in chosen for row in parts[0]):
            continue
        add(one_line(module.name), parts, len(module.families) == 1)
        if len(module.families) == 1 or not any(is_present(row) for part in parts for row in part):
            continue
        for family in module.families:
            of = [of_family(part, module.name, family) for part in rows]
            if any(row.name in chosen for row in of[0]):
                add(one_line(f"· {family}"), of, True)
    if not partly:
        add(f"all {kind.what}", rows, False, "bold")
    heads = [max(map(len, str(column.header).split("\n"))) for column in table.columns[:-1]]
    widths = [max([head, *(cells[place].cell_len for cells, _, _ in lines)]) for place, head in enumerate(heads)]
    room = screen.width - sum(widths) - gap * len(widths)
    for cells, text, style in lines:
        table.add_row(*cells, Text(_fitted(text, room), no_wrap=True, overflow="ellipsis"), style=style)
    return table


def _figures(rows: Sequence[KernelResult], columns: Iterable[Column]) -> list[Text]:
    count = tally(rows)
    style = "green" if count.passing == count.total else "yellow" if count.passing else "red"
    return [Text(one_line(column.text(rows)), style if column.coloured else "") for column in columns]


def _fitted(text: str, room: int) -> str:
    """``text`` in at most ``room`` characters: of ``uexp_f32: 1 of 2 ulp`` the name is shortened first."""
    name, _, rest = text.partition(": ")
    kept = room - len(rest) - 2
    if len(text) <= room or kept < _SHORTEST_NAME:
        return shortened(text, max(room, 1))
    return f"{shortened(name, kept)}: {rest}"


def _verdict(name: str, record: Record, rows: Sequence[KernelResult], specs: Specs) -> Text:
    total = tally(rows)
    judged = [row for row in rows if _selected(record, row)]
    judged += [row for row in (*record.launchers, *record.libraries) if row.status != "not_run"]
    judged += [row for row in record.own if _selected(record, row)]
    style = "bold green" if judged and all(row.status == "pass" for row in judged) else "bold"
    given = given_specs(record.run, specs)
    text = f"{name}: {total.passing} of {total.total} kernels{given} at parity ({total.percent}%)"
    besides = figures.launchers(record, specs)
    return Text(f"{text}, {besides}" if besides else text, style)


def _about(name: str, record: Record, rows: list[KernelResult], specs: Specs, width: int) -> list[Text]:
    """What is said of one record below the table."""
    lines = [_verdict(name, record, rows, specs)]
    counts = {status: sum(row.status == status for row in rows) for status in STATUSES}
    totals = [Text(f"{count} {status}", ROWS[status].style) for status, count in counts.items() if count]
    lines += [Text("  ").append(Text(", ").join(totals))] if totals else []
    parts = (("launchers", record.launchers), ("library calls", record.libraries), ("own kernels", record.own))
    for what, part in parts:
        called = Counter(row.status for row in part)
        if called:
            said = ", ".join(f"{called[status]} {status}" for status in STATUSES if called[status])
            lines += [Text(f"  {what}: {said}")]
    libraries = dict.fromkeys(row.source for row in record.libraries if row.source)
    lines += [line for library in libraries for line in _indented(f"library: {one_line(library)}", width)]
    tree = what_was_judged(record.run)
    lines += _indented(f"judged: {one_line(tree)}", width) if tree else []
    lines += _indented(one_line(f"{record.run.device}: {executed(record.run)}"), width)
    if record.run.sandbox and not record.run.sandbox.startswith("none"):
        lines += _indented(f"sandbox: {one_line(record.run.sandbox)}", width)
    for remark in remarks(record, rows, specs):
        lines += _indented(one_line(str(remark)), width)
    lines += [Text(f"  {one_line(target)}: {compiles(rows, target)}") for target in record.run.builds]
    for judged in (rows, launcher_results(record, specs), library_results(record, specs), [*record.own]):
        if all(row.status not in EXPLAINED for row in judged):
            continue
        from conformance.report.causes import cause_lines, find_causes  # what a run without a failure does without

        causes = cause_lines(find_causes(judged, specs))
        if causes:
            head, *rest = causes
            lines += [Text(), Text(head, "bold")]
            for line in rest:
                lines += _broken(line, width) if width < _TEXT_WIDTH else [Text(line)]
    return lines


def _indented(text: str, width: int) -> list[Text]:
    return [Text(line) for line in textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ")]


def _broken(line: str, width: int) -> list[Text]:
    """``line`` in lines of ``width``, the further ones indented deeper."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return [
        Text(part) for part in textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [line]
    ]


def _rendered(parts: Iterable[Text | Table], screen: Screen) -> str:
    """``parts`` as text: the environment has no say in it (``FORCE_COLOR``, ``COLUMNS``)."""
    console = Console(
        file=io.StringIO(),
        width=screen.width,
        force_terminal=screen.colour,
        color_system="standard" if screen.colour else None,
        legacy_windows=False,
        _environ={},
    )
    with console.capture() as capture:
        for part in parts:
            if isinstance(part, Table):
                console.print(part)
            else:
                console.print(part, soft_wrap=True)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
