"""Gates as tests ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.record import KernelResult
from conformance.session import gate
from conformance.session.gate import NONE, Against, Decision, Judged, SelectedPart
from conformance.settings import Gate


def decide(
    rows: Sequence[KernelResult],
    total: int,
    fail_under: float | None = None,
    strict: bool = False,
    against: Against | None = None,
    launchers: SelectedPart = NONE,
    fail_under_launchers: float | None = None,
    **judged: Any,
) -> Decision:
    """The decision over the selected ``rows`` of ``total`` kernels; ``judged`` is further of ``Judged``."""
    asked = Gate(fail_under=fail_under, fail_under_launchers=fail_under_launchers, strict=strict)
    return gate.decide(Judged({"kernel": SelectedPart(rows, total), "launcher": launchers}, **judged), asked, against)
