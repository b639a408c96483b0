"""Where ROCm's libraries lie on this machine. Nothing is opened here.

The order is hip-python's own where it has one: the wheels of rocm-sdk, ROCM_PATH, ROCM_HOME, /opt/rocm; then other
releases in /opt, LD_LIBRARY_PATH, the dynamic linker's cache, and the distribution's library folders.
"""

from __future__ import annotations

import mmap
import os
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from conformance.toolchains.search import rocm_folders

HIP, RTC, COMGR = "libamdhip64.so", "libhiprtc.so", "libamd_comgr.so"

_WHEELS = ("_rocm_sdk_core", "_rocm_sdk_devel")
"""Packages of the wheels rocm-sdk-core and rocm-sdk-devel."""

_OURS = (b"hipcpuLastMessage", b"hipcudaLastMessage")
"""Exports of this harness's own runtimes, whose libraries have AMD's names."""

DISTRIBUTION = (Path("/usr/lib", sysconfig.get_config_var("MULTIARCH") or ""), *(Path("/usr/lib64"), Path("/usr/lib")))
LINKER_CACHE = Path("/etc/ld.so.cache")


@dataclass(frozen=True)
class Installation:
    """A libamdhip64, with the libhiprtc and the headers that belong to it.

    ``origin`` says how it was found. ``include`` is the folder with ``hip/hip_runtime.h``; ``None`` where ROCm's
    headers are not installed.
    """

    origin: str
    hip: Path
    rtc: Path | None
    include: Path | None

    def __str__(self) -> str:
        lacks = "" if self.rtc else ", without libhiprtc"
        return f"{self.hip} ({self.origin}{lacks})"

    def identity(self) -> str:
        """A text that changes with every file that compiles or runs kernels: paths, sizes and times. Cache keys contain
        it."""
        comgr = newest(self.hip.parent, COMGR)
        files = [file.resolve() for file in (self.hip, self.rtc, comgr) if file is not None]
        return " ".join(f"{file} {(facts := file.stat()).st_size} {facts.st_mtime_ns}" for file in files)


def installations() -> list[Installation]:
    """Every installation on this machine, the one to use first; each library once."""
    # One that cannot compile is taken only where there is no other.
    return sorted(_found(), key=lambda one: one.rtc is None)


def chosen() -> Installation | None:
    """The installation that is used."""
    lacking: list[Installation] = []
    for one in _found():
        if one.rtc is not None:
            return one
        lacking.append(one)
    return next(iter(lacking), None)


def _found() -> Iterator[Installation]:
    seen: set[Path] = set()
    for origin, folder in _folders():
        hip = newest(folder, HIP)
        if hip is None or hip.resolve() in seen or _is_ours(hip):
            continue
        seen.add(hip.resolve())
        yield Installation(origin, hip, newest(folder, RTC), _headers(folder))


def vendor_candidates(what: str) -> list[str]:
    """HIP's and ROCm's ``blas`` or ``rand`` that are used, then names for the linker to look for."""
    one, names = chosen(), (f"libhip{what}.so", f"libroc{what}.so")
    folders = [] if one is None else [one.hip.parent, *one.hip.parents[2].glob("_rocm_sdk_libraries*/lib")]
    found = [newest(folder, name) for name in names for folder in folders]
    return [*(str(path) for path in found if path is not None), *names]


def newest(folder: Path, name: str) -> Path | None:
    """The library ``name`` in ``folder``, or the highest of its versions (``libamdhip64.so.7``), if any."""
    if (folder / name).is_file():
        return folder / name
    try:
        versions = [path for path in folder.glob(f"{name}.*") if path.is_file()]
    except OSError:
        return None
    return max(versions, key=_version, default=None)


def _folders() -> Iterator[tuple[str, Path]]:
    """Folders to look into, each with the words for how it was found."""
    for origin, root in rocm_folders(_WHEELS, ("ROCM_PATH", "ROCM_HOME")):
        yield from ((origin, root / lib) for lib in ("lib", "lib64"))
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder:
            yield "LD_LIBRARY_PATH", Path(folder)
    for library in _cached_by_the_linker():
        yield "the dynamic linker's cache", library.parent
    yield from (("the distribution's library folder", folder) for folder in DISTRIBUTION)


def _cached_by_the_linker() -> list[Path]:
    """The libamdhip64 libraries that the linker's cache names; its paths are plain text between NUL bytes."""
    try:
        content = LINKER_CACHE.read_bytes()
    except OSError:
        return []
    return [Path(os.fsdecode(path)) for path in re.findall(rb"/[^\0]*/libamdhip64\.so[.\d]*", content)]


def _headers(folder: Path) -> Path | None:
    """The include folder of the installation that has its libraries in ``folder``."""
    place = folder.resolve()  # /lib is a link where the headers are next to /usr/lib
    roots = (folder.parent, place.parent, place.parent.parent)
    return next((root / "include" for root in roots if (root / "include/hip/hip_runtime.h").is_file()), None)


@cache
def _is_ours(library: Path) -> bool:
    try:
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(content.find(name) >= 0 for name in _OURS)
    except (OSError, ValueError):  # cannot be read, or is empty
        return False


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", path.name.partition("libamdhip64")[2] or path.name))
