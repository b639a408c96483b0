"""The calls of the vendor's libraries, which the executor makes: no source of the port has a part in them."""

from __future__ import annotations

from collections.abc import Callable

from conformance.engine.library import Finder, Found
from conformance.engine.remote_executor import Executor
from conformance.spec.kernel import Kernel


class VendorLibraries(Finder):
    """Finds the calls of vendors' libraries that ``executor`` can open. Nothing is compiled."""

    def __init__(self, executor: Callable[[], Executor]) -> None:
        super().__init__()
        self._executor = executor

    def find(self, kernel: Kernel) -> Found:
        """The call that the kernel stands for, or why there is none. Raises ``HipError`` and ``Lost``."""
        function, about = self._executor().library(kernel.name)
        return Found(None, "not_run", None, about) if function is None else Found(function, "pass", about, None)
