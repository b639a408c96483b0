"""Products of quantized weights with quantized activations: mmvq, mmq and indexed_moe_forward.

``vector_sums`` is also what the launchers of the modules mmvq and moe compute.

Integer sums are exact. The float32 sums are in Candle's order: per thread over its blocks, then over the warps, then a
butterfly over 32 lanes (mmvq and indexed_moe_forward), or over the groups of a row one after the other (mmq).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.butterfly import LANES, butterfly
from reference.expected import Expected
from reference.quantized.blocks import FORMATS, GROUP, Q8_1_SIZE, SUPER, Blocks, Columns, columns
from reference.quantized.sums import MOST_ROWS, WITHOUT_MINIMUM, Fma, Seen, as_f32, in_parts, summed

Array = NDArray[Any]

F32 = np.float32


@dataclass(frozen=True)
class _Sums:
    """What a thread adds to its sum for a block, or mmq for one or two groups.

    dot, total: the integer products, and the activations alone, per piece; scale, minimum: the small integers of the
    format; d8, s8: of the activations; d, m: of the block. All broadcast to one shape, pieces last but for d and m.
    """

    dot: Array
    total: Array
    scale: Array
    minimum: Array
    d8: Array
    s8: Array
    d: Array
    m: Array


_Term = Callable[[Fma, Array, _Sums], Array]


# ---- matrix-vector: what a thread adds for its part of a block


def _shifted(offset: int) -> _Term:
    """Unsigned quants; the offset is taken off by way of the activations' sum, a share of it in each thread."""

    def term(fma: Fma, acc: Array, v: _Sums) -> Array:
        inner = fma(v.d8[..., 0], as_f32(v.dot[..., 0]), F32(-offset) * v.s8[..., 0])
        return fma(v.d, inner, acc)

    return term


def _with_minimum(share: float) -> _Term:
    def term(fma: Fma, acc: Array, v: _Sums) -> Array:
        least = v.m * v.s8[..., 0] * F32(share)
        return np.asarray(acc + fma(v.d * v.d8[..., 0], as_f32(v.dot[..., 0]), least))

    return term


def _plain(fma: Fma, acc: Array, v: _Sums) -> Array:
    return fma(v.d * v.d8[..., 0], as_f32(v.dot[..., 0]), acc)


def _by_scale(fma: Fma, acc: Array, v: _Sums) -> Array:
    """The sum is scaled by the block first, then by the activations."""
    return fma(as_f32(v.dot[..., 0]) * v.d, v.d8[..., 0], acc)


def _over_pieces(fma: Fma, factor: Array, whole: Array) -> Array:
    total = np.zeros(np.broadcast_shapes(factor.shape, whole.shape)[:-1], F32)
    for piece in range(whole.shape[-1]):
        total = fma(factor[..., piece], as_f32(whole[..., piece]), total)
    return total


def _scaled(fma: Fma, acc: Array, v: _Sums) -> Array:
    return fma(v.d, _over_pieces(fma, v.d8, v.dot * v.scale), acc)


def _scaled_with_minimum(fma: Fma, acc: Array, v: _Sums) -> Array:
    product = _over_pieces(fma, v.d8, v.dot * v.scale)
    minimum = _over_pieces(fma, v.d8, v.total * v.minimum)
    return np.asarray(acc + fma(v.d, product, -(v.m * minimum)))


def _of_nibbles(x: Array) -> Array:
    """Two threads share 32 weights: words 0, 1 and 4, 5, or 2, 3 and 6, 7."""
    return x.reshape(*x.shape[:-2], 2, 2, 2).swapaxes(-3, -2).reshape(*x.shape[:-2], 2, 1, 4)


def _of_bytes(x: Array) -> Array:
    """Four threads share 32 weights: two words each."""
    return x.reshape(*x.shape[:-2], 4, 1, 2)


def _of_two_bits(x: Array) -> Array:
    """16 threads share 256 weights: the same word of four groups."""
    return x.reshape(*x.shape[:-2], 2, 4, 8).swapaxes(-2, -1).reshape(*x.shape[:-2], 16, 4, 1)


def _of_pairs(x: Array) -> Array:
    """16 threads share 256 weights: words w and w + 4 of two neighbouring groups."""
    split = x.reshape(*x.shape[:-2], 4, 2, 2, 4)
    return np.moveaxis(split, -1, -3).reshape(*x.shape[:-2], 16, 2, 2)


