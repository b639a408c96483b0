"""What an installation of HIP lacks that a source asks for: nothing of the source's doing."""

from __future__ import annotations

import re
from pathlib import Path

from conformance.runtimes.rocm.hiprtc import NEWER, OF_ROCM, hip_in
from conformance.toolchains.amd import Toolchain
from conformance.toolchains.libraries import LibraryCompiler

_ABSENT = re.compile(r"fatal error: '([^']+)' file not found")
_ROOT = "--rocm-path="


def lacked(toolchain: Toolchain | LibraryCompiler, log: str) -> str | None:
    """The header of HIP's that ``toolchain`` does not have and a compilation with this ``log`` failed for, in words."""
    absent = _ABSENT.search(log)
    if absent is None or absent[1] not in OF_ROCM:
        return None
    return f"it includes <{absent[1]}>, which {_installation(toolchain)} does not have; {NEWER}"


def _installation(toolchain: Toolchain | LibraryCompiler) -> str:
    if isinstance(toolchain, Toolchain) and toolchain.minimal_headers:
        return "the minimal HIP header of candle-parity"
    words = toolchain.options if isinstance(toolchain, Toolchain) else toolchain.command
    root = next((word[len(_ROOT) :] for word in words if word.startswith(_ROOT)), None)
    return f"the HIP of {toolchain.name}" if root is None else hip_in((Path(root) / "include").resolve())
