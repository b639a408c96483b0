"""What ``run`` and ``replay`` share: judge, keep a journal on the way, write what was asked for, print, decide."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from conformance.cli.ending import screen
from conformance.cli.progress import display
from conformance.cli.shards import shards_of
from conformance.engine.coding import to_map
from conformance.engine.journal import Journal
from conformance.engine.messages import Compiled, Setup
from conformance.engine.modes import CaseMode, Mode, PortMode
from conformance.engine.result import Result
from conformance.engine.run import Interrupted, run
from conformance.files import cache_folder, digest_of, harness_digest
from conformance.option import Shard
from conformance.outcome import Outcome
from conformance.port.digest import tree_digest
from conformance.record import Record, write_record
from conformance.record.assemble import assemble
from conformance.report.asked import NOT_ASKED, Asked
from conformance.report.files import report_files
from conformance.report.kernels import explain, in_short
from conformance.report.lines import rendered
from conformance.report.places import NOWHERE, Places
from conformance.report.tally import ABSENT
from conformance.report.terminal import render_terminal, verdict_line
from conformance.session.gate import Gating, asked_of, conclude
from conformance.session.setup import jobs_for, print_tree
from conformance.spec.entry import ENTRIES
from conformance.spec.kernel import Kernel
from conformance.spec.load import SPEC_FOLDER, Specs
from conformance.status import EXPLAINED
from conformance.text import one_line, quoted, shortened
from conformance.toolchains.compile_error import first_error
from conformance.writing import FileError, write_text

_EXPLAINED = 10
_PRINTED = 20
_LINE = 200


def judged(
    arguments: argparse.Namespace,
    specs: Specs,
    setup: Setup,
    mode: CaseMode,
    kernels: Sequence[Kernel],
    cases: Mapping[str, tuple[str, ...]],
    gating: Gating,
    recordings: Sequence[Mapping[str, Any]] = (),
) -> int:
    """Judge ``kernels``, or their part in the shard, and finish; returns the exit code.

    ``recordings`` is what trace files say of themselves. Raises ``UsageError`` where there are more shards than
    kernels.
    """
    shard: Shard | None = arguments.shard
    parts = {} if shard is None else shards_of(kernels, shard.of)
    others = {name: str(its) for name, its in parts.items() if its != shard}
    mine = [kernel for kernel in kernels if kernel.name not in others]
    jobs = jobs_for(arguments.jobs, setup, len(mine))
    journal = journal_of(setup, mode, arguments)

    def recorded(result: Result) -> Record:
        return assemble(specs, result, arguments.patterns, recordings, None if shard is None else str(shard), others)

    if mode.trees and not arguments.quiet:  # then the verdict's line says it
        print_tree(mode.trees[0], "judges")
    with resumable(arguments, recorded, journal), display(arguments.quiet) as shown:
        places = Places.at(mode.trees[0].path) if mode.trees else NOWHERE
        result = run(setup, mode, mine, cases, jobs, shown.progress, journal, _AsTheyCome(shown.say, places))
    return finish(arguments, specs, recorded(result), result, gating)


class _AsTheyCome:
    """Says as it comes that a source does not compile, or that a kernel fails and nobody has declared that it does, in
    a few lines: the end has causes and commands."""

    def __init__(self, say: Callable[[str], None], places: Places) -> None:
        self._print = say
        self._places = places
        self._said: set[str] = set()

    def __call__(self, answer: Compiled | Outcome, reason: str | None) -> None:
        if isinstance(answer, Compiled):
            if answer.error is not None:
                self._once(answer.source, f"{one_line(answer.source)} does not compile: {one_line(answer.error)}")
        elif answer.status == "compile_error":  # as a rule many kernels have the same error
            source = answer.source or ""
            if not self._said & {source, source.rpartition(":")[0]}:
                self._once(answer.message or "", f"{answer.name} does not compile: {one_line(answer.message or '')}")
        elif answer.status in EXPLAINED and reason is None:
            self._say("\n".join(in_short(answer)))

    def _say(self, text: str) -> None:
        self._print(self._places.relative(text))

    def _once(self, what: str, line: str) -> None:
        if what not in self._said:
            self._said.add(what)
            self._say(f"candle-parity: {shortened(line, _LINE)}")


def journal_of(setup: Setup, mode: Mode, arguments: argparse.Namespace) -> Journal:
    """The journal of a run with this setup and mode. Says so if ``--resume`` finds nothing to go on with."""
    if isinstance(mode, PortMode):
        mode = replace(mode, tree=replace(mode.tree, sources=()))  # other files: the same run of other kernels
    asked = {
        "setup": to_map(setup)["data"],
        "mode": to_map(mode),
        "patterns": list(arguments.patterns),
        "module": arguments.module,
        "shard": str(getattr(arguments, "shard", None)),
        "where": str(Path.cwd()),
    }
    judged_by = {
        "the harness": harness_digest(),
        "the specs": digest_of(setup.specs or SPEC_FOLDER),
        "the kernels": [tree_digest(tree.path, tree.options) for tree in mode.trees],
        "the traces": None if mode.traces is None else digest_of(mode.traces),
    }
    journal = Journal(cache_folder() / "journal", asked, judged_by)
    why = journal.resume() if arguments.resume else None
    if why is not None:
        print(f"candle-parity: --resume: {why}; the run starts from the beginning", file=sys.stderr)
    return journal


@contextmanager
def resumable(arguments: argparse.Namespace, recorded: Callable[[Result], Record], journal: Journal) -> Iterator[None]:
    """A context in which a run that is stopped leaves a record of what it has, and says how to go on."""
    try:
        yield
    except Interrupted as stop:
        result = stop.result
        record = recorded(result)
        if arguments.json is not None:
            write_record(record, arguments.json)
        called = {row.name for row in (*record.launchers, *record.own_launchers)}
        parts = (("kernels", set(result.selected) - called), ("launchers", called.intersection(result.selected)))
        counts = [f"{len(names & result.outcomes.keys())} of {len(names)} {what}" for what, names in parts if names]
        judged = f"{' and '.join(counts)} are judged"
        how = "no journal could be kept" if journal.warning else "the same command with --resume goes on from there"
        going_on = f"; {how}" if result.outcomes else ""
        print(f"candle-parity: stopped; {judged}{going_on}", file=sys.stderr)
        raise stop.cause from None


def finish(arguments: argparse.Namespace, specs: Specs, record: Record, result: Result, gating: Gating) -> int:
    """Write the outputs, print the table, and return the exit code: that of ``conclude``, or 2 where a file cannot be
    written.

    If a file cannot be written, the others and the table are written all the same.
    """
    unwritten = _attempt(lambda: write_record(record, arguments.json)) if arguments.json else []
    names = set(result.outcomes) | set(result.selected)
    rows = [row for row in record.rows if row.name in names]
    problems = result.settled(specs.loaded_by_name, specs.linked_by_name).problems
    asked = asked_of(gating, record, rows, specs, problems) if arguments.junit else NOT_ASKED
    unwritten += _attempt(lambda: write_reports(arguments, [record], specs, gating.standing, asked))
    watched = getattr(arguments, "watched", False)  # then the screen was cleared, and failures stand at its top
    if arguments.quiet:
        print(verdict_line(record, specs, screen()))
    elif all(row.status in ABSENT for row in rows):  # then there is nothing to show, and ``conclude`` says why
        print_logs(result.outcomes, result.compile_logs)
        _print_warnings(result)
    else:
        failures = _failures(record, result, specs, every=arguments.verbose)
        if watched:
            print_logs(result.outcomes, result.compile_logs)
            shown = Places.of(record.run)
            print(rendered([shown.linked(line) for line in failures], screen()))
            failures = []
        print(render_terminal(record, specs, screen(), arguments.verbose, failures))
        if not watched:
            print_logs(result.outcomes, result.compile_logs)
        _print_warnings(result)
    undecided = "a file could not be written" if unwritten else None
    code = conclude(gating, record, rows, specs, problems, undecided)
    for sentence in unwritten:
        print(f"candle-parity: {sentence}", file=sys.stderr)
    return code


def _attempt(write: Callable[[], object]) -> list[str]:
    """Why ``write`` could not; empty where it could."""
    try:
        write()
    except FileError as error:
        return [one_line(str(error))]
    return []


def print_logs(outcomes: Mapping[str, Outcome], logs: Mapping[str, str]) -> None:
    """Print what did not compile: the compiler's log if a selected kernel is lost by it, else one line."""
    lost = {outcome.source for outcome in outcomes.values() if outcome.status == "compile_error"}
    for label, log in logs.items():
        if label in lost:
            print(f"\ncandle-parity: {one_line(label)} does not compile:\n{quoted(_head(log))}", file=sys.stderr)
        else:
            warning = f"{label} does not compile, but defines no kernel that is judged: {first_error(log)}"
            print(f"candle-parity: {one_line(warning)}", file=sys.stderr)


