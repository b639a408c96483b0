"""Rows that lie further apart than an int counts: what the kernel is given, and where each row is."""

from __future__ import annotations

import re

import numpy as np
import pytest

from conformance.cases import cases_for, launch_for
from conformance.cases.case import Case
from conformance.cases.launch import Buffer, Launch, Scalar
from conformance.cases.spread import FAR, MOST_SPAN
from conformance.cases.traits import BEYOND_INT, traits_of
from conformance.spec.load import load_specs

KERNELS = load_specs().kernels
FAR_APART = (
    "copy2d",
    "const_set",
    "unary",
    "unary1",
    "affine",
    "cast",
    "binary",
    "compare",
    "where",
    "fast_reduce",
    "index_select",
    "gather",
)
"""The launch families that docs/verdicts.md names."""


def made(text: str) -> Launch:
    case = Case.parse(text)
    return launch_for(KERNELS[case.kernel], case)


def numbers(launch: Launch) -> dict[str, int]:
    return {arg.name: int(arg.value) for arg in launch.args if isinstance(arg, Scalar)}


@pytest.mark.slow("makes the cases of every kernel")
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, kernel in KERNELS.items()
        if kernel.launch in FAR_APART and not name.startswith(("is_u8_", "is_i16_", "gather_u8_", "gather_i16_"))
    ],
)
def test_every_kernel_of_these_families_has_a_case_with_offsets_that_no_int_holds(name: str) -> None:
    far = [case for case in cases_for(KERNELS[name]) if BEYOND_INT in traits_of(case.text)]
    reached = [
        piece.place
        for case in far
        for pieces in (launch_for(KERNELS[name], case).spread or pytest.fail(case.id)).pieces.values()
        for piece in pieces
    ]
    assert max(reached) >= FAR
    assert max(reached) < MOST_SPAN


@pytest.mark.parametrize("name", [name for name, kernel in KERNELS.items() if kernel.launch == "get_rows"])
def test_every_get_rows_has_a_case_with_bytes_that_32_bits_do_not_count(name: str) -> None:
    (launch,) = (one for case in cases_for(KERNELS[name]) if (one := launch_for(KERNELS[name], case)).spread)
    assert launch.spread is not None
    (source,) = (arg for arg in launch.args if isinstance(arg, Buffer) and arg.name == "src0")
    assert launch.spread.pieces["src0"][1].place * source.data.itemsize > 1 << 32
    ids = launch.spread.given["src1"]
    assert isinstance(ids, Buffer)
    assert len(set(ids.data.tolist())) == 2


def test_rows_are_closed_up_for_the_reference_and_apart_for_the_kernel() -> None:
    launch = made("copy2d_u8(shape=[2,4],src_s=2147483650,src_start=2,dst_s=5,values=wide)")
    closed_up = numbers(launch)
    assert launch.spread is not None
    assert (closed_up["src_s"], closed_up["dst_s"]) == (9, 5)
    (real,) = launch.spread.given.values()
    assert isinstance(real, Scalar)
    assert int(real.value) == 2147483650
    assert [(one.at, one.count, one.place) for one in launch.spread.pieces["src"]] == [
        (0, 11, 0),
        (11, 4, 2 + 2147483650),
    ]
    assert launch.spread.pieces.keys() == {"src"}
    assert [launch.spread.place("src", index) for index in (0, 10, 11, 14)] == [0, 10, 2147483652, 2147483655]


def test_the_strides_in_info_are_the_real_ones_for_the_kernel() -> None:
    launch = made("badd_f32(shape=[2,3],rhs=narrowed,far=2147483649,values=unit)")
    assert launch.spread is not None
    (info,) = (arg for arg in launch.args if arg.name == "dims_and_strides")
    real = launch.spread.given["dims_and_strides"]
    assert isinstance(info, Buffer)
    assert isinstance(real, Buffer)
    assert info.data.tolist() == [2, 3, 3, 1, 6, 1]
    assert real.data.tolist() == [2, 3, 3, 1, 2147483649, 1]
    assert launch.spread.pieces.keys() == {"rhs"}


def test_ids_name_the_rows_that_lie_far_apart_and_none_stays_none() -> None:
    launch = made("gather_u32_f32(shape=[1,2,5],count=12,ids=mixed,ids_start=2,values=wide,far=2147483650)")
    assert launch.spread is not None
    (ids,) = (arg for arg in launch.args if arg.name == "ids")
    real, size = launch.spread.given["ids"], launch.spread.given["src_dim_size"]
    assert isinstance(ids, Buffer)
    assert isinstance(real, Buffer)
    assert isinstance(size, Scalar)
    wanted = {0: 0, 1: 429496730, 2**32 - 1: 2**32 - 1}
    assert real.data.tolist() == [wanted[one] for one in ids.data.tolist()]
    assert {0, 1, 2**32 - 1} == set(ids.data.tolist())
    assert int(size.value) == 429496731


@pytest.mark.parametrize(
    "text",
    [
        "fast_sum_f32(shape=[130,3],layout=narrowed,far=16777216,values=unit)",
        "uabs_f64(shape=[4,9],layout=narrowed_all,far=2097152)",
    ],
)
def test_the_pieces_are_the_whole_buffer(text: str) -> None:
    launch = made(text)
    assert launch.spread is not None
    ((name, pieces),) = launch.spread.pieces.items()
    (buffer,) = (arg for arg in launch.args if isinstance(arg, Buffer) and arg.name == name)
    indices = [index for one in pieces for index in range(one.at, one.at + one.count)]
    assert indices == list(range(buffer.data.size))
    assert all(np.diff([one.place for one in pieces]) > 0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("copy2d_u8(shape=[4,3],src_s=2147483649)", "src spans more elements than Candle's index has numbers, 2^32"),
        ("copy2d_u8(shape=[2,3],dst_s=4294967296)", "dst_s must be an integer from 3 to 4294967295"),
        ("uabs_f32(shape=[4,3],layout=narrowed,far=2147483649)", "inp spans more elements than Candle's index"),
        ("uabs_f32(shape=[4,3],layout=narrowed,far=1000)", "far must be an integer from 1048576 to 4294967295"),
        ("uabs_f32(shape=[4,3],far=2147483649)", "far needs an operand whose outermost rows have gaps between them"),
        ("uabs_f32(shape=[4,3],layout=transposed,far=2147483649)", "far needs an operand whose outermost rows"),
        ("uabs_f32(shape=[4,3],layout=broadcast_first,far=2147483649)", "far needs an operand whose outermost rows"),
        ("uabs_f32(shape=[4],layout=scalar,far=2147483649)", "far needs an operand whose outermost rows"),
        ("is_u32_f32(shape=[2,2,5],count=7,ids=plain,far=2147483650)", "far needs left=1"),
        ("is_u32_f32(shape=[1,2,5],count=7,ids=plain,far=2147483649)", "a multiple of the size behind the dimension"),
        ("gather_u8_f32(shape=[1,2,5],count=7,ids=plain,far=2147483650)", "u8 does not have ids of rows that far"),
        ("uabs_f32(shape=[1,3],layout=narrowed,far=2147483649)", "far needs an operand whose outermost rows"),
    ],
)
def test_rows_that_cannot_lie_so_are_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        made(text)
