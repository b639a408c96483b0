"""A bench record as a picture: each workload's rate over its size, under the rate of a copy on the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import ceil, log2, nan
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from conformance.record import write_bytes
from conformance.record.bench import BenchRecord, TreeTiming, WorkloadResult
from conformance.report.bench import how_far
from conformance.text import one_line

COLUMNS = 3
WIDTH, HEIGHT = 4.4, 3.4
"""Inches of a panel."""

SPREAD = 0.35
"""Octaves over which points of one size stand side by side."""

PALE = 0.4
"""Of a colour, in the marks of the other tree."""

PRODUCTS = "products and convolutions"

_MARKERS = "osD^vPX<>*"
_LOOKS: Any = {
    "text.parse_math": False,  # a name with dollar signs is not a formula
    "svg.hashsalt": "candle-parity",  # ids that do not change from run to run
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_METADATA = {".svg": {"Date": None, "Creator": None}, ".png": {"Software": None}}

Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class _Kind:
    """What a panel shows: where a workload stands on the x axis, and what of it a tree does in a millisecond."""

    x: Callable[[WorkloadResult], float]
    work: Callable[[WorkloadResult], float]
    x_label: str
    y_label: str


_MEMORY = _Kind(lambda row: row.bytes / 2**20, lambda row: row.bytes, "MiB read and written", "GB/s")
_ARITHMETIC = _Kind(
    lambda row: (row.operations or 0) / row.bytes, lambda row: row.operations or 0, "operations per byte", "Gop/s"
)


def plot(record: BenchRecord, path: Path) -> None:
    """Write the picture of ``record`` to ``path``, an ``.svg`` or ``.png``: the same bytes for the same record.

    A panel per module with GB/s over the bytes that a launch needs at least, and one with the operations a second of
    products and convolutions over their operations per byte. Raises ``FileError``.
    """
    picture = BytesIO()
    with rc_context(_LOOKS):
        _figure(record).savefig(picture, format=path.suffix[1:], dpi=150, metadata=_METADATA[path.suffix])
    write_bytes(path, picture.getvalue())


def _figure(record: BenchRecord) -> Figure:
    panels: dict[str, list[WorkloadResult]] = {}
    for row in record.workloads:
        panels.setdefault(row.module if row.operations is None else PRODUCTS, []).append(row)
    products = panels.pop(PRODUCTS, [])
    columns = max(1, min(COLUMNS, len(panels) + bool(products)))
    lines = max(1, ceil((len(panels) + bool(products)) / columns))
    figure = Figure(figsize=(max(columns, 2) * WIDTH, lines * HEIGHT + 1), layout="constrained")
    figure.suptitle(_title(record), fontsize=11)
    grid = iter(figure.subplots(lines, columns, squeeze=False).flat)
    roof = _roof(record.workloads)
    first: Axes | None = None
    for (name, rows), axes in zip(panels.items(), grid, strict=False):
        _panel(axes, name, rows, _MEMORY, roof)
        if first is not None:
            axes.sharex(first)
            axes.sharey(first)
        first = first or axes
        axes.autoscale()
    if products:
        ends = [pick(map(_ARITHMETIC.x, products)) for pick in (min, max)]
        roof = [(x, x * record.bench.copy_gbps) for x in ends]
        _panel(next(grid), PRODUCTS, products, _ARITHMETIC, roof)
    for axes in grid:  # those left over
        axes.set_axis_off()
    return figure


def _roof(rows: Sequence[WorkloadResult]) -> Curve:
    """A copy's rate over bytes: a point per octave."""
    octaves: dict[int, list[WorkloadResult]] = {}
    for row in rows:
        octaves.setdefault(round(log2(row.bytes)), []).append(row)
    return [
        (median(map(_MEMORY.x, members)), median(row.copy_gbps for row in members))
        for _, members in sorted(octaves.items())
    ]


def _title(record: BenchRecord) -> str:
    run = record.bench
    trees = [(run.kernels, run.git), *([(run.against, run.against_git)] if run.against else [])]
    names = " against ".join(f"{path} ({commit})" if commit else str(path) for path, commit in trees)
    marks = "pale, joined to ours: the other tree's; " if run.against else ""
    incomplete = "" if run.complete else f"; incomplete: {how_far(record)}"
    lines = (
        f"{run.device}, runtime {run.runtime}, {run.started[:10]}{incomplete}",
        names,
        f"{marks}line: a copy on the device",
    )
    return "\n".join(map(one_line, lines))


def _panel(axes: Axes, name: str, rows: Sequence[WorkloadResult], kind: _Kind, roof: Curve) -> None:
    axes.set_title(one_line(name), loc="left")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=9))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axes.set_xlabel(kind.x_label)
    axes.set_ylabel(kind.y_label)
    axes.minorticks_off()
    axes.grid(which="major", color="0.92", linewidth=0.6)
    axes.plot(*zip(*roof, strict=True), color="0.25", linewidth=1.2)
    families: dict[str, list[WorkloadResult]] = {}
    for row in rows:
        families.setdefault(row.family, []).append(row)
    for number, (family, members) in enumerate(families.items()):
        _points(axes, family, members, kind, number)
    axes.legend(loc="lower right", fontsize=6.5, ncols=2 if len(families) > 4 else 1, framealpha=0.7)


def _points(axes: Axes, family: str, rows: Sequence[WorkloadResult], kind: _Kind, number: int) -> None:
    # Steps of the golden ratio spread any number of neighbours evenly, the same way each time.
    at = [kind.x(row) * 2 ** (SPREAD * ((n * 0.618034 + 0.5) % 1 - 0.5)) for n, row in enumerate(rows)]
    ours = [kind.work(row) / row.ours.ms / 1e6 for row in rows]
    theirs = [_rate(kind.work(row), row.against) for row in rows]
    color, marker = f"C{number % 10}", _MARKERS[number % len(_MARKERS)]
    if any(row.against for row in rows):
        # One path for all the lines between pairs, with a break after each.
        x = [value for place in at for value in (place, place, nan)]
        y = [value for pair in zip(ours, theirs, strict=True) for value in (*pair, nan)]
        pale = [1 - PALE * (1 - part) for part in to_rgb(color)]
        axes.plot(x, y, color=pale, linewidth=0.5)
        axes.plot(at, theirs, marker, markersize=3, color=pale, markeredgewidth=0)
    axes.plot(at, ours, marker, markersize=3, color=color, markeredgewidth=0, label=one_line(family))


def _rate(work: float, tree: TreeTiming | None) -> float:
    return nan if tree is None else work / tree.ms / 1e6
