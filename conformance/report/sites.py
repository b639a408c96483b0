"""How much of the machine code the cases have executed, and why not the rest: ``run --runtime isa --sites``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tabulate import tabulate

from conformance.outcome import KernelResult, Sites, line_runs
from conformance.text import one_line

FEW = 90
"""Percent; kernels below are named."""

NAMED = 10

Found = list[tuple[KernelResult, Sites]]


def sites_lines(rows: Iterable[KernelResult], every: bool = False) -> list[str]:
    """A line per module, the reasons that the port gives for what was not executed, the places without one, and the
    kernels with the least executed; with ``every`` all places, and all kernels below ``FEW`` percent, with the offsets
    in the code object of what was not executed. Empty where nothing is known."""
    found = [(row, row.sites) for row in rows if row.sites is not None and row.sites.total]
    if not found:
        return []
    modules: dict[str, list[Sites]] = {}
    for row, sites in found:
        modules.setdefault(row.module, []).append(sites)
    body = [_cells(one_line(module), members) for module, members in modules.items()]
    body.append(_cells("all", [sites for _, sites in found]))
    head = ("module", "kernels", "sites", "executed", "percent", "explained", "percent", "neither", "percent")
    table = _table(body, head, "lrrrrrrrr")
    lines = ["instruction sites that a case has executed:", *table, *_reason_lines(found)]
    lines += _place_lines(found, every)
    least = sorted((100 * sites.executed / sites.total, row.name, sites) for row, sites in found)
    least = [one for one in least if one[0] < FEW]
    lines += ["", f"kernels below {FEW}%:"] if least else []
    for percent, name, sites in least if every else least[:NAMED]:
        lines.append(f"  {one_line(name)}: {sites.executed} of {sites.total} sites ({percent:.1f}%)")
        if every:
            lines.append(f"    not executed: {', '.join(sites.missed)}")
    if len(least) > NAMED and not every:
        lines.append(f"  and {len(least) - NAMED} kernels more; -v lists them, with the offsets")
    return lines


def _reason_lines(found: Found) -> list[str]:
    """A line for each reason, the one for most sites first; empty where none is given."""
    count: Counter[str] = Counter()
    kernels: Counter[str] = Counter()
    for _, sites in found:
        counted: Counter[str] = Counter()
        for place in sites.places:
            if place.reason is not None:
                counted[place.reason] += place.sites
        count.update(counted)
        kernels.update(counted.keys())
    if not count:
        return []
    body = [(f"{number:,}", str(kernels[name]), one_line(name)) for name, number in count.most_common()]
    return ["", "not executed, by the reason in the port's sites.yaml:", *_table(body, ("sites", "kernels", "reason"))]


def _place_lines(found: Found, every: bool) -> list[str]:
    """A line for each place of which no reason is given, the one with most sites first."""
    count: Counter[tuple[str, str]] = Counter()
    kernels: Counter[tuple[str, str]] = Counter()
    numbers: dict[tuple[str, str], set[int]] = {}
    for _, sites in found:
        here: Counter[tuple[str, str]] = Counter()
        for place in sites.places:
            if place.reason is None:
                here[place.functions, place.file] += place.sites
                numbers.setdefault((place.functions, place.file), set()).update(place.numbers)
        count.update(here)
        kernels.update(here.keys())
    if not count:
        return []
    shown = count.most_common(None if every else NAMED)
    body = []
    for key, number in shown:
        functions, file = key
        where = f"{file}:{line_runs(numbers[key])}" if numbers[key] else file
        body.append((f"{number:,}", str(kernels[key]), one_line(functions) or "?", one_line(where) or "?"))
    head = ("sites", "kernels", "function < into which it is inlined", "lines")
    lines = ["", "not executed, without a reason:", *_table(body, head, "rrll")]
    if len(count) > len(shown):
        rest = sum(count.values()) - sum(number for _, number in shown)
        lines.append(f"and {rest:,} sites in {len(count) - len(shown)} places more; -v lists them")
    return lines


def _table(body: Sequence[Sequence[str]], head: Sequence[str], align: str = "rrl") -> list[str]:
    sides = [{"l": "left", "r": "right"}[side] for side in align]
    return tabulate(body, head, tablefmt="plain", disable_numparse=True, colalign=sides).splitlines()


def _cells(name: str, members: Sequence[Sites]) -> list[str]:
    total, executed = sum(one.total for one in members), sum(one.executed for one in members)
    explained = sum(one.explained for one in members)
    cells = [name, str(len(members)), f"{total:,}"]
    for number in (executed, explained, total - executed - explained):
        cells += [f"{number:,}", f"{100 * number / total:.1f}"]
    return cells
