"""dmmv: weights times an f32 vector, each lane's sum in Candle's order, then a butterfly over 32 lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.butterfly import LANES, butterfly
from reference.expected import Expected
from reference.quantized.blocks import FORMATS, GROUP, Blocks
from reference.quantized.decoded import values
from reference.quantized.sums import MOST_ROWS, WITHOUT_MINIMUM, Fma, Seen, as_f32, in_parts, summed

Array = NDArray[Any]

F32 = np.float32

# A pair of lanes takes the same part of every other K block: 16 parts.
_PART = np.arange(16)


@np.errstate(all="ignore")
def dmmv(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    vx: Array,
    dst: Array,
    ncols: int,
    nrows: int | None = None,
    y: Array | None = None,
    yy: Array | None = None,
) -> dict[str, Expected]:
    """``dst[row]``: row of ``vx`` times the vector, ``y`` (``yy`` for K blocks).

    Without ``nrows`` (q5_K) there are as many rows as ``vx`` holds.
    """
    qtype, width = variant["qtype"], int(ncols)
    vector = yy if y is None else y
    if vector is None:
        raise ValueError("dmmv takes a vector, y or yy")
    format_ = FORMATS[qtype]
    per_row = width // format_.length
    rows = vx.size // (per_row * format_.size) if nrows is None else int(nrows)
    if rows > MOST_ROWS:
        size = per_row * format_.size

        def some(first: int, last: int) -> Expected:
            before = np.zeros(last - first, F32)
            found = dmmv(
                variant, library_ulp, vx=vx[first * size :], dst=before, ncols=ncols, nrows=last - first, y=vector
            )
            return found["dst"]

        return {"dst": in_parts(dst, rows, some)}
    blocks = format_.blocks(vx, rows * per_row)
    numbers = vector[:width].reshape(per_row, -1, GROUP)
    if format_.length == GROUP:
        weights = values(qtype, blocks).reshape(rows, per_row, GROUP)
        depth = per_row + 6  # a product and a sum of it, both for half of the blocks twice, then the butterfly

        def simple(fma: Fma, seen: Seen) -> Array:
            return butterfly(_simple(fma, qtype, seen(weights), seen(numbers[:, 0])))

        return {"dst": summed(dst, simple, depth, width)}
    part, shaped = _PARTS[qtype], blocks.reshaped(rows, per_row)
    # Of a block at most three products and twelve sums, then half of the blocks, then the butterfly.
    depth = 15 + -(-per_row // 2) + 5

    def total(fma: Fma, seen: Seen) -> Array:
        return butterfly(_super(fma, part, shaped.seen(seen), seen(numbers)))

    # A product for each weight, and one with its minimum.
    return {"dst": summed(dst, total, depth, width * (1 if qtype in WITHOUT_MINIMUM else 2))}


def _simple(fma: Fma, qtype: str, weights: Array, numbers: Array) -> Array:
    """rows x 32: 16 lanes take a block, a lane two weights: neighbours for q8_0, those that share a byte else."""
    lane = np.arange(LANES)
    first = 2 * (lane % 16) if qtype == "q8_0" else lane % 16
    second = first + (1 if qtype == "q8_0" else 16)
    total = np.zeros((len(weights), LANES), F32)
    for block in range(0, weights.shape[1] - 1, 2):
        for place in (first, second):
            total = fma(weights[:, block + lane // 16, place], numbers[block + lane // 16, place], total)
    return total


class _Block:
    """One block of every row and its numbers, looked up at a group and a place for each of the 16 parts."""

    def __init__(self, blocks: Blocks, numbers: Array, index: int) -> None:
        self.d, self.m = blocks.d[:, index, None], blocks.m[:, index, None]
        self._quants, self._numbers = as_f32(blocks.quants[:, index]), numbers[index]
        self._scales, self._minimums = as_f32(blocks.scales[:, index]), as_f32(blocks.minimums[:, index])

    def number(self, group: Array, place: Array) -> Array:
        return np.asarray(self._numbers[group, place])

    def quant(self, group: Array, place: Array) -> Array:
        return np.asarray(self._quants[:, group, place])

    def scale(self, group: Array, half: Array | int) -> Array:
        return np.asarray(self._scales[:, group, half])

    def minimum(self, group: Array, half: Array | int) -> Array:
        return np.asarray(self._minimums[:, group, half])


_Part = Callable[[Fma, Array, _Block], Array]


def _super(fma: Fma, part: _Part, blocks: Blocks, numbers: Array) -> Array:
    """rows x 32: even lanes take the even blocks, odd lanes the odd ones."""
    rows, count = blocks.d.shape
    lanes = np.zeros((rows, 16, 2), F32)
    for index in range(count):
        lanes[:, :, index % 2] = part(fma, lanes[:, :, index % 2], _Block(blocks, numbers, index))
    return lanes.reshape(rows, LANES)


def _chain(fma: Fma, pairs: Iterable[tuple[Array, Array]]) -> Array:
    """a0 * b0 + a1 * b1 + ...: CUDA rounds the second product and fuses the others, the first one included."""
    (a0, b0), (a1, b1), *rest = pairs
    total = fma(a0, b0, np.asarray(a1 * b1))
    for a, b in rest:
        total = fma(a, b, total)
    return total


def _less_minimum(fma: Fma, acc: Array, block: _Block, product: Array, minimum: Array) -> Array:
    return np.asarray(acc + fma(block.d, product, -(block.m * minimum)))


def _q2_k(fma: Fma, acc: Array, block: _Block) -> Array:
    first_group, first = 4 * (_PART // 8), 2 * (_PART % 8)
    products = minima = np.zeros_like(acc)
    for step in range(2):
        terms = [(first_group + k, half, first + step + 16 * half) for half in range(2) for k in range(4)]
        numbers = [block.number(group, place) for group, _, place in terms]
        products = products + _chain(
            fma,
            (
                (number * block.scale(group, half), block.quant(group, place))
                for number, (group, half, place) in zip(numbers, terms, strict=True)
            ),
        )
        minima = minima + _chain(
            fma,
            ((number, block.minimum(group, half)) for number, (group, half, _) in zip(numbers, terms, strict=True)),
        )
    return _less_minimum(fma, acc, block, products, minima)


def _q3_k(fma: Fma, acc: Array, block: _Block) -> Array:
    groups, first = [4 * (_PART // 8) + k for k in range(4)], 2 * (_PART % 8)
    total = np.zeros_like(acc)
    for step in range(2):
        for half in range(2):
            place = first + step + 16 * half
            total = total + _chain(
                fma, ((block.number(g, place) * block.scale(g, half), block.quant(g, place)) for g in groups)
            )
    return fma(block.d, total, acc)


def _quarters() -> list[Array]:
    """Parts 0-7 take groups 0, 1, 4, 5, the others 2, 3, 6, 7."""
    return [2 * (_PART // 8) + k for k in (0, 1, 4, 5)]


def _q4_k(fma: Fma, acc: Array, block: _Block) -> Array:
    groups, first = _quarters(), 4 * (2 * (_PART % 4) + _PART // 4 % 2)
    sums = [np.zeros_like(acc)] * 4
    minima = np.zeros_like(acc)
    for step in range(4):
        place = first + step
        numbers = [block.number(group, place) for group in groups]
        # The quants of odd groups are the upper halves of bytes, taken where they stand: 16 times too large.
        sums = [
            fma(number, block.quant(group, place) * F32(16 if k % 2 else 1), total)
            for k, (number, group, total) in enumerate(zip(numbers, groups, sums, strict=True))
        ]
        minima = minima + _chain(fma, zip(numbers, (block.minimum(group, 0) for group in groups), strict=True))
    scales = [block.scale(group, 0) for group in groups]
    sixteenth = np.asarray(F32(1 / 16))
    product = fma(sums[0], scales[0], sums[1] * scales[1] * sixteenth)
    product = fma(sums[2], scales[2], product)
    product = fma(sums[3] * scales[3], sixteenth, product)
    return _less_minimum(fma, acc, block, product, minima)


def _q5_k(fma: Fma, acc: Array, block: _Block) -> Array:
    groups, first = _quarters(), 2 * (2 * (_PART % 4) + _PART // 4 % 2)
    sums = [np.zeros_like(acc)] * 4
    minima = np.zeros_like(acc)
    for step in range(2):
        places = (first + step, first + step + 16)
        numbers = [[block.number(group, place) for place in places] for group in groups]
        quants = [[block.quant(group, place) for place in places] for group in groups]
        sums = [
            total + _chain(fma, zip(two, weights, strict=True))
            for total, two, weights in zip(sums, numbers, quants, strict=True)
        ]
        minima = minima + _chain(fma, ((a + b, block.minimum(g, 0)) for (a, b), g in zip(numbers, groups, strict=True)))
    scales = [block.scale(group, 0) for group in groups]
    order = (1, 0, 2, 3)  # the first product is the rounded one here
    product = _chain(fma, ((sums[k], scales[k]) for k in order))
    return _less_minimum(fma, acc, block, product, minima)


def _q6_k(fma: Fma, acc: Array, block: _Block) -> Array:
    groups, first, half = [4 * (_PART // 8) + k for k in range(4)], 4 * (_PART % 8), _PART % 8 // 4
    total = np.zeros_like(acc)
    for step in range(4):
        place = first + step
        total = total + _chain(
            fma, ((block.number(g, place) * block.scale(g, half) * block.d, block.quant(g, place)) for g in groups)
        )
    return np.asarray(acc + total)


_PARTS: dict[str, _Part] = {"q2_K": _q2_k, "q3_K": _q3_k, "q4_K": _q4_k, "q5_K": _q5_k, "q6_K": _q6_k}
