"""A bench record as text: a row per workload, or per family where there are many, and what is slower."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, log

from tabulate import tabulate

from conformance.bench.record import NOISE, BenchRecord, WorkloadResult

FEW = 40
"""Up to so many workloads are printed each; more of them by family and case."""


def geometric_mean(values: Iterable[float]) -> float:
    """Raises ``ValueError`` without values."""
    logs = [log(value) for value in values]
    if not logs:
        raise ValueError("no values")
    return exp(sum(logs) / len(logs))


def render_bench(record: BenchRecord, every: bool = False) -> str:
    """The table, the means and the kernels that are slower than the other tree's."""
    rows = record.workloads
    parts = [_heading(record)]
    if rows:
        parts.append(_each(rows) if every or len(rows) <= FEW else _by_family(rows))
        parts.append("\n".join(_summary(rows)))
    if record.losses:
        parts.append("\n".join(f"not timed: {loss.kernel}: {loss.why}" for loss in record.losses))
    return "\n\n".join(parts)


def _heading(record: BenchRecord) -> str:
    run = record.bench
    trees = run.kernels + (f" against {run.against}" if run.against else "")
    on = f"{run.device}, runtime {run.runtime}"
    note = "; the host stands in for a GPU: times say nothing of one" if run.runtime == "cpu" else ""
    copy = f"a copy on the device moves {run.copy_gbps:,.0f} GB/s, read and written"
    return f"{trees} on {on}{note}\n{run.started}; {copy}"


def _each(rows: Sequence[WorkloadResult]) -> str:
    head = ["case", "ms", "GB/s", "of copy", "Gop/s", "regs", "occupancy"]
    compared = any(row.ratio is not None for row in rows)
    head += ["other ms", "other regs", "times as fast"] if compared else []
    return tabulate([_row(row, compared) for row in rows], head, disable_numparse=True, colalign=_right(len(head)))


def _row(row: WorkloadResult, compared: bool) -> list[str]:
    cells = [
        row.case,
        f"{row.ours.ms:.4f}",
        f"{row.gbps:,.0f}",
        f"{row.share:.0%}",
        "" if row.gops is None else f"{row.gops:,.0f}",
        str(row.ours.registers) + (f" +{row.ours.local} B" if row.ours.local else ""),
        f"{row.ours.occupancy:.0%}",
    ]
    if compared and row.against is not None and row.ratio is not None:
        cells += [f"{row.against.ms:.4f}", str(row.against.registers), f"{row.ratio:.2f}"]
    return cells


def _by_family(rows: Sequence[WorkloadResult]) -> str:
    """A row per family and kind of case: the cases of its kernels differ in the kernel only."""
    groups: dict[tuple[str, str], list[WorkloadResult]] = {}
    for row in rows:
        groups.setdefault((row.family, row.case.split("(", 1)[1][:-1]), []).append(row)
    compared = any(row.ratio is not None for row in rows)
    head = ["family, case", "kernels", "ms", "GB/s", "of copy: least", "mean"]
    head += ["times as fast: least", "mean", "least is"] if compared else []
    table = [_group(family, case, group, compared) for (family, case), group in groups.items()]
    return tabulate(table, head, disable_numparse=True, colalign=_right(len(head)))


def _group(family: str, case: str, group: Sequence[WorkloadResult], compared: bool) -> list[str]:
    cells = [
        f"{family} {case}",
        str(len(group)),
        f"{geometric_mean(row.ours.ms for row in group):.4f}",
        f"{geometric_mean(row.gbps for row in group):,.0f}",
        f"{min(row.share for row in group):.0%}",
        f"{geometric_mean(row.share for row in group):.0%}",
    ]
    paired = [row for row in group if row.ratio is not None]
    if compared and paired:
        least = min(paired, key=_ratio)
        cells += [f"{_ratio(least):.2f}", f"{geometric_mean(map(_ratio, paired)):.2f}", least.kernel]
    return cells


def _ratio(row: WorkloadResult) -> float:
    assert row.ratio is not None
    return row.ratio


def _summary(rows: Sequence[WorkloadResult]) -> list[str]:
    paired = [row for row in rows if row.ratio is not None]
    if not paired:
        return [f"{len(rows)} workloads"]
    families: dict[str, list[float]] = {}
    for row in paired:
        families.setdefault(row.family, []).append(_ratio(row))
    mean = geometric_mean(geometric_mean(ratios) for ratios in families.values())
    slower = sorted((row for row in paired if row.slower), key=_ratio)
    lines = [
        f"{len(rows)} workloads; geometric mean over {len(families)} families: {mean:.2f} times as fast",
        f"slower beyond noise (the median pair by over {NOISE:.0%}, and three in four pairs): {len(slower)}",
    ]
    return lines + [f"  {_ratio(row):.3f}  {row.case}" for row in slower]


def _right(columns: int) -> list[str]:
    return ["left"] + ["right"] * (columns - 1)
