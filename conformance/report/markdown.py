"""``reports/PARITY.md``: the status document of a port."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.dtypes import COLUMNS
from conformance.record import KernelResult, Record
from conformance.report.about import Records, executed, facts_table, given_specs, identity, labels, listed
from conformance.report.builds import NOT_RUN, compile_table, compilers, failures, spilling
from conformance.report.failures import failure_lines, missing_lines
from conformance.report.families import family_table
from conformance.report.remarks import remarks
from conformance.report.robustness import robustness_lines
from conformance.report.tally import (
    Tally,
    grid,
    of_module,
    results,
    source_files,
    source_lines,
    tally,
    unknown,
)
from conformance.spec.load import Module, Specs
from conformance.text import code, fence, link, plain


def render_markdown(records: Records, specs: Specs) -> str:
    """The whole document; with several records a column for each."""
    found = listed(records)
    names = labels(found)
    rows = [results(record, specs) for record in found]
    lines = [
        "# Parity with Candle's CUDA kernels",
        "",
        "Written by `candle-parity` from recorded runs; do not edit.",
        "",
        *(_headline(*column, specs) for column in zip(names, found, map(tally, rows), strict=True)),
        *_remarks(found, names, rows, specs),
        "",
        "## What was run",
        "",
        *_what_was_run(found, names, specs),
        "",
        "## Modules",
        "",
        *_modules(found, names, rows, specs),
        "",
        "✅ every kernel at parity, ⚠️ some, ❌ none. Present: the port has a source for the kernel. Passing: every "
        "case of it agreed with the reference. "
        f"Percentages are of all kernels{_of_candle(found, specs)}, whatever was selected or could not be run, and "
        "rounded down.",
        "",
        "## Families",
        "",
        *_families(found, names, rows, specs),
    ]
    for name, record in zip(names, found, strict=True):
        if record.run.builds:
            lines += ["", f"## Compiles for AMD targets{_of(name, found)}", "", *_builds(record, specs)]
    for name, record in zip(names, found, strict=True):
        lines += ["", f"## Families and dtypes{_of(name, found)}", "", *_grid(record, specs), ""]
        lines.append(
            "✅ all at parity, ❌ not (passing/all), – no source or not run, blank: Candle has no such kernel."
        )
    for name, record, part in zip(names, found, rows, strict=True):
        lines += ["", f"## Not at parity{_of(name, found)}", "", *failure_lines(record, part, specs)]
        lines += ["", f"## Missing or not run{_of(name, found)}", "", *missing_lines(part, specs)]
        if any(row.robustness for row in part):
            lines += ["", f"## Robustness{_of(name, found)}", "", *robustness_lines(part, specs)]
        annotated = [
            f"- {code(row.name)}: {plain(row.message)}" for row in part if row.status == "pass" and row.message
        ]
        if annotated:
            lines += ["", f"## Remarks{_of(name, found)}", "", *annotated]
    lines += ["", "## What upstream gets wrong", "", *_defects(specs)]
    lines += ["", "## Inputs that are not compared", "", *_undefined(specs)]
    return "\n".join(lines) + "\n"


def table(heads: Sequence[str], body: Iterable[Sequence[str]], align: str) -> list[str]:
    """A Markdown table; ``align`` has a letter per column: l, r or c. Cells must be safe already."""
    rules = {"l": ":--", "r": "--:", "c": ":-:"}
    rows = [heads, [rules[letter] for letter in align], *body]
    return ["| " + " | ".join(row) + " |" for row in rows]


def _of(name: str, found: Sequence[Record]) -> str:
    return "" if len(found) == 1 else f": {plain(name)}"


def _headline(name: str, record: Record, count: Tally, specs: Specs) -> str:
    run = record.run
    of = given_specs(run, specs)
    headline = f"**{count.passing} of {count.total} kernels{of and f' {plain(of)}'} at parity ({count.percent}%)**"
    return f"- {plain(name)}: {headline}, {plain(executed(run))} ({plain(identity(run))})."


def _of_candle(found: Sequence[Record], specs: Specs) -> str:
    given = dict.fromkeys(filter(None, (given_specs(record.run, specs) for record in found)))
    return f" {plain(next(iter(given)))}" if given else " that Candle has"


def _remarks(
    found: Sequence[Record], names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs
) -> list[str]:
    """A block quote per remark, the kind in bold."""
    lines: list[str] = []
    for name, record, part in zip(names, found, rows, strict=True):
        for kind, text in remarks(record, part, specs):
            lines += ["", f"> **{kind.capitalize()}{_of(name, found)}:** {plain(text)}"]
    return lines


def _what_was_run(found: Sequence[Record], names: Sequence[str], specs: Specs) -> list[str]:
    cases = ["Cases", *(f"{record.summary.cases:,}, {record.summary.cases_failed:,} failed" for record in found)]
    body = [[heading, *map(plain, texts)] for heading, texts in facts_table(found, specs.upstream_repository)]
    lines = table(["", *map(plain, names)], [*body, cases], "l" * (len(found) + 1))
    for name, record in zip(names, found, strict=True):
        if record.run.patterns:
            lines += ["", f"{plain(name)} was restricted to what is named under Selected; the rest counts as not run."]
        strange = unknown(record, specs)
        if strange:
            lines += ["", f"{plain(name)} has {len(strange)} kernels that no spec has, such as {code(strange[0])}."]
    return lines


def _modules(
    found: Sequence[Record], names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs
) -> list[str]:
    heads = ["Module", "Operations", "Source", "Lines", "Candle", "Lines", "Kernels"]
    for name in names:
        mark = "" if len(names) == 1 else f" ({plain(name)})"
        heads += [f"Present{mark}", f"Passing{mark}", "%", ""]
    body = []
    ports: list[int] = []
    for module in specs.modules.values():
        mine = [of_module(part, module.name) for part in rows]
        files, lines = _port_source(found, mine)
        ports += [] if lines is None else [lines]
        body.append(
            [
                plain(module.name),
                plain(module.title),
                ", ".join(map(code, files)) or "–",
                "–" if lines is None else f"{lines:,}",
                _upstream_file(module, specs),
                f"{module.source_lines:,}",
                str(len(mine[0])),
                *_figures(mine),
            ]
        )
    candle = sum(module.source_lines for module in specs.modules.values())
    total = ["**all**", "", "", f"{sum(ports):,}" if ports else "–", "", f"{candle:,}", str(len(rows[0]))]
    return table(heads, [*body, [*total, *_figures(rows)]], "lllrlrr" + "rrrc" * len(found))


def _families(
    found: Sequence[Record], names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs
) -> list[str]:
    heads, body = family_table(found, list(map(plain, names)), rows, specs)
    return table(heads, body, "llrllll" + "l" * len(found))


def _port_source(found: Sequence[Record], mine: Sequence[Sequence[KernelResult]]) -> tuple[list[str], int | None]:
    """The port's files and their length, from the first record that knows them."""
    for record, part in zip(found, mine, strict=True):
        files = source_files(part)
        if files:
            return files, source_lines(list(part), record.run.source_lines)
    return [], None


