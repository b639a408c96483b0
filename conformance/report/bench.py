"""A bench record as text and as Markdown: times and counts by workload or by family, and what is slower."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from statistics import geometric_mean

from tabulate import tabulate

from conformance.engine.timing.measure import Loss
from conformance.record.bench import NOISE, BenchRecord, CountResult, TreeTiming, WorkloadResult
from conformance.report.markdown import table
from conformance.runtimes import known_kind
from conformance.text import code, one_line, plain

FEW = 40
"""Up to so many workloads are printed each; more of them by family and case."""

TEXT = ("case", "family", "least is")
"""The heads of columns that hold no numbers."""

UNKNOWN = "-"
"""What a launcher's kernels take: their launch is its own."""

Cells = tuple[list[str], list[list[str]]]
"""The heads of a table and its rows."""


def render_bench(record: BenchRecord, every: bool = False) -> str:
    """What ``bench`` prints: the table, the means, and the kernels that are slower than the other tree's."""
    rows = record.workloads
    parts = ["\n".join(map(one_line, heading(record)))]
    if rows:
        head, body = each(rows) if every or len(rows) <= FEW else by_family(rows)
        align = ["left" if name in TEXT else "right" for name in head]
        shown = [list(map(one_line, row)) for row in body]
        parts.append(tabulate(shown, head, disable_numparse=True, colalign=align))
        parts.append("\n".join([*summary(rows), *(f"  {ratio}  {one_line(case)}" for ratio, case in slower(rows)[1])]))
    if record.counts:
        head, body = counts_table(record.counts, every or len(record.counts) <= FEW)
        align = ["left" if name in TEXT else "right" for name in head]
        parts.append(tabulate(body, head, disable_numparse=True, colalign=align))
        parts.append("\n".join(textwrap.wrap(legend(record.counts), 110, break_on_hyphens=False)))
    done = "counted" if record.counts else "timed"
    if record.losses:
        parts.append("\n".join(one_line(f"not {done}: {lost(loss)}") for loss in record.losses))
    return "\n\n".join(parts)


def heading(record: BenchRecord) -> list[str]:
    """The lines above the table: what was timed or counted, on what, and when."""
    run = record.bench
    trees = _tree(run.kernels, run.git) + (f" against {_tree(run.against, run.against_git)}" if run.against else "")
    kind = known_kind(run.runtime)
    on_host = kind is not None and kind.on_host
    note = "; executed on the host: the times say nothing about a GPU" if on_host else ""
    if kind is not None and kind.count is not None:
        note = f"; {kind.executed.format(arch=run.arch)}: counts, not times"
    copy = f"; a copy on the device moves {_rate(run.copy_gbps)} GB/s, read and written" if run.copy_gbps else ""
    lines = [f"{trees} on {run.device}, runtime {run.runtime}{note}", f"{run.started}{copy}"]
    floors = [row.floor_ms for row in record.workloads if row.floor_ms is not None]
    if floors:
        takes = f"takes {min(floors):.4f} to {max(floors):.4f} ms"
        lines += [f"an empty kernel with the same grid and block {takes}; the bound is the longer of this and the copy"]
    return lines if run.complete else [*lines, f"incomplete: the run was stopped, {how_far(record)}"]


def how_far(record: BenchRecord) -> str:
    """How many of the workloads that were asked for have times, or counts, in words."""
    done, planned = len(record.workloads) + len(record.counts), record.bench.planned
    of = "" if planned is None else f" of {planned:,}"
    return f"{done:,}{of}" + (" workloads counted" if record.counts else " workloads timed")


def _tree(path: str, commit: str | None) -> str:
    return f"{path} ({commit})" if commit else path


def _registers(timing: TreeTiming) -> str:
    return str(timing.registers) if timing.registers else UNKNOWN


def each(rows: Sequence[WorkloadResult]) -> Cells:
    """A row for each workload."""
    compared, counted, bounded = _compared(rows), _counted(rows), _bounded(rows)
    floor = ["floor ms", "of bound"] if bounded else []
    head = ["case", "ms", "GB/s", "of copy", *floor, *counted, "regs", "occupancy"]
    return head + (["other ms", "other regs", "times as fast"] if compared else []), [
        [
            row.case,
            f"{row.ours.ms:.4f}",
            _rate(row.gbps),
            f"{row.share:.0%}",
            *([f"{row.floor_ms:.4f}" if row.floor_ms else UNKNOWN, f"{row.bound_share:.0%}"] if bounded else []),
            *("" if row.gops is None else _rate(row.gops) for _ in counted),
            _registers(row.ours) + (f" +{row.ours.local} B" if row.ours.local else ""),
            f"{row.ours.occupancy:.0%}" if row.ours.occupancy else UNKNOWN,
            *([f"{row.against.ms:.4f}", _registers(row.against), f"{row.ratio:.2f}"] if row.against else []),
        ]
        for row in rows
    ]


