"""Which of Candle's changes a port has not followed, by the causes of its failures."""

from __future__ import annotations

from collections.abc import Mapping, Set

from conformance.cases.candle_changes import CHANGES
from conformance.port.config import OPTIONS_FILE
from conformance.spec.load import Specs

_LEAST = 3
"""Kernels of a change that a port must have: fewer may make the mistake by themselves."""


def older_candle(failing: Mapping[str, Set[str]], passing: Set[str], specs: Specs) -> dict[str, str]:
    """What causes show of the age of the Candle that a port follows, by cause: ``follows Candle before COMMIT (DATE;
    since then ...): 191 kernels``.

    ``failing`` has the kernels under each cause, ``passing`` those that pass. If a change concerns a kernel that
    passes, the port has followed it.
    """
    ages: dict[str, str] = {}
    for change in CHANGES:
        concerned = {name for name, kernel in specs.kernels.items() if kernel.launch in change.launches}
        named = {name for cause in change.causes for name in failing.get(cause, ()) if name in concerned}
        if len(named) >= _LEAST and concerned.isdisjoint(passing):
            since = f"{change.date}; since then {change.since}"
            judged = f'judged so by candle_before = "{change.commit}" in {OPTIONS_FILE}'
            then = judged if change.traits else "the specs cannot express what was before"
            text = f"follows Candle before {change.commit} ({since}): {len(named):,} kernels; {then}"
            ages |= {cause: text for cause in change.causes if not concerned.isdisjoint(failing.get(cause, ()))}
    return ages
