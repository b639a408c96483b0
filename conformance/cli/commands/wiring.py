"""``candle-parity wiring``: find the kernels that Candle's Rust code asks for, and compare them with the specs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from candle_wiring.judge import Ask, Wiring, wire
from candle_wiring.libraries import library_calls
from candle_wiring.report import as_json, as_text, summary
from candle_wiring.sources import launcher_calls
from conformance.cli.usage import CommandParser
from conformance.engine.modes import Tree
from conformance.option import json_file
from conformance.port.check.objects import object_under_candles_names, read_objects
from conformance.port.check.source import read_tree, under_candles_names
from conformance.port.config import config_file_in, read_config
from conformance.port.declared.declared import declared_in
from conformance.record.launched import launches_by_program
from conformance.session.setup import tree_at
from conformance.settings import Settings
from conformance.spec.load import load_specs
from conformance.text import visible
from conformance.writing import write_text

EXAMPLES = (("candle-parity wiring --candle path/to/candle", "which kernels are asked for, with file and line"),)
EXIT_CODES = "0 every kernel is asked for; 1 some are not, or are not in the specs; 2 bad usage or bad input"


def options(parser: CommandParser) -> None:
    parser.add_argument("--candle", type=Path, required=True, metavar="PATH", help="the root of a Candle checkout")
    parser.add_argument(
        "--backend",
        default="cuda_backend",
        metavar="B",
        help="the backend: a folder of candle-core/src, or a path (default: cuda_backend)",
    )
    parser.add_argument(
        "--load",
        action="append",
        metavar="FN",
        help="one more Rust function that loads a kernel by name; may be given several times",
    )
    parser.add_argument(
        "--launched", action="append", type=Path, default=[], metavar="DIR", help="a recording of capture, as evidence"
    )
    parser.add_argument("--json", type=json_file, metavar="F", help="write the wiring as JSON")


def command(arguments: argparse.Namespace) -> int:
    specs = load_specs(arguments.specs)
    file = arguments.config or config_file_in(arguments.candle)
    config = None if file is None else read_config(file)
    names = declared_in(config, specs.kernels, specs.launchers).names
    wiring = wire(arguments.candle, arguments.backend, specs, arguments.load or (), names)
    settings = Settings.of(vars(arguments))
    absent = None if settings.kernels is None else _absent(wiring, tree_at(settings.kernels, settings, specs, config))
    launched = launches_by_program(arguments.launched)
    called = launcher_calls(arguments.candle, specs.launchers)
    libraries = library_calls(arguments.candle, arguments.backend)
    if arguments.json is not None:
        rows = [{"name": name, "wired_at": list(places)} for name, places in called.items()]
        data = {**as_json(wiring, specs, absent, launched), "launchers": rows, "libraries": libraries.as_json()}
        write_text(arguments.json, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    for line in as_text(wiring, specs, absent, launched):
        print(visible(line))
    if called:
        idle = [name for name, places in called.items() if not places]
        more = f"; not named: {', '.join(idle)}" if 0 < len(idle) < len(called) else ""
        named = f"{len(called) - len(idle)} of {len(called)} linked launchers"
        print(f"{named} are named by its Rust, of whatever backend{more}")
    for line in libraries.as_text():
        print(visible(line))
    counts = summary(wiring)
    return int(counts["wired"] < counts["total"] or bool(counts["missing"] or counts["unresolved"] or absent))


def _absent(wiring: Wiring, tree: Tree) -> dict[str, tuple[Ask, ...]]:
    """What is asked for by name and defined in no source of ``tree``, with who asks."""
    texts = [source for source in tree.sources if not source.is_code_object]
    found = under_candles_names(read_tree(texts, tree.options), tree.declared.names).definitions.values()
    defined = {definition.name for definitions in found for definition in definitions}
    objects = [
        one for source in tree.sources if source.is_code_object for one in read_objects(source.path, source.label)
    ]
    for one in objects:
        defined |= object_under_candles_names(one, tree.declared.names).code.kernels.keys()
    asked = {**wiring.kernels, **{one.name: one.asks for one in (*wiring.missing, *wiring.beyond)}}
    return {name: tuple(asks) for name, asks in asked.items() if asks and name not in defined}
