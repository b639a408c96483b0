"""Ordinary HIP kernels, which are compiled for AMD targets and interpreted: their answers are the cpu runtime's.

``corpus`` has a file per theme. All kernels take words and leave words; they are compiled as one unit, because most of
the time of a short one goes into HIP's headers.
"""

from __future__ import annotations

import ctypes
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.toolchains.amd import AmdToolchain
from conformance.toolchains.targets import AmdTarget

FOLDER = Path(__file__).with_name("corpus")
FILES = tuple(sorted(file.stem for file in FOLDER.glob("*.hip")))
GRID, BLOCK, WORDS_IN, WORDS_OUT = 2, 128, 4096, 2048
"""As common.h has them."""

Words = NDArray[np.uint32]

_OPENCL = (
    *(("exp", 3), ("exp2", 3), ("exp10", 3), ("expm1", 3), ("log", 3), ("log2", 3), ("log10", 3), ("log1p", 2)),
    *(("sin", 4), ("cos", 4), ("tan", 5), ("sin_of_large", 4), ("asin", 4), ("acos", 4), ("atan", 5), ("atan2", 6)),
    *(("sinh", 4), ("cosh", 4), ("tanh", 5), ("asinh", 4), ("acosh", 4), ("atanh", 5), ("pow", 16), ("cbrt", 2)),
    *(("rsqrt", 2), ("hypot", 4), ("erf", 16), ("erfc", 16), ("tgamma", 16)),
    *(("exp_f64", 3), ("log_f64", 3), ("sin_f64", 4), ("cos_f64", 4), ("tanh_f64", 5), ("pow_f64", 16)),
    *(("erf_f64", 16), ("cbrt_f64", 2), ("atan_f64", 5)),
)
"""The errors in ulp that OpenCL C 3.0 allows ("Relative Error as ULPs"), which AMD's library is written to keep."""
_FORMULAS = (("lgamma", 4), ("normcdf", 16), ("sigmoid", 4), ("silu", 5), ("softplus", 6), ("gelu_tanh", 8))
"""Of lgamma OpenCL says nothing; normcdf is an erfc; the formulas add theirs to the function's."""
ULPS = {f"close_{name}": ulps + 1 for name, ulps in (*_OPENCL, *_FORMULAS)}
"""By kernel, what AMD's library may err in units of the last place, and one for the host's. All others are exact."""

OPTIMIZED = {"reduce_logic_of_block"}
"""Not there with -O0 from gfx10 on: in HIP's library it has instructions of gfx9, in branches that are then kept."""


def unit(names: Sequence[str] = FILES) -> str:
    """The files as one source: each in a namespace of its own, its macros forgotten behind it."""
    text = '#include "common.h"\n'
    for name in names:
        body = (FOLDER / f"{name}.hip").read_text(encoding="utf-8")
        text += f'#line 1 "{name}.hip"\nnamespace of_{name} {{\n{body}\n}}\n'
        text += "".join(f"#undef {macro}\n" for macro in re.findall(r"^#define (\w+)", body, re.M))
    return text


def compiled(toolchain: AmdToolchain, target: AmdTarget, level: str, names: Sequence[str] = FILES) -> bytes:
    """The code object of the files."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder, "corpus.hip"), Path(folder, "corpus.hsaco")
        source.write_text(unit(names), encoding="utf-8")
        toolchain.compile(source, target, output, (level, f"-I{FOLDER}"))
        return output.read_bytes()


def words_in() -> Words:
    return np.random.default_rng(5).integers(0, 1 << 32, WORDS_IN, np.uint32)


def different(kernel: str, got: Words, host: Words) -> int:
    """How many words, or floats of a kernel in ``ULPS``, are further from the host's than they may be."""
    if kernel not in ULPS:
        return int((got != host).sum())
    kind = np.int64 if kernel.endswith("_f64") else np.int32  # of one sign, these are in the floats' order
    return int((np.abs(got.view(kind) - host.view(kind)) > ULPS[kernel]).sum())


def host_answers(waves: Sequence[int], names: Sequence[str] = FILES) -> dict[int, dict[str, Words]]:
    """What each kernel leaves in its words, by the lanes of a wave: for a process of its own."""
    from conformance.runtimes.cpu.control import open_cpu_runtime

    runtime = open_cpu_runtime(32, 2)
    from hip import hip, hiprtc

    def good(result: tuple[Any, ...]) -> Any:
        assert int(result[0]) == 0, runtime.message()
        return result[1] if len(result) > 1 else None

    program = good(hiprtc.hiprtcCreateProgram(unit(names).encode(), b"corpus.hip", 0, None, None))
    if int(hiprtc.hiprtcCompileProgram(program, 1, [f"-I{FOLDER}".encode()])[0]):
        log = bytearray(good(hiprtc.hiprtcGetProgramLogSize(program)))
        hiprtc.hiprtcGetProgramLog(program, log)
        raise AssertionError(log.decode())
    code = bytearray(good(hiprtc.hiprtcGetCodeSize(program)))
    hiprtc.hiprtcGetCode(program, code)
    module = good(hip.hipModuleLoadData(bytes(code)))
    answers: dict[int, dict[str, Words]] = {}
    for wave in waves:
        runtime.set_option("wave", wave)
        answers[wave] = {
            row["name"]: _answer(hip, good, good(hip.hipModuleGetFunction(module, row["name"].encode())))
            for row in runtime.module_kernels(int(module)) or ()
        }
    return answers


def _answer(hip: Any, good: Any, function: Any) -> Words:
    given, out = words_in(), np.zeros(WORDS_OUT, np.uint32)
    pointers = [good(hip.hipMalloc(array.nbytes)) for array in (given, out)]
    for pointer, array in zip(pointers, (given, out), strict=True):
        good(hip.hipMemcpy(pointer, array, array.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
    values = tuple(ctypes.c_void_p(int(pointer)) for pointer in pointers)
    slots = (ctypes.c_void_p * 2)(*(ctypes.addressof(value) for value in values))
    good(hip.hipModuleLaunchKernel(function, GRID, 1, 1, BLOCK, 1, 1, 0, None, slots, None))
    good(hip.hipMemcpy(out, pointers[1], out.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
    for pointer in pointers:
        good(hip.hipFree(pointer))
    return out
