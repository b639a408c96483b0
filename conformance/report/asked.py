"""What a run was asked to come to, as far as reports show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Asked:
    """What the gates make of a run's failures: why each that they allow is ``expected``, by name, and in ``unmet`` why
    the run is not what was asked for (``None``: it is, or there is no gate and no failure)."""

    expected: Mapping[str, str] = field(default_factory=dict)
    unmet: str | None = None


NOT_ASKED = Asked()
