"""Which linked launchers the Rust sources of a checkout name: they are linked, so a name is all that a call needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from conformance.reading import read_bytes
from conformance.spec.kernel import Kernel

_MOST = 8 << 20
_DECLARED = "ffi.rs"
"""The file with the declarations, which call nothing."""

_LEFT_OUT = frozenset(("target", "tests", "benches", "examples", ".git"))
_COMMENT = re.compile(r"//.*")


def launcher_calls(candle: Path, launchers: Mapping[str, Kernel]) -> dict[str, tuple[str, ...]]:
    """For each of ``launchers`` where the Rust of the checkout ``candle`` names it, as ``FILE:LINE``; nowhere: empty.

    Comments, tests and the file that declares them are left out.
    """
    found: dict[str, list[str]] = {name: [] for name in launchers}
    names = re.compile(rf"\b(?:{'|'.join(map(re.escape, launchers))})\b") if launchers else None
    for file in sorted(candle.rglob("*.rs")) if names is not None else ():
        inside = file.relative_to(candle)
        if file.name == _DECLARED or not _LEFT_OUT.isdisjoint(inside.parts):
            continue
        try:
            text = read_bytes(file, _MOST).decode("utf-8", "replace")
        except OSError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for match in names.finditer(_COMMENT.sub("", line)) if names is not None else ():
                found[match[0]].append(f"{inside.as_posix()}:{number}")
    return {name: tuple(places) for name, places in found.items()}
