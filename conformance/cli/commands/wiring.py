"""``candle-parity wiring``."""

from __future__ import annotations

import argparse
import json

from candle_wiring.judge import wire
from candle_wiring.report import as_json, as_text, summary
from candle_wiring.sources import launcher_calls
from conformance.port.config import config_file_in, read_config
from conformance.port.declared.declared import declared_in
from conformance.spec.load import load_specs
from conformance.text import visible
from conformance.writing import write_text


def command(arguments: argparse.Namespace) -> int:
    specs = load_specs(arguments.specs)
    file = arguments.config or config_file_in(arguments.candle)
    names = declared_in(None if file is None else read_config(file), specs.kernels, specs.launchers).names
    wiring = wire(arguments.candle, arguments.backend, specs, arguments.load or (), names)
    called = launcher_calls(arguments.candle, specs.launchers)
    if arguments.json is not None:
        rows = [{"name": name, "wired_at": list(places)} for name, places in called.items()]
        text = json.dumps({**as_json(wiring, specs), "launchers": rows}, indent=1, ensure_ascii=False) + "\n"
        write_text(arguments.json, text)
    for line in as_text(wiring, specs):
        print(visible(line))
    if called:
        idle = [name for name, places in called.items() if not places]
        more = f"; not named: {', '.join(idle)}" if 0 < len(idle) < len(called) else ""
        named = f"{len(called) - len(idle)} of {len(called)} linked launchers"
        print(f"{named} are named by its Rust, of whatever backend{more}")
    counts = summary(wiring)
    return int(counts["wired"] < counts["total"] or bool(counts["missing"] or counts["unresolved"]))
