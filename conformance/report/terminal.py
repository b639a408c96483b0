"""The table that a run prints."""

from __future__ import annotations

import textwrap

from conformance.outcome import STATUSES
from conformance.record import KernelResult
from conformance.report.about import Records, executed, given_specs, labels, listed
from conformance.report.builds import compiles
from conformance.report.causes import cause_lines, find_causes
from conformance.report.remarks import remarks
from conformance.report.tally import is_present, of_family, of_module, results, tally, worst
from conformance.spec.load import Specs
from conformance.text import one_line, shortened

_WORST_WIDTH = 48


def render_terminal(records: Records, specs: Specs) -> str:
    """A row per module, and per family of a module that the port has begun; ends without a newline.

    With several records the columns repeat per record.
    """
    from tabulate import tabulate

    found = listed(records)
    rows = [results(record, specs) for record in found]
    body: list[list[str]] = []
    for module in specs.modules.values():
        mine = [of_module(part, module.name) for part in rows]
        body.append([one_line(module.name), *_figures(mine), ""])
        if len(module.families) == 1:
            body[-1][-1] = _worst(mine)
            continue
        if any(is_present(row) for part in mine for row in part):
            for family in module.families:
                of = [of_family(part, module.name, family) for part in rows]
                body.append([one_line(f"· {family}"), *_figures(of), _worst(of)])
    body.append(["all kernels", *_figures(rows), ""])
    names = labels(found)
    heads = ["module", "kernels"]
    for name in names:
        mark = "" if len(names) == 1 else f"\n{name}"
        heads += [f"present{mark}", f"passing{mark}", f"percent{mark}", ""]
    align = ["left", "right", *["right", "right", "right", "left"] * len(found), "left"]
    table = tabulate(body, [*heads, "worst"], tablefmt="simple", colalign=align, disable_numparse=True)
    lines = [table.rstrip(), ""]
    for name, record, part in zip(names, found, rows, strict=True):
        total = tally(part)
        counts = {status: sum(row.status == status for row in part) for status in STATUSES}
        totals = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        where = one_line(f"{record.run.device}: {executed(record.run)}")
        given = given_specs(record.run, specs)
        lines.append(f"{name}: {total.passing} of {total.total} kernels{given} at parity ({total.percent}%)")
        lines += [*_indented(totals), *_indented(where)]
        if record.run.sandbox and not record.run.sandbox.startswith("none"):
            lines += _indented(f"sandbox: {one_line(record.run.sandbox)}")
        for remark in remarks(record, part, specs):
            lines += _indented(one_line(str(remark)))
        lines += [f"  {one_line(target)}: {compiles(part, target)}" for target in record.run.builds]
        causes = cause_lines(find_causes(part, specs))
        lines += ["", *causes] if causes else []
    return "\n".join(line.rstrip() for line in lines)


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, 110, initial_indent="  ", subsequent_indent="  ")


def _figures(parts: list[list[KernelResult]]) -> list[str]:
    figures = [str(len(parts[0]))]
    for part in parts:
        count = tally(part)
        figures += [str(count.present), str(count.passing), count.percent, count.mark]
    return figures


def _worst(parts: list[list[KernelResult]]) -> str:
    return shortened(one_line(next((remark for remark in map(worst, parts) if remark), "")), _WORST_WIDTH)
