"""What an installation of HIP lacks that a source asks for: nothing of the source's doing."""

from __future__ import annotations

import re
from pathlib import Path

from conformance.runtimes.rocm.hiprtc import OF_ROCM
from conformance.toolchains.amd import Toolchain

_ABSENT = re.compile(r"fatal error: '([^']+)' file not found")
_VERSION = re.compile(r"^#define HIP_VERSION_(MAJOR|MINOR) +(\d+)", re.MULTILINE)
_ROOT = "--rocm-path="


def lacked(toolchain: Toolchain, log: str) -> str | None:
    """The header of HIP's that ``toolchain`` does not have and a compilation with this ``log`` failed for, in words."""
    absent = _ABSENT.search(log)
    if absent is None or absent[1] not in OF_ROCM:
        return None
    return (
        f"it includes <{absent[1]}>, which {_installation(toolchain)} does not have; this says nothing of the port: "
        "install a newer ROCm, or name its folder in ROCM_PATH"
    )


def _installation(toolchain: Toolchain) -> str:
    """``HIP 5.2 in /usr/include``, as far as it can be told."""
    if toolchain.minimal_headers:
        return "the minimal HIP header of candle-parity"
    root = next((word[len(_ROOT) :] for word in toolchain.options if word.startswith(_ROOT)), None)
    if root is None:
        return f"the HIP of {toolchain.name}"
    include = (Path(root) / "include").resolve()
    try:
        found = dict(_VERSION.findall((include / "hip/hip_version.h").read_text(errors="replace")))
    except OSError:
        found = {}
    version = f" {found['MAJOR']}.{found['MINOR']}" if len(found) == 2 else ""
    return f"HIP{version} in {include}"
