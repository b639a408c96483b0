"""What a launch moves and computes at least, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from conformance.cases import Case, Launch, launch_for
from conformance.cases.arguments import TAIL
from conformance.engine.timing.workload import bytes_moved, operations
from conformance.spec.load import load_specs

SPECS = load_specs()


def built(case: str) -> tuple[str, Launch]:
    """A case's launch family and launch."""
    parsed = Case.parse(case)
    kernel = SPECS.kernels[parsed.kernel]
    return kernel.launch, launch_for(kernel, parsed)


def moved(case: str) -> int:
    return bytes_moved(*built(case))


def computed(case: str) -> int | None:
    return operations(*built(case))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("uneg_f32(shape=[1000])", 1000 * 4 + (1000 + TAIL) * 4),
        ("uneg_f16(shape=[20,50],layout=transposed)", 1000 * 2 + 4 * 8 + (1000 + TAIL) * 2),
        # the row that is repeated counts once
        ("badd_f32(shape=[20,50],rhs=broadcast_first)", 1000 * 4 + 50 * 4 + 6 * 8 + (1000 + TAIL) * 4),
        ("cast_f32_f16(shape=[1000])", 1000 * 4 + (1000 + TAIL) * 2),
        ("fill_f32(shape=[1000],value=1)", (1000 + TAIL) * 4),
        # what is not written for its strides, or lies behind the last element, does not count
        ("const_set_f32(shape=[1000],value=1)", 1000 * 4),
        ("const_set_f32(shape=[1000],layout=stepped,value=1)", 1000 * 4 + 2 * 8),
        ("copy2d_f32(shape=[8,16],src_s=64,dst_s=32)", 2 * 8 * 16 * 4),
        # 3 rows of 7 for each of 2, by 5 ids; the result is 2 x 5 x 7
        ("is_u32_f32(shape=[2,3,7],count=5,ids=ordered)", 5 * 4 + 42 * 4 + (70 + TAIL) * 4 + 2 * 8),
        ("is_u32_f32(shape=[2,3,7],count=5,ids=one)", 5 * 4 + 14 * 4 + (70 + TAIL) * 4 + 2 * 8),
        # a place that is added to is read and written; ids are one per row, or one per element
        ("ia_u32_f32(shape=[2,300,7],count=300,ids=one)", 300 * 4 + 4200 * 4 + 2 * 14 * 4),
        ("sa_u32_f32(shape=[2,300,7],count=300,ids=one)", 4200 * 4 + 4200 * 4 + 2 * 14 * 4),
        ("s_u32_f32(shape=[2,300,7],count=300,ids=one)", 4200 * 4 + 4200 * 4 + 14 * 4),
        ("gather_u32_f32(shape=[2,300,7],count=300,ids=one)", 4200 * 4 + 14 * 4 + (4200 + TAIL) * 4),
    ],
)
def test_bytes(case, expected):
    assert moved(case) == pytest.approx(expected, abs=1)  # a share of what lies behind the last element


def test_only_the_experts_that_are_asked_for_count():
    one = moved("indexed_moe_forward_q8_0_q8_1(n=512,k=256,batch=1,topk=1,experts=1)")
    last_of_eight = moved("indexed_moe_forward_q8_0_q8_1(n=512,k=256,batch=1,topk=1,experts=8)")
    assert last_of_eight == pytest.approx(one, rel=0.01)


def test_a_launch_of_nothing_moves_at_least_a_byte():
    assert moved("const_set_f32(shape=[0],value=1)") == 1


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        # each of the outputs: input channels x taps products, each with a sum
        ("conv1d_f32(shape=[2,3,10],cout=5,k=[3],padding=1)", 2 * (2 * 5 * 10) * (3 * 3)),
        ("conv2d_f32(shape=[2,3,10,8],cout=5,k=[3,3])", 2 * (2 * 5 * 8 * 6) * (3 * 9)),
        # each of the inputs: output channels x taps
        ("conv_transpose1d_f32(shape=[2,3,10],cout=5,k=[4],stride=2)", 2 * (2 * 3 * 10) * (5 * 4)),
        ("conv_transpose2d_f32(shape=[2,3,10,8],cout=5,k=[4,4],stride=2)", 2 * (2 * 3 * 80) * (5 * 16)),
        ("mul_mat_q4_0(ncols=256,nrows=33,columns=5)", 2 * 256 * 33 * 5),
        ("uneg_f32(shape=[1000])", None),
        ("max_pool2d_f32(shape=[2,3,10,8],k=[2,2],stride=[2,2])", None),
    ],
)
def test_operations(case, expected):
    assert computed(case) == expected
