"""The cuda runtime over stand-ins for NVIDIA's driver and NVRTC, in a process of its own, called through ctypes."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.toolchains.host import find_toolchain

HERE = Path(__file__).resolve().parent
LIBCUDA, NVRTC = "CANDLE_PARITY_LIBCUDA", "CANDLE_PARITY_NVRTC"
IMAGE = b"kernel add_one 8 8\nkernel three 8 4 1\nvariable table 64\n"


def build_stand_in(name: str, folder: Path, *words: str) -> Path:
    """``stand_in_NAME.cpp`` as a shared object."""
    target = folder / f"lib{name}{len(words)}.so"
    compiler = find_toolchain(links_standard_library=True).compiler
    command = [*compiler, "-std=c++20", "-O0", "-fPIC", "-shared", "-fvisibility=hidden", *words]
    done = subprocess.run(
        [*command, str(HERE / f"stand_in_{name}.cpp"), "-o", str(target)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target


class Machine:
    """Both libraries, loaded over the stand-ins that the environment names."""

    def __init__(self) -> None:
        from conformance.runtimes.cpu.build import build
        from conformance.runtimes.cuda.build import cuda_plan

        folder = build(cuda_plan())
        self.hip = ctypes.CDLL(str(folder / "libamdhip64.so"))
        self.rtc = ctypes.CDLL(str(folder / "libhiprtc.so"))
        for function in (self.hip.hipcudaLastMessage, self.hip.hipcudaModuleKernels, self.rtc.hipcudaCompiler):
            function.restype = ctypes.c_char_p
        self.hip.hipcudaModuleKernels.argtypes = [ctypes.c_void_p]
        self.driver = self._stand_in(LIBCUDA)
        self.nvrtc = self._stand_in(NVRTC)

    @staticmethod
    def _stand_in(variable: str) -> Any:
        try:
            library = ctypes.CDLL(os.environ[variable])
        except OSError:
            return None
        library.stand_in_calls.restype = ctypes.c_char_p
        return library

    def calls(self) -> list[str]:
        """What the driver was asked since the last time."""
        return list(self.driver.stand_in_calls().decode().splitlines())

    def nvrtc_calls(self) -> list[str]:
        """What NVRTC was asked since the last time."""
        return list(self.nvrtc.stand_in_calls().decode().splitlines())

    def script(self, call: str, result: int, after: int = 0) -> None:
        """``call`` returns ``result`` from now on, after ``after`` good ones."""
        self.driver.stand_in_script(call.encode(), result, after)

    def message(self) -> str:
        return str(self.hip.hipcudaLastMessage().decode())

    def good(self, call: str, *arguments: Any) -> list[str]:
        """Call a HIP function that must succeed; what the driver was asked for it."""
        self.calls()
        code = getattr(self.hip, call)(*arguments)
        assert code == 0, f"{call}: {code}, {self.message()}"
        return self.calls()

    def bad(self, call: str, *arguments: Any) -> tuple[int, str]:
        """Call a HIP function that must fail: its code and message."""
        code = getattr(self.hip, call)(*arguments)
        assert code != 0, f"{call} succeeded"
        return code, self.message()

    def pointer(self, call: str, *arguments: Any) -> ctypes.c_void_p:
        """What ``call`` puts at the place that its first argument points to."""
        place = ctypes.c_void_p()
        self.good(call, ctypes.byref(place), *arguments)
        return place

    def module(self, image: bytes = IMAGE) -> ctypes.c_void_p:
        return self.pointer("hipModuleLoadData", image)

    def function(self, name: str = "three", module: ctypes.c_void_p | None = None) -> ctypes.c_void_p:
        return self.pointer("hipModuleGetFunction", module or self.module(), name.encode())

    def launch(self, function: ctypes.c_void_p, *values: Any, grid: int = 1, block: int = 32, shared: int = 0) -> int:
        """``hipModuleLaunchKernel`` with ctypes ``values``; its code."""
        pointers = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
        code = self.hip.hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, None, pointers, None)
        return int(code)


def _serve(connection: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        connection.send((True, function(*arguments)))
    except BaseException as error:
        connection.send((False, f"{type(error).__name__}: {error}"))


def in_child(function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(*arguments)`` in a fresh process with this environment; a failed assertion there fails here."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, function, arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        assert ours.poll(60), "the process gave no answer within a minute"
        good, answer = ours.recv()
    except EOFError:
        process.join()
        raise AssertionError(f"the process did not survive: exit code {process.exitcode}") from None
    process.join(10)
    assert good, answer
    return answer
