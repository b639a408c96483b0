"""Of what kind a fault is, by what the runtimes say of it."""

from __future__ import annotations

import re

IMPOSSIBLE_GEOMETRY = "impossible geometry"
"""The fault of a launch that is not made: the port declares a geometry that no device has."""

_KINDS: tuple[tuple[str, str], ...] = (
    (r"ended without a fault, but upstream stops", "no fault"),
    (r"puts? work on (the null|another) stream", "another stream"),
    (r"frees what it must not", "freed twice"),
    (r"which is memory of the device", "device memory on the host"),
    (r"points to memory of the host", "host memory in a kernel"),
    (r"returns with the error \w+ \(\d+\) pending", "pending error"),
    (r"freed what it was given", "freed argument"),
    (r"wrote outside of \w+: \d+ bytes before", "outside of scratch"),
    (r"a null pointer", "null pointer"),
    (r"found after kernel .* wrote|bytes before and \d+ bytes after the buffer were overwritten", "canary overwritten"),
    (r"(past the end|before|into) .*(__shared__|dynamic shared memory)", "outside of shared memory"),
    (r"out-of-bounds read, .* past the end", "read past the end"),
    (r"out-of-bounds write, .* past the end", "write past the end"),
    (r"out-of-bounds read, .* bytes before", "read before the start"),
    (r"out-of-bounds write, .* bytes before", "write before the start"),
    (r"of the block's \d+ bytes of shared memory", "outside of shared memory"),
    (r"of the thread's \d+ bytes of scratch memory", "outside of an array"),
    (r"_load_\w+ of \d+ bytes \d+ bytes past the end", "read past the end"),
    (r"_load_\w+ of \d+ bytes \d+ bytes before", "read before the start"),
    (r"_(store|atomic)_\w+ of \d+ bytes \d+ bytes past the end", "write past the end"),
    (r"_(store|atomic)_\w+ of \d+ bytes \d+ bytes before", "write before the start"),
    (r" before s_wait\w* .* for the ", "missing wait"),
    (r" comes \d+ (wait state|VALU instruction)s? after the ", "hazard"),
    (r"out-of-bounds (read|write)", "wild address"),
    (r"non-canonical address", "misaligned or wild address"),
    (r"is out of bounds of an array|past the end of a local array", "outside of an array"),
    (r"at offset -?\d+ of the kernel's \d+ bytes of arguments", "outside of the arguments"),
    (r"trap instruction|abort\(\)|hipErrorIllegalInstruction", "trap"),
    (r"stack overflow", "stack overflow"),
    (r"barrier divergence", "barrier divergence"),
    (r"lanes are missing from a collective|calls a collective .* which does not include it", "lanes missing"),
    (r"division by zero", "integer division"),
    (r"assertion failed|hipErrorAssert", "assertion"),
    (r"still running after|no answer within|hipErrorLaunchTimeOut", "no end"),
    (r"which is forbidden in kernels", "forbidden call"),
    (r"blocks of at most \d+ threads|hipErrorInvalidConfiguration|hipErrorInvalidValue", "launch refused"),
    (r"hipErrorIllegalAddress|Memory access fault", "illegal address"),
    (r"process", "process lost"),
)


def fault_kind(message: str) -> str:
    """A word or two for the fault that ``message`` tells; ``other`` for what is not known."""
    return next((kind for pattern, kind in _KINDS if re.search(pattern, message, re.DOTALL)), "other")
