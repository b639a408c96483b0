"""Kernels of a port's own, beyond Candle's: where the port describes them, as its candle-parity.toml says.

Here, since reading a declaration must not bring numpy and pydantic into the runs of other people's pytest.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

UNTRUSTED = (
    "its reference is Python of the port, which runs outside of the sandbox with your rights; "
    "give --own where you trust the port"
)
"""Why an own kernel is not judged without ``--own``."""


@dataclass(frozen=True)
class OwnFolders:
    """The table ``[own]`` of a port's file, with absolute paths: folders of specs (``*.yaml``), of reference modules
    (``*.py``) and of launch families (``*.yaml``), and a file of dtypes; ``file`` is the port's."""

    file: Path
    specs: Path
    reference: Path
    families: Path | None = None
    dtypes: Path | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """All of them."""
        return (self.specs, self.reference, *([] if self.families is None else [self.families]))
