"""What launchers leave behind at every call, which no verdict says."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.record import KernelResult

_NAMED = 5
_TO_DO = "free it, or keep it for the next call"


def leak_of(row: KernelResult) -> str | None:
    """``leaks: each of 20 calls of CASE left 1 stream behind; ...``, not escaped."""
    return None if row.leak is None else f"leaks: {row.leak}; {_TO_DO}"


def leak_note(rows: Sequence[KernelResult]) -> str | None:
    """One sentence on all launchers that leak, with what the first of them leaves behind, not escaped."""
    found = [row for row in rows if row.leak is not None]
    if not found:
        return None
    names = ", ".join(row.name for row in found[:_NAMED]) + (" ..." if len(found) > _NAMED else "")
    count = "1 launcher leaks" if len(found) == 1 else f"{len(found)} launchers leak"
    first = f"{found[0].leak}; {_TO_DO}"
    return f"{count}, which is in no verdict: {names}: {first}"
