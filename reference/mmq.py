"""Candle's linked launchers of mmq_gguf/: activations quantized in three layouts, and products of whole matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.expected import Expected
from reference.interval import around, inside
from reference.quantized.activations import of_some_order
from reference.quantized.blocks import FORMATS, GROUP, named
from reference.quantized.products import terms_of
from reference.quantized.tiles import LAYOUTS, LENGTH, SIZE, quantized, tiles
from reference.result import placed

Array = NDArray[Any]

F32 = np.dtype(np.float32)

LAYOUT_OF = {
    "q4_0": "DS4",
    "q4_1": "DS4",
    "q5_0": "D4",
    "q5_1": "DS4",
    "q8_0": "D4",
    "q2_K": "D2S6",
    "q3_K": "D4",
    "q4_K": "DS4",
    "q5_K": "DS4",
    "q6_K": "D4",
}
"""The layout of the activations that the products of a format take."""

_PER_THREADS_OF = 512
"""Values of a row that a block of upstream's quantizer takes: a channel of ``ne2`` and ``ne3`` begins at such a one."""

_AT_ONCE = 256
"""Weights of a row that upstream's tiles hold."""

_PRODUCTS = 4
"""Roundings of a term before it is added: of its integers to float32, and of three products."""


@np.errstate(all="ignore")
def mmq_quantize_q8_1(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    x: Array,
    ids: Array | None,
    vy: Array,
    type_x: int,
    ne00: int,
    s01: int,
    s02: int,
    s03: int,
    ne0: int,
    ne1: int,
    ne2: int,
    ne3: int,
) -> dict[str, Expected]:
    """Rows of ``ne00`` float32 values, filled up with zeros to ``ne0``, as blocks of the variant's ``layout``.

    Row r of channel (c, e) begins at element ``ids[r]`` (without ids: r) * s01 + c * s02 + e * s03 of ``x``. Blocks lie
    in the order of channels, of 128 values, then of rows. ``type_x`` is not used. Every byte is the only right one but
    those of the sums, which may be added in any order: ``equivalent``.
    """
    at, values = _values(x, ids, [int(n) for n in (ne00, s01, s02, s03, ne0, ne1, ne2, ne3)])
    blocks, _, _ = quantized(variant["layout"], values)
    return {"vy": placed(vy, Expected(blocks), _bytes_of(at).reshape(-1))}


