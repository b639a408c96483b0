"""Going on with a run that was cut off."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from conformance.engine.journal import Journal
from conformance.engine.messages import Setup, to_map
from conformance.engine.modes import Mode, PortMode
from conformance.engine.run import Interrupted, Result
from conformance.files import PACKAGE, REFERENCE, cache_folder
from conformance.port.digest import tree_digest
from conformance.record import Record, write_record
from conformance.spec.load import SPEC_FOLDER


def journal_of(setup: Setup, mode: Mode, arguments: argparse.Namespace) -> Journal:
    """The journal of a run with this setup and mode; says so where ``--resume`` finds nothing to go on with."""
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
        "the harness": _digest(PACKAGE, REFERENCE),
        "the specs": _digest(setup.specs or SPEC_FOLDER),
        "the kernels": [tree_digest(tree.path, tree.options) for tree in mode.trees],
        "the traces": None if mode.traces is None else _digest(mode.traces),
    }
    journal = Journal(cache_folder() / "journal", asked, judged_by)
    why = journal.resume() if arguments.resume else None
    if why is not None:
        print(f"candle-parity: --resume: {why}; the run starts from the beginning", file=sys.stderr)
    return journal


@contextmanager
def resumable(arguments: argparse.Namespace, recorded: Callable[[Result], Record], journal: Journal) -> Iterator[None]:
    """Writes the partial record of a run that is stopped, and says how to go on."""
    try:
        yield
    except Interrupted as stop:
        result = stop.result
        record = recorded(result)
        if arguments.json is not None:
            write_record(record, arguments.json)
        called = {row.name for row in record.launchers}
        parts = (("kernels", set(result.selected) - called), ("launchers", called.intersection(result.selected)))
        counts = [f"{len(names & result.outcomes.keys())} of {len(names)} {what}" for what, names in parts if names]
        judged = f"{' and '.join(counts)} are judged"
        how = "no journal could be kept" if journal.warning else "the same command with --resume goes on from there"
        print(f"candle-parity: stopped; {judged}; {how}", file=sys.stderr)
        raise stop.cause from None


def _digest(*folders: Path) -> str:
    """A hash over names and content of the files under ``folders``, but for what Python itself keeps there."""
    digest = hashlib.sha256()
    for folder in folders:
        for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            digest.update(f"{file.relative_to(folder)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]