def by_family(rows: Sequence[WorkloadResult]) -> Cells:
    """A row for each family and kind of case, over kernels that differ in operation or dtype only. Means are geometric.

    ``times as fast`` is the other tree's time divided by ours.
    """
    groups: dict[tuple[str, str], list[WorkloadResult]] = {}
    for row in rows:
        groups.setdefault((row.family, row.case.partition("(")[2].removesuffix(")")), []).append(row)
    compared, counted, bounded = _compared(rows), _counted(rows), _bounded(rows)
    head = ["family", "case", "kernels", "ms", *(["other ms"] if compared else []), "GB/s"]
    head += ["of copy: least", "mean", *(["of bound: least", "mean"] if bounded else []), *counted]
    head += ["times as fast: least", "mean", "least is"] if compared else []
    return head, [[*key, *_group(group, compared, bool(counted), bounded)] for key, group in groups.items()]


def _group(group: Sequence[WorkloadResult], compared: bool, counted: bool, bounded: bool) -> list[str]:
    theirs = [row.against.ms for row in group if row.against]
    gops = [row.gops for row in group if row.gops is not None]
    cells = [
        str(len(group)),
        f"{geometric_mean(row.ours.ms for row in group):.4f}",
        *([f"{geometric_mean(theirs):.4f}" if theirs else ""] if compared else []),
        _rate(geometric_mean(row.gbps for row in group)),
        *_least_and_mean([row.share for row in group]),
        *(_least_and_mean([row.bound_share for row in group]) if bounded else []),
        *([_rate(geometric_mean(gops)) if gops else ""] if counted else []),
    ]
    ratios = [(row.ratio, row.kernel) for row in group if row.ratio is not None]
    if compared and ratios:
        least, kernel = min(ratios)
        cells += [f"{least:.2f}", f"{geometric_mean(ratio for ratio, _ in ratios):.2f}", kernel]
    return cells


def _least_and_mean(shares: Sequence[float]) -> list[str]:
    return [f"{min(shares):.0%}", f"{geometric_mean(shares):.0%}"]


def summary(rows: Sequence[WorkloadResult]) -> list[str]:
    """How many workloads there are; against another tree also the mean over families, and how many are slower."""
    families: dict[str, list[float]] = {}
    for row in rows:
        if row.ratio is not None:
            families.setdefault(row.family, []).append(row.ratio)
    if not families:
        return [f"{len(rows)} workload{'s' * (len(rows) != 1)}"]
    mean = geometric_mean(geometric_mean(ratios) for ratios in families.values())
    return [
        f"{len(rows)} workloads; geometric mean over {len(families)} families: {mean:.2f} times as fast",
        f"slower beyond noise (the median pair by over {NOISE:.0%}, and three in four pairs): {len(slower(rows)[1])}",
    ]


def slower(rows: Sequence[WorkloadResult]) -> Cells:
    """The workloads that are slower than the other tree's, the slowest first."""
    slower_rows = sorted((row.ratio, row.case) for row in rows if row.slower and row.ratio is not None)
    return ["times as fast", "case"], [[f"{ratio:.3f}", case] for ratio, case in slower_rows]


def lost(loss: Loss) -> str:
    """What could not be timed, and why."""
    what = loss.cases[0] if len(loss.cases) == 1 else loss.kernel
    return f"{what}: {loss.why}"


def _compared(rows: Sequence[WorkloadResult]) -> bool:
    return any(row.ratio is not None for row in rows)


def _bounded(rows: Sequence[WorkloadResult]) -> bool:
    return any(row.floor_ms is not None for row in rows)


def _counted(rows: Sequence[WorkloadResult]) -> list[str]:
    """The head of the column of operations, where there are any."""
    return ["Gop/s"] if any(row.operations is not None for row in rows) else []


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


_CLASSES = ("vector", "scalar", "memory", "scalar_memory", "lds", "matrix", "control")

Column = tuple[str, Callable[[CountResult], float | None], str]


def _per_wave(name: str) -> Callable[[CountResult], float | None]:
    return lambda row: getattr(row.counts, name) / max(row.counts.waves, 1)


def _share(part: str, whole: str) -> Callable[[CountResult], float | None]:
    def share(row: CountResult) -> float | None:
        of = getattr(row.counts, whole)
        return getattr(row.counts, part) / of if of else None

    return share