def _values(x: Array, ids: Array | None, sizes: list[int]) -> tuple[Array, Array]:
    """The numbers of the blocks that are written, and their values: (channels, rows, blocks), and those x 128."""
    ne00, s01, s02, s03, ne0, ne1, ne2, ne3 = sizes
    per_row = -(-ne0 // LENGTH)
    row = np.arange(ne1) if ids is None else ids[:ne1].astype(np.int64)
    channel = np.arange(ne2 * ne3)
    start = (channel % ne2 * s02 + channel // ne2 * s03)[:, None] + row * s01
    kept = np.arange(per_row * LENGTH)
    values = np.zeros((*start.shape, kept.size), np.float32)
    values[..., :ne00] = x[start[..., None] + kept[:ne00]]
    of_channel = ne1 * -(-ne0 // _PER_THREADS_OF) * (_PER_THREADS_OF // LENGTH)
    at = channel[:, None, None] * of_channel + np.arange(per_row) * ne1 + np.arange(ne1)[:, None]
    return at, values.reshape(*start.shape, per_row, LENGTH)


def _bytes_of(at: Array) -> Array:
    """The places of the bytes of blocks ``at``."""
    return np.asarray(at[..., None] * SIZE + np.arange(SIZE))


@dataclass(frozen=True)
class _Form:
    """How the formula of a format is computed.

    ``offset`` is taken off the quants as integers. ``by_sum`` times the scale, times the stored sum of the activations,
    is taken off instead. ``scales_rounded``: products of a block's scale with a small integer are rounded to float16.
    ``products_rounded``: so are products of the weights' and the activations' scales, and of minimum and sum.
    ``together``: so many pieces are added before the block's scale is multiplied, which shows where it is infinite.
    """

    offset: int = 0
    by_sum: int = 0
    scales_rounded: bool = False
    products_rounded: bool = False
    together: int = 1


_ROUNDED = (_Form(scales_rounded=True), _Form())
_SUMMED = (_Form(), _Form(products_rounded=True))

_FORMS: dict[str, tuple[_Form, ...]] = {
    "q4_0": (_Form(offset=8), _Form(by_sum=8)),
    "q4_1": _SUMMED,
    "q5_0": (_Form(offset=16),),
    "q5_1": _SUMMED,
    "q8_0": (_Form(),),
    "q2_K": _ROUNDED,
    "q3_K": (_Form(),),
    "q4_K": _ROUNDED,
    "q5_K": _ROUNDED,
    "q6_K": (_Form(together=8), _Form(together=2), _Form()),
}
"""By format; the first is what upstream computes with tensor cores.

The others are as good: what its own path without them computes (q4_0, q4_1, q5_1, q4_K, q5_K, q6_K), without the
rounding of scales that its tiles in shared memory come with (q2_K), or with the scale in each term (q6_K).
"""


@np.errstate(all="ignore")
def mmq(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    tmp_fixup: Array,
    x: Array,
    y: Array,
    dst: Array,
    ncols_x: int,
    nrows_x: int,
    ncols_y: int,
    stride_row_x: int,
    stride_col_dst: int,
    cc: int,
    nsm: int,
    smpbo: int,
    warp_size: int,
) -> dict[str, Expected]:
    """``dst[column * nrows_x + row]``; rows of ``x`` are ``stride_row_x`` blocks apart, ``y`` is as ``LAYOUT_OF`` says.

    Upstream does not use ``stride_col_dst`` (Candle's Rust gives ``nrows_x``), and what it says of the device decides
    on tiles and on where the sums of a row are split among the blocks of the grid (``tmp_fixup`` holds the parts): on
    the order of sums alone. The value is the exact sum, rounded once; the interval is that of every order of sums of
    four weights each (``reference.interval``). Other forms of the formula that upstream itself uses where there are no
    tensor cores have an interval of their own: ``equivalent``. Blocks that are read beyond a row meet zeros, and where
    their scale is infinite a NaN is as good.
    """
    found = _product(variant, _FORMS[named(variant["qtype"])][0], x, y, ncols_x, nrows_x, ncols_y, stride_row_x)
    return {"dst": placed(dst, found)}


def _product(
    variant: Mapping[str, str],
    form: _Form,
    x: Array,
    y: Array,
    ncols_x: int,
    nrows_x: int,
    ncols_y: int,
    stride_row_x: int,
) -> Expected:
    """Of shape columns x rows."""
    qtype, rows, columns = named(variant["qtype"]), int(nrows_x), int(ncols_y)
    format_, groups = FORMATS[qtype], int(ncols_x) // GROUP
    per_row, stride = int(ncols_x) // format_.length, int(stride_row_x)
    blocks = format_.blocks(x, (rows - 1) * stride + per_row)
    which = (np.arange(rows)[:, None] * stride + np.arange(per_row)).reshape(-1)
    weights = blocks.seen(lambda part: part[which])
    activations = tiles(LAYOUT_OF[qtype], y, columns, groups)
    # A piece is what shares a small integer: 16 weights, or 32.
    length = 16 if qtype in ("q2_K", "q3_K", "q6_K") else GROUP
    pieces = groups * GROUP // length

    def of_blocks(part: Array) -> Array:
        """(all blocks) to (rows, pieces)."""
        return np.repeat(part.astype(np.float64).reshape(rows, per_row), pieces // per_row, axis=1)

    def of_halves(part: Array) -> Array:
        return part.reshape(rows, -1)[:, :: length // 16].astype(np.float64)

    scale = of_blocks(weights.d) * of_halves(weights.scales)
    least = of_blocks(weights.m) * (of_halves(weights.minimums) if qtype.endswith("_K") else -1)
    if form.scales_rounded:
        scale, least = (part.astype(np.float16).astype(np.float64) for part in (scale, least))
    least = least + form.by_sum * scale if form.by_sum else least
    quants = (weights.quants.reshape(rows, pieces, -1, 4) - form.offset).astype(np.float64)
    u = activations.quants.reshape(columns, pieces, -1, 4).astype(np.float64)
    d = np.repeat(activations.d.astype(np.float64), GROUP // length, axis=1)
    sums = _stored_sums(qtype, activations.s, d * u.sum(axis=(2, 3)))
    words = np.einsum("rpwk,cpwk->crpw", quants, u)
    factor, minimum = d[:, None] * scale, sums[:, None] * least
    if form.products_rounded:
        factor, minimum = (part.astype(np.float16).astype(np.float64) for part in (factor, minimum))
    total = (factor * words.sum(axis=-1) - minimum).sum(axis=-1)
    if form.together > 1:
        inner = d[:, None] * of_halves(weights.scales) * words.sum(axis=-1)
        inner = inner.reshape(*total.shape, -1, form.together).sum(axis=-1)
        total = (inner * of_blocks(weights.d)[:, :: form.together]).sum(axis=-1)
    magnitude = (np.abs(factor) * np.abs(words).sum(axis=-1) + np.abs(minimum)).sum(axis=-1)
    # Nothing is added where there is no minimum.
    return around(total, magnitude, terms_of(qtype, int(ncols_x)) - 1 + _PRODUCTS, F32)


def _stored_sums(qtype: str, stored: Array, computed: Array) -> Array:
    """(columns, pieces): what the minimums are multiplied by. The last two of eight sums of D2S6 are not stored."""
    if LAYOUT_OF[qtype] == "D4":
        return np.zeros_like(computed)
    if LAYOUT_OF[qtype] == "DS4":
        return stored.astype(np.float64)
    sums = computed.reshape(len(computed), -1, 8).copy()
    sums[..., :6] = stored
    return sums.reshape(computed.shape)


@np.errstate(all="ignore")
def equivalent(variant: Mapping[str, str], arguments: Mapping[str, Any], got: Mapping[str, Array]) -> dict[str, Array]:
    """See ``reference.equivalent``: other orders of the sums in blocks, and other forms of the products."""
    if "layout" in variant:
        return {"vy": _other_sums(variant["layout"], arguments, got["vy"])}
    names = ("x", "y", "ncols_x", "nrows_x", "ncols_y", "stride_row_x")
    given = {name: arguments[name] for name in names}
    mask = np.zeros(got["dst"].size, np.bool_)
    for form in _FORMS[named(variant["qtype"])]:
        found = _product(variant, form, **given)
        size = found.value.size
        mask[:size] |= inside(got["dst"][:size].reshape(found.value.shape), found).reshape(-1)
    sizes = (given[name] for name in ("ncols_x", "nrows_x", "stride_row_x"))
    infinite = _read_infinities(named(variant["qtype"]), given["x"], *map(int, sizes))
    mask[:size] |= np.isnan(got["dst"][:size]) & np.tile(infinite, size // infinite.size)
    return {"dst": mask}


def _read_infinities(qtype: str, x: Array, ncols_x: int, nrows_x: int, stride_row_x: int) -> Array:
    """The rows behind which upstream, which takes 256 weights at a time, reads a scale that times zero is NaN."""
    format_ = FORMATS[qtype]
    per_row, there = ncols_x // format_.length, x.size // format_.size
    read = np.arange(per_row, -(-ncols_x // _AT_ONCE) * _AT_ONCE // format_.length)
    at = np.arange(nrows_x)[:, None] * stride_row_x + read
    blocks, last = format_.blocks(x, there), np.minimum(at, there - 1)
    infinite = ~(np.isfinite(blocks.d[last]) & np.isfinite(blocks.m[last]))
    return np.asarray((infinite & (at < there)).any(axis=1))


def _other_sums(layout: str, arguments: Mapping[str, Any], written: Array) -> Array:
    """Which bytes of blocks belong to a sum that some order of the float32 additions gives."""
    mask = np.zeros(written.size, np.bool_)
    if not LAYOUTS[layout].per_sum:
        return mask
    sizes = [int(arguments[name]) for name in ("ne00", "s01", "s02", "s03", "ne0", "ne1", "ne2", "ne3")]
    at, values = _values(arguments["x"], arguments["ids"], sizes)
    _, terms, sums = quantized(layout, values)
    places = (at[..., None] * SIZE + LAYOUTS[layout].sum_bytes)[..., None] + np.arange(2)
    found = np.ascontiguousarray(written[places]).view(np.float16)[..., 0]
    mask[places] = of_some_order(terms, sums, found)[..., None]
    return mask
