"""What a process wrote to standard error before its end: which of its lines tells why."""

from __future__ import annotations

import os
import re

KEPT = 64 * 1024
"""Bytes of a process's standard error that are handed on."""

_STANDARD_ERROR = 2

SHOWN = 300
"""Characters of a line that are shown."""

# In this order, for the first is often followed by the others. The first two are ROCr's (runtime.cpp), the last two are
# HIP's log, whose level 0 is never switched off (rocdevice.cpp).
_FAULTS = tuple(
    re.compile(text)
    for text in (r"Memory access fault by GPU", r"HW Exception by GPU", r"HSA_STATUS_ERROR", r"^:0:\w+\.cpp")
)

# What follows a fault and does not tell it: the shell's word, and ROCr's about its core dump (amd_core_dump.cpp).
_NOISE = re.compile(
    r"^Aborted\b|^Segmentation fault\b|core ?dump|gpucore|^Failed to (write|read GPU memory|fetch queues)",
    re.IGNORECASE,
)


def stderr_size() -> int:
    """The bytes of this process's standard error so far; 0 where it is not a file."""
    return os.fstat(_STANDARD_ERROR).st_size


def words_since(size: int) -> str:
    """What this process has written to standard error since its size was ``size``, or the end of it."""
    return decoded(tail(_STANDARD_ERROR, min(stderr_size() - size, KEPT)))


def tail(file: int, size: int) -> bytes:
    """The last ``size`` bytes of an open ``file``."""
    length = os.fstat(file).st_size
    return os.pread(file, size, max(0, length - size))


def decoded(data: bytes) -> str:
    """What a process printed, as text whatever it is."""
    return data.decode(errors="replace")


def fault_line(text: str) -> str:
    """The line in which ROCr or HIP tell a GPU's fault; "" where there is none."""
    lines = [line.strip() for line in text.splitlines()]
    found = (line for pattern in _FAULTS for line in lines if pattern.search(line))
    return next(found, "")[:SHOWN]


def telling_line(text: str) -> str:
    """The line of ``text`` that tells best why a process ended: of a GPU's fault, else the last one; "" for none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    plain = [line for line in lines if not _NOISE.search(line)]
    return fault_line(text) or (plain or lines or [""])[-1][:SHOWN]
