"""What wrong elements have to do with the lanes of waves, where element i is thread i's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Launch

_WAVE = 64
_FEW = 8
"""Elements of which too much may hold by chance."""


def lane_mistakes(launch: Launch, at: NDArray[np.intp], got: NDArray[Any], expected: NDArray[Any]) -> Iterator[str]:
    """Names of what holds for the elements ``at`` with the bits ``got``; ``expected`` has those of the whole buffer.

    Nothing is said of blocks that are not whole waves of 64.
    """
    if at.size < _FEW or int(np.prod(launch.block)) % _WAVE:
        return
    upper = at % _WAVE >= _WAVE // 2
    if upper.all() and 2 * at.size > np.count_nonzero(np.arange(expected.size) % _WAVE >= _WAVE // 2):
        yield "lanes 32 to 63"
    if got.itemsize > 1 and got.all() and np.unique(expected).size > expected.size // 2:
        waves = np.resize(expected, -(-expected.size // _WAVE) * _WAVE).reshape(-1, _WAVE)
        if (waves[at // _WAVE] == got[:, None]).any(axis=1).all():
            yield "value of another lane"
