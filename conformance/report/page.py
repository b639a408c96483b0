"""The HTML report: one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.dtypes import COLUMNS
from conformance.record import KernelResult, Record
from conformance.report.about import Records, executed, facts_table, given_specs, identity, labels, listed, rerun
from conformance.report.builds import NOT_RUN, compile_table, compilers, failures, spilling
from conformance.report.causes import cause_page
from conformance.report.declared import choices
from conformance.report.failures import SHOWN_MESSAGE, upstream_url
from conformance.report.remarks import remarks
from conformance.report.tally import grid, of_module, results, tally, ulps
from conformance.spec.load import Specs
from conformance.text import html, url

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #1c1c1c; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
table { border-collapse: collapse; margin: .5rem 0; }
th, td { border-bottom: 1px solid #ddd; padding: .2rem .6rem; text-align: left; vertical-align: top; }
th { background: #f4f4f4; } td.n { text-align: right; } td.c { text-align: center; }
pre { background: #f6f6f6; padding: .5rem; overflow-x: auto; white-space: pre-wrap; }
.pass { color: #126b2a; } .fail, .crash, .timeout, .compile_error, .signature { color: #a40000; }
.warning { border-left: .3rem solid #a40000; padding: .2rem .6rem; font-weight: bold; }
.missing, .not_run { color: #777; } .known_failure { color: #8a5a00; }
@media (prefers-color-scheme: dark) {
  body { background: #161616; color: #ddd; } th { background: #262626; } th, td { border-color: #333; }
  pre { background: #222; } a { color: #8ab4f8; } .pass { color: #6fcf87; }
  .fail, .crash, .timeout, .compile_error, .signature { color: #ff8a80; } .known_failure { color: #e0b050; }
}
"""


def render_html(records: Records, specs: Specs) -> str:
    """A self-contained HTML 5 document: what was run, modules, dtype grids, and every kernel with its failures."""
    found = listed(records)
    names = labels(found)
    rows = [results(record, specs) for record in found]
    parts = ["<h1>Parity with Candle's CUDA kernels</h1>", "<ul>"]
    for name, record, part in zip(names, found, rows, strict=True):
        count = tally(part)
        of = html(given_specs(record.run, specs))
        headline = f"<b>{count.passing} of {count.total} kernels{of} at parity ({count.percent}%)</b>"
        parts.append(f"<li>{html(name)}: {headline}, {html(executed(record.run))} ({html(identity(record.run))})</li>")
    parts.append("</ul>")
    for name, record, part in zip(names, found, rows, strict=True):
        parts += [f'<p class="{kind}">{html(f"{name}: {text}")}</p>' for kind, text in remarks(record, part, specs)]
    parts += cause_page(names, rows, specs)
    parts += ["<h2>What was run</h2>", *_what_was_run(found, names, specs)]
    parts += ["<h2>Modules</h2>", *_modules(names, rows, specs)]
    for name, record in zip(names, found, strict=True):
        if record.run.builds:
            parts += [f"<h2>Compiles for AMD targets: {html(name)}</h2>", *_builds(record, specs)]
    for name, record in zip(names, found, strict=True):
        parts += [f"<h2>Families and dtypes: {html(name)}</h2>", *_grid(record, specs)]
    parts += ["<h2>Kernels</h2>", *_kernels(found, names, rows, specs)]
    head = f'<meta charset="utf-8"><title>Candle parity</title><style>{_STYLE}</style>'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _table(heads: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """A table of cells that are HTML already; a cell may bring its own ``<td ...>``."""
    lines = ["<table><thead><tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr></thead><tbody>"]
    for row in body:
        cells = "".join(item if item.startswith("<td") else f"<td>{item}</td>" for item in row)
        lines.append(f"<tr>{cells}</tr>")
    return [*lines, "</tbody></table>"]


def _number(value: object) -> str:
    return f'<td class="n">{value}</td>'


def _what_was_run(found: Sequence[Record], names: Sequence[str], specs: Specs) -> list[str]:
    body = [[heading, *map(html, texts)] for heading, texts in facts_table(found, specs.upstream_repository)]
    return _table(["", *map(html, names)], body)


def _modules(names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs) -> list[str]:
    heads = ["Module", "Operations", "Kernels"]
    for name in names:
        heads += [f"Present ({html(name)})", "Passing", "%", ""]
    body = []
    for module in specs.modules.values():
        mine = [of_module(part, module.name) for part in rows]
        body.append([html(module.name), html(module.title), _number(len(mine[0])), *_figures(mine)])
    return _table(heads, [*body, ["<b>all</b>", "", _number(len(rows[0])), *_figures(rows)]])


def _figures(parts: Sequence[Sequence[KernelResult]]) -> list[str]:
    figures = []
    for part in parts:
        count = tally(part)
        figures += [_number(count.present), _number(count.passing), _number(count.percent), count.mark]
    return figures


def _builds(record: Record, specs: Specs) -> list[str]:
    heads, body = compile_table(record, specs)
    lines = _table(list(map(html, heads)), [list(map(html, row)) for row in body])
    lines += [f"<p>{html(line)}</p>" for line in (NOT_RUN, *compilers(record))]
    for what, error in failures(record):
        lines += [f"<p>{html(what)} does not compile:</p>", f"<pre>{html(error)}</pre>"]
    spills = spilling(record)
    if spills:
        lines.append(f"<p>Warning, registers spilled to memory: {html(', '.join(spills))}.</p>")
    return lines


def _grid(record: Record, specs: Specs) -> list[str]:
    body = [
        [html(module), html(family), *(f'<td class="c">{cell}</td>' for cell in cells)]
        for module, family, cells in grid(record, specs)
    ]
    return _table(["Module", "Family", *COLUMNS], body)


def _kernels(
    found: Sequence[Record], names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs
) -> list[str]:
    body = []
    for columns in zip(*rows, strict=True):
        first = columns[0]
        link = f'<a href="{html(url(upstream_url(first, specs)))}">{html(first.upstream)}</a>'
        cells = [_result(record, row) for record, row in zip(found, columns, strict=True)]
        body.append([html(first.name), html(first.family), link, *cells])
    return _table(["Kernel", "Family", "Upstream", *map(html, names)], body)


def _result(record: Record, row: KernelResult) -> str:
    status = f'<span class="{row.status}">{row.status}</span>'
    if row.cases:
        status += f" {row.cases - row.failed}/{row.cases} cases, {ulps(row.max_ulp)}"
    details = [f"<p>{html(line)}</p>" for line in choices(row)]
    if row.message:
        details.append(f"<pre>{html(row.message[:SHOWN_MESSAGE])}</pre>")
    for failure in row.failures:
        lines = [failure.case, failure.why]
        if failure.got is not None:
            lines.append(f"element {failure.index}: got {failure.got}, expected {failure.expected}")
        text = "\n".join([*lines, failure.reproduce])
        details.append(f"<pre>{html(text)}</pre>")
    if not details:
        return status
    if not row.failures and row.status not in ("missing", "not_run"):
        details.append(f"<pre>{html(rerun(record.run, row.name))}</pre>")
    return f"<details><summary>{status}</summary>{''.join(details)}</details>"
