"""What a run was asked to come to, as far as reports show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Asked:
    """What was asked of a run, as far as reports show it.

    ``expected`` has the failures that the gates allow, by kernel name, each with the reason. ``unmet`` says why the run
    is not what was asked for; ``None`` where it is, or where there is neither a gate nor a failure.
    """

    expected: Mapping[str, str] = field(default_factory=dict)
    unmet: str | None = None


NOT_ASKED = Asked()
