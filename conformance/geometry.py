"""A launch geometry of a port's own, as it is declared. ``conformance.cases.geometry`` launches by it.

Here, since reading a declaration must not bring numpy into the runs of other people's pytest.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GeometryRow:
    """Grid, block (x, y, z) and dynamic shared memory that the port launches ``kernels`` with, as expressions; ``None``
    where they are Candle's."""

    kernels: str
    grid: tuple[str, str, str] | None = None
    block: tuple[str, str, str] | None = None
    shared: str | None = None
