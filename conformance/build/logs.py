"""Compilers' messages in the same words in every run: without the names of temporary folders."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

ENDED_BY = "the compiler was ended by signal "
"""How the last line of a log tells that a compiler did not end by itself; the cpu runtime's hiprtc writes it, too."""

_OF_COMGR = r"/comgr-[\w-]+/(?:input/|include/)?"


def without_comgr(log: str) -> str:
    """``log`` with the files that comgr (ROCm's compiler as a library) wrote for itself under the names that it was
    given: ``kernels/unary.hip`` for ``/tmp/comgr-5fa825/input/kernels/unary.hip``."""
    bases = {tempfile.gettempdir(), str(Path(tempfile.gettempdir()).resolve()), "/tmp"}
    found = "|".join(re.escape(base.rstrip("/")) for base in sorted(bases, key=len, reverse=True))
    return re.sub(f"(?:{found}){_OF_COMGR}", "", log)


def without_copy(log: str, copy: Path, label: str) -> str:
    """``log`` of a compiler that was given a ``copy`` of the source ``label``; nothing else of its folder is named."""
    return log.replace(str(copy), label).replace(f"{copy.parent}/", "")
