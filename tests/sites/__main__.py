"""Which instruction sites of our kernels no case executes on the isa runtime, where in the sources, and why.

``python tests/sites ARCH [PATTERN...]``, patterns as those of ``run``. The sites of a kernel are the instructions that
its code can come to by branches and calls. ``reasons.yaml`` explains most that are not executed, by function and line;
exit code 1 where one of its rows explains nothing in a run of everything. With ``CANDLE_PARITY_ISA_SITES=FOLDER`` runs
add up: first the cases that are not in the matrix for their cost, which ``reasons.yaml`` lists, then the matrix.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from tabulate import tabulate

from conformance.files import kernels_folder
from conformance.port.amd_cache import compile_for
from conformance.port.code_objects import parse
from conformance.port.line_tables import Frame, LineTable, read_line_table
from conformance.port.options import NO_OPTIONS
from conformance.port.sources import find_sources
from conformance.runtimes.isa.kind import LINES, SITES
from conformance.spec.load import load_specs
from conformance.toolchains.amd import HIPCC_KINDS, find_toolchain
from conformance.toolchains.targets import targets_of

KERNELS = kernels_folder().resolve()
REASONS = Path(__file__).with_name("reasons.yaml")
NEAREST = 4
"""Functions that a place names, from the one that the instruction is of outwards."""


class Site(NamedTuple):
    """An instruction, by its offset in the code object, and whether a case has executed it."""

    offset: int
    reached: bool


@dataclass(frozen=True)
class Reason:
    """Why no case executes code of one of ``functions`` in ``file``, wherever it is inlined.

    ``text`` has parts of the source lines that are meant, ``kernels`` patterns and ``targets`` names; empty: all.
    ``tested`` says where else the code, or what is closest to it, is tested.
    """

    name: str
    why: str
    tested: str
    functions: tuple[str, ...]
    file: str
    text: Sequence[str] = ()
    kernels: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def covers(self, frames: Sequence[Frame]) -> bool:
        """Whether the code at ``frames``, the innermost first, is meant."""
        texts = [self.text] if isinstance(self.text, str) else self.text
        return any(fnmatchcase(_plain(frames[-1]), pattern) for pattern in self.kernels or ("*",)) and any(
            _plain(frame) in self.functions
            and frame.file.endswith(f"/{self.file}")
            and (not texts or any(text in _line(frame) for text in texts))
            for frame in frames
        )


class Missed(NamedTuple):
    """A site that no case has executed: the functions that it is of and inlined into, its line in the kernels, and the
    name of the first reason that covers it."""

    offset: int
    functions: str
    place: str
    reason: str | None


def read_sites(folder: Path, kernel: str) -> list[Site]:
    """What the isa runtime has written of a kernel, in the order of the code; empty where it was not launched."""
    file = folder / f"{re.sub('[^0-9A-Za-z]', '_', kernel[:200])}.sites"
    words = np.fromfile(file, "<u4").tolist() if file.exists() else []
    return [Site(word >> 1, bool(word & 1)) for word in words]


def missed(sites: Iterable[Site], table: LineTable, reasons: Sequence[Reason]) -> Iterator[Missed]:
    """The sites that were not executed. One without a line has the reason of the next one before it that has a line,
    or else behind it, with no executed one in between."""
    for reached, run in groupby(sites, key=lambda site: site.reached):
        if reached:
            continue
        found = [(site.offset, table.frames(site.offset)) for site in run]
        own = [_reason(frames, reasons) for _, frames in found]
        inherited = next((why for why, (_, frames) in zip(own, found, strict=True) if _has_line(frames)), None)
        for reason, (offset, frames) in zip(own, found, strict=True):
            inherited = reason if _has_line(frames) else inherited
            names = [_plain(frame) for frame in frames[:-1] or frames]
            ours = next((frame for frame in frames if frame.line and frame.file.startswith(f"{KERNELS}/")), None)
            place = "?" if ours is None else f"{Path(ours.file).relative_to(KERNELS)}:{ours.line}"
            yield Missed(offset, " < ".join(names[:NEAREST]) or "?", place, reason or inherited)


def _reason(frames: Sequence[Frame], reasons: Sequence[Reason]) -> str | None:
    return next((reason.name for reason in reasons if frames and reason.covers(frames)), None)


def _has_line(frames: Sequence[Frame]) -> bool:
    return bool(frames and frames[0].line)


def _plain(frame: Frame) -> str:
    """The function's name without the arguments of a template."""
    return frame.function if frame.function.startswith("operator") else frame.function.partition("<")[0]


