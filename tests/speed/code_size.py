"""Compares the machine code of two trees: KiB per source, and in total, with their ratio.

python tests/speed/code_size.py OURS THEIRS

Each is a folder of code objects, one per source, as ``candle-parity build --arch gfx942 --out`` or ``nvcc -cubin``
leave them. Code is counted, without constants and symbols.
"""

from __future__ import annotations

import sys
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from tabulate import tabulate


def code_bytes(path: Path) -> int:
    """Bytes of all executable sections of an ELF file."""
    with path.open("rb") as file:
        sections = ELFFile(file).iter_sections()
        return sum(one.data_size for one in sections if one["sh_flags"] & SH_FLAGS.SHF_EXECINSTR)


def sizes(folder: Path) -> dict[str, int]:
    """Per source, by its name; raises ``ValueError`` where there is no code object."""
    found = {path.stem: code_bytes(path) for path in sorted(folder.rglob("*")) if path.suffix in (".hsaco", ".cubin")}
    if not found:
        raise ValueError(f"{folder} has no .hsaco or .cubin")
    return found


def main() -> int:
    ours, theirs = (sizes(Path(folder)) for folder in sys.argv[1:3])
    both = sorted(ours.keys() & theirs.keys())
    rows = [(name, ours[name], theirs[name]) for name in both]
    rows.append(("all of these", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    body = [(name, f"{a / 1024:,.0f}", f"{b / 1024:,.0f}", f"{a / b:.2f}") for name, a, b in rows]
    print(tabulate(body, ("source", "ours, KiB", "theirs, KiB", "ratio"), disable_numparse=True))
    for name in sorted(ours.keys() ^ theirs.keys()):
        print(f"{name} is in one of them only")
    return 0


if __name__ == "__main__":
    sys.exit(main())
