"""The calls of the vendor's libraries, which the executor makes: no source of the port has a part in them."""

from __future__ import annotations

from collections.abc import Callable

from conformance.engine.library import Finder, Found
from conformance.engine.remote_executor import Executor
from conformance.spec.kernel import Kernel


class VendorLibraries(Finder):
    """What ``executor`` can open; nothing is compiled, so that no source is broken."""

    def __init__(self, executor: Callable[[], Executor]) -> None:
        super().__init__()
        self._executor = executor

    def find(self, kernel: Kernel) -> Found:
        """What makes a call of the library, or why nothing does. Raises ``HipError`` and ``Lost``."""
        function, about = self._executor().library(kernel.name)
        return Found(None, "not_run", None, about) if function is None else Found(function, "pass", about, None)
