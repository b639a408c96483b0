"""Emulators of AMD GPUs that stand below the real ROCm: HIP shows their devices as it shows a GPU's."""

from __future__ import annotations

from pathlib import Path

EMULATORS: tuple[tuple[str, str], ...] = (("librocjitsu", "rocjitsu"),)
"""How the name of a library begins that an emulator loads into each process, and the emulator.

rocJITsu preloads ``librocjitsu_kmd.so``, which answers for the kernel driver, with the devices of its own process or of
a daemon (ROCm/rocm-systems, emulation/rocjitsu).
"""

_MAPS = Path("/proc/self/maps")


def emulator() -> str:
    """The emulator that is loaded into this process and the library's name, ``rocjitsu (librocjitsu_kmd.so)``; empty
    without one."""
    try:
        lines = _MAPS.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    names = {line.rpartition("/")[2] for line in lines if "/" in line}
    known = ((name, emulator) for name in sorted(names) for start, emulator in EMULATORS if name.startswith(start))
    return next((f"{emulator} ({name})" for name, emulator in known), "")
