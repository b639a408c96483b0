"""The calls of the vendor's libraries, which the executor makes: no source of the port has a part in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from conformance.engine.library import Found
from conformance.engine.remote_executor import Executor
from conformance.spec.kernel import Kernel


@dataclass
class VendorLibraries:
    """What ``executor`` can open; nothing is compiled, so that ``broken`` and ``unavailable`` stay empty."""

    executor: Callable[[], Executor]
    broken: dict[str, str] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)

    def find(self, call: Kernel) -> Found:
        """What makes ``call``, or why nothing does. Raises ``HipError`` and ``Lost``."""
        function, about = self.executor().library(call.name)
        return Found(None, "not_run", None, about) if function is None else Found(function, "pass", about, None)
