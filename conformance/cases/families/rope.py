"""Rotary embedding. ``shape`` is (b, h, t, d) for rope and rope_i, (b, t, h, d) for rope_thd, contiguous.

``tables`` says how cos and sin lie: (t, d/2) shared by the batches, or (b, t', d/2); ``longer`` has t' = t + 3.
"""

from __future__ import annotations

from conformance.cases.arguments import BLOCK, Family, Fields, Row, drawn, in_order, numbers, poisoned
from conformance.cases.case import Case
from conformance.cases.families.reduce import source
from conformance.cases.launch import Launch
from conformance.cases.layouts import layout
from conformance.cases.rows import parsed
from conformance.cases.values import RandomStream
from conformance.spec.kernel import Kernel

_FIELDS = ("shape", "tables", "values", "mark", "start", "table_start")

_TABLES = ("shared", "shared_longer", "batched", "longer")

_EXTRA_ROWS = 3

# No product overflows: whether infinity less infinity turns up would depend on which one is fused.
_ROWS: tuple[Row, ...] = parsed(
    (
        "shape=[1,1,1,2],values=unit",
        "shape=[1,2,3,64],values=unit",  # M06
        "shape=[2,3,7,16],values=unit",  # M06
        "shape=[1,2,3,512],values=unit",  # W11: more pairs than a wave or a table of 128 has
        "shape=[2,3,5,6],values=unit",  # M06: d / 2 is odd
        "shape=[2,3,7,16],tables=batched,values=unit",  # M06: batches have tables of their own
        "shape=[3,2,5,10],tables=batched,values=large",
        "shape=[3,2,5,10],tables=longer,values=unit",  # M06: where upstream begins the tables of a batch
        "shape=[2,3,5,10],tables=shared_longer,values=unit",
        "shape=[2,4,33,8],values=unit",  # S10: some pairs in the second block
        "shape=[2,8,32,4],tables=batched,values=unit",  # exactly one block
        "shape=[3,5,4,8],values=ties",  # N14: sums that cancel, and the sign of zero
        "shape=[3,5,4,8],values=unit,mark=one_inf",
        "shape=[3,5,4,8],values=unit,mark=nan_last",
        "shape=[3,5,4,8],values=subnormal",  # N13
        "shape=[2,3,7,10],values=unit,start=1",  # L08, L09; pairs that are not aligned
        "shape=[2,3,7,10],tables=batched,values=unit,table_start=3",  # L08, L09
    )
)

_LARGE: tuple[Row, ...] = parsed(("shape=[3,17,41,32],values=unit",))  # S12: of one type, as it takes long


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