def _upstream_file(module: Module, specs: Specs) -> str:
    place = f"https://github.com/{specs.upstream_repository}/blob/{specs.upstream_commit}/candle-kernels/src"
    return link(module.source, f"{place}/{module.source}")


def _figures(parts: Sequence[Sequence[KernelResult]]) -> list[str]:
    figures = []
    for part in parts:
        count = tally(part)
        figures += [f"{count.present}/{count.total}", f"{count.passing}/{count.total}", count.percent, count.mark]
    return figures


def _builds(record: Record, specs: Specs) -> list[str]:
    heads, body = compile_table(record, specs)
    lines = table(list(map(plain, heads)), [list(map(plain, row)) for row in body], "lr" + "c" * (len(heads) - 2))
    lines += ["", NOT_RUN, ""]
    lines += [f"- {plain(line)}" for line in compilers(record)]
    for what, error in failures(record):
        lines += ["", f"{plain(what)} does not compile:", "", *fence(error, "text")]
    spills = spilling(record)
    if spills:
        lines += ["", f"Warning, registers spilled to memory: {plain(', '.join(spills))}."]
    return lines


def _grid(record: Record, specs: Specs) -> list[str]:
    body = [[plain(module), plain(family), *cells] for module, family, cells in grid(record, specs)]
    return table(["Module", "Family", *COLUMNS], body, "ll" + "c" * len(COLUMNS))


def _defects(specs: Specs) -> list[str]:
    """Each defect once, with the families and the number of kernels that it is about."""
    where: dict[str, dict[str, int]] = {}
    for kernel in specs.kernels.values():
        for text in kernel.upstream_defects:
            families = where.setdefault(text, {})
            families[kernel.family] = families.get(kernel.family, 0) + 1
    lines = [
        "A port at parity does the same as Candle in these places too, except where an input is left out below.",
        "",
    ]
    for text, families in where.items():
        about = ", ".join(f"{family} ({count})" for family, count in families.items())
        lines.append(f"- {plain(about)}: {plain(text)}")
    return lines if where else ["Nothing is recorded."]


def _undefined(specs: Specs) -> list[str]:
    where: dict[tuple[str, str], dict[str, int]] = {}
    for kernel in specs.kernels.values():
        for item in kernel.undefined:
            families = where.setdefault((item.input, item.reason), {})
            families[kernel.family] = families.get(kernel.family, 0) + 1
    lines = []
    for (given, reason), families in where.items():
        about = ", ".join(f"{family} ({count})" for family, count in families.items())
        lines.append(f"- {plain(about)}: {plain(given)}. {plain(reason[:1].upper() + reason[1:])}.")
    return lines or ["None."]
