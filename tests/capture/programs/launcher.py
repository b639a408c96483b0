"""A program that loads libamdhip64 itself and launches urelu_f32: ``launcher.py CODE MODE``.

It knows nothing of the harness. Modes say how it ends, or what is odd about its launches.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

HIP = ctypes.CDLL("libamdhip64.so")
ELEMENTS = 1000


def check(error: int) -> None:
    if error:
        sys.exit(f"error {error}")


def memory(elements: int = ELEMENTS) -> ctypes.c_void_p:
    """Floats on the device."""
    address = ctypes.c_void_p()
    check(HIP.hipMalloc(ctypes.byref(address), ctypes.c_size_t(4 * elements)))
    content = (ctypes.c_float * elements)(*range(-elements // 2, elements - elements // 2))
    check(HIP.hipMemcpy(address, content, ctypes.c_size_t(4 * elements), 1))
    return address


def function(code: str, name: str) -> ctypes.c_void_p:
    module, found = ctypes.c_void_p(), ctypes.c_void_p()
    check(HIP.hipModuleLoad(ctypes.byref(module), code.encode()))
    check(HIP.hipModuleGetFunction(ctypes.byref(found), module, name.encode()))
    return found


def launch(kernel: ctypes.c_void_p, *arguments: object) -> None:
    addresses = [ctypes.cast(ctypes.byref(one), ctypes.c_void_p) for one in arguments]  # type: ignore[arg-type]
    params = (ctypes.c_void_p * len(addresses))(*addresses)
    check(HIP.hipModuleLaunchKernel(kernel, 1, 1, 1, 1024, 1, 1, 0, None, params, None))
    check(HIP.hipDeviceSynchronize())


class Configuration(ctypes.Structure):
    """HIP_LAUNCH_CONFIG."""

    _fields_ = (
        *((name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")),
        *(("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint)),
    )


def launch_otherwise(code: str, how: str) -> None:
    """Launch urelu_f32 by a way that few programs use."""
    sizes = (ctypes.c_size_t(ELEMENTS), ctypes.c_size_t(1), ctypes.c_void_p(), memory(), memory())
    params = (ctypes.c_void_p * 5)(*(ctypes.cast(ctypes.byref(one), ctypes.c_void_p) for one in sizes))
    kernel = function(code, "urelu_f32")
    if how == "packed":
        data = (ctypes.c_uint64 * 5)(*(one.value or 0 for one in sizes))
        size = ctypes.c_size_t(ctypes.sizeof(data))
        extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(data), 2, ctypes.addressof(size), 3)
        check(HIP.hipModuleLaunchKernel(kernel, 1, 1, 1, 1024, 1, 1, 0, None, None, extra))
    elif how == "threads":
        none = (None, params, None, None, None, 0)
        check(HIP.hipExtModuleLaunchKernel(kernel, 1024, 1, 1, 1024, 1, 1, ctypes.c_size_t(0), *none))
    elif how == "configuration":
        config = Configuration(1, 1, 1, 1024, 1, 1, 0, None, None, 0)
        check(HIP.hipDrvLaunchKernelEx(ctypes.byref(config), kernel, params, None))
    else:
        library, found = ctypes.c_void_p(), ctypes.c_void_p()
        nothing = (None, None, 0, None, None, 0)
        check(HIP.hipLibraryLoadFromFile(ctypes.byref(library), code.encode(), *nothing))
        check(HIP.hipLibraryGetKernel(ctypes.byref(found), library, b"urelu_f32"))
        check(HIP.hipKernelGetFunction(ctypes.byref(kernel), found))
        check(HIP.hipModuleLaunchKernel(kernel, 1, 1, 1, 1024, 1, 1, 0, None, params, None))
    check(HIP.hipDeviceSynchronize())


class Dim3(ctypes.Structure):
    """dim3, by value."""

    _fields_ = (("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint))


class FatBinary(ctypes.Structure):
    """What clang registers of a program with kernels; there is no code in this one."""

    _fields_ = (("magic", ctypes.c_uint), ("version", ctypes.c_uint), ("bundle", ctypes.c_void_p))


def launch_by_pointer() -> None:
    """Launch urelu_f32 as programs did before HIP had hipLaunchKernel."""
    HIP.__hipRegisterFatBinary.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(HIP.__hipRegisterFatBinary(ctypes.byref(FatBinary(0, 0, None))))
    host = ctypes.c_char(b"x")
    nothing = (ctypes.c_uint(0), None, None, None, None, None)
    HIP.__hipRegisterFunction(handle, ctypes.byref(host), None, b"urelu_f32", *nothing)
    check(HIP.hipConfigureCall(Dim3(1, 1, 1), Dim3(1024, 1, 1), ctypes.c_size_t(0), None))
    arguments = (ctypes.c_size_t(ELEMENTS), ctypes.c_size_t(1), ctypes.c_void_p(), memory(), memory())
    for n, argument in enumerate(arguments):
        check(HIP.hipSetupArgument(ctypes.byref(argument), ctypes.c_size_t(8), ctypes.c_size_t(8 * n)))
    check(HIP.hipLaunchByPtr(ctypes.byref(host)))


def relu(code: str, elements: int = ELEMENTS, room: int = ELEMENTS) -> None:
    """Launch urelu_f32 over ``elements`` in an allocation of ``room``."""
    arguments = ctypes.c_size_t(elements), ctypes.c_size_t(1), ctypes.c_void_p(), memory(room), memory(room)
    launch(function(code, "urelu_f32"), *arguments)


def main(code: str, mode: str) -> None:
    relu(code)
    match mode:
        case "signal":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            sys.exit(3)
        case "fork":
            if os.fork() == 0:
                relu(code, 500)
                os._exit(0)
            os.wait()
        case "parameters":  # its uneg_f32 has not the parameters of Candle's
            launch(function(code, "uneg_f32"), ctypes.c_size_t(ELEMENTS), memory(), memory())
        case "large":
            relu(code, 900, 300_000)
        case "equal":
            for _ in range(9):
                relu(code)
        case "full":  # as if the disk were full from here on: a file has as many bytes as it has now, and no more
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            import resource

            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
            relu(code, 900)
        case "packed" | "threads" | "configuration" | "library":
            launch_otherwise(code, mode)
        case "graph":  # the second launch is next to a stream whose launches go into a graph, the third after that
            stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
            check(HIP.hipStreamCreate(ctypes.byref(stream)))
            check(HIP.hipStreamBeginCapture(stream, 0))
            relu(code)
            check(HIP.hipStreamEndCapture(stream, ctypes.byref(graph)))
            relu(code)
        case "pointer":
            launch_by_pointer()
        case "devices":
            check(HIP.hipExtLaunchMultiKernelMultiDevice(None, 0, 0))
        case "second":  # on another device, with memory of its own
            check(HIP.hipSetDevice(1))
            relu(code, 900)
        case "own":
            launch(function(code, "mine"), memory())


if __name__ == "__main__":
    main(*sys.argv[1:])
