"""The isa runtime in a process of its own, which keeps its libraries, called through ctypes."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ENCODINGS = ("SOP1", "SOP2", "SOPK", "SOPC", "SOPP", "SMEM", "VOP1", "VOP2", "VOPC", "VOP3", "VOP3P", "DS", "FLAT")
ENCODINGS += ("GLOBAL", "SCRATCH", "MUBUF", "VOPD")
"""As the interpreter numbers them."""


Launched = tuple[int, str, list[NDArray[Any]]]
"""A launch's code and message, and the buffers after it."""


def serve(connection: Connection, folder: str) -> None:
    """Answer launches until the other side hangs up."""
    hip = ctypes.CDLL(str(Path(folder, "libamdhip64.so")))
    hip.hipisaLastMessage.restype = ctypes.c_char_p
    hip.hipisaExecuted.restype = hip.hipisaHazards.restype = ctypes.c_ulong
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        if isinstance(request, dict):
            connection.send(_watched(hip, request))
            continue
        if isinstance(request, bytes):
            connection.send(_hazards(hip, request))
            continue
        if isinstance(request, str):
            connection.send(_meanings(hip, request))
            continue
        answer = {1: _capability, 2: _decoded}.get(len(request), _launch)
        connection.send(answer(hip, *request))


def _capability(hip: Any, target: str) -> tuple[int, int]:
    major, minor = ctypes.c_int(), ctypes.c_int()
    assert hip.hipisaSetOption(b"target", target.encode()) == 0
    assert hip.hipDeviceComputeCapability(ctypes.byref(major), ctypes.byref(minor), 0) == 0
    return major.value, minor.value


def _watched(hip: Any, options: dict[str, str]) -> list[int]:
    """What was counted until these options are set."""
    values = (ctypes.c_ulong * 32)()
    known = hip.hipisaCounts(values, len(values))
    for key, value in options.items():
        assert hip.hipisaSetOption(key.encode(), value.encode()) == 0, hip.hipisaLastMessage()
    return list(values[:known])


def _decoded(hip: Any, target: str, code: bytes) -> list[list[str]]:
    hip.hipisaDecode.restype = ctypes.c_char_p
    text = hip.hipisaDecode(target.encode(), code, ctypes.c_ulong(len(code)))
    assert text is not None, hip.hipisaLastMessage().decode()
    return [line.split() for line in text.decode().splitlines()]


def _meanings(hip: Any, target: str) -> list[tuple[str, int, str]]:
    hip.hipisaMeanings.restype = ctypes.c_char_p
    text = hip.hipisaMeanings(target.encode())
    assert text is not None, hip.hipisaLastMessage().decode()
    rows = [line.split() for line in text.decode().splitlines()]
    return [(ENCODINGS[int(encoding)], int(opcode), name) for encoding, opcode, name in rows]


def _hazards(hip: Any, code: bytes) -> int:
    module, before = ctypes.c_void_p(), hip.hipisaHazards()
    assert hip.hipModuleLoadData(ctypes.byref(module), code) == 0
    assert hip.hipModuleUnload(module) == 0
    return int(hip.hipisaHazards() - before)


def _launch(
    hip: Any,
    code: bytes,
    arrays: Sequence[NDArray[Any]],
    grid: int,
    block: int,
    shared: int,
    options: dict[str, str],
    kernels: Sequence[str],
) -> dict[str, Launched]:
    for key, value in options.items():
        assert hip.hipisaSetOption(key.encode(), value.encode()) == 0
    module = ctypes.c_void_p()
    failed = hip.hipModuleLoadData(ctypes.byref(module), code)
    if failed:
        return dict.fromkeys(kernels, (failed, hip.hipisaLastMessage().decode(), []))
    found = {kernel: _launched(hip, module, kernel, arrays, grid, block, shared) for kernel in kernels}
    assert hip.hipModuleUnload(module) == 0
    return found


def _launched(
    hip: Any, module: ctypes.c_void_p, kernel: str, arrays: Sequence[NDArray[Any]], grid: int, block: int, shared: int
) -> Launched:
    function = ctypes.c_void_p()
    assert hip.hipModuleGetFunction(ctypes.byref(function), module, kernel.encode()) == 0
    pointers = [ctypes.c_void_p() for _ in arrays]
    for pointer, array in zip(pointers, arrays, strict=True):
        assert hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(array.nbytes)) == 0
        assert hip.hipMemcpy(pointer, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes), 1) == 0
    slots = (ctypes.c_void_p * max(len(pointers), 1))(*(ctypes.addressof(pointer) for pointer in pointers))
    failed = hip.hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, None, slots, None)
    message = hip.hipisaLastMessage().decode() if failed else ""
    after = []
    for pointer, array in zip(pointers, arrays, strict=True):
        host = np.empty_like(array)
        assert hip.hipMemcpy(host.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(host.nbytes), 2) == 0
        after.append(host)
        assert hip.hipFree(pointer) == 0
    return failed, message, after


class Machine:
    """The process as tests see it; started anew after a test that lost it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process: multiprocessing.process.BaseProcess | None = None
        self.launched: list[bytes] | None = None
        """The code of launches, where that is wanted."""

    def launch(self, code: bytes, *arrays: NDArray[Any], **how: Any) -> Launched:
        """The launch of kernel ``k``; see ``launch_each``."""
        return self.launch_each(code, ("k",), *arrays, **how)["k"]

    def launch_each(
        self,
        code: bytes,
        kernels: Sequence[str],
        *arrays: NDArray[Any],
        grid: int = 1,
        block: int = 64,
        shared: int = 0,
        order: str = "forward",
        threads: int = 1,
        timeout_ms: int = 5000,
        perturb: int = 0,
    ) -> dict[str, Launched]:
        """A launch of each of the kernels, on buffers of its own."""
        options = {"order": order, "threads": str(threads), "timeout_ms": str(timeout_ms)}
        options["perturb"] = str(perturb)
        if self.launched is not None:
            self.launched.append(code)
        answer: dict[str, Launched] = self._ask((code, arrays, grid, block, shared, options, kernels))
        return answer

    def capability(self, target: str) -> tuple[int, int]:
        """The compute capability of the device as ``target``."""
        answer: tuple[int, int] = self._ask((target,))
        return answer

    def decoded(self, target: str, code: bytes) -> list[list[str]]:
        """What ``code`` decodes to: the lines of ``hipisaDecode`` (hipisa.h), in words."""
        answer: list[list[str]] = self._ask((target, code))
        return answer

    def meanings(self, target: str) -> list[tuple[str, int, str]]:
        """Encoding, opcode and mnemonic of what the interpreter knows of ``target``'s instructions."""
        answer: list[tuple[str, int, str]] = self._ask(target)
        return answer

    def watch(self, **options: str) -> list[int]:
        """Set the options ``counts`` and ``sites``; what was counted until then."""
        answer: list[int] = self._ask(options)
        return answer

    def hazards(self, code: bytes) -> int:
        """How many instructions of a code object come too soon after another."""
        answer: int = self._ask(code)
        return answer

    def _ask(self, request: Any) -> Any:
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._connection, end = context.Pipe()
            self._process = context.Process(target=serve, args=(end, str(self.folder)), daemon=True)
            self._process.start()
            end.close()
        self._connection.send(request)
        try:
            assert self._connection.poll(60), "the process gave no answer within a minute"
            return self._connection.recv()
        except (EOFError, ConnectionResetError):
            self.close()
            raise AssertionError("the process did not survive") from None

    def mapped(self) -> int:
        """Bytes of addresses that the process has mapped."""
        assert self._process is not None
        return int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
