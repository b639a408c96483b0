"""How long anybody waits for anybody."""

from __future__ import annotations

import os

ENVIRONMENT = "CANDLE_PARITY_HANG_SECONDS"

_DEFAULT = 90.0


def hang_seconds() -> float:
    """A launch, or a judge between two cases, that takes longer is stopped with its process.

    The cpu runtime ends endless loops itself well before; a GPU that hangs does not. ``$CANDLE_PARITY_HANG_SECONDS``
    sets another limit.
    """
    try:
        seconds = float(os.environ.get(ENVIRONMENT, ""))
    except ValueError:
        return _DEFAULT
    return seconds if seconds > 0 else _DEFAULT
