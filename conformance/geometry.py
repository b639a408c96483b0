"""A launch geometry of a port's own, as it is declared. ``conformance.cases.geometry`` launches by it.

Here, since reading a declaration must not bring numpy into the runs of other people's pytest.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GeometryRow:
    """The launch geometry that a port declares for ``kernels`` (a pattern): a row ``[[launch]]`` of its file.

    ``grid`` and ``block`` are expressions for x, y and z, ``shared`` is one for the dynamic shared memory in bytes.
    ``None`` stands for Candle's own value. ``when`` is the condition under which the port launches the kernels at all;
    ``None`` means always.
    """

    kernels: str
    grid: tuple[str, str, str] | None = None
    block: tuple[str, str, str] | None = None
    shared: str | None = None
    when: str | None = None

    @property
    def is_own(self) -> bool:
        """Whether the row replaces grid, block or shared memory, and does not only have a condition."""
        return not (self.grid is None and self.block is None and self.shared is None)
