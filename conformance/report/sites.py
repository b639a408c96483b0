"""How much of the machine code the cases have executed: ``run --runtime isa --sites``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tabulate import tabulate

from conformance.outcome import Sites
from conformance.record.model import KernelResult
from conformance.text import one_line

FEW = 90
"""Percent; kernels below are named."""

NAMED = 10


def sites_lines(rows: Iterable[KernelResult], every: bool = False) -> list[str]:
    """A line per module, and the kernels with the least; with ``every`` all below ``FEW`` percent, with the offsets in
    the code object of what was not executed. Empty where nothing is known."""
    found = [(row, row.sites) for row in rows if row.sites is not None and row.sites.total]
    if not found:
        return []
    modules: dict[str, list[Sites]] = {}
    for row, sites in found:
        modules.setdefault(row.module, []).append(sites)
    body = [_cells(one_line(module), members) for module, members in modules.items()]
    body.append(_cells("all", [sites for _, sites in found]))
    head = ("module", "kernels", "sites", "executed", "percent")
    table = tabulate(body, head, tablefmt="plain", disable_numparse=True, colalign=("left", *["right"] * 4))
    lines = ["instruction sites that a case has executed:", *table.splitlines()]
    least = sorted((100 * sites.executed / sites.total, row.name, sites) for row, sites in found)
    least = [one for one in least if one[0] < FEW]
    for percent, name, sites in least if every else least[:NAMED]:
        lines.append(f"  {one_line(name)}: {sites.executed} of {sites.total} sites ({percent:.1f}%)")
        if every:
            lines.append(f"    not executed: {', '.join(sites.missed)}")
    if len(least) > NAMED and not every:
        lines.append(f"  and {len(least) - NAMED} kernels more below {FEW}%; -v lists them, with the offsets")
    return lines


def _cells(name: str, members: Sequence[Sites]) -> list[str]:
    total, executed = sum(one.total for one in members), sum(one.executed for one in members)
    return [name, str(len(members)), f"{total:,}", f"{executed:,}", f"{100 * executed / total:.1f}"]
