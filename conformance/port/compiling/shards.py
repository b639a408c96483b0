"""Which kernels of a source are compiled together, each group to a code object of its own.

An edit of a kernel then compiles its shard alone, and the shards of a large file are compiled side by side. Two
processes that read the same source make the same shards, and a kernel that is added changes those next to it only: a
shard ends where the name of its last kernel says so.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from conformance.port.compiling.cut import Block, Cuts

FEWEST, MOST = 16, 30
"""Kernels of a shard. The last ones of a source may have more, and so may one block; a short source has fewer."""

_REST = 8
"""So few kernels at the end of a source are compiled with those before them."""

_ENDS = 6
"""Of the kernels behind the ``FEWEST`` first ones, the names of one in so many end a shard."""

KERNELS_OF_A_SHARD = 22
"""On average."""


@dataclass(frozen=True)
class Part:
    """What is compiled at once: the kernels ``asked`` alone, or all kernels of their ``shard``.

    With ``whole`` the compiler reads the whole text and makes code for the kernels ``asked`` only, if it can.
    """

    shard: tuple[str, ...]
    asked: tuple[str, ...]
    whole: bool = False


def parts_of(cuts: Cuts | None, asked: Collection[str], unseen: Collection[str] = ()) -> tuple[Part, ...] | None:
    """The parts of a source that contain the kernels ``asked``; ``None`` where the whole source is compiled for them.

    The whole source is compiled if a cut would leave everything in, or if kernels may share a variable. ``unseen`` are
    kernels that the source may define without their being seen there. A compiler that can make code for them alone
    compiles them as a part of their own, which shows which of them are there.
    """
    if cuts is None or cuts.shared or not asked:
        return None
    shards = tuple(shards_of(cuts.blocks))
    if len(shards) == 1 and cuts.kernels <= frozenset(asked):
        return None
    parts = [Part(shard, tuple(name for name in shard if name in asked)) for shard in shards]
    rest = tuple(sorted(set(unseen) - cuts.kernels))
    return tuple(part for part in (*parts, Part(rest, rest, whole=True)) if part.asked)


def shards_of(blocks: Sequence[Block]) -> Iterator[tuple[str, ...]]:
    """The kernels of each shard of a source with these ``blocks``, in the order of the source."""
    shard: list[str] = []
    left = sum(len(block.kernels) for block in blocks)
    for block in blocks:
        if left > _REST and shard and len(shard) + len(block.kernels) > MOST:
            yield tuple(shard)
            shard = []
        left -= len(block.kernels)
        shard += block.kernels
        if left > _REST and len(shard) >= FEWEST and zlib.crc32(block.kernels[-1].encode()) % _ENDS == 0:
            yield tuple(shard)
            shard = []
    if shard:
        yield tuple(shard)
