"""What goes wrong on a device or in its compiler."""

from __future__ import annotations

FAULTS = (700, 710, 715, 716, 717, 718, 719)
"""HIP results that say that the kernel itself went wrong: illegal address, assert, trap, launch failure."""

TIMEOUT = 702
OUT_OF_MEMORY = 2


class HipError(RuntimeError):
    """A HIP call that failed.

    ``call`` is the HIP function, ``code`` its numeric result, ``name`` the result's name, ``what`` what was launched
    or loaded, ``detail`` what the runtime adds.
    """

    def __init__(self, call: str, code: int, name: str, what: str = "", detail: str = "") -> None:
        self.call, self.code, self.name, self.what, self.detail = call, code, name, what, detail
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
    def is_timeout(self) -> bool:
        return self.code == TIMEOUT

    @property
    def lacks_memory(self) -> bool:
        """Whether there was no room for a launch's buffers: nothing of the kernel's doing."""
        return self.call == "hipMalloc" and self.code == OUT_OF_MEMORY


class CompileError(RuntimeError):
    """A source that does not compile; ``log`` is the compiler's text."""

    def __init__(self, name: str, log: str) -> None:
        self.name, self.log = name, log
        super().__init__(f"{name} does not compile: {first_error(log)}")


def first_error(log: str) -> str:
    """The first line of a compiler's log that says ``error``, else its first line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "no message")
