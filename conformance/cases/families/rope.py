"""Rotary embedding. ``shape`` is (b, h, t, d) for rope and rope_i, (b, t, h, d) for rope_thd, contiguous.

``tables`` says how cos and sin lie: (t, d/2) shared by the batches, or (b, t', d/2); ``longer`` has t' = t + 3.
"""

from __future__ import annotations

from conformance.cases.arguments import BLOCK, Family, Fields, Row, drawn, in_order, numbers, poisoned
from conformance.cases.case import Case
from conformance.cases.families.reduce import source
from conformance.cases.launch import Launch
from conformance.cases.layouts import layout
from conformance.cases.rows import parsed, rows_beside
from conformance.cases.values import RandomStream
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)

_FIELDS = ("shape", "tables", "values", "mark", "start", "table_start")

_TABLES = ("shared", "shared_longer", "batched", "longer")

_EXTRA_ROWS = 3

_ROWS = parsed(ROWS["rows"])

_LARGE = parsed(ROWS["large"])


def _rows(kernel: Kernel) -> tuple[Row, ...]:
    return (*_ROWS, *(_LARGE if kernel.variant["dtype"] == "f32" else ()))


def _build(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """One thread a pair, in blocks of 1024."""
    fields = Fields(case, _FIELDS)
    shape = fields.shape(rank=4)
    if 0 in shape or shape[3] % 2:
        raise ValueError(f"case {case.id}: shape has sizes of 1 or more and an even last one, not {list(shape)}")
    batch, _, _, width = shape
    heads, steps = (shape[2], shape[1]) if kernel.launch == "rope_thd" else (shape[1], shape[2])
    tables = fields.choice("tables", "shared", _TABLES)
    own = tables in ("batched", "longer")
    rows = steps + (_EXTRA_ROWS if tables in ("longer", "shared_longer") else 0)
    table = layout("contiguous", (batch if own else 1, rows, width // 2), fields.number("table_start", 0))
    elements = batch * heads * steps * width
    sizes = {
        "bh": batch * heads,
        "td": steps * width,
        "b": batch,
        "t": steps,
        "h": heads,
        "d": width,
        "stride_b": heads * steps * width if own else 0,
    }
    takes = {parameter.name for parameter in kernel.params}
    placed = layout("contiguous", shape, fields.number("start", 0))
    given = (
        *numbers(kernel, **{name: size for name, size in sizes.items() if name in takes}),
        source(fields, kernel, "src", drawn(fields, kernel, "src", placed, stream), width),
        drawn(fields, kernel, "cos", table, stream),
        drawn(fields, kernel, "sin", table, stream),
        poisoned(fields, kernel, "dst", elements),
    )
    return Launch(kernel.name, (-(-elements // 2 // BLOCK), 1, 1), (BLOCK, 1, 1), 0, in_order(kernel, given))


FAMILIES: dict[str, Family] = {name: Family(_rows, _build) for name in ("rope", "rope_i", "rope_thd")}