def _of_six_bits(x: Array) -> Array:
    """32 threads share 256 weights: a word of group 4 n + j and of group 4 n + j + 2."""
    split = x.reshape(*x.shape[:-2], 2, 2, 2, 8)
    return np.moveaxis(split, -3, -1).reshape(*x.shape[:-2], 32, 2, 1)


@dataclass(frozen=True)
class _Vector:
    """How the threads share a block: (..., groups, 8 words) to (..., threads, pieces, words of a piece)."""

    threads: int
    share: Callable[[Array], Array]
    term: _Term


_VECTOR: dict[str, _Vector] = {
    "q4_0": _Vector(2, _of_nibbles, _shifted(4)),
    "q4_1": _Vector(2, _of_nibbles, _with_minimum(0.5)),
    "q5_0": _Vector(2, _of_nibbles, _shifted(8)),
    "q5_1": _Vector(2, _of_nibbles, _with_minimum(0.5)),
    "q8_0": _Vector(4, _of_bytes, _plain),
    "q8_0 by scale": _Vector(4, _of_bytes, _by_scale),
    "q2_K": _Vector(16, _of_two_bits, _scaled_with_minimum),
    "q3_K": _Vector(16, _of_two_bits, _scaled),
    "q4_K": _Vector(16, _of_pairs, _scaled_with_minimum),
    "q5_K": _Vector(16, _of_pairs, _scaled_with_minimum),
    "q6_K": _Vector(32, _of_six_bits, _scaled),
}


def terms_of(qtype: str, columns: int) -> int:
    """float32 terms of a sum over ``columns`` weights: an integer product of four bytes, and a minimum for each."""
    return columns // 4 * (1 if qtype in WITHOUT_MINIMUM else 2)


