"""The kernel headers, compiled for the host as array functions that numpy can call."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "conformance" / "runtimes" / "cpu" / "include"

Array = np.ndarray[Any, np.dtype[Any]]

CLANG = ["-fexcess-precision=16", "-fno-strict-float-cast-overflow", "-fdeclspec"]
# Each is a way in which the same headers are compiled: another compiler, or a processor without half conversions.
VARIANTS: dict[str, list[str]] = {
    "clang": ["clang++", "-march=native", "-mno-avx512fp16", "-mno-avx512bf16", "-mno-avxneconvert", *CLANG],
    "clang-portable": ["clang++", "-march=x86-64", *CLANG],
    "gcc": ["g++", "-march=native", "-mno-avx512fp16", "-Wno-attributes"],
}


def find_compiler(name: str) -> str | None:
    """Path of a compiler by its plain name, with or without a version behind it."""
    for suffix in ("", "-19", "-20", "-18", "-12", "-13"):
        if path := shutil.which(name + suffix):
            return path
    return None


class Probe:
    """Calls an exported function on numpy arrays; every input array has the same length."""

    def __init__(self, library: Path, variant: str) -> None:
        self.library = ctypes.CDLL(os.fspath(library))
        self.variant = variant

    def has(self, name: str) -> bool:
        return hasattr(self.library, name)

    def __call__(self, name: str, result: Any, *inputs: Array) -> Array:
        """The function's output, as dtype `result`, for input arrays of the dtypes that it reads."""
        function: Callable[..., None] = getattr(self.library, name)
        arrays = [np.ascontiguousarray(array) for array in inputs]
        output = np.empty(arrays[0].shape, dtype=result)
        assert all(array.shape == arrays[0].shape for array in arrays)
        function(ctypes.c_long(output.size), *(ctypes.c_void_p(a.ctypes.data) for a in [*arrays, output]))
        return output


@pytest.fixture(scope="session", params=list(VARIANTS))
def probe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Probe:
    """The headers as compiled by one compiler."""
    name, *flags = VARIANTS[request.param]
    compiler = find_compiler(name)
    if compiler is None:
        pytest.skip(f"no {name} on this machine: the headers are not tested with it")
    library = tmp_path_factory.mktemp("headers") / f"{request.param}.so"
    command = [compiler, "-std=gnu++20", "-O2", "-fPIC", "-shared", "-ffp-contract=fast", "-fno-math-errno", *flags]
    command += ["-fno-exceptions", "-I", str(INCLUDE), "-include", "simt/cuda_prelude.h"]
    command += ["-isystem", str(INCLUDE / "nvidia")]
    command += ["-Wl,-Bsymbolic"]  # the runtime, which other tests may have loaded, defines the same names
    command += [str(Path(__file__).with_name("probe.cpp")), "-o", str(library), "-lm"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return Probe(library, request.param)
