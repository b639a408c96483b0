"""The end of ``run`` and ``replay``: write what was asked for, print the table, decide the exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

from conformance.cli.gate import FAILURES
from conformance.cli.gating import Gating, conclude
from conformance.cli.streams import screen
from conformance.engine.run import Result
from conformance.record import KernelResult, Record, write_record
from conformance.report import (
    render_html,
    render_junit,
    render_markdown,
    render_summary,
    render_terminal,
    write_text,
)
from conformance.report.causes import find_causes
from conformance.report.kernels import explain
from conformance.report.terminal import verdict_line
from conformance.runtimes.hip.errors import first_error
from conformance.spec.load import Specs
from conformance.text import one_line, visible
from conformance.writing import FileError

_EXPLAINED = 10
_PRINTED = 20
_LINE = 200
_EXPLAINED_STATUSES = tuple(status for status in FAILURES if status != "missing")
"""Failures of which there is more to say than the kernel's name."""


def finish(arguments: argparse.Namespace, specs: Specs, record: Record, result: Result, gating: Gating) -> int:
    """Write, print, and return the exit code: that of ``conclude``, or 2 where a file cannot be written.

    A file that cannot be written costs neither the other files nor the table.
    """
    unwritten = _attempt(lambda: write_record(record, arguments.json)) if arguments.json else []
    unwritten += _attempt(lambda: write_reports(arguments, [record], specs, gating.standing))
    if arguments.quiet:
        print(verdict_line(record, specs, screen()))
    else:
        print(render_terminal(record, specs, screen()))
        _print_failures(record, result, specs, every=arguments.verbose)
        _print_logs(result)
        _print_warnings(result)
    names = set(result.outcomes) | set(result.selected)
    code = conclude(
        gating,
        record,
        _named((*record.kernels, *record.launchers), names),
        specs,
        result.settled(specs.kernels, specs.launchers).problems,
        "a file could not be written" if unwritten else None,
    )
    for sentence in unwritten:
        print(f"candle-parity: {sentence}", file=sys.stderr)
    return code


def _named(rows: Sequence[KernelResult], names: Collection[str]) -> list[KernelResult]:
    return [row for row in rows if row.name in names]


def _attempt(write: Callable[[], object]) -> list[str]:
    """Why ``write`` could not; empty where it could."""
    try:
        write()
    except FileError as error:
        return [one_line(str(error))]
    return []


def _print_logs(result: Result) -> None:
    """What did not compile: the log where a selected kernel is lost by it, one line for any other file."""
    lost = {outcome.source for outcome in result.outcomes.values() if outcome.status == "compile_error"}
    for label, log in result.compile_logs.items():
        if label in lost:
            print(f"\n{one_line(label)} does not compile:\n{visible(_head(log))}", file=sys.stderr)
        else:
            warning = f"{label} does not compile, but holds no kernel on trial: {first_error(log)}"
            print(one_line(warning), file=sys.stderr)


def _print_warnings(result: Result) -> None:
    """What went wrong without costing a verdict, and what kernels printed, marked as theirs, on standard error."""
    for sentence in result.warnings:
        print(f"candle-parity: {one_line(sentence)}", file=sys.stderr)
    lines = [line for text in result.printed for line in text.splitlines()]
    for line in lines[:_PRINTED]:
        print(f"printed by a kernel: {one_line(line)[:_LINE]}", file=sys.stderr)
    if len(lines) > _PRINTED:
        print(f"printed by kernels: {len(lines) - _PRINTED} lines more", file=sys.stderr)


def _print_failures(record: Record, result: Result, specs: Specs, every: bool = False) -> None:
    """The first failure of the first kernel of each cause, then of further kernels, on standard output; with ``every``
    of each failing kernel."""
    every_row = (*record.kernels, *record.launchers)
    judged = [row for row in every_row if row.name in result.outcomes and row.known_reason is None]
    bad = {row.name: row for row in judged if row.status in _EXPLAINED_STATUSES}
    parts = ([row for row in bad.values() if (row.name in specs.launchers) == called] for called in (False, True))
    firsts = [finding.shares[0].kernel.name for part in parts for finding in find_causes(part, specs)]
    shown = list(dict.fromkeys([*firsts, *bad]))
    shown = shown if every else shown[: max(_EXPLAINED, min(len(firsts), 2 * _EXPLAINED))]
    for name in shown:
        print("\n" + "\n".join(explain(name, bad[name], shown=1)))
    if len(bad) > len(shown):
        print(f"\n... and {len(bad) - len(shown)} more; -v prints one failure of each, --md F writes them all")


def write_reports(
    arguments: argparse.Namespace, records: Sequence[Record], specs: Specs, baseline: Record | None = None
) -> bool:
    """Render ``records`` into each file that the command line names; whether there was one.

    The HTML and the summary say what changed since ``baseline``.

    Raises ``FileError`` for those that cannot be written, after the others.
    """
    renderers: tuple[tuple[Path | None, Callable[[Sequence[Record], Specs], str]], ...] = (
        (arguments.md, render_markdown),
        (arguments.html, partial(render_html, baseline=baseline, source_url=getattr(arguments, "source_url", None))),
        (arguments.summary, partial(render_summary, baseline=baseline)),
        (arguments.junit, render_junit),
    )
    wanted = [(path, render(records, specs)) for path, render in renderers if path is not None]
    unwritten = [sentence for item in wanted for sentence in _attempt(partial(write_text, *item))]
    if unwritten:
        raise FileError("; ".join(unwritten))
    return bool(wanted)


def _head(log: str, lines: int = 20) -> str:
    rows = log.strip().splitlines()
    return "\n".join(rows[:lines]) + (f"\n... {len(rows) - lines} lines more" if len(rows) > lines else "")
