"""What goes wrong on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

FAULTS = (700, 710, 715, 716, 717, 718, 719)
"""HIP results that say that the kernel itself went wrong: illegal address, assert, trap, launch failure."""

TIMEOUT = 702
OUT_OF_MEMORY = 2
RESERVE = "hipcpuReserve"
"""The call of our own that fails where a process may not have the address space of a case with gaps (ulimit -v)."""
NO_BINARY, NOT_SUPPORTED = 209, 801
UNSUPPORTED = (NO_BINARY, NOT_SUPPORTED)
"""HIP results that say that there is no code for the device, or that the runtime cannot run it."""


class HipError(RuntimeError):
    """A HIP call that failed.

    ``call`` is the HIP function, ``code`` and ``name`` are its result as number and name, ``what`` is what was launched
    or loaded, and ``detail`` what the runtime adds. ``before_launch`` says that it happened before the kernel was
    launched.
    """

    def __init__(
        self, call: str, code: int, name: str, what: str = "", detail: str = "", before_launch: bool = False
    ) -> None:
        self.call, self.code, self.name, self.what, self.detail = call, code, name, what, detail
        self.before_launch = before_launch
        text = f"{call} returned {name} ({code})"
        if what:
            text += f" for {what}"
        if detail:
            text += f": {detail}"
        super().__init__(text)

    @property
    def is_fault(self) -> bool:
        """Whether the kernel itself went wrong."""
        return self.code in FAULTS

    @property
    def is_unsupported(self) -> bool:
        """Whether the runtime cannot run the kernel at all, which is not the kernel's fault."""
        return self.call in ("hipModuleLaunchKernel", "hipLaunchKernel") and self.code in UNSUPPORTED

    @property
    def is_timeout(self) -> bool:
        """Whether the kernel was stopped because it did not end."""
        return self.code == TIMEOUT

    @property
    def lacks_memory(self) -> bool:
        """Whether there was no room for the buffers of a launch, which is not the kernel's fault."""
        return self.call == "hipMalloc" and self.code == OUT_OF_MEMORY

    @property
    def status(self) -> Literal["crash", "timeout"]:
        """The status of a kernel whose launch ended with this error. The codes for faults differ between releases of
        ROCm."""
        return "timeout" if self.is_timeout else "crash"

    def with_detail(self, *more: str) -> HipError:
        """The same error, with ``more`` added to its detail."""
        detail = "; ".join(text for text in (self.detail, *more) if text)
        return HipError(self.call, self.code, self.name, self.what, detail, self.before_launch)

    def with_places(self, placed: Callable[[str], str]) -> HipError:
        """The same error, with ``placed(detail)`` as its detail."""
        return HipError(self.call, self.code, self.name, self.what, placed(self.detail), self.before_launch)
