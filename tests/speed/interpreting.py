"""How fast the isa runtime interprets: instructions of waves a second of one core, in a process of its own."""

from __future__ import annotations

import ctypes
import multiprocessing
import time

import numpy as np

from conformance.files import kernels_folder
from conformance.port.amd_cache import compile_cached
from conformance.runtimes.isa.control import open_isa_runtime
from conformance.toolchains.amd import find_toolchain
from conformance.toolchains.errors import AmdError
from conformance.toolchains.targets import targets_of

_ELEMENTS, _BLOCK = 1 << 20, 1024
_KERNELS = ("uneg_f32", "uerf_f32")


def interpreted(target: str) -> list[tuple[str, float]]:
    """Kernel of ``unary.hip`` and millions of wave instructions a second; empty without a compiler for ``target``."""
    (wanted,) = targets_of(target)
    try:
        toolchain = find_toolchain([wanted])
    except AmdError:
        return []
    code = compile_cached(toolchain, kernels_folder() / "unary.hip", wanted).code
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (code, target))


def _measured(code: bytes, target: str) -> list[tuple[str, float]]:
    runtime = open_isa_runtime(target, 1)
    hip = ctypes.CDLL(str(runtime.library))
    module = ctypes.c_void_p()
    assert hip.hipModuleLoadData(ctypes.byref(module), code) == 0, runtime.message()
    data = np.random.default_rng(1).normal(size=_ELEMENTS).astype(np.float32)
    buffers = [ctypes.c_void_p(), ctypes.c_void_p()]
    for buffer in buffers:
        assert hip.hipMalloc(ctypes.byref(buffer), ctypes.c_size_t(data.nbytes)) == 0
        assert hip.hipMemcpy(buffer, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes), 1) == 0
    slots = [ctypes.c_size_t(_ELEMENTS), ctypes.c_size_t(1), ctypes.c_void_p(), *buffers]
    pointers = (ctypes.c_void_p * len(slots))(*map(ctypes.addressof, slots))
    found = []
    for name in _KERNELS:
        function = ctypes.c_void_p()
        assert hip.hipModuleGetFunction(ctypes.byref(function), module, name.encode()) == 0
        rates = []
        for _ in range(3):
            before, started = runtime.executed(), time.process_time()
            shape = (_ELEMENTS // _BLOCK, 1, 1, _BLOCK, 1, 1, 0)
            assert hip.hipModuleLaunchKernel(function, *shape, None, pointers, None) == 0, runtime.message()
            rates.append((runtime.executed() - before) / (time.process_time() - started) / 1e6)
        found.append((name, max(rates)))
    return found
