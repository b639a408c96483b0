"""What a user should know although it affects no verdict: a damaged cache entry, a cache that cannot be written."""

from __future__ import annotations

import threading

_lock = threading.Lock()
_said: set[str] = set()
_waiting: list[str] = []


def warn(text: str) -> None:
    """Keep ``text`` for ``take_warnings``, once per process however often it comes."""
    with _lock:
        if text not in _said:
            _said.add(text)
            _waiting.append(text)


def take_warnings() -> list[str]:
    """The warnings since the last call, each a sentence, in order."""
    with _lock:
        taken = list(_waiting)
        _waiting.clear()
        return taken
