"""Building libamdhip64.so and libhiprtc.so of a runtime of ours, once per content of their sources."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from conformance.build.cache import cache_folder
from conformance.runtimes.cpu.toolchain import Toolchain, find_toolchain

HERE = Path(__file__).resolve().parent
INCLUDE = HERE / "include"
LIBRARIES = {"libamdhip64.so": HERE / "runtime", "libhiprtc.so": HERE / "hiprtc"}
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror")

_TARGET = {"zig": "-march=x86_64_v2"}  # zig's own spelling
_ANY_TARGET = "-march=x86-64-v2"
_LOG_LINES = 12
_SCRATCH = "building-"


class BuildError(RuntimeError):
    """Our own libraries do not build; the message holds the compiler's first lines."""


@dataclass(frozen=True)
class Plan:
    """What to build for ``runtime``: each library's sources (files, or folders with all their ``.cpp``).

    ``words`` go to the compiler; ``headers`` are further files and folders whose content the build depends on.
    ``own_support`` are the libraries that export compiler support routines, and need no other ones.
    """

    runtime: str
    sources: Mapping[str, tuple[Path, ...]]
    words: tuple[str, ...]
    headers: tuple[Path, ...]
    own_support: tuple[str, ...] = ()

    def files(self, library: str) -> list[Path]:
        """The ``.cpp`` files of ``library``."""
        places = self.sources[library]
        return sorted(file for place in places for file in ([place] if place.is_file() else place.glob("*.cpp")))


def content_hash(*places: Path) -> str:
    """A hash over ``places``, files or folders with every file under them: names and bytes."""
    digest = hashlib.sha256()
    for place in places:
        root = place.parent if place.is_file() else place
        for file in [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file()):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def host_plan() -> Plan:
    """The cpu runtime."""
    sources = {name: (home,) for name, home in LIBRARIES.items()}
    return Plan("cpu", sources, (f"-I{INCLUDE}",), (INCLUDE / "simt",), ("libamdhip64.so",))


def build(plan: Plan | None = None) -> Path:
    """The folder that holds both libraries of ``plan`` (default: ``host_plan()``), built now if they are not there yet.

    Raises ``NoCompiler`` without a compiler and ``BuildError`` when the sources do not compile. Processes that need
    a build wait for each other; what a build that was cut off left behind is removed by the next.
    """
    plan = plan or host_plan()
    toolchain = find_toolchain(links_standard_library=True)
    inputs = [place for places in plan.sources.values() for place in places]
    parts = (
        toolchain.identity,
        *FLAGS,
        _ANY_TARGET,
        plan.runtime,
        *plan.own_support,
        content_hash(*inputs, *plan.headers),
    )
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    home = cache_folder() / "runtime"
    target = home / key
    if target.is_dir():
        return target
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.is_dir():
            return target
        for cut_off in home.glob(f"{_SCRATCH}*"):
            shutil.rmtree(cut_off, ignore_errors=True)
        scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=home))
        try:
            _compile(plan, toolchain, scratch)
            os.replace(scratch, target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return target


def _compile(plan: Plan, toolchain: Toolchain, folder: Path) -> None:
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: _library(plan, toolchain, folder, name), plan.sources))


def _library(plan: Plan, toolchain: Toolchain, folder: Path, name: str) -> None:
    """One translation unit: most of the time goes into the standard headers, which are read once this way."""
    unit, code = folder / f"{name}.cpp", folder / f"{name}.o"
    unit.write_text("".join(f'#include "{source}"\n' for source in plan.files(name)))
    target = _TARGET.get(toolchain.kind, _ANY_TARGET)
    _run(plan.runtime, [*toolchain.compiler, *FLAGS, target, *plan.words, "-c", str(unit), "-o", str(code)])
    # zig's support library would hide the routines of the same names that we export to modules.
    without_support = ("-rtlib=none",) if toolchain.kind == "zig" and name in plan.own_support else ()
    words = ["-shared", f"-Wl,-soname,{name}", "-o", str(folder / name), str(code), "-lpthread", "-ldl"]
    _run(plan.runtime, [*toolchain.compiler, *words, *without_support])
    unit.unlink()
    code.unlink()


def _run(runtime: str, words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        log = "\n".join(done.stderr.splitlines()[:_LOG_LINES])
        raise BuildError(f"the {runtime} runtime does not build with {words[0]}: {log}")