def vector_sums(
    qtype: str, warps: int, before: Array, weights: Blocks, activations: Columns, by_scale: bool = False
) -> Expected:
    """Weights (batch, rows, blocks) times activations (batch, columns, groups), to (batch, columns, rows).

    ``by_scale``: the products of q8_0 are multiplied by one scale after the other, not by the product of both.
    """
    how = _VECTOR["q8_0 by scale" if by_scale and qtype == "q8_0" else qtype]
    batch, rows, count = weights.d.shape
    groups = weights.quants.shape[3]
    words = weights.quants.reshape(batch, 1, rows, count, groups, 8, 4)
    u = activations.quants.reshape(batch, -1, 1, count, groups, 8, 4)
    dots = np.einsum("ncrbgwk,nmibgwk->nmrbgw", words, u)
    at_once = warps * LANES // how.threads  # blocks that the threads take in one step
    steps = -(-count // at_once)

    def by_thread(x: Array, pick: Callable[[Array], Array]) -> Array:
        """(..., blocks, groups, words) to (..., steps, threads of all warps, pieces); absent blocks are zero."""
        part = pick(how.share(x))
        room = np.zeros((*part.shape[:-3], steps * at_once, *part.shape[-2:]), part.dtype)
        room[..., : part.shape[-3], :, :] = part
        return room.reshape(*part.shape[:-3], steps, at_once * how.threads, part.shape[-1])

    def added(x: Array) -> Array:
        return by_thread(x, lambda part: np.asarray(part.sum(axis=-1)))

    def first(x: Array) -> Array:
        return by_thread(x, lambda part: part[..., 0])

    def of_halves(x: Array) -> Array:
        return first(np.repeat(x, 4, axis=-1)[:, None])

    def of_blocks(x: Array) -> Array:
        return first(np.broadcast_to(x[:, None, ..., None, None], (batch, 1, rows, count, groups, 8)))[..., 0]

    def of_groups(x: Array) -> Array:
        return first(np.repeat(x.reshape(batch, -1, 1, count, groups, 1), 8, axis=-1))

    pieces = (
        added(dots),
        added(u.sum(axis=-1)),
        of_halves(weights.scales),
        of_halves(weights.minimums),
        of_groups(activations.d),
        of_groups(activations.s),
    )
    by_step = [np.moveaxis(x, -3, 0) for x in pieces]
    by_step += [np.moveaxis(of_blocks(x), -2, 0) for x in (weights.d, weights.m)]
    present = first(np.ones((1, 1, 1, count, groups, 8), np.bool_))[..., 0]

    def total(fma: Fma, seen: Seen) -> Array:
        acc = np.zeros((batch, dots.shape[1], rows, warps * LANES), F32)
        for step in range(steps):
            now = _Sums(*(seen(part[step]) for part in by_step))
            acc = np.where(present[..., step, :], how.term(fma, acc, now), acc)
        shelves = acc.reshape(*acc.shape[:-1], warps, LANES)
        lanes = shelves[..., 0, :]
        for warp in range(1, warps):
            lanes = lanes + shelves[..., warp, :]
        return butterfly(lanes)

    # A part: at most three products and a sum for each piece; then steps, warps and the butterfly.
    depth = 3 + pieces[0].shape[-1] + 1 + steps + warps - 1 + 5
    return summed(before, total, depth, terms_of(qtype, count * groups * GROUP))


@np.errstate(all="ignore")
def mmvq(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    vx: Array,
    vy: Array,
    dst: Array,
    ncols_x: int,
    nrows_x: int,
    nrows_y: int,
    nrows_dst: int,
) -> dict[str, Expected]:
    """``dst[column * nrows_dst + row]``, 1 to 8 columns (``variant["ncols_y"]``) of ``nrows_y`` activations."""
    qtype, count = variant["qtype"], int(variant["ncols_y"])
    format_, rows = FORMATS[qtype], int(nrows_dst)
    per_row = int(ncols_x) // format_.length
    activations = columns(vy, count, int(ncols_x) // GROUP, int(nrows_y) // GROUP)

    def some(before: Array, first: int, last: int) -> Expected:
        data = vx[first * per_row * format_.size :]
        weights = format_.blocks(data, (last - first) * per_row).reshaped(1, last - first, per_row)
        return vector_sums(qtype, 4 if count <= 4 else 2, before, weights, activations)

    if count > 1 or rows <= MOST_ROWS:
        return {"dst": some(dst, 0, rows)}
    return {"dst": in_parts(dst, rows, lambda first, last: some(np.zeros(last - first, F32), first, last))}


@np.errstate(all="ignore")
def indexed_moe_forward(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    all_weights: Array,
    all_inputs: Array,
    indices: Array,
    all_outputs: Array,
    n: int,
    k: int,
    batch: int,
    topk: int,
    k_padded: int,
    input_dim1: int,
) -> dict[str, Expected]:
    """``all_outputs[task, row]`` for task = batch index * topk + k-th choice: rows of expert ``indices[task]``.

    The distance between experts counts 256 weights to a block, as in Candle: wrong for q8_0, whose blocks have 32; with
    ``expert-stride`` fixed it counts those of the type.
    Tasks of a batch share its input where ``input_dim1`` is 1; else each has its own.
    """
    qtype, rows, width = variant["qtype"], int(n), int(k)
    format_, tasks = FORMATS[qtype], int(batch) * int(topk)
    per_row, stride = width // format_.length, int(k_padded) // GROUP
    counted = format_.length if variant.get("fixed") == "expert-stride" else SUPER
    distance = rows * width // counted * format_.size
    starts = indices[:tasks].astype(np.int64) * distance
    data = all_weights[starts[:, None] + np.arange(rows * per_row * format_.size)]
    weights = format_.blocks(data.reshape(-1), tasks * rows * per_row).reshaped(tasks, rows, per_row)
    task = np.arange(tasks)
    inputs = task // int(topk) if int(input_dim1) == 1 else task
    size = stride * Q8_1_SIZE
    taken = all_inputs[: all_inputs.size // size * size].reshape(-1, size)[inputs]
    activations = columns(taken.reshape(-1), tasks, width // GROUP, stride)
    return {"all_outputs": vector_sums(qtype, 4, all_outputs, weights, activations)}


# ---- matrix-matrix: pieces are the halves of one group, or of two


def _matrix_plain(fma: Fma, acc: Array, v: _Sums) -> Array:
    return fma(v.d * v.d8[..., 0], as_f32(v.dot.sum(axis=-1)), acc)


def _matrix_q4_0(fma: Fma, acc: Array, v: _Sums) -> Array:
    inner = fma(v.d8[..., 0], as_f32(v.dot.sum(axis=-1)), F32(-8) * v.s8[..., 0])
    return fma(v.d, inner, acc)


def _matrix_with_minimum(fma: Fma, acc: Array, v: _Sums) -> Array:
    return np.asarray(acc + fma(v.d * v.d8[..., 0], as_f32(v.dot.sum(axis=-1)), v.m * v.s8[..., 0]))


def _matrix_q2_k(fma: Fma, acc: Array, v: _Sums) -> Array:
    product = as_f32((v.dot * v.scale).sum(axis=-1))
    minimum = as_f32((v.total * v.minimum).sum(axis=-1))
    return fma(v.d8[..., 0], fma(v.d, product, -(v.m * minimum)), acc)


def _matrix_q3_k(fma: Fma, acc: Array, v: _Sums) -> Array:
    return fma(v.d * v.d8[..., 0], as_f32((v.dot * v.scale).sum(axis=-1)), acc)


def _by_group(x: Array) -> Array:
    """(..., 4 halves) to (..., 2 groups): sums of halves."""
    return np.asarray(x.reshape(*x.shape[:-1], 2, 2).sum(axis=-1))


def _matrix_pairs(fma: Fma, acc: Array, v: _Sums) -> Array:
    product = _over_pieces(fma, v.d8[..., ::2], _by_group(v.dot * v.scale))
    minimum = _over_pieces(fma, v.s8[..., ::2], v.minimum[..., ::2])
    return np.asarray(acc + fma(v.d, product, -(v.m * minimum)))


def _matrix_q6_k(fma: Fma, acc: Array, v: _Sums) -> Array:
    return fma(v.d, _over_pieces(fma, v.d8[..., ::2], _by_group(v.dot * v.scale)), acc)


_MATRIX: dict[str, tuple[int, _Term]] = {  # groups that are added in one go, and how
    "q4_0": (1, _matrix_q4_0),
    "q4_1": (1, _matrix_with_minimum),
    "q5_0": (1, _matrix_plain),
    "q5_1": (1, _matrix_with_minimum),
    "q8_0": (1, _matrix_plain),
    "q2_K": (1, _matrix_q2_k),
    "q3_K": (1, _matrix_q3_k),
    "q4_K": (2, _matrix_pairs),
    "q5_K": (2, _matrix_pairs),
    "q6_K": (2, _matrix_q6_k),
}


@np.errstate(all="ignore")
def mmq(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    vx: Array,
    vy: Array,
    dst: Array,
    ncols_x: int,
    nrows_x: int,
    ncols_y: int,
    nrows_y: int,
    nrows_dst: int,
) -> dict[str, Expected]:
    """``dst[column * nrows_dst + row]``. Blocks that Candle reads past a row meet activations of zero: no effect."""
    qtype = variant["qtype"]
    format_, rows, count = FORMATS[qtype], int(nrows_dst), int(ncols_y)
    per_row, groups = int(ncols_x) // format_.length, int(ncols_x) // GROUP
    weights = format_.blocks(vx, rows * per_row)
    activations = columns(vy, count, groups, int(nrows_y) // GROUP)
    span, term = _MATRIX[qtype]
    steps, pieces = groups // span, 2 * span
    # q5_0 takes 16 off in integers here, where the matrix-vector products do it by way of the activations' sum.
    offset = 16 if qtype == "q5_0" else 0
    quants = (weights.quants - offset).reshape(1, rows, steps, pieces, 16)
    u = activations.quants.reshape(count, 1, steps, pieces, 16)
    dot = np.einsum("irspk,cispk->crsp", quants, u)
    total = u.sum(axis=-1)
    blocks_of = np.arange(steps) * span * GROUP // format_.length
    d, m = (x.reshape(1, rows, per_row)[:, :, blocks_of] for x in (weights.d, weights.m))
    scale, minimum = (x.reshape(1, rows, steps, pieces) for x in (weights.scales, weights.minimums))
    d8, s8 = (np.repeat(x.reshape(count, 1, steps, span), 2, axis=-1) for x in (activations.d, activations.s))
    by_step = [np.moveaxis(x, 2, 0) for x in (dot, total, scale, minimum, d8, s8, d, m)]

    def in_order(fma: Fma, seen: Seen) -> Array:
        acc = np.zeros((count, rows), F32)
        for step in range(steps):
            acc = term(fma, acc, _Sums(*(seen(part[step]) for part in by_step)))
        return acc

    # A term: at most three products and three sums.
    return {"dst": summed(dst, in_order, 6 + steps, terms_of(qtype, int(ncols_x)))}
