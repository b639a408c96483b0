"""A program that loads the CUDA driver itself and launches urelu_f32: ``cuda_launcher.py [CODE] [HOW]``.

CODE is a file with the kernel, which the driver compiles (PTX); HOW is how it is launched: ``plain``, ``ex``, ``asked``
(by the address that the driver tells), or ``graph``: once while a stream is captured into a graph, and once after that.
It knows nothing of the harness.
"""

from __future__ import annotations

import ctypes
import sys

CUDA = ctypes.CDLL("libcuda.so.1")
ELEMENTS = 1000


def check(error: int) -> None:
    if error:
        sys.exit(f"error {error}")


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        *((name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")),
        *(("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint)),
    )


def begin() -> None:
    """Make the first device's context this thread's."""
    check(CUDA.cuInit(0))
    if hasattr(CUDA, "cuDevicePrimaryCtxRetain"):
        context = ctypes.c_void_p()
        check(CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        check(CUDA.cuCtxSetCurrent(context))


def memory() -> ctypes.c_uint64:
    """Floats on the device."""
    address = ctypes.c_uint64()
    check(CUDA.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * ELEMENTS)))
    content = (ctypes.c_float * ELEMENTS)(*range(-ELEMENTS // 2, ELEMENTS // 2))
    check(CUDA.cuMemcpyHtoD_v2(address, content, ctypes.c_size_t(4 * ELEMENTS)))
    return address


def main(code: str, how: str) -> None:
    begin()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(CUDA.cuModuleLoad(ctypes.byref(module), code.encode()))
    check(CUDA.cuModuleGetFunction(ctypes.byref(function), module, b"urelu_f32"))
    arguments = (ctypes.c_size_t(ELEMENTS), ctypes.c_size_t(1), ctypes.c_void_p(), memory(), memory())
    params = (ctypes.c_void_p * 5)(*(ctypes.cast(ctypes.byref(one), ctypes.c_void_p) for one in arguments))
    if how == "ex":
        config = Config(1, 1, 1, 1024, 1, 1, 0, None, None, 0)
        check(CUDA.cuLaunchKernelEx(ctypes.byref(config), function, params, None))
    elif how == "asked":
        address, status = ctypes.c_void_p(), ctypes.c_int()
        ask = (b"cuLaunchKernel", ctypes.byref(address), 12000, ctypes.c_uint64(0), ctypes.byref(status))
        check(CUDA.cuGetProcAddress_v2(*ask))
        of_sizes = [ctypes.c_uint] * 7
        made = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *of_sizes, *[ctypes.c_void_p] * 3)
        assert address.value is not None
        check(made(address.value)(function, 1, 1, 1, 1024, 1, 1, 0, None, ctypes.addressof(params), None))
    else:
        stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
        if how == "graph":
            check(CUDA.cuStreamCreate(ctypes.byref(stream), 1))  # one that does not wait for the default stream
            check(CUDA.cuGraphCreate(ctypes.byref(graph), 0))
            check(CUDA.cuStreamBeginCaptureToGraph(stream, graph, None, None, ctypes.c_size_t(0), 2))
            check(CUDA.cuLaunchKernel(function, 1, 1, 1, 1024, 1, 1, 0, None, params, None))
            check(CUDA.cuStreamEndCapture(stream, ctypes.byref(graph)))
        check(CUDA.cuLaunchKernel(function, 1, 1, 1, 1024, 1, 1, 0, None, params, None))
    check(CUDA.cuCtxSynchronize())


if __name__ == "__main__":
    main(*sys.argv[1:])
