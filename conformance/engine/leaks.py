"""What a launcher leaves behind at every call, told from what it allocates once and keeps.

Counts are those of ``LauncherRuntime.live``. Without numpy and pydantic: an executor counts, a judge says it in words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

AGAIN = 16
"""Calls more of the same case, each of which has to leave something behind: fewer may be fillings of a pool."""

Counts = tuple[int, ...]

_KINDS = (
    (0, 1, "allocation of device memory"),
    (2, 3, "allocation of host memory"),
    (4, None, "stream"),
    (5, None, "event"),
)
"""Where the number of objects and their bytes are in ``Counts``, and what one is."""


class Leaks:
    """The launchers of one process that leave something behind at every call, by the number of their function."""

    def __init__(self) -> None:
        self._found: dict[int, list[int]] = {}

    def known(self, function: int) -> list[int] | None:
        """How many calls of one case each left something behind, and what: at least these ``Counts``."""
        return self._found.get(function)

    def look(self, function: int, left: list[Counts | None], again: Callable[[], Counts | None]) -> None:
        """Call a launcher ``again`` and again while every call of the case has ``left`` something behind: one that
        fills a pool, or keeps what it has allocated, comes to an end. An error of ``again`` is raised."""
        first = len(left)
        if function in self._found:
            return
        try:
            while left_by_each(left) is not None and len(left) < first + AGAIN:
                left.append(again())
        finally:
            each = left_by_each(left)
            if each is not None and len(left) > first:
                self._found[function] = [len(left), *each]


def left_by_each(calls: Sequence[Counts | None]) -> Counts | None:
    """What every one of ``calls`` left behind, the least that any did; ``None``: one left nothing, or cannot tell."""
    known = [call for call in calls if call is not None]
    if not known or len(known) < len(calls):
        return None
    least = tuple(max(0, min(numbers)) for numbers in zip(*known, strict=True))
    return least if any(least) else None


def described(left: Counts, calls: int, case: str) -> str:
    """``each of 20 calls of CASE left 1 stream behind``."""
    things = [_things(left[count], 0 if size is None else left[size], what) for count, size, what in _KINDS]
    return f"each of {calls} calls of {case} left {' and '.join(filter(None, things))} behind"


def _things(count: int, size: int, what: str) -> str:
    """``2 streams``, ``1 allocation of device memory (64 bytes)``, or bytes alone where one is always replaced by a
    larger one."""
    if not count:
        return f"{size:,} bytes more in {what.replace('allocation', 'allocations')}" if size else ""
    head, _, tail = what.partition(" ")
    text = f"{count} {head}{'s' if count > 1 else ''}{f' {tail}' if tail else ''}"
    return f"{text} ({size:,} bytes)" if size else text
