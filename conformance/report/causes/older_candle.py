"""Which of Candle's changes a port has not followed, by the causes of its failures."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import lru_cache
from pathlib import Path
from typing import Any

from conformance.spec.load import Specs
from conformance.spec.nodes import read_document

_LEAST = 3
"""Kernels of a change that a port must have: fewer may make the mistake by themselves."""


@lru_cache(maxsize=1)
def changes() -> list[dict[str, Any]]:
    """The rows of ``candle_changes.yaml``."""
    rows: list[dict[str, Any]] = read_document(Path(__file__).with_name("candle_changes.yaml")).data
    return rows


def older_candle(failing: Mapping[str, Set[str]], passing: Set[str], specs: Specs) -> dict[str, str]:
    """By cause what it says of the port's age: ``follows Candle before COMMIT (DATE; since then ...): 191 kernels``.

    ``failing`` has the kernels under each cause, ``passing`` those that pass: where one of these is concerned by a
    change the port has followed it.
    """
    found: dict[str, str] = {}
    for change in changes():
        concerned = {name for name, kernel in specs.kernels.items() if kernel.launch in change["launches"]}
        named = {name for cause in change["causes"] for name in failing.get(cause, ()) if name in concerned}
        if len(named) >= _LEAST and concerned.isdisjoint(passing):
            since = f"{change['date']}; since then {change['since']}"
            text = f"follows Candle before {change['commit']} ({since}): {len(named):,} kernels"
            found |= {cause: text for cause in change["causes"] if not concerned.isdisjoint(failing.get(cause, ()))}
    return found
