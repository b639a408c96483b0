"""A launch geometry of a port's own, as it is declared. ``conformance.cases.geometry`` launches by it.

Here, since reading a declaration must not bring numpy into the runs of other people's pytest.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GeometryRow:
    """Grid, block (x, y, z) and dynamic shared memory that the port launches ``kernels`` with, as expressions; ``None``
    where they are Candle's. ``when`` is the condition under which it launches them at all; ``None``: always."""

    kernels: str
    grid: tuple[str, str, str] | None = None
    block: tuple[str, str, str] | None = None
    shared: str | None = None
    when: str | None = None

    @property
    def is_own(self) -> bool:
        """Whether any of grid, block and shared memory is the port's own."""
        return not (self.grid is None and self.block is None and self.shared is None)
