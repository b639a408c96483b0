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
        case "own":
            launch(function(code, "mine"), memory())


if __name__ == "__main__":
    main(*sys.argv[1:])
