"""The end of ``run`` and ``replay``: write what was asked for, print the table, decide the exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from conformance.device.hip import first_error
from conformance.engine.run import Result
from conformance.record import Record, write_record
from conformance.report import render_csv, render_html, render_junit, render_markdown, render_terminal, write_text
from conformance.report.explain import explain
from conformance.report.text import visible
from conformance.spec.load import Specs

_EXPLAINED = 10
_BAD = ("fail", "signature", "compile_error", "crash", "timeout")


def finish(arguments: argparse.Namespace, specs: Specs, record: Record, result: Result) -> int:
    """Write, print, and return 0 when met, 1 on a failure or when the coverage is below the gate."""
    if arguments.json:
        write_record(record, arguments.json)
    write_reports(arguments, [record], specs)
    print(render_terminal(record, specs))
    _print_failures(record, result)
    _print_logs(result)
    return _exit_code(arguments, record, result)


def _print_logs(result: Result) -> None:
    """What did not compile: the log where a selected kernel is lost by it, one line for any other file."""
    lost = {outcome.source for outcome in result.outcomes.values() if outcome.status == "compile_error"}
    for label, log in result.compile_logs.items():
        if label in lost:
            print(f"\n{label} does not compile:\n{_head(log)}", file=sys.stderr)
        else:
            print(f"{label} does not compile, but holds no kernel on trial: {first_error(log)}", file=sys.stderr)


def _print_failures(record: Record, result: Result) -> None:
    """The first failure of the first kernels that are not at parity, on standard output."""
    bad = [row for row in record.kernels if row.name in result.outcomes and row.status in _BAD]
    for row in bad[:_EXPLAINED]:
        print("\n" + "\n".join(map(visible, explain(row.name, row, shown=1))))
    if len(bad) > _EXPLAINED:
        print(f"\n... and {len(bad) - _EXPLAINED} kernels more; --md F writes them all")


def write_reports(arguments: argparse.Namespace, records: Sequence[Record], specs: Specs) -> bool:
    """Render ``records`` into each file that the command line names; whether there was one."""
    renderers: tuple[tuple[Path | None, Callable[[Sequence[Record], Specs], str]], ...] = (
        (arguments.md, render_markdown),
        (arguments.html, render_html),
        (arguments.csv, render_csv),
        (arguments.junit, render_junit),
    )
    for path, render in renderers:
        if path is not None:
            write_text(path, render(records, specs))
    return any(path is not None for path, _ in renderers)


def _exit_code(arguments: argparse.Namespace, record: Record, result: Result) -> int:
    failed = [kernel for kernel in record.kernels if kernel.name in result.outcomes and kernel.status in _BAD]
    idle = [name for name, outcome in result.outcomes.items() if outcome.status == "not_run"]
    code = 1 if failed else 0
    if idle:
        print(
            f"candle-parity: no case was run for {', '.join(idle[:5])}{' ...' if len(idle) > 5 else ''}",
            file=sys.stderr,
        )
        code = 1
    if arguments.fail_under is not None:
        met = record.summary.coverage >= arguments.fail_under
        print(f"coverage {record.summary.coverage:.2f}%, gate {arguments.fail_under:g}%: {'met' if met else 'NOT met'}")
        code = code if met else 1
    return code


def _head(log: str, lines: int = 20) -> str:
    rows = log.strip().splitlines()
    return "\n".join(rows[:lines]) + (f"\n... {len(rows) - lines} lines more" if len(rows) > lines else "")
