"""nvcc: from a source with launchers to a shared library, kernels and host code in one.

``main`` is the program that ``compiler_for`` names as the compiler: it takes clang's options and becomes nvcc.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from conformance.files import own_python
from conformance.runtimes.cpu.build import build, content_hash
from conformance.runtimes.cuda.build import cuda_plan, toolkits
from conformance.toolchains.libraries import LibraryCompiler
from conformance.toolchains.search import output_of

ENVIRONMENT = "CANDLE_PARITY_NVCC"
OLDEST = 12
"""The first release of CUDA whose nvcc is taken."""

HIP_HEADERS = Path(__file__).resolve().parent / "include"
LAST_ERROR = HIP_HEADERS / "launchers" / "last_error.h"

_PROGRAM = "from conformance.runtimes.cuda.nvcc import main; main()"
_RELEASE = re.compile(r"release (\d+)\.(\d+)")
_VARIABLES = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH", "CPLUS_INCLUDE_PATH")
"""What nvcc and its host compiler take from the environment."""

_NOT_FOR_NVCC = ("-O", "-W", "-w", "-g", "-f", "-m")
"""Beginnings of options that are clang's alone, or that nvcc is given anyway."""


@cache
def compiler_for(arch: str) -> LibraryCompiler | str:
    """The compiler of shared libraries for the GPU ``arch`` (``sm_90``), or a sentence that says what to install.

    It is the nvcc of ``CANDLE_PARITY_NVCC``, else of PATH, else of a toolkit.
    """
    named = os.environ.get(ENVIRONMENT)
    on_path = shutil.which("nvcc")
    places = [Path(on_path)] if on_path is not None else []
    places += [folder / "bin" / "nvcc" for folder in toolkits()]
    for nvcc in [Path(named)] if named else places:
        version = output_of((str(nvcc), "--version")) if os.access(nvcc, os.X_OK) else ""
        release = _RELEASE.search(version)
        if release is not None and int(release[1]) >= OLDEST:
            command = (*own_python(_PROGRAM), str(nvcc), f"--gpu-architecture={arch}")
            name = f"nvcc {release[1]}.{release[2]}"
            return LibraryCompiler(command, name, _identity(nvcc, version), is_clang=False)
    looked = f"{named} ({ENVIRONMENT})" if named else "PATH, CUDA_HOME, CUDA_PATH and /usr/local/cuda*"
    return (
        f"linked launchers are compiled by nvcc of CUDA {OLDEST} or newer, and there is none in {looked}; install a "
        f"CUDA toolkit and g++, or name its nvcc in {ENVIRONMENT}; --runtime cpu calls them without"
    )


def nvcc_flags(flags: Sequence[str]) -> list[str]:
    """nvcc's options for clang's options ``flags``, of which the last is the source. Those that mean nothing to nvcc
    are left out."""
    *options, source = flags
    given: list[str] = []
    cuda, standard, rest = source.endswith(".cu"), "c++17", iter(options)
    for word in rest:
        if word == "-x":
            cuda = next(rest, "") != "hip"
        elif word in ("-I", "-D", "-U", "-include", "-isystem", "-o"):
            given += (word, next(rest, ""))
        elif word.startswith(("-std=", "--std=")):
            standard = word.partition("=")[2].replace("gnu++", "c++")
        elif word in ("-ffast-math", "-ffp-contract=off"):
            given.append("--use_fast_math" if word == "-ffast-math" else "--fmad=false")
        elif not word.startswith(_NOT_FOR_NVCC):
            given.append(word)
    # HIP's functions are known without an include, as to hiprtc; pragmas for clang are warned of (diagnostic 161).
    hip = [] if cuda else ["-include", "hip/hip_runtime.h", "-diag-suppress", "161"]
    return [
        *("-shared", "-Xcompiler", "-fPIC", "-O3", f"-std={standard}", "--expt-relaxed-constexpr"),
        *("-include", str(LAST_ERROR), *hip, *given, "-isystem", str(HIP_HEADERS)),
        *("-isystem", str(build(cuda_plan()) / "include"), "-x", "cu", source),
    ]


def main() -> None:
    """The program ``NVCC OPTIONS... SOURCE``: translates the options and becomes nvcc."""
    nvcc, *flags = sys.argv[1:]
    os.execv(nvcc, [nvcc, *nvcc_flags(flags)])


def _identity(nvcc: Path, version: str) -> str:
    digest = hashlib.sha256(version.encode())
    digest.update(content_hash(HIP_HEADERS).encode() + build(cuda_plan()).name.encode())
    for variable in _VARIABLES:
        digest.update(f"{os.environ.get(variable, '')}\0".encode())
    digest.update(output_of((os.environ.get("NVCC_CCBIN") or "g++", "--version")).encode())
    real = nvcc.resolve().stat()
    return f"{nvcc} {real.st_size} {real.st_mtime_ns} {digest.hexdigest()[:32]}"
