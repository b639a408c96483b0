"""Packed weights: decoding, gathering rows, and products with f32 or quantized vectors.

Weights are random bytes in every field but the float scales, which field ``values`` chooses. Behind the last row lies
what Candle allocates for 512 more weights and does not always clear: garbage with finite scales. Activations are
random q8_1 blocks whose sum field is independent of their quants, so that a kernel which recomputes it is seen; the
blocks that fill a column up to a multiple of 512 are zero, as quantize_q8_1 leaves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from conformance.cases.arguments import Family, Fields, Row, in_order, multiple, numbers, poisoned
from conformance.cases.case import Case
from conformance.cases.families.packed import FORMATS, GROUP, VALUES, activations, f32_values, padded, raw, weights
from conformance.cases.launch import Argument, Buffer, Launch, Spread
from conformance.cases.rows import parsed, rows_beside
from conformance.cases.spread import FAR, rows_apart
from conformance.cases.values import RandomStream, values
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)

Size = tuple[int, int, int]

_FARTHEST = 1 << 40
"""Bytes that rows may be apart."""


def _qtype(kernel: Kernel) -> str:
    return kernel.variant["qtype"]


@lru_cache
def _rows_of(family: str, qtype: str, one_column: bool) -> tuple[Row, ...]:
    if qtype not in FORMATS:
        return parsed(ROWS["get_rows_plain"])
    small = FORMATS[qtype].length == GROUP
    extra = {"mmvq": ROWS["mmvq_small"], "mmq": ROWS["mmq_small"], "indexed_moe_forward": ROWS["moe_small"]}.get(
        family, ()
    )
    rows = [*_WEIGHT_ROWS[family], *(extra if small else ())]
    rows += ROWS["mmvq_one"] if one_column and family == "mmvq" else ()
    block = FORMATS[qtype].length
    return parsed([row.format(b=block, s=max(block, 64), o=7 if one_column else 6, m=66000 // block) for row in rows])


_WEIGHT_ROWS: dict[str, tuple[str, ...]] = {
    "dequantize_block": ROWS["dequantize"],
    "get_rows": ROWS["get_rows"],
    "dmmv": ROWS["dmmv"],
    "mmvq": ROWS["mmvq"],
    "mmq": ROWS["mmq"],
    "indexed_moe_forward": ROWS["moe"],
}


def _rows(kernel: Kernel) -> Sequence[Row]:
    return _rows_of(kernel.launch, _qtype(kernel), kernel.variant.get("ncols_y", "1") == "1")


def _launch(kernel: Kernel, grid: Size, block: Size, arguments: Sequence[Argument]) -> Launch:
    return Launch(kernel.name, grid, block, 0, in_order(kernel, arguments))


def _zeroed(fields: Fields, kernel: Kernel, name: str, length: int) -> Buffer:
    """Output ``name`` as Candle's Rust side allocates it for these families: zeros, which a kernel may add to.

    Field ``output=poison`` is what another caller may give it.
    """
    buffer = poisoned(fields, kernel, name, length)
    if fields.choice("output", "zeros", ("zeros", "poison")) == "zeros":
        buffer.data[:length] = 0
    return buffer


def _values(fields: Fields) -> str:
    return fields.choice("values", "random", VALUES)


def _dequantize_block(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, ("blocks", "values", "y_start"))
    qtype, count = _qtype(kernel), fields.number("blocks", 1, 1)
    length = FORMATS[qtype].length
    total = count * length
    vx = weights(qtype, count, _values(fields), stream)
    arguments: list[Argument] = [raw("vx", vx), poisoned(fields, kernel, "y", total, fields.number("y_start", 0))]
    if length > GROUP:
        return _launch(kernel, (count, 1, 1), (32 if qtype in ("q4_K", "q8_K") else 64, 1, 1), arguments)
    if qtype in ("q5_0", "q5_1"):  # k counts weights
        return _launch(kernel, (-(-total // 512), 1, 1), (256, 1, 1), [*arguments, *numbers(kernel, k=total)])
    return _launch(kernel, (-(-total // 256), 1, 1), (32, 1, 1), [*arguments, *numbers(kernel, k=count)])


def _get_rows(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, ("hidden", "rows", "ids", "far", "values", "dst_start"))
    qtype, rows = _qtype(kernel), fields.number("rows", 1, 1)
    ids = tuple(range(rows))[::-1] if fields.text("ids", "") == "reversed" else case.integers("ids")
    if not ids or not all(0 <= row < rows for row in ids):
        raise ValueError(f"case {case.id}: ids are rows from 0 to {rows - 1}, at least one")
    block: Size = (256, 1, 1)
    if qtype in FORMATS:
        format_ = FORMATS[qtype]
        hidden = multiple(fields, "hidden", format_.length, format_.length)
        count = hidden // format_.length
        source, row_bytes = (raw("src0", weights(qtype, rows * count, _values(fields), stream)), count * format_.size)
        grid = (len(ids), -(-hidden // 512), 1)
        if format_.length > GROUP:
            grid, block = (len(ids), count, 1), (32 if qtype == "q4_K" else 64, 1, 1)
    else:
        hidden, kind = fields.number("hidden", 1, 1), dtype(qtype)
        data = fields.located(lambda: values(fields.text("values", "unit"), kind, rows * hidden, stream))
        source, row_bytes = Buffer("src0", qtype, "in", data), hidden * kind.size
        grid = (len(ids), -(-hidden // 256), 1)
    arguments = (
        source,
        Buffer("src1", "u32", "in", np.array(ids, np.uint32)),
        poisoned(fields, kernel, "dst", len(ids) * hidden, fields.number("dst_start", 0)),
        *numbers(kernel, ne00=hidden, nb01=row_bytes),
    )
    made = _launch(kernel, grid, block, arguments)
    return _far_rows(fields, made, rows, row_bytes) if fields.has("far") else made


def _far_rows(fields: Fields, made: Launch, rows: int, row_bytes: int) -> Launch:
    """``made`` with rows at least as many bytes apart as field ``far`` says, of a table that has all those between
    them: ids name these. Raises ``ValueError`` for rows that they cannot name."""
    step = -(-fields.number("far", FAR, FAR, _FARTHEST) // row_bytes)
    if (rows - 1) * step > np.iinfo(np.uint32).max:
        raise ValueError(f"case {fields.case.id}: u32 does not have ids of rows that far apart")
    source, ids = (argument for argument in made.args[:2] if isinstance(argument, Buffer))
    row = row_bytes // source.data.itemsize
    real = {ids.name: replace(ids, data=ids.data * np.uint32(step))}
    pieces = {source.name: rows_apart(rows, row, step * row, source.start, source.data.size)}
    return replace(made, spread=Spread(real, pieces))


def _quantize_q8_1(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, ("kx", "rows", "values", "output"))
    kx, rows = fields.number("kx", 1, 1), fields.number("rows", 1, 1, 65535)
    x = fields.located(lambda: f32_values(fields.text("values", "unit"), rows, kx, stream))
    width = padded(kx)
    arguments = (
        Buffer("x", "f32", "in", x),
        _zeroed(fields, kernel, "vy", rows * width // GROUP * 36),
        *numbers(kernel, kx=kx, kx_padded=width),
    )
    return _launch(kernel, (-(-width // 256), rows, 1), (256, 1, 1), arguments)


def _dmmv(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, ("ncols", "nrows", "values", "y_start"))
    qtype, rows, start = _qtype(kernel), fields.number("nrows", 1, 1), fields.number("y_start", 0)
    length = FORMATS[qtype].length
    ncols = multiple(fields, "ncols", 256, max(length, 64))
    has_rows = any(parameter.name == "nrows" for parameter in kernel.params)
    # Without nrows the length of the weights says how many rows there are: nothing behind them.
    data = weights(qtype, rows * ncols // length, _values(fields), stream, behind=has_rows)
    vector = values("unit", dtype("f32"), start + ncols, stream)
    arguments: list[Argument] = [
        raw("vx", data),
        Buffer(kernel.params[1].name, "f32", "in", vector, start),
        poisoned(fields, kernel, "dst", rows),
        *numbers(kernel, ncols=ncols, **({"nrows": rows} if has_rows else {})),
    ]
    return _launch(
        kernel, (rows, 1, 1), (32, 1, 1), [*arguments, *numbers(kernel, nrows=rows)] if has_rows else arguments
    )


def _product(
    kernel: Kernel, fields: Fields, columns: int, rows: int, ncols: int, stream: RandomStream
) -> tuple[Argument, ...]:
    """What the matrix products begin with: weights of ``rows``, ``columns`` of activations, and the output."""
    qtype, distribution = _qtype(kernel), _values(fields)
    return (
        raw("vx", weights(qtype, rows * ncols // FORMATS[qtype].length, distribution, stream, behind=True)),
        raw("vy", activations(columns, ncols, distribution, stream)),
        _zeroed(fields, kernel, "dst", columns * rows),
        *numbers(kernel, ncols_x=ncols, nrows_x=rows),
    )


def _mmvq(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, ("ncols", "nrows", "values", "output"))
    qtype, columns = _qtype(kernel), int(kernel.variant["ncols_y"])
    rows = fields.number("nrows", 2, 1)
    ncols = multiple(fields, "ncols", 256, FORMATS[qtype].length)
    arguments = (
        *_product(kernel, fields, columns, rows, ncols, stream),
        *numbers(kernel, nrows_y=padded(ncols), nrows_dst=rows),
    )
    grid = (rows if columns == 1 else -(-rows // 2), 1, 1)
    return _launch(kernel, grid, (32, 4 if columns <= 4 else 2, 1), arguments)


# Columns and rows of a tile; (64, 128) where not named.
_TILES: dict[str, tuple[int, int]] = {
    "q5_0": (128, 64),
    "q5_1": (128, 64),
    "q8_0": (128, 64),
    "q3_K": (128, 128),
    "q6_K": (64, 64),
}


def _mmq(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, ("ncols", "nrows", "columns", "values", "output"))
    qtype, rows, columns = _qtype(kernel), fields.number("nrows", 1, 1), fields.number("columns", 1, 1)
    ncols = multiple(fields, "ncols", 256, FORMATS[qtype].length)
    tile_columns, tile_rows = _TILES.get(qtype, (64, 128))
    arguments = (
        *_product(kernel, fields, columns, rows, ncols, stream),
        *numbers(kernel, ncols_y=columns, nrows_y=padded(ncols), nrows_dst=rows),
    )
    return _launch(kernel, (-(-rows // tile_rows), -(-columns // tile_columns), 1), (32, 4, 1), arguments)


def _indexed_moe_forward(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """Every expert is drawn; the last task always takes the last expert."""
    fields = Fields(case, ("n", "k", "batch", "topk", "experts", "inputs", "values", "output"))
    qtype, distribution = _qtype(kernel), _values(fields)
    n, batch, topk, experts = (fields.number(name, 1, 1) for name in ("n", "batch", "topk", "experts"))
    k = multiple(fields, "k", 256, FORMATS[qtype].length)
    own = fields.choice("inputs", "one", ("one", "topk")) == "topk"
    tasks = batch * topk
    ids = (stream.take(tasks) >> np.uint64(32)) % np.uint64(experts)
    ids[-1] = experts - 1
    arguments: list[Argument] = [
        raw("all_weights", weights(qtype, experts * n * k // FORMATS[qtype].length, distribution, stream, behind=True)),
        raw("all_inputs", activations(tasks if own else batch, k, distribution, stream)),
        Buffer("indices", "u32", "in", ids.astype(np.uint32)),
        _zeroed(fields, kernel, "all_outputs", tasks * n),
        *numbers(kernel, n=n, k=k, batch=batch, topk=topk),
        *numbers(kernel, k_padded=padded(k), input_dim1=topk if own else 1),
    ]
    return _launch(kernel, (n, batch, topk), (32, 4, 1), arguments)


FAMILIES: dict[str, Family] = {
    "dequantize_block": Family(_rows, _dequantize_block),
    "get_rows": Family(_rows, _get_rows),
    "quantize_q8_1": Family(lambda _: parsed(ROWS["quantize"]), _quantize_q8_1),
    "dmmv": Family(_rows, _dmmv),
    "mmvq": Family(_rows, _mmvq),
    "mmq": Family(_rows, _mmq),
    "indexed_moe_forward": Family(_rows, _indexed_moe_forward),
}
