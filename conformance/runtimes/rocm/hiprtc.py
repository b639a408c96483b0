"""What AMD's hiprtc needs beyond a source's options, and how its log reads.

HIP's headers: ROCm's own, last of all folders, and what stands in where there are none.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from conformance.toolchains.headers import HEADER_PACKAGES, NEWER_ROCM, OF_ROCM, hip_in

_OF_COMGR = r"/comgr-[\w-]+/(?:input/|include/)?"
_ABSENT = re.compile(r"fatal error: '([^']+)' file not found")


def folder_flags(folders: Sequence[str], rocm: Sequence[str]) -> tuple[str, ...]:
    """The options for include folders: those of a source (``folders``), then ROCm's (``rocm``), then our stand-ins.

    So a port's own headers come first.
    """
    return (*folders, *rocm, f"-I{stand_ins()}")


def stand_ins() -> Path:
    """A new temporary folder of empty headers, named as those whose content hiprtc supplies itself."""
    from conformance.runtimes.cpu.build import forwarding_headers, write_headers

    folder = Path(tempfile.mkdtemp(prefix="candle-parity-"))
    write_headers(forwarding_headers("rocm", folder), folder)
    return folder


def missing_header(log: str, flags: Sequence[str]) -> str | None:
    """The header of ROCm's that a compilation with this ``log`` failed for, in words, and why it is missing.

    ROCm's headers are not installed, or they are of a release without it. ``None`` where the source is at fault.
    ``flags`` are the compiler's options.
    """
    absent = _ABSENT.search(log)
    if absent is None or absent[1] not in OF_ROCM:
        return None
    folder = _headers(flags)
    if folder is not None:
        return f"it includes <{absent[1]}>, which {hip_in(folder)} does not have; {NEWER_ROCM}"
    return (
        f"it includes <{absent[1]}>, which hiprtc does not supply, and ROCm's headers are not installed; install "
        f"{HEADER_PACKAGES}, or name ROCm's folder in ROCM_PATH"
    )


def without_comgr(log: str) -> str:
    """``log`` with the files that comgr (ROCm's compiler as a library) wrote for itself under the names that it was
    given: ``kernels/unary.hip`` for ``/tmp/comgr-5fa825/input/kernels/unary.hip``."""
    bases = {tempfile.gettempdir(), str(Path(tempfile.gettempdir()).resolve()), "/tmp"}
    found = "|".join(re.escape(base.rstrip("/")) for base in sorted(bases, key=len, reverse=True))
    return re.sub(f"(?:{found}){_OF_COMGR}", "", log)


def _headers(flags: Sequence[str]) -> Path | None:
    """The folder among ``flags`` with HIP's own headers."""
    folders = [Path(flag[2:]) for flag in flags if flag.startswith("-I")]
    return next((folder for folder in folders if (folder / "hip/hip_version.h").is_file()), None)
