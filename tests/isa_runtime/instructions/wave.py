"""Instructions of one kind, executed by 64 lanes on any target: a wave of CDNA, two of RDNA."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.isa_runtime.code import code_object
from tests.isa_runtime.instructions.words import OLD, Target
from tests.isa_runtime.machine import Machine

Words = NDArray[np.uint32]
LANES = 64
LANE = np.arange(LANES)
A, B, C, OUT = 4, 6, 8, 10
"""Vector registers of three operands, and of four results."""


def four_words(target: Target) -> tuple[str, str, str]:
    """The mnemonics that move four words: to scalar registers, to vector registers, to memory."""
    if target.generation > 10:
        return "s_load_b128", "global_load_b128", "global_store_b128"
    return "s_load_dwordx4", "global_load_dwordx4", "global_store_dwordx4"


def attempt(
    machine: Machine,
    target: Target,
    words: list[int],
    *operands: Words,
    lds: int = 0,
    scratch: int = 0,
    wave: int | None = None,
    **options: Any,
) -> tuple[int, str, Words]:
    """The launch's code and message, and v[10:13] of each lane after ``words``, which are ``OLD`` before.

    Lanes have their number in v0 and 16 times that in v1; s[8:9] is the address of what they store, s[10:11] that of
    four words for each lane, of which the first three are ``operands`` and in v4, v6 and v8.
    """
    scalars, load, store = four_words(target)
    head = [*target.scalar_load(scalars, 8, 0), *target.shifted(1, 4, 0), *target.scalar(16, OLD), *target.wait()]
    head += [*target.memory("GLOBAL", load, to=20, address=1, base=10), *target.wait()]
    for register, source in ((A, 20), (B, 21), (C, 22)):
        head += target.vector(register, 256 + source)
    for register in range(OUT, OUT + 4):
        head += target.vector(register, 16)
    tail = [
        *target.wait(),
        *target.settle(),
        *target.memory("GLOBAL", store, data=OUT, address=1, base=8),
        *target.end(),
    ]
    file = code_object(
        [*head, *target.settle(), *words, *tail],
        ("global_buffer",) * 2,
        lds=lds,
        scratch=scratch,
        target=target.name,
        wave=wave or target.wave,
    )
    given = np.zeros((LANES, 4), np.uint32)
    for place, operand in enumerate(operands):
        given[:, place] = operand
    failed, message, after = machine.launch(file, np.zeros((LANES, 4), np.uint32), given, block=LANES, **options)
    return failed, message, after[0] if after else given


def executed(machine: Machine, target: Target, words: list[int], *operands: Words, **sizes: int) -> Words:
    """As ``attempt``, of what must pass."""
    failed, message, found = attempt(machine, target, words, *operands, **sizes)
    assert failed == 0, f"{target.name}: {message}"
    return found