def _print_warnings(result: Result) -> None:
    """What went wrong without costing a verdict, and what kernels printed, marked as theirs, on standard error."""
    for sentence in result.warnings:
        print(f"candle-parity: {one_line(sentence)}", file=sys.stderr)
    lines = [line for text in result.printed for line in text.splitlines()]
    for line in lines[:_PRINTED]:
        print(f"printed by a kernel: {one_line(line)[:_LINE]}", file=sys.stderr)
    if len(lines) > _PRINTED:
        print(f"printed by kernels: {len(lines) - _PRINTED} lines more", file=sys.stderr)


def _failures(record: Record, result: Result, specs: Specs, every: bool = False) -> list[str]:
    """The first failure of the first kernel of each cause, then of further kernels that compile, as lines; with
    ``every`` of each failing kernel."""
    every_row = record.rows
    judged = [row for row in every_row if row.name in result.outcomes and row.known_reason is None]
    bad = {row.name: row for row in judged if row.status in EXPLAINED}
    if not bad:
        return []
    from conformance.report.causes import find_causes  # what a run without a failure does without

    parts = ([row for row in bad.values() if specs.entry(row.name).entry == entry] for entry in ENTRIES)
    firsts = [finding.shares[0].kernel.name for part in parts for finding in find_causes(part, specs)]
    others = [name for name, row in bad.items() if row.status != "compile_error"]
    some = list(dict.fromkeys([*firsts, *others]))[: max(_EXPLAINED, min(len(firsts), 2 * _EXPLAINED))]
    shown = list(dict.fromkeys([*firsts, *bad])) if every else some
    lines = [line for name in shown for part in ("", *explain(name, bad[name], shown=1)) for line in part.split("\n")]
    if len(bad) > len(shown):
        lines += ["", f"... and {len(bad) - len(shown)} more; -v prints one failure of each, --md F writes them all"]
    return lines


def write_reports(
    arguments: argparse.Namespace,
    records: Sequence[Record],
    specs: Specs,
    baseline: Record | None = None,
    asked: Asked = NOT_ASKED,
) -> list[Path]:
    """Render ``records`` to each file that the command line names; returns these files.

    HTML and summary say what changed since ``baseline``; JUnit has what the gates make of failures. Raises
    ``FileError`` for files that cannot be written, after the others are.
    """
    asked_for = {report.name: getattr(arguments, report.name) for report in report_files()}
    files = [(path, name) for name, path in asked_for.items() if path is not None]
    if not files:
        return []
    from conformance.api import render  # what a run that writes no report does without

    url: str | None = getattr(arguments, "source_url", None)
    wanted = [
        (path, render(records, name, specs, baseline=baseline, source_url=url, asked=asked)) for path, name in files
    ]
    unwritten = [sentence for item in wanted for sentence in _attempt(partial(write_text, *item))]
    if unwritten:
        raise FileError("; ".join(unwritten))
    return [path for path, _ in wanted]


def _head(log: str, lines: int = 20) -> str:
    rows = log.strip().splitlines()
    return "\n".join(rows[:lines]) + (f"\n... {len(rows) - lines} lines more" if len(rows) > lines else "")
