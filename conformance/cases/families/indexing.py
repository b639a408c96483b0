"""Ids into a dimension: index_select, gather, index_add, scatter and scatter_add.

A case's ``shape`` is left x dim x right of the indexed tensor: the source of index_select and gather, the destination
of the others. ``count`` is how many ids lie along the dimension of the other tensor.

Cases with ``ids=beyond``, ``foreign``, ``negative`` or ``cut`` hold one id out of range, on which upstream asserts: the
reference raises ``Faults`` for them. Candle defines no result there (docs/verdicts.md). They count as robustness alone,
which is whether the kernel ends in a fault that the runtime reports, as upstream does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.arguments import MAX_SIZE, Family, Fields, Row, drawn, launch, operand, poisoned, size_t
from conformance.cases.case import Case
from conformance.cases.launch import Argument, Buffer, Launch, Scalar, Spread
from conformance.cases.layouts import Layout, info_array, layout
from conformance.cases.rows import filled, parsed, rows_beside
from conformance.cases.specials import integer_limits
from conformance.cases.spread import FAR, MOST_SPAN, rows_apart
from conformance.cases.values import RandomStream, repeated, values
from conformance.dtypes import DType, dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)

FAULTING: tuple[str, ...] = ("beyond", "foreign", "negative", "cut")
"""The distributions of ids with one that ends in a fault."""

_STARTS = ("ids_start", "inp_start", "out_start")

_COMMON = ("shape", "count", "ids", "values", *_STARTS, "grid", "block")

_SIZES = ("dim_size", "right_size", "ids_size")

_SELECT_FIELDS = (*_COMMON, *_SIZES, "far", "layout", "source")

_GATHER_FIELDS = (*_COMMON, *_SIZES, "far", "numel")

# Ids that are the largest value of another type, and their neighbours.
_LIMITS = (0, 1, 126, 127, 128, 253, 254, 255, 256, 257)


def _is_f8_sum(kernel: Kernel) -> bool:
    return kernel.launch in ("index_add", "scatter_add") and kernel.param("inp").dtype == "f8e4m3"


@lru_cache
def _parsed(rows: tuple[str, ...], name: str, distribution: str, marked: bool) -> tuple[Row, ...]:
    chosen = [row.replace("{m}", "mixed" if marked else "plain") for row in rows]
    return parsed(filled(chosen, name, distribution))


def _faults(kernel: Kernel) -> tuple[str, ...]:
    if _is_f8_sum(kernel):
        return ()
    ids = dtype(kernel.param("ids").dtype)
    return (
        *ROWS["faults"],
        *(ROWS["negative_faults"] if ids.kind == "int" else ()),
        *(ROWS["wide_faults"] if ids.size == 8 else ()),
    )


def _large(kernel: Kernel) -> tuple[str, ...]:
    return ROWS["large"] if kernel.param("ids").dtype == "u32" else ()


def _far(kernel: Kernel) -> tuple[str, ...]:
    """Of ids that can name rows which lie that far apart."""
    return ROWS["far"] if dtype(kernel.param("ids").dtype).size >= 4 else ()


def _only_select(kernel: Kernel) -> tuple[str, ...]:
    blocks = 512 * 16 // dtype(kernel.param("inp").dtype).size
    rows = (*ROWS["index_select"], *ROWS["index_select_told"], *ROWS["many_blocks"])
    return tuple(row.replace("{blocks}", str(blocks)) for row in rows)


def _select_rows(kernel: Kernel) -> tuple[Row, ...]:
    rows = (
        *ROWS["select"],
        *_large(kernel),
        *_far(kernel),
        *ROWS["told"],
        *ROWS["select_told"],
        *(_only_select(kernel) if kernel.launch == "index_select" else ROWS["gather"]),
        *_faults(kernel),
    )
    return _parsed(rows, kernel.param("inp").dtype, "wide", True)


def _put_rows(kernel: Kernel) -> tuple[Row, ...]:
    name = kernel.param("inp").dtype
    marked = not _is_f8_sum(kernel)
    rows = (*ROWS["put"], *_large(kernel), *(ROWS["put_none"] if marked else ()), *_faults(kernel))
    if kernel.launch == "scatter":
        return _parsed(rows, name, "wide", marked)
    return _parsed(
        (*rows, *ROWS["add"], *(ROWS["add_float"] if dtype(name).kind == "float" else ())), name, "unit", marked
    )


def _spread(words: NDArray[np.uint64], n: int) -> NDArray[np.int64]:
    """Random numbers below ``n``."""
    return (((words >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)).astype(np.int64)


# Per id type, the largest value of another.
_FOREIGN: dict[str, int] = {"u8": 127, "i16": 255, "i32": 32767, "u32": 0x7FFFFFFF, "i64": 0xFFFFFFFF}

_ID_DISTRIBUTIONS: dict[str, Callable[[NDArray[np.uint64], int], NDArray[np.int64]]] = {
    "plain": _spread,
    "mixed": _spread,
    "limits": _spread,
    "few": lambda words, n: np.array([0, n // 2, n - 1])[_spread(words, 3)],
    "one": lambda words, n: np.full(len(words), n // 2),
    "ordered": lambda words, n: np.arange(len(words)) % n,
    "none": lambda words, n: np.zeros(len(words), np.int64),
    **dict.fromkeys(FAULTING, _spread),
}


def _ids(distribution: str, kind: DType, n: int, dim: int, marked: bool, stream: RandomStream) -> NDArray[Any]:
    """``n`` ids below ``dim`` from ``distribution``; ``marked`` kernels take the largest value as "none"."""
    low, high = integer_limits(kind)
    drawn_words = stream.take(n)
    limit = min(dim, high)  # the largest value never is an id
    if n == 0 or (limit == 0 and distribution != "none"):
        return np.zeros(n, kind.numpy)
    ids = _ID_DISTRIBUTIONS[distribution](drawn_words, max(limit, 1))
    low_bits = drawn_words & np.uint64(7)
    if distribution == "limits":
        table = np.array([value for value in (*_LIMITS, limit - 1) if value < limit])
        ids = np.where(low_bits < 6, table[_spread(drawn_words, len(table))], ids)
    if distribution == "none" or (distribution in ("mixed", "limits") and marked):
        ids = np.where((low_bits == 7) | (distribution == "none"), high, ids)
    if distribution in FAULTING:
        out_of_range = {"beyond": dim, "foreign": _FOREIGN[kind.name], "negative": -1, "cut": 2**32 + dim // 2}
        ids[n // 2] = out_of_range[distribution]
    if ids.min() < low or ids.max() > high:
        raise ValueError(f"ids={distribution} needs an id that {kind.name} does not have")
    return ids.astype(kind.numpy)


def _drawn_ids(
    fields: Fields, kernel: Kernel, n: int, dim: int, stream: RandomStream, placed: Layout | None = None
) -> Buffer:
    kind = dtype(kernel.param("ids").dtype)
    distribution = fields.choice("ids", "plain", tuple(_ID_DISTRIBUTIONS))
    where = placed or _flat(fields, n, "ids_start")
    # All n lie side by side, as Candle reads them, whatever the layout says.
    held = max(n, where.length - where.start)
    marked = not _is_f8_sum(kernel)
    ids = repeated(
        lambda count: fields.located(partial(_ids, distribution, kind, count, dim, marked, stream)), held, stream
    )
    head = np.full(where.start, -1 if kind.kind == "int" else integer_limits(kind)[1], dtype=kind.numpy)
    return operand(kernel, "ids", where, np.concatenate([head, ids]))


def _flat(fields: Fields, n: int, start: str) -> Layout:
    return layout("contiguous", (n,), fields.number(start, 0))


def _sizes(fields: Fields) -> tuple[int, int, int, int]:
    left, dim, right = fields.shape(rank=3)
    return left, dim, right, fields.number("count", dim)


def _told(fields: Fields, left: int, dim: int, right: int, count: int) -> tuple[int, int, int]:
    """The indexed dimension, the size behind it and the number of ids as the kernel is told them, each at least what it
    is. Raises ``ValueError`` where what the launch is for would not stay where it is."""
    told = (
        fields.number("dim_size", dim, dim, MAX_SIZE),
        fields.number("right_size", right, right, MAX_SIZE),
        fields.number("ids_size", count, count, MAX_SIZE),
    )
    if told != (dim, right, count) and (left != 1 or (told[1] != right and (dim, count) != (1, 1))):
        raise ValueError(
            f"case {fields.case.id}: sizes other than the tensors' need left=1, right_size dim and count too"
        )
    return told


def _index_select(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """``layout`` is that of the ids, which info describes; ``source`` puts that of the source in its place."""
    fields = Fields(case, _SELECT_FIELDS)
    left, dim, right, count = _sizes(fields)
    numel = left * count * right
    told_dim, told_right, told_count = _told(fields, left, dim, right, count)
    source = fields.layout("source", (left, dim, right), "inp_start")
    if fields.text("ids", "") in FAULTING:
        # The row behind the last, so that an id just outside leads into the buffer and a missing check to silence.
        source = replace(source, length=source.length + right)
    given_ids = fields.layout("layout", (count,), "ids_start")
    described = source if fields.has("source") else replace(given_ids, shape=(told_count,))
    given: dict[str, Argument] = {
        "numel": size_t("numel", numel),
        "num_dims": size_t("num_dims", len(described.shape)),
        "info": Buffer("info", "size_t", "in", info_array(described.shape, described.strides)),
        "ids": _drawn_ids(fields, kernel, count, dim, stream, given_ids),
        "inp": drawn(fields, kernel, "inp", source, stream),
        "out": poisoned(fields, kernel, "out", numel, fields.number("out_start", 0)),
        **_size_arguments(left_size=left, src_dim_size=told_dim, ids_dim_size=told_count, right_size=told_right),
    }
    return _far_rows(fields, launch(kernel, fields, numel, given), dim, right)


def _gather(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """``numel`` is the number of ids: left x count x right, or less where the ids are smaller than the source."""
    fields = Fields(case, _GATHER_FIELDS)
    left, dim, right, count = _sizes(fields)
    told_dim, told_right, told_count = _told(fields, left, dim, right, count)
    numel = fields.number("numel", left * count * right, most=left * count * right)
    given: dict[str, Argument] = {
        "numel": size_t("numel", numel),
        "ids": _drawn_ids(fields, kernel, numel, dim, stream),
        "inp": drawn(fields, kernel, "inp", _flat(fields, left * dim * right, "inp_start"), stream),
        "out": poisoned(fields, kernel, "out", numel, fields.number("out_start", 0)),
        **_size_arguments(left_size=left, src_dim_size=told_dim, ids_dim_size=told_count, right_size=told_right),
    }
    return _far_rows(fields, launch(kernel, fields, numel, given), dim, right)


def _far_rows(fields: Fields, made: Launch, dim: int, right: int) -> Launch:
    """``made``, or, where field ``far`` gives a number of elements, the same with rows of the source that far apart, of
    a table that has all those between them: ids name these. Raises ``ValueError`` where that cannot be."""
    if not fields.has("far"):
        return made
    stride = fields.number("far", FAR, FAR, MOST_SPAN - 1)
    left, other = fields.shape(rank=3)[0], any(fields.has(name) for name in (*_SIZES, "source", "layout"))
    if left != 1 or other or not right or stride % right or (dim - 1) * stride + right > MOST_SPAN:
        rule = "far needs left=1, a multiple of the size behind the dimension, and rows within 2^32 elements"
        raise ValueError(f"case {fields.case.id}: {rule}; sizes and layouts of their own do not go with it")
    buffers = {argument.name: argument for argument in made.args if isinstance(argument, Buffer)}
    ids, source, step = buffers["ids"], buffers["inp"], stride // right
    none = integer_limits(dtype(ids.dtype))[1]
    if (dim - 1) * step >= none:
        raise ValueError(f"case {fields.case.id}: {ids.dtype} does not have ids of rows that far apart")
    # What is in front of the first id is no id.
    told = np.where(
        (ids.data == none) | (np.arange(ids.data.size) < ids.start), ids.data, ids.data * ids.data.dtype.type(step)
    )
    real: dict[str, Buffer | Scalar] = {
        "ids": replace(ids, data=told),
        "src_dim_size": size_t("src_dim_size", (dim - 1) * step + 1),
    }
    pieces = {"inp": rows_apart(dim, right, stride, source.start, source.data.size)}
    return replace(made, spread=Spread(real, pieces))


def _put(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """The destination holds values before the launch, as Candle copies the tensor there first."""
    fields = Fields(case, _COMMON)
    left, dim, right, count = _sizes(fields)
    add = kernel.launch == "index_add"
    n = left * count * right
    out = poisoned(fields, kernel, "out", left * dim * right, fields.number("out_start", 0))
    distribution = fields.text("values", "unit")
    content = fields.located(lambda: values(distribution, dtype(out.dtype), left * dim * right, stream))
    out.data[out.start : out.start + len(content)] = np.roll(content, 1)  # not the value that a table puts there
    given: dict[str, Argument] = {
        "ids": _drawn_ids(fields, kernel, count if add else n, dim, stream),
        "inp": drawn(fields, kernel, "inp", _flat(fields, n, "inp_start"), stream),
        "out": out,
        **_size_arguments(left_size=left, src_dim_size=count, dst_dim_size=dim, right_size=right),
        **(_size_arguments(ids_dim_size=count) if add else {}),
    }
    return launch(kernel, fields, left * right, given)


def _size_arguments(**sizes: int) -> dict[str, Argument]:
    return {name: size_t(name, size) for name, size in sizes.items()}


FAMILIES: dict[str, Family] = {
    "index_select": Family(_select_rows, _index_select),
    "gather": Family(_select_rows, _gather),
    "index_add": Family(_put_rows, _put),
    "scatter": Family(_put_rows, _put),
    "scatter_add": Family(_put_rows, _put),
}