_COLUMNS: tuple[Column, ...] = (
    ("waves", lambda row: row.counts.waves, ",.0f"),
    ("per element", lambda row: row.counts.instructions * _lanes(row) / row.elements, ",.1f"),
    ("per wave", _per_wave("instructions"), ",.0f"),
    *((name.replace("_", " "), _per_wave(name), ",.0f") for name in _CLASSES),
    ("lanes", _share("lanes_active", "lanes"), ".0%"),
    ("MB asked", lambda row: row.counts.asked / 1e6, ",.2f"),
    ("MB in lines", lambda row: row.counts.moved / 1e6, ",.2f"),
    ("used", _share("asked", "moved"), ".0%"),
    ("least MB", lambda row: row.bytes / 1e6, ",.2f"),
    ("bank conflicts", lambda row: row.counts.bank_conflicts if row.counts.banks else None, ",.0f"),
)


def _lanes(row: CountResult) -> float:
    """Lanes of a wave."""
    instructions = row.counts.vector + row.counts.matrix
    return row.counts.lanes / instructions if instructions else 1


def counts_table(rows: Sequence[CountResult], every: bool) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of the table of counts: with ``every`` a row for each case, else for each family and kind of case
    with the means of its kernels."""
    groups: dict[tuple[str, ...], list[CountResult]] = {}
    for row in rows:
        fields = row.case.partition("(")[2].removesuffix(")")
        groups.setdefault((row.case,) if every else (row.family, fields), []).append(row)
    head = ["case"] if every else ["family", "case", "kernels"]
    body = []
    for key, group in groups.items():
        means = [_mean([value(row) for row in group], form) for _, value, form in _COLUMNS]
        body.append([*map(one_line, key), *([] if every else [str(len(group))]), *means])
    return [*head, *(name for name, _, _ in _COLUMNS)], body


def _mean(values: Sequence[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    return format(sum(known) / len(known), form) if known else ""


def legend(rows: Sequence[CountResult]) -> str:
    """What the columns of the table of counts mean."""
    lines = ", ".join(str(line) for line in sorted({row.counts.line for row in rows}))
    return (
        "Counts, not times: nothing here says how long a GPU takes. Instructions are of waves; per element times the "
        "lanes of a wave. Lanes: active in vector and matrix instructions. MB that an instruction's lanes ask for, "
        f"each byte once, and in the lines of {lines} bytes that hold them, as if no cache kept a line from one "
        "instruction to the next; used is their ratio. Bank conflicts: groups of lanes that LDS answers once more."
    )


def bench_markdown(record: BenchRecord) -> str:
    """The Markdown document of ``bench --md``."""
    run, rows, counts = record.bench, record.workloads, record.counts
    facts = heading(record)
    if counts:
        facts += [f"{len(counts)} cases, a launch each"]
    else:
        facts += [*summary(rows)[:1], *([run.host] if run.host else [])]
        facts += [f"candle-parity at {run.harness}"] if run.harness else []
    lines = [
        f"# {'What kernels do' if counts else 'How fast kernels are'} on {plain(run.device)}",
        "",
        "Written by `candle-parity bench`; do not edit.",
        "",
        *(f"- {plain(fact)}" for fact in facts),
        "",
        legend(counts) if counts else _LEGEND,
    ]
    if counts:
        lines += ["", *_table(counts_table(counts, every=False))]
    elif rows:
        lines += ["", "## Families", "", *_table(by_family(rows))]
    if run.against and not counts:
        slower_rows = slower(rows)
        definition = (
            f"In the median pair of launches by over {NOISE:.0%}, and in three of four pairs: {len(slower_rows[1])}."
        )
        lines += ["", f"## Slower than {plain(run.against)}'s", "", definition]
        lines += ["", *_table(slower_rows)] if slower_rows[1] else []
    if record.losses:
        done = "counted" if counts else "timed"
        lines += ["", f"## Not {done}", "", *(f"- {plain(lost(loss))}" for loss in record.losses)]
    return "\n".join(lines) + "\n"


_LEGEND = (
    "GB/s are of the bytes that a launch has to read and write at least, with operands that lie in no cache; the share "
    "is of what a copy on the device reaches with as many bytes. Gop/s counts multiplications and additions where they "
    "are the limit. A row is about the kernels of a family; its means are geometric."
)


def _table(cells: Cells) -> list[str]:
    head, body = cells
    text = [name in TEXT for name in head]
    shown = ([code(cell) if name else cell for cell, name in zip(row, text, strict=True)] for row in body)
    return table(head, shown, "".join("l" if name else "r" for name in text))