def _line(frame: Frame) -> str:
    lines = _lines(frame.file)
    return lines[frame.line - 1] if 0 < frame.line <= len(lines) else ""


@cache
def _lines(file: str) -> list[str]:
    return Path(file).read_text(errors="replace").splitlines() if os.path.isfile(file) else []


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("arch")
    parser.add_argument("patterns", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault(SITES, folder)
        tables = _compiled(arguments.arch, Path(folder))
        command = [sys.executable, "-m", "conformance.cli.main", "run", "--runtime", "isa", "--arch", arguments.arch]
        subprocess.run([*command, "--kernels", folder, "-q", *arguments.patterns], check=False)
        return _report(Path(os.environ[SITES]), arguments.arch, tables, everything=not arguments.patterns)


def _compiled(arch: str, folder: Path) -> dict[str, LineTable]:
    """Compiles the sources of kernels into ``folder``: what runs is what the line tables, by module, are of."""
    (target,) = targets_of(arch)
    toolchain = find_toolchain([target], HIPCC_KINDS)
    sources = [source for source in find_sources(KERNELS) if source.path.stem in load_specs().modules]
    tables = {}
    for source in sources:
        words = (*LINES, "-fdebug-compilation-dir=/none")  # else paths are relative to wherever it was compiled
        code = compile_for(toolchain, source, target, NO_OPTIONS, words).code
        (folder / f"{source.path.stem}.hsaco").write_bytes(code)
        tables[source.path.stem] = read_line_table(parse(code, source.label).elf)
    return tables


def _report(folder: Path, arch: str, tables: dict[str, LineTable], everything: bool) -> int:
    reasons = [Reason(**row) for row in yaml.safe_load(REASONS.read_text())]
    modules: dict[str, Counter[str]] = {module: Counter() for module in (*tables, "all")}
    explained: Counter[str] = Counter()
    others: dict[tuple[str, str], list[str]] = {}
    for kernel in load_specs().kernels.values():
        sites = read_sites(folder, kernel.name)
        found = list(missed(sites, tables[kernel.module], reasons))
        known = [one.reason for one in found if one.reason is not None]
        explained.update(known)
        for one in found:
            if one.reason is None:
                others.setdefault((one.functions, one.place), []).append(f"{kernel.name} at {one.offset:#x}")
        for module in (kernel.module, "all"):
            modules[module].update(sites=len(sites), missed=len(found), explained=len(known))
    rows = [(name, *(count[key] for key in ("sites", "missed", "explained"))) for name, count in modules.items()]
    print(tabulate(rows, ("module", "sites", "not executed", "explained")), end="\n\n")
    print(tabulate(explained.most_common(), ("reason in reasons.yaml", "sites")), end="\n\n")
    most = sorted(others.items(), key=lambda item: -len(item[1]))
    places = [(functions, place, len(where), where[0]) for (functions, place), where in most]
    print(tabulate(places, ("without a reason: function < inlined into", "line", "sites", "first")))
    stale = [row.name for row in reasons if row.name not in explained and arch in (row.targets or (arch,))]
    for name in stale if everything else ():
        print(f"{REASONS.name}: {name!r} explains nothing for {arch}; take the row out, or give it its targets")
    return int(everything and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
