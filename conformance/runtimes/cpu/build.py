"""Building libamdhip64.so and libhiprtc.so for the host, once per content of their sources."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
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


def content_hash(*folders: Path) -> str:
    """A hash over every file under ``folders``, names and bytes."""
    digest = hashlib.sha256()
    for folder in folders:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def build() -> Path:
    """The folder that holds both libraries, built now if they are not there yet.

    Raises ``NoCompiler`` without a compiler and ``BuildError`` when the sources do not compile. Processes that need
    a build wait for each other; what a build that was cut off left behind is removed by the next.
    """
    toolchain = find_toolchain(links_standard_library=True)
    parts = (toolchain.identity, *FLAGS, _ANY_TARGET, content_hash(*LIBRARIES.values(), INCLUDE / "simt"))
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
            _compile(toolchain, scratch)
            os.replace(scratch, target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return target


def _compile(toolchain: Toolchain, folder: Path) -> None:
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: _library(toolchain, folder, name), LIBRARIES))


def _library(toolchain: Toolchain, folder: Path, name: str) -> None:
    """One translation unit: most of the time goes into the standard headers, which are read once this way."""
    unit, code = folder / f"{name}.cpp", folder / f"{name}.o"
    unit.write_text("".join(f'#include "{source}"\n' for source in sorted(LIBRARIES[name].glob("*.cpp"))))
    target = _TARGET.get(toolchain.kind, _ANY_TARGET)
    _run([*toolchain.compiler, *FLAGS, target, f"-I{INCLUDE}", "-c", str(unit), "-o", str(code)])
    words = ["-shared", f"-Wl,-soname,{name}", "-o", str(folder / name), str(code), "-lpthread", "-ldl"]
    _run([*toolchain.compiler, *words])
    unit.unlink()
    code.unlink()


def _run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        log = "\n".join(done.stderr.splitlines()[:_LOG_LINES])
        raise BuildError(f"the cpu runtime does not build with {words[0]}: {log}")
