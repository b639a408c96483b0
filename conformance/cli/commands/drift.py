"""``candle-parity drift``: compare the kernels of a Candle checkout with the specs."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable
from pathlib import Path

from conformance.cli.usage import CommandParser
from conformance.option import json_file, workers
from conformance.session.selection import specs_to_edit
from conformance.spec.load import Specs, load_specs
from conformance.text import visible
from conformance.upstream.checkout import Checkout, read_checkout
from conformance.upstream.compare import Drift, compare, place
from conformance.upstream.edit import leaves_its_file, updated_specs
from conformance.upstream.stubs import file_head, stubs
from conformance.writing import write_text

EXAMPLES = (("candle-parity drift --candle path/to/candle", "what Candle has changed since the specs"),)
EXIT_CODES = "0 as the specs; 1 something differs; 2 bad usage or bad input"


def options(parser: CommandParser) -> None:
    parser.add_argument("--candle", type=Path, required=True, metavar="PATH", help="the root of a Candle checkout")
    parser.add_argument(
        "--write", action="store_true", help="update the line numbers in the specs, and print YAML for new kernels"
    )
    parser.add_argument("--json", type=json_file, metavar="F", help="write the differences as JSON")
    parser.add_argument(
        "-j", "--jobs", type=workers, metavar="N", help="how many preprocessors run at a time (default: 2)"
    )


def command(arguments: argparse.Namespace) -> int:
    folder = specs_to_edit(arguments)
    specs = load_specs(folder)
    checkout = read_checkout(arguments.candle, arguments.jobs or 2)
    drift = compare(checkout, specs)
    if arguments.json is not None:
        write_text(arguments.json, json.dumps(_answer(checkout, specs, drift), indent=1) + "\n")
    _print_differences(checkout, specs, drift)
    if not drift:
        return 0
    if arguments.write:
        _write(folder, specs, checkout, drift)
    elif drift.moved or drift.lengths or drift.new:
        print("\n--write updates the lines in the specs and prints YAML for the new kernels")
    return 1


def _answer(checkout: Checkout, specs: Specs, drift: Drift) -> dict[str, object]:
    """What ``--json`` writes; places are ``file.cu:line`` in Candle, of launchers the line that declares them."""
    called = drift.launchers
    return {
        "commit": checkout.commit,
        "specs_commit": specs.upstream_commit,
        "new": [{"name": found.name, "at": place(found)} for found in drift.new],
        "gone": [{"name": kernel.name, "was": kernel.upstream} for kernel in drift.gone],
        "changed": [
            {"name": one.kernel.name, "at": place(one.definition), "difference": one.difference}
            for one in drift.changed
        ],
        "moved": [{"name": move.kernel.name, "was": move.kernel.upstream, "at": move.place} for move in drift.moved],
        "lengths": [{"source": one.source, "was": one.was, "now": one.now} for one in drift.lengths],
        "launchers": {
            "new": [{"name": one.name, "at": one.place} for one in drift.launchers.new],
            "gone": [{"name": one.name, "was": one.upstream} for one in drift.launchers.gone],
            "changed": [{"name": one.name, "at": one.place, "difference": said} for one, said in called.changed],
        },
    }


def _print_differences(checkout: Checkout, specs: Specs, drift: Drift) -> None:
    commit = f" (commit {checkout.commit[:12]})" if checkout.commit else ""
    print(f"{visible(str(checkout.path))}{commit} against the specs of Candle {specs.upstream_commit[:12]}")
    if checkout.other_sources:
        print(f"not loaded by name, not compared: {visible(', '.join(checkout.other_sources))}")
    _section("new", [f"{found.name}  {place(found)}" for found in drift.new])
    _section("gone", [f"{kernel.name}  was {kernel.upstream}" for kernel in drift.gone])
    _section("changed", [f"{one.kernel.name}  {place(one.definition)}: {one.difference}" for one in drift.changed])
    _section("moved", [f"{move.kernel.name}  {move.kernel.upstream} -> {move.place}" for move in drift.moved])
    _section("length", [f"{one.source}  {one.was} lines -> {one.now}" for one in drift.lengths])
    called = drift.launchers
    _section("new launchers", [f"{one.name}  {one.place}" for one in called.new])
    _section("gone launchers", [f"{one.name}  was {one.upstream}" for one in called.gone])
    _section("changed launchers", [f"{one.name}  {one.place}: {said}" for one, said in called.changed])
    if not drift:
        print(f"no difference: {len(checkout.kernels)} kernels, their parameters and their lines")
    if specs.launchers and not called:
        print(f"no difference in the parameters of {len(specs.launchers)} linked launchers")


def _section(title: str, rows: Iterable[str]) -> None:
    listed = list(rows)
    if listed:
        print(f"\n{title}: {len(listed)}")
        for row in listed:
            print(f"  {visible(row)}")


def _write(folder: Path, specs: Specs, checkout: Checkout, drift: Drift) -> None:
    for path, text in updated_specs(folder, specs, drift).items():
        write_text(path, text)
        print(f"\nwrote {os.path.relpath(path)}")
    begun: set[str] = set()
    for stub in stubs(drift.new, specs):
        if stub.module not in begun:
            source = f"{stub.module}.cu"
            print(f"\n# for {folder.name}/{stub.module}.yaml" + ("" if stub.known else ", a new file"))
            if not stub.known:
                print(file_head(stub.module, source, checkout.modules.get(source, 1)))
            begun.add(stub.module)
        print(visible(stub.text))
    _section("left to do by hand", _remaining(specs, checkout, drift))


def _remaining(specs: Specs, checkout: Checkout, drift: Drift) -> Iterable[str]:
    if drift.new:
        yield f"paste the stanzas of {len(drift.new)} new kernels, replace each TODO"
    if drift.gone:
        yield f"take {len(drift.gone)} kernels that are gone out of the specs (~ in a table)"
    if drift.changed:
        yield f"follow {len(drift.changed)} changed parameter lists in the specs, cases, reference and kernels"
    called = drift.launchers
    count = len(called.new) + len(called.gone) + len(called.changed)
    if count:
        yield f"follow {count} differences of launchers in the specs, cases, reference and kernels"
    for move in drift.moved:
        if leaves_its_file(specs, move):
            yield f"move {move.kernel.name} to the spec of {move.definition.file.name}"
    if checkout.commit:
        yield f"set UPSTREAM_COMMIT in conformance/spec/load.py to {checkout.commit}"
