"""The table of docs/runtimes.md with the instructions that the interpreter knows of what LLVM's assembler has.

``python -m tests.isa_runtime.known_page`` writes it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from conformance.files import ROOT
from conformance.runtimes.cpu.build import build
from conformance.runtimes.isa.build import isa_plan
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.opcodes import TARGETS, written

PAGE = ROOT / "docs" / "runtimes.md"
CLASSES = ("scalar", "vector", "matrices", "LDS", "memory", "buffers")
_OF_ENCODING = {"DS": 3, "FLAT": 4, "GLOBAL": 4, "SCRATCH": 4, "SMEM": 4, "MUBUF": 5}
_TABLE = re.compile(r"\|mnemonics.*?\n\n", re.DOTALL)

Meanings = Callable[[str], list[tuple[str, int, str]]]


def class_of(encoding: str, name: str) -> str:
    if re.match(r"v_(mfma|smfmac|wmma|swmmac)", name):
        return CLASSES[2]
    return CLASSES[_OF_ENCODING.get(encoding, 0 if encoding.startswith("SOP") else 1)]


def _counted(rows: list[tuple[str, int, str]]) -> Counter[str]:
    """By class, each mnemonic once."""
    return Counter({name: class_of(encoding, name) for encoding, _, name in rows}.values())


def table(meanings: Meanings) -> str:
    counts = {target: (_counted(meanings(target)), _counted(written(target))) for target in TARGETS}
    lines = [f"|mnemonics|{'|'.join(TARGETS)}|", f"|---|{'---|' * len(TARGETS)}"]
    for name in CLASSES:
        cells = [f"{known[name]}/{every[name]}" if every[name] else "" for known, every in counts.values()]
        lines.append(f"|{name}|{'|'.join(cells)}|")
    return "\n".join(lines) + "\n\n"


def with_table(text: str, meanings: Meanings) -> str:
    return _TABLE.sub(lambda _: table(meanings), text, count=1)


def main() -> None:
    machine = Machine(build(isa_plan()))
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), machine.meanings), encoding="utf-8")
    machine.close()


if __name__ == "__main__":
    main()
