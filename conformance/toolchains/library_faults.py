"""Known faults of known device libraries and of HIP's headers, which are in the machine code of every port that calls
their functions."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from conformance.reading import own_yaml

_TABLE = Path(__file__).with_name("library_faults.yaml")
_LIBRARIES = re.compile(r"device libraries of LLVM (\d+)")
_HEADERS = re.compile(r"headers of HIP (\d+\.\d+)")
"""How a compiler's name says what it was used with."""


def library_fault(kernel: str, compiler: str | None, wrong: Sequence[str | None]) -> str | None:
    """The known fault of the device libraries that explains every wrong value of a kernel, in words; ``None`` for none.

    ``compiler`` names the compiler and its libraries. ``wrong`` has what each wrong value is.
    """
    libraries = _LIBRARIES.search(compiler or "")
    if libraries is None or not wrong:
        return None
    for row in _rows("llvm", libraries[1]):
        if kernel in row["kernels"] and all((value or "").startswith(row["gives"]) for value in wrong):
            return (
                f"{row['function']} of the device libraries of LLVM {row['llvm']} gives {row['gives']}, which says "
                "nothing of the port; install device libraries of the compiler's own release"
            )
    return None


def header_fault(compiler: str | None, calls: Collection[str], elements: Collection[str]) -> str | None:
    """The known fault of HIP's headers that explains the wrong elements of a kernel, in words; ``None`` for none.

    ``compiler`` names the headers, ``calls`` are the functions that were inlined into the kernel, and ``elements`` the
    kinds of its wrong elements.
    """
    headers = _HEADERS.search(compiler or "")
    if headers is None or not elements:
        return None
    for row in _rows("hip", headers[1]):
        called = next((function for function in row["functions"] if function in calls), None)
        if called is not None and set(elements) <= set(row["elements"]):
            return (
                f"{called} of the headers of HIP {row['hip']} gives {row['gives']}, which says nothing of the port; "
                "install the headers of a newer HIP"
            )
    return None


def _rows(key: str, release: str) -> list[dict[str, Any]]:
    """The rows of what is told by ``key``, of a release."""
    return [row for row in _table() if row.get(key) == release]


@cache
def _table() -> list[dict[str, Any]]:
    return list(own_yaml(_TABLE))
