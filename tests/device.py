"""A device for tests: it compiles, and launches with arrays of the host as buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Buffer, Launch
from conformance.runtimes.hip.device import CANARY, CANARY_BYTES, Device, Function
from conformance.runtimes.hip.errors import HipError
from conformance.runtimes.hip.rtc import RtcError, compile_source


@dataclass(frozen=True)
class LaunchResult:
    """What a launch left behind: every buffer's whole content by parameter name, in the buffer's dtype.

    ``damaged`` says, per buffer, how many bytes outside the allocation were overwritten ("12 bytes before, 0 after").
    """

    buffers: dict[str, NDArray[Any]]
    damaged: dict[str, str]


class LaunchingDevice(Device):
    """See ``Device``; ``_pad`` canary bytes are on both sides of a buffer where the runtime has no guard pages."""

    @property
    def _pad(self) -> int:
        return 0 if self.runtime.guards_memory else CANARY_BYTES

    def compile(self, source: str, name: str, options: Sequence[str]) -> bytes:
        """The code object of ``source``; raises ``CompileError`` with the log, and ``HipError``."""
        try:
            return compile_source(source, name, (*self.runtime.compile_options, *options))
        except RtcError as error:
            raise HipError(error.call, error.code, error.name) from None

    def launch(self, function: Function, launch: Launch) -> LaunchResult:
        """Upload, launch, wait, download; raises ``HipError`` naming kernel, geometry and the runtime's message."""
        pad = self._pad
        pointers: list[tuple[Buffer, int, int]] = []
        try:
            for argument in launch.args:
                if isinstance(argument, Buffer):
                    size = argument.data.nbytes + 2 * pad
                    base = self.take(size)
                    pointers.append((argument, base, size))
                    self._upload(argument.data, base, pad)
            prepared = self.prepare(function, launch, {buffer.name: base + pad for buffer, base, _ in pointers})
            prepared.start()
            self.synchronize(prepared.what)
            return self._download(pointers, pad)
        finally:
            for _, base, size in pointers:
                self.give_back(base, size)

    def _upload(self, data: NDArray[Any], base: int, pad: int) -> None:
        image = data.view(np.uint8) if data.size else np.zeros(0, np.uint8)
        if pad:
            guarded = np.full(data.nbytes + 2 * pad, CANARY, np.uint8)
            guarded[pad : pad + data.nbytes] = image
            image = guarded
        if image.size:
            self.check("hipMemcpy", self.hip.hipMemcpy(base, image, image.nbytes, self._to_device))

    def _download(self, pointers: list[tuple[Buffer, int, int]], pad: int) -> LaunchResult:
        buffers: dict[str, NDArray[Any]] = {}
        damaged: dict[str, str] = {}
        for argument, base, size in pointers:
            image = np.empty(size, np.uint8)
            if size:
                self.check("hipMemcpy", self.hip.hipMemcpy(image, base, size, self._to_host))
            if pad:
                before = int(np.count_nonzero(image[:pad] != CANARY))
                after = int(np.count_nonzero(image[size - pad :] != CANARY))
                if before or after:
                    damaged[argument.name] = (
                        f"{before} bytes before and {after} bytes after the buffer were overwritten"
                    )
                image = image[pad : size - pad]
            buffers[argument.name] = image.view(argument.data.dtype)
        return LaunchResult(buffers, damaged)
