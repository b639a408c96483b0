"""What the interpreter has written of the instruction sites of kernels (``runtime/sites.h``)."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import numpy as np

from conformance.outcome import Sites


def read_sites(folder: Path, name: str) -> tuple[Sites, list[int]] | None:
    """The sites of the kernel ``name`` (as its code object has it), and the offsets of those that were not executed;
    ``None`` where no launch of it was written."""
    try:
        data = (folder / f"{re.sub('[^0-9A-Za-z]', '_', name[:200])}.sites").read_bytes()
    except OSError:
        return None
    words = np.frombuffer(data[: len(data) // 4 * 4], "<u4")
    reached = words & 1
    missed = []
    for is_reached, run in groupby(zip(reached.tolist(), (words >> 1).tolist(), strict=True), key=lambda site: site[0]):
        offsets = [offset for _, offset in run]
        if not is_reached:
            missed.append(f"{offsets[0]:#x}-{offsets[-1]:#x}")
    missing: list[int] = (words[reached == 0] >> 1).tolist()
    return Sites(len(words), int(reached.sum()), tuple(missed)), missing
