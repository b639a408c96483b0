"""Launches whose buffers span more than memory can hold: offsets above 2^31 elements and 2^32 bytes.

Such a buffer is a few pieces of elements with gaps between them. A ``Launch`` describes it closed up, without the gaps,
as an ordinary launch with smaller strides: so it is drawn, so the reference answers it, and so it is compared. Its
``spread`` says what the kernel is given instead: the real strides, and where in the allocation each piece lies. The cpu
runtime reserves address space for the whole allocation and has pages for the pieces alone, so that an access to a gap
is a fault; nothing has to look through gigabytes for what was written there.

What that leaves out is in docs/verdicts.md ("Beyond 2^31 elements").
"""

from __future__ import annotations

from conformance.cases.launch import BufferPiece

FAR = 1 << 31
"""A stride from which on rows are spread: no int holds it."""

NEAREST_FAR = 1 << 20
"""The smallest stride that spreads rows: many of them reach far."""

GAP = 5
"""Elements behind a row that are kept where the rest of the gap is left out: what is written there shows."""

MOST_SPAN = 1 << 32
"""Elements that a buffer may span: Candle's kernels count its elements in 32 bits."""


def rows_apart(rows: int, pitch: int, stride: int, start: int, length: int) -> tuple[BufferPiece, ...]:
    """The pieces of a buffer of ``length`` elements whose ``rows`` are ``pitch`` elements apart, from element ``start``
    on, and ``stride`` in the allocation."""
    pieces = []
    for row in range(rows):
        at = start + row * pitch if row else 0
        end = start + (row + 1) * pitch if row + 1 < rows else length
        pieces.append(BufferPiece(at, end - at, start + row * stride if row else 0))
    return tuple(pieces)
