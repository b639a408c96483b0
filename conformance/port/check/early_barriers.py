"""Barriers of AMD machine code that a wave reaches before its stores to shared memory have arrived.

``__syncthreads()`` orders the stores before it: the compiler has to wait for them (``s_waitcnt lgkmcnt(0)``) before
``s_barrier``. On gfx90a, gfx942 and gfx1030 the barrier itself does not wait, and LLVM (seen in 19) takes the wait away
where the first way to the barrier has no store in flight, though another has: a loop that stores and goes back to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO

from elftools.elf.elffile import ELFFile

from conformance.port.code_objects import DAMAGE, CodeObject, functions
from conformance.port.instructions import generation, instructions
from conformance.port.line_tables import LineTable, read_line_table

SYNCTHREADS = "__syncthreads"
"""How the functions of HIP's headers begin that are a barrier for a block."""

_SOPP = 0x17F
"""The first nine bits of a scalar instruction with a constant alone."""

_SHARED = 0x36
"""The first six bits of an instruction on shared memory."""


@dataclass(frozen=True)
class _Codes:
    """Opcodes of a generation, by the ISA documents; ``returns`` are those after which nothing follows."""

    barrier: int
    wait: int
    branch: int
    conditional: range
    returns: tuple[int, ...]
    shared_shift: int
    """Where the opcode of an instruction on shared memory begins."""
    counter: tuple[int, int]
    """Where the counter of shared memory begins in what a wait waits for, and its mask."""


_GENERATIONS: Mapping[int, _Codes] = {
    9: _Codes(0x0A, 0x0C, 0x02, range(0x04, 0x0A), (0x01, 0x1B), 17, (8, 0xF)),
    10: _Codes(0x0A, 0x0C, 0x02, range(0x04, 0x0A), (0x01, 0x1B), 18, (8, 0x3F)),
    11: _Codes(0x3D, 0x09, 0x20, range(0x21, 0x29), (0x30, 0x31), 18, (4, 0x3F)),
}

_WRITES = frozenset((0x0D, 0x0E, 0x0F, 0x1E, 0x1F, 0x4D, 0x4E, 0x4F, 0x54, 0x55, 0xDE, 0xDF))
"""ds_write of 8 to 128 bits, of one and of two places: the same numbers in these generations."""


@dataclass(frozen=True)
class EarlyBarrier:
    """A barrier in the kernel ``function`` that waves reach while their stores to shared memory may still be on the
    way.

    ``from_source`` says that, by the line table, it comes from HIP's barrier of a block; ``place`` is then the
    ``FILE:LINE`` of the call.
    """

    function: str
    address: int
    from_source: bool
    place: str | None


def early_barriers(code: CodeObject) -> list[EarlyBarrier]:
    """All such barriers in ``code``; none for a target whose encodings are not known here."""
    codes = _GENERATIONS.get(generation(code.target) or 0)
    if codes is None or not code.elf:
        return []
    barriers: list[EarlyBarrier] = []
    lines: LineTable | None = None
    try:
        for name, start, body in functions(ELFFile(BytesIO(code.elf))):
            for offset in _reached_early(body, generation(code.target) or 0, codes):
                lines = lines or read_line_table(code.elf)
                barriers.append(_barrier(name, start + offset, lines))
    except DAMAGE:
        return []
    return barriers


def _barrier(function: str, address: int, lines: LineTable) -> EarlyBarrier:
    frames = lines.frames(address)
    from_source = any(frame.function.startswith(SYNCTHREADS) for frame in frames)
    place = lines.own(address) if from_source else None
    return EarlyBarrier(function, address, from_source, None if place is None else f"{place[0]}:{place[1]}")


def _reached_early(body: bytes, gen: int, codes: _Codes) -> Iterator[int]:
    """The offsets of barriers that some way through ``body`` comes to with stores to shared memory in flight."""
    code = dict(instructions(body, gen))
    after = dict(zip(code, [*list(code)[1:], None], strict=True))
    reached: dict[int, bool] = {}
    ways: list[tuple[int | None, bool]] = [(0, False)]
    while ways:
        place, in_flight = ways.pop()
        while place is not None and place in code and (place not in reached or (in_flight and not reached[place])):
            reached[place] = in_flight
            word, following = code[place][0], after[place]
            if word >> 26 == _SHARED and (word >> codes.shared_shift & 0xFF) in _WRITES:
                in_flight = True
            elif word >> 23 == _SOPP:
                opcode = word >> 16 & 0x7F
                shift, mask = codes.counter
                if opcode == codes.wait and not word >> shift & mask:
                    in_flight = False
                if opcode == codes.branch or opcode in codes.conditional:
                    ways.append((place + 4 + 4 * _signed(word), in_flight))
                if opcode == codes.branch or opcode in codes.returns:
                    break
            place = following
    for place, in_flight in sorted(reached.items()):
        word = code[place][0]
        if in_flight and word >> 23 == _SOPP and (word >> 16 & 0x7F) == codes.barrier:
            yield place


def _signed(word: int) -> int:
    """The last 16 bits: how many words a branch goes on."""
    return (word & 0x7FFF) - (word & 0x8000)
