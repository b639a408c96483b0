"""``candle-parity list``: list the kernels of the specs with parameters and case counts."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tabulate import tabulate

from conformance.cases import case_count, cases_for
from conformance.cli.ending import screen
from conformance.cli.usage import OVER_CASES, CommandParser, take_patterns
from conformance.errors import UsageError
from conformance.option import OUTPUT, STDOUT, json_file
from conformance.port.config import config_file_in, read_config
from conformance.session.pinned import pinned_cases
from conformance.session.selection import check_cases, counts_by_entry, select
from conformance.session.setup import specs_from
from conformance.settings import Settings
from conformance.spec.kernel import Kernel
from conformance.text import shortened
from conformance.writing import write_text

EXAMPLES = (
    ("candle-parity list 'u*_f16'", "kernels, parameters and counts of cases"),
    ("candle-parity list uexp_f32 --cases", "case ids"),
)


def options(parser: CommandParser) -> None:
    take_patterns(parser, OVER_CASES)
    output = parser.group(OUTPUT)
    output.add_argument("--cases", action="store_true", help="print the case ids of each kernel")
    output.add_argument(
        "--json",
        nargs="?",
        type=json_file,
        const=STDOUT,
        metavar="F",
        help="write kernels, parameters and cases as JSON (without F, or with -: print it)",
    )


def command(arguments: argparse.Namespace) -> int:
    settings = Settings.of(vars(arguments))
    file = settings.config or config_file_in(Path())
    config = None if file is None else read_config(file)
    specs = specs_from(settings, config)
    pinned = pinned_cases(settings, config, specs).cases
    _check_file(arguments.json, [*specs.entries])
    named = bool(arguments.patterns or arguments.module)
    kernels, chosen = select(specs, arguments.patterns, arguments.module, launchers=named, pinned=pinned)
    check_cases(specs, chosen, pinned)
    ids = chosen
    if arguments.cases:
        every = {kernel.name: (*cases_for(kernel), *pinned.get(kernel.name, ())) for kernel in kernels}
        ids = {name: chosen.get(name) or tuple(case.id for case in cases) for name, cases in every.items()}
    counts = {
        kernel.name: len(ids[kernel.name])
        if kernel.name in ids
        else case_count(kernel) + len(pinned.get(kernel.name, ()))
        for kernel in kernels
    }
    if arguments.json is not None:
        answer = [_row(kernel, counts[kernel.name], ids if arguments.cases else {}) for kernel in kernels]
        write_text(arguments.json, json.dumps({"kernels": answer}, indent=1) + "\n")
        return 0
    total = f"{', '.join(counts_by_entry(kernels))}, {sum(counts.values())} cases"
    if not named and specs.launchers:
        total += f"; {len(specs.launchers)} launchers besides: --module {' --module '.join(specs.launcher_modules)}"
    if arguments.cases:
        print("\n".join(case for kernel in kernels for case in ids[kernel.name]))
    else:
        rows = [(kernel.module, kernel.name, counts[kernel.name], _parameters(kernel)) for kernel in kernels]
        # With the alignment said, tabulate does not look for numbers in every cell.
        align = ("left", "left", "right", "left")
        table = tabulate(rows, ("module", "kernel", "cases", "parameters"), disable_numparse=True, colalign=align)
        print("\n".join(shortened(line, screen().width) for line in table.splitlines()))
        print(f"\n{total}")
    return 0


def _check_file(path: Path | None, names: Sequence[str]) -> None:
    """Raises ``UsageError`` for a pattern that stands where ``--json`` takes the name of a file."""
    word = "" if path is None or path == STDOUT else str(path)
    if word in names or re.search(r"[*?()]", word):
        raise UsageError(f"list --json {word}: --json takes the name of a file; give {word} first, or --json - {word}")


def _row(kernel: Kernel, count: int, ids: Mapping[str, Sequence[str]]) -> dict[str, object]:
    params = [{"name": p.name, "dtype": p.dtype, "pointer": p.pointer} for p in kernel.params]
    row = {"name": kernel.name, "module": kernel.module, "family": kernel.family, "cases": count, "params": params}
    row |= {"own": True} if kernel.own is not None else {}
    return {**row, "case_ids": list(ids[kernel.name])} if kernel.name in ids else row


def _parameters(kernel: Kernel) -> str:
    return ", ".join(f"{p.name}: {p.dtype.rstrip('*')}{'*' if p.pointer else ''}" for p in kernel.params)
