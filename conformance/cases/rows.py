"""Rows that several families share, as the text between a case id's brackets.

A comment names what a row is there to catch: the ids are those of the list of known port bugs (S strides, L launch, I
ids, N numerics, F small floats). ``{v}`` is the distribution that shows a misread element best in the family,
``{special}`` the length of the type's table of special values, ``{all}`` the number of its bit patterns, ``{side}`` the
square root of that, ``{core}`` and ``{pairs}`` the length of the short table and its square,
``{nans}``, ``{nan_pairs}`` and ``{twice}`` likewise of the tables of these names.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.cases.arguments import Row
from conformance.cases.case import parse_fields
from conformance.cases.specials import core, nans, special, twice
from conformance.dtypes import dtype

# Every type. 1023..1025 and 31..65 are block and wave sizes and their neighbours.
SIZES: tuple[str, ...] = (
    "shape=[0],values={v}",  # L11
    "shape=[1],values={v}",
    "shape=[31],values=wide",
    "shape=[32],values={v}",
    "shape=[33],values=large",  # S10
    "shape=[63],values=mid",
    "shape=[64],values={v}",
    "shape=[65],values=tiny",  # S10
    "shape=[255],values=large",
    "shape=[256],values=wide",
    "shape=[257],values={v}",  # S10
    "shape=[1023],values=mid",  # S10, S11
    "shape=[1024],values=wide",
    "shape=[1025],values=large",  # S10, S11: one element in the second block
)

GEOMETRY: tuple[str, ...] = (
    "shape=[2500],values={v},grid=1",  # L10
    "shape=[3,29,31],layout=transposed,values={v},grid=2",  # L10 with strides
    "shape=[1000],values={v},block=96,grid=3",  # L10; a block that is not a power of two
    "shape=[7],values={v},block=4,grid=2",  # L10; more elements after the last whole vector than a block has threads
    "shape=[2500],values={v},block=64,grid=1",  # L21: more than a pack of 16 for each thread
)

# The outermost dimension is said to have 2^32 + 5 elements, of which the launch is for the first seven: a size that is
# kept in 32 bits is 5. With seven dimensions that cannot be merged, and an eighth that can.
BEYOND_32_BITS: tuple[str, ...] = ("shape=[1,7,2,2,2,2,2,1,2,2],layout=reversed_pair,values={v},outermost=4294967301",)

STRIDED: tuple[str, ...] = (
    "shape=[17,19],layout=transposed,values={v}",  # S01, S08
    "shape=[3,5,7],layout=transposed,values={v}",  # S01, S04, L07
    "shape=[7,13,12],layout=permuted,values={v},block=256",  # S01, S04; five blocks
    "shape=[4,6,9],layout=outer_swapped,values={v}",  # S04: the last stride is 1
    "shape=[2,3,2,4,3],layout=permuted,values={v}",  # rank 5
    "shape=[6,7,8],layout=narrowed,values={v}",  # L08, L09, S04: outer strides only
    "shape=[5,6,8],layout=narrowed_middle,values={v}",  # L09, S04: the outermost stride only
    "shape=[3,4,5,6],layout=narrowed_transposed,values={v}",  # L08, L09, S01
    "shape=[45],layout=stepped,values={v}",  # S04: rank 1
    "shape=[4,9,5],layout=broadcast,values={v}",  # S03
    "shape=[4,3,2,3,2],layout=broadcast_first,values={v}",  # S03, S04; rank 5
    "shape=[4,5,6],layout=broadcast_middle,values={v}",  # S03, S04: the middle stride only
    "shape=[4,5,6],layout=broadcast_last,values={v}",  # S03, S04: the last stride only
    "shape=[70],layout=scalar,values={v}",  # S03
    "shape=[3,1,5,1,4],layout=ones,values={v},info=given",  # strides of dimensions of size 1 have no meaning
    "shape=[3,0,5],layout=transposed,values={v},info=given",  # L11
    "shape=[],values={v}",  # rank 0
    "shape=[],values={v},info=given",  # S06: rank 0 has an info without content
    "shape=[],values={v},info=given,start=1",  # S06, L09
    "shape=[3,5,7],values={v},info=given",  # S06: contiguous, yet described
    "shape=[3,4,48],layout=outer_swapped,values=large",  # S14: rows of whole packs in another order
    "shape=[4,5,16],layout=broadcast_last,values=large",  # S03, S14: one value a row
    "shape=[20,18],layout=transposed,values=large",  # S01
    "shape=[2,3,40],layout=reversed,values=large",  # S01: no long dimension has stride 1
    "shape=[52,50],layout=transposed,values=mid",  # S01: most of a tile of 64 x 64
    "shape=[2,2,3,2,2,2,2,2],layout=reversed,values={v}",  # S13: rank 8
    *BEYOND_32_BITS,
)

# Of one operation in each type: such a mistake lies in the code that a family's operations share.
SHARED: tuple[str, ...] = (
    "shape=[70,130],layout=transposed,values={v},grid=2",  # L21, W14: several tiles of 64 x 64 a block
    "shape=[48],layout=stepped_by_2,values={v},start=0",  # S04
    "shape=[2,6,8],layout=narrowed_middle,values={v}",  # S04: only the stride of the outermost two is off
    "shape=[4,2,6],layout=broadcast_middle,values={v}",  # S04: only that of the middle two
    "shape=[5,4,2],layout=broadcast_last,values={v}",  # S04: only that of the innermost two
    "shape=[6,13],layout=narrowed,values={v},start=16",  # S14: the pitch is a whole number of packs, the length is not
    "shape=[6,16],layout=narrowed,values={v},start=16",  # S14: the other way round
    "shape=[3,4,16],layout=outer_swapped,values={v}",  # S14: rows of whole packs in another order
    "shape=[2,3,2,3,2,3],layout=reversed,values={v}",  # S13: rank 6
    "shape=[2,2,3,2,2,2,2],layout=permuted,values={v}",  # S13: rank 7
)

# Of that operation in types of one and of four bytes, as it takes long.
LARGE: tuple[str, ...] = ("shape=[257,257],layout=transposed,values={v}",)  # S12

LARGE_TYPES = ("f32", "u8")

OFFSETS: tuple[str, ...] = (
    "shape=[261],values={v},start=1",  # L08, L09; 16-byte loads would be misaligned
    "shape=[2500],values={v},start=1,grid=1",  # L09, L21: what is not aligned goes another way, and round again
)

IN_PLACE: tuple[str, ...] = (
    "shape=[105],values={v},inp=null",  # S07
    "shape=[1030],values=wide,inp=null,grid=1",  # S07, L10
    "shape=[6,7],layout=transposed,values={v},inp=null",  # S07: strides do not apply
)

SPECIAL: tuple[str, ...] = ("shape=[{special}],values=special",)  # N*, F*

FLOATS: tuple[str, ...] = ("shape=[200],values=subnormal",)  # N13

NANS: tuple[str, ...] = ("shape=[{nans}],values=nans",)  # N22: types whose patterns are too many to try them all

EXHAUSTIVE: tuple[str, ...] = ("shape=[{all}],values=exhaustive",)  # N*, F*

EXHAUSTIVE_STRIDED: tuple[str, ...] = ("shape=[{side},{side}],layout=transposed,values=exhaustive",)


def parsed(rows: Sequence[str]) -> tuple[Row, ...]:
    """``rows`` as fields."""
    return tuple(map(parse_fields, rows))


def filled(rows: Sequence[str], name: str, distribution: str = "unit") -> list[str]:
    """``rows`` with their placeholders filled in for dtype ``name`` and the distribution ``distribution``."""
    bits = 8 * dtype(name).size
    numbers = {"special": len(special(name)), "core": len(core(name)), "pairs": len(core(name)) ** 2}
    numbers |= {"twice": len(twice(name))}
    if dtype(name).kind == "float":
        numbers |= {"nans": len(nans(name)), "nan_pairs": len(nans(name)) ** 2}
    return [row.format(v=distribution, all=1 << bits, side=1 << bits // 2, **numbers) for row in rows]


def shared(name: str, rows: Sequence[str], large: Sequence[str]) -> tuple[str, ...]:
    """``rows``, and ``large`` ones where dtype ``name`` has them."""
    return (*rows, *(large if name in LARGE_TYPES else ()))


def one_operand(name: str, extra: Sequence[str] = (), null_input: bool = False, every: bool = True) -> list[str]:
    """The rows of an elementwise family with one operand of dtype ``name``, and ``extra``.

    ``every`` says that those of code which operations share are among them.
    """
    kind = dtype(name)
    rows = [*SIZES, *GEOMETRY, *STRIDED, *(shared(name, SHARED, LARGE) if every else ()), *OFFSETS]
    rows += IN_PLACE if null_input else ()
    rows += SPECIAL
    rows += FLOATS if kind.kind == "float" else ()
    rows += NANS if kind.kind == "float" and kind.size > 2 else ()
    rows += (*EXHAUSTIVE, *EXHAUSTIVE_STRIDED) if kind.size <= 2 else ()
    return filled([*rows, *extra], name)
