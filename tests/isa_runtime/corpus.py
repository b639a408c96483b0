"""Ordinary HIP kernels, which are compiled for AMD targets and interpreted: their answers are the cpu runtime's."""

from __future__ import annotations

import ctypes
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.toolchains.amd import Toolchain
from conformance.toolchains.targets import Target

FOLDER = Path(__file__).with_name("corpus")
FILES = tuple(sorted(file.stem for file in FOLDER.glob("*.hip")))
GRID, BLOCK, WORDS_IN, WORDS_OUT = 2, 128, 4096, 2048
"""As common.h has them."""

Words = NDArray[np.uint32]


def words_in() -> Words:
    return np.random.default_rng(5).integers(0, 1 << 32, WORDS_IN, np.uint32)


def compiled(toolchain: Toolchain, name: str, target: Target, level: str) -> bytes:
    """The code object of a file of the corpus."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "k.hsaco")
        toolchain.compile(FOLDER / f"{name}.hip", target, output, (level,))
        return output.read_bytes()


def host_answers(waves: Sequence[int], names: Sequence[str]) -> dict[int, dict[str, Words]]:
    """What each kernel of the files leaves in its words, by the lanes of a wave: for a process of its own."""
    from conformance.runtimes.cpu.control import open_cpu_runtime

    runtime = open_cpu_runtime(32, 2)
    from hip import hip, hiprtc

    def good(result: tuple[Any, ...]) -> Any:
        if int(result[0]):
            raise AssertionError(runtime.message())
        return result[1] if len(result) > 1 else None

    answers: dict[int, dict[str, Words]] = {wave: {} for wave in waves}
    for name in names:
        text = (FOLDER / f"{name}.hip").read_bytes()
        program = good(hiprtc.hiprtcCreateProgram(text, f"{name}.hip".encode(), 0, None, None))
        if int(hiprtc.hiprtcCompileProgram(program, 1, [f"-I{FOLDER}".encode()])[0]):
            log = bytearray(good(hiprtc.hiprtcGetProgramLogSize(program)))
            hiprtc.hiprtcGetProgramLog(program, log)
            raise AssertionError(log.decode())
        code = bytearray(good(hiprtc.hiprtcGetCodeSize(program)))
        hiprtc.hiprtcGetCode(program, code)
        module = good(hip.hipModuleLoadData(bytes(code)))
        kernels = [row["name"] for row in runtime.module_kernels(int(module)) or ()]
        for wave in waves:
            runtime.set_option("wave", wave)
            for kernel in kernels:
                answers[wave][kernel] = _answer(hip, good, good(hip.hipModuleGetFunction(module, kernel.encode())))
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
