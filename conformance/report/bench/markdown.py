"""A bench record as a Markdown document: what was measured, a row per family and case, what is slower."""

from __future__ import annotations

from conformance.record.bench import NOISE, BenchRecord
from conformance.report.bench.counts import counts_table, legend
from conformance.report.bench.table import TEXT, Cells, by_family, heading, lost, slower, summary
from conformance.report.markdown import table
from conformance.text import code, plain


def bench_markdown(record: BenchRecord) -> str:
    """The whole document."""
    if record.counts:
        return _counts_markdown(record)
    run, rows = record.bench, record.workloads
    facts = [*heading(record), *summary(rows)[:1], *([run.host] if run.host else [])]
    facts += [f"candle-parity at {run.harness}"] if run.harness else []
    lines = [
        f"# How fast kernels are on {plain(run.device)}",
        "",
        "Written by `candle-parity bench`; do not edit.",
        "",
        *(f"- {plain(fact)}" for fact in facts),
        "",
        "GB/s are of the bytes that a launch has to read and write at least, with operands that lie in no cache; the "
        "share is of what a copy on the device reaches with as many bytes. Gop/s counts multiplications and additions "
        "where they are the limit. A row is about the kernels of a family; its means are geometric.",
    ]
    if rows:
        lines += ["", "## Families", "", *_table(by_family(rows))]
    if run.against:
        found = slower(rows)
        definition = f"In the median pair of launches by over {NOISE:.0%}, and in three of four pairs: {len(found[1])}."
        lines += ["", f"## Slower than {plain(run.against)}'s", "", definition]
        lines += ["", *_table(found)] if found[1] else []
    if record.losses:
        lines += ["", "## Not timed", "", *(f"- {plain(lost(loss))}" for loss in record.losses)]
    return "\n".join(lines) + "\n"


def _counts_markdown(record: BenchRecord) -> str:
    """The document of a record with counts."""
    facts = [*heading(record), f"{len(record.counts)} cases, a launch each"]
    lines = [
        f"# What kernels do on {plain(record.bench.device)}",
        "",
        "Written by `candle-parity bench`; do not edit.",
        "",
        *(f"- {plain(fact)}" for fact in facts),
        "",
        legend(record.counts),
        "",
        *_table(counts_table(record.counts, every=False)),
    ]
    if record.losses:
        lines += ["", "## Not counted", "", *(f"- {plain(lost(loss))}" for loss in record.losses)]
    return "\n".join(lines) + "\n"


def _table(cells: Cells) -> list[str]:
    head, body = cells
    text = [name in TEXT for name in head]
    shown = ([code(cell) if name else cell for cell, name in zip(row, text, strict=True)] for row in body)
    return table(head, shown, "".join("l" if name else "r" for name in text))
