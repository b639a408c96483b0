"""Upstream defects that a port says it fixes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conformance.port.declared.known import matches
from conformance.port.sources import SourceError
from conformance.reading import shortened
from conformance.spec.kernel import Kernel


def fixed_kernels(named: Iterable[str], kernels: Mapping[str, Kernel], where: str) -> tuple[str, ...]:
    """The kernels of which the right result is expected: those that ``named`` matches, or whose defect it names.

    Raises ``SourceError`` for one that is no defect with a right result, and no kernel that has one.
    """
    fixable = {name: kernel.fix.name for name, kernel in kernels.items() if kernel.fix is not None}
    found: dict[str, None] = {}
    for text in named:
        mine = [name for name, fix in fixable.items() if text == fix or matches(text, name)]
        if not mine:
            known = ", ".join(dict.fromkeys(fixable.values()))
            raise SourceError(
                f"{where}: fixes: {shortened(text)!r} names neither a defect of Candle's whose right result is known, "
                f"nor a kernel that has one; the defects are {known}"
            )
        found.update(dict.fromkeys(mine))
    return tuple(found)
