"""Telling hip-python (7.2 to 10) which HIP libraries to open, and seeing that it has opened no others.

hip-python opens libamdhip64 and libhiprtc at its first call, by rules of its own: 7.2 by the bare name, 10 by a path
that it looks for, in /opt/rocm among others. A machine with ROCm would so run AMD's library where ours is meant.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

_MAPS = Path("/proc/self/maps")


class WrongLibrary(RuntimeError):
    """This process has loaded another libamdhip64 than the one that was meant, or several."""


def bind(hip: Path, rtc: Path | None) -> None:
    """Have hip-python open the libraries ``hip`` and ``rtc``. Call it before any function of hip-python.

    Raises ``RuntimeError``, which names the package, where hip-python is not installed.
    """
    libraries = {"amdhip64": hip, "hiprtc": rtc} if rtc is not None else {"amdhip64": hip}
    # Both, where both are: 7.2 installed over 10 leaves the packages that 10 had brought.
    bound = [_bind_7(libraries), _bind_10(libraries)]
    if not any(bound):
        raise RuntimeError("hip-python cannot be imported; install it with: pip install hip-python")


def check_bound(hip: Path) -> None:
    """Raises ``WrongLibrary`` unless ``hip`` is the only libamdhip64 in this process."""
    mapped = sorted(set(re.findall(r"/\S*/libamdhip64\.so\S*", _MAPS.read_text(errors="surrogateescape"))))
    if [os.path.realpath(path) for path in mapped] != [os.path.realpath(hip)]:
        raise WrongLibrary(
            f"hip-python was to use {hip}, but this process has {' and '.join(mapped) or 'no libamdhip64'}; unset "
            "LD_PRELOAD, and give ROCM_PATH and LD_LIBRARY_PATH the same ROCm"
        )


def _bind_7(libraries: dict[str, Path]) -> bool:
    """hip-python 7.2 opens what these attributes name."""
    try:
        from hip import chip, chiprtc
    except ImportError:
        return False
    chip.DLL = os.fsencode(libraries["amdhip64"])
    if "hiprtc" in libraries:
        chiprtc.DLL = os.fsencode(libraries["hiprtc"])
    return True


def _bind_10(libraries: dict[str, Path]) -> bool:
    """hip-python 10 asks this function for the path of a library when it first needs it."""
    try:
        from rocm.bindings.util import paths
    except ImportError:
        return False
    original = paths.get_library_path

    def get_library_path(name: str, *rest: Any) -> bytes:
        return os.fsencode(libraries[name]) if name in libraries else original(name, *rest)

    paths.get_library_path = get_library_path
    return True
