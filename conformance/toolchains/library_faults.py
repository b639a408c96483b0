"""Known faults of known device libraries, which are in the machine code of every port that calls their functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from conformance.reading import own_yaml

_TABLE = Path(__file__).with_name("library_faults.yaml")


def library_fault(kernel: str, compiler: str | None, wrong: Sequence[str | None]) -> str | None:
    """Which fault of the device libraries that ``compiler`` names is in ``kernel``, in words, where all its ``wrong``
    values are what the fault gives."""
    libraries = re.search(r"device libraries of LLVM (\d+)", compiler or "")
    if libraries is None or not wrong:
        return None
    for row in _rows():
        is_known = row["llvm"] == libraries[1] and kernel in row["kernels"]
        if is_known and all((value or "").startswith(row["gives"]) for value in wrong):
            return (
                f"{row['function']} of the device libraries of LLVM {row['llvm']} gives {row['gives']}, which says "
                "nothing of the port; install device libraries of the compiler's own release"
            )
    return None


@cache
def _rows() -> list[dict[str, Any]]:
    return list(own_yaml(_TABLE))
