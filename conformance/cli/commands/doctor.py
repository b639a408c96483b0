"""``candle-parity doctor``."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator

from conformance.cli.doctor.rows import Row, machine_rows
from conformance.cli.doctor.trying import trial_rows
from conformance.cli.preparing import setup_from
from conformance.cli.settings import Settings
from conformance.cli.usage import UsageError
from conformance.engine.modes import Tree
from conformance.files import kernels_folder
from conformance.runtimes.kind import Choice
from conformance.spec.load import load_specs
from conformance.text import one_line

_MARKS = {"ok": "ok", "todo": "!!", "none": "--"}
_WIDTH, _HEAD = 118, 20


def command(arguments: argparse.Namespace) -> int:
    """Print the rows as they come; 0 where a run works, else 1."""
    rows: list[Row] = []
    for row in _rows(arguments):
        rows.append(row)
        print(rendered(row), flush=True)
    missing = sum(row.state == "todo" for row in rows)
    works = all(row.state == "ok" for row in rows if row.decides)
    print(f"\n{'kernels can be run' if works else 'kernels cannot be run'}; {missing or 'nothing'} to be mended")
    return 0 if works else 1


def _rows(arguments: argparse.Namespace) -> Iterator[Row]:
    try:
        settings = Settings.of(vars(arguments))
        setup = setup_from(settings, ["candle-parity", "run"], Tree.at(kernels_folder()))
    except UsageError as error:
        yield from machine_rows(Choice(arguments.runtime))
        yield Row("todo", "runtime", f"{arguments.runtime} cannot be used", str(error), decides=True)
        return
    yield from machine_rows(setup.choice)
    chosen = f"{setup.runtime}{' (chosen by auto)' if arguments.runtime == 'auto' else ''}"
    yield Row("ok", "runtime", chosen, decides=True)
    yield from trial_rows(setup, load_specs())


def rendered(row: Row) -> str:
    """``ok  what   text``, and what to do on lines of its own."""
    indent = " " * _HEAD
    head = f"{_MARKS[row.state]}  {row.what:<{_HEAD - 4}}"
    lines = textwrap.wrap(one_line(row.text), _WIDTH, initial_indent=head, subsequent_indent=indent)
    if row.todo:
        todo = f"-> {one_line(row.todo)}"
        lines += textwrap.wrap(todo, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}   ")
    return "\n".join(lines)
