"""The table of linked launchers in the report: host functions of Candle's, counted apart from the kernels."""

from __future__ import annotations

from conformance.outcome import Failure
from conformance.record import KernelResult, Record
from conformance.report.leaks import leak_of
from conformance.text import code, plain

_NOTE = "Host functions that Candle's Rust side is linked with. They are in no figure of the kernels."


def launcher_lines(record: Record) -> list[str]:
    """A Markdown table with a row per launcher that was judged; empty where none was or no source defines one."""
    rows = [row for row in record.launchers if row.status != "missing"]
    if not rows:
        return []
    missing = len(record.launchers) - len(rows)
    lines = [_NOTE, "", "| Launcher | Port | Candle | Called at | Verdict |", "| :-- | :-- | :-- | :-- | :-- |"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    return [*lines, "", f"{missing} more are defined in no source."] if missing else lines


def _cells(row: KernelResult) -> list[str]:
    where = code(row.source) if row.source else "–"
    return [code(row.name), where, code(row.upstream), ", ".join(map(code, row.wired_at or ())), _verdict(row)]


def _verdict(row: KernelResult) -> str:
    if row.status == "pass":
        fixed, leak = ", fixed here, wrong upstream" if row.fixed else "", leak_of(row)
        return f"✅ {row.cases} cases{fixed}{f'; {plain(leak)}' if leak else ''}"
    first: Failure | None = next(iter(row.failures), None)
    why = row.message or (first.why if first is not None else "")
    counts = f", {row.counts}" if row.failed else ""
    return plain(f"❌ {row.status}{counts}{': ' + why if why else ''}")
