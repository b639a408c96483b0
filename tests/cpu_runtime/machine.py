"""A process of its own in which the cpu runtime runs kernels through unmodified hip-python.

The pytest process never loads the runtime: its options are process-wide, and a test of a fault must not take the
other tests down with it.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SOURCE = Path(__file__).with_name("kernels.hip")
CODE = "CPU_RUNTIME_TEST_MODULE"
DEFAULTS = {
    "wave": "32",
    "order": "forward",
    "threads": "2",
    "timeout_ms": "5000",
    "poison": "1",
    "guard": "1",
    "print_bytes": "1048576",
}

Argument = Any  # a numpy array, a ctypes value, or an int: a device pointer


@dataclass
class Outcome:
    """A launch: its code, the runtime's message if it failed, and the arrays as the device left them."""

    code: int
    message: str
    arrays: list[NDArray[Any]] = field(default_factory=list)


class Machine:
    """Lives in the child. An array becomes device memory of exactly its size; an ``int`` is a device pointer."""

    def __init__(self) -> None:
        from conformance.runtimes.cpu.control import open_cpu_runtime

        self.runtime = open_cpu_runtime(32, 2)
        from hip import hip

        self.hip = hip
        self.library = self.runtime._library
        self.code = Path(os.environ[CODE]).read_bytes()
        self.module = self.load(self.code)[1]

    def reset(self) -> None:
        for key, value in DEFAULTS.items():
            self.runtime.set_option(key, value)

    def load(self, code: bytes) -> tuple[int, Any]:
        error, module = self.hip.hipModuleLoadData(code)
        return int(error), module

    def function(self, name: str) -> Any:
        error, function = self.hip.hipModuleGetFunction(self.module, name.encode())
        assert int(error) == 0, self.runtime.message()
        return function

    def allocate(self, size: int) -> int:
        error, pointer = self.hip.hipMalloc(size)
        assert int(error) == 0, self.runtime.message()
        return int(pointer)

    def free(self, pointer: int) -> int:
        return int(self.hip.hipFree(pointer)[0])

    def download(self, pointer: int, size: int) -> bytes:
        host = np.zeros(size, np.uint8)
        error = self.hip.hipMemcpy(host, pointer, size, self.hip.hipMemcpyKind.hipMemcpyDeviceToHost)[0]
        assert int(error) == 0, self.runtime.message()
        return host.tobytes()

    def run(
        self,
        name: str,
        arguments: Sequence[Argument],
        grid: Sequence[int] = (1,),
        block: Sequence[int] = (1,),
        shared: int = 0,
        *,
        packed: bool = False,
    ) -> Outcome:
        hip = self.hip
        buffers: list[tuple[NDArray[Any], int]] = []
        values: list[Any] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                pointer = self.allocate(argument.nbytes)
                hip.hipMemcpy(pointer, argument, argument.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice)
                buffers.append((argument, pointer))
                values.append(ctypes.c_void_p(pointer))
            else:
                values.append(ctypes.c_void_p(argument) if isinstance(argument, int) else argument)
        shape = [*grid, 1, 1][:3] + [*block, 1, 1][:3]
        if packed:
            result = hip.hipModuleLaunchKernel(self.function(name), *shape, shared, None, None, tuple(values))
        else:
            pointers = (ctypes.c_void_p * max(1, len(values)))(*(ctypes.addressof(value) for value in values))
            result = hip.hipModuleLaunchKernel(self.function(name), *shape, shared, None, pointers, None)
        outcome = Outcome(int(result[0]), self.runtime.message() if int(result[0]) else "")
        for array, pointer in buffers:
            host = np.empty_like(array)
            hip.hipMemcpy(host, pointer, host.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost)
            outcome.arrays.append(host)
            hip.hipFree(pointer)
        return outcome


def serve(connection: Connection) -> None:
    machine = Machine()
    while True:
        function, arguments, keywords = connection.recv()
        if function is None:
            return
        try:
            connection.send((True, function(machine, *arguments, **keywords)))
        except Exception as error:
            connection.send((False, repr(error)))


class Remote:
    """The child as the tests see it; started anew after a test that lost it."""

    def __init__(self) -> None:
        self._process: multiprocessing.process.BaseProcess | None = None

    def do(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """``function(machine, ...)`` in the child; the function is a test module's own, by name."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._connection, end = context.Pipe()
            self._process = context.Process(target=serve, args=(end,), daemon=True)
            self._process.start()
            end.close()
        self._connection.send((function, arguments, keywords))
        try:
            if not self._connection.poll(60):
                raise EOFError
            good, answer = self._connection.recv()
        except (EOFError, ConnectionResetError):
            process, self._process = self._process, None
            process.kill()
            process.join()
            raise AssertionError(f"the process did not survive: exit code {process.exitcode}") from None
        if not good:
            raise AssertionError(f"in the child: {answer}")
        return answer

    def run(self, name: str, arguments: Sequence[Argument], *rest: Any, **keywords: Any) -> Outcome:
        """Launch and read back; see ``Machine.run``."""
        outcome = self.do(Machine.run, name, arguments, *rest, **keywords)
        assert isinstance(outcome, Outcome)
        return outcome

    def good(self, name: str, arguments: Sequence[Argument], *rest: Any, **keywords: Any) -> list[NDArray[Any]]:
        """The arrays of a launch that must succeed."""
        outcome = self.run(name, arguments, *rest, **keywords)
        assert outcome.code == 0, outcome.message
        return outcome.arrays

    def set(self, **choices: object) -> None:
        for key, value in choices.items():
            self.do(_set_option, key, value)

    def close(self) -> None:
        if self._process is not None:
            self._connection.send((None, (), {}))
            self._process.join(10)


def _set_option(machine: Machine, key: str, value: object) -> None:
    machine.runtime.set_option(key, value)
