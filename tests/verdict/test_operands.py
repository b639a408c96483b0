"""A wrong element of an elementwise kernel comes with what the kernel has read for it."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.cases import launch_for
from conformance.cases.case import Case
from conformance.spec.load import Specs, load_specs
from conformance.verdict.judge import Judging
from conformance.verdict.operands import operands
from conformance.verdict.trials import generated


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def read(specs: Specs, case_id: str, index: int) -> str:
    case = Case.parse(case_id)
    return operands(launch_for(specs.kernels[case.kernel], case), index)


def test_contiguous_operands_stand_where_the_element_does(specs: Specs) -> None:
    launch = launch_for(specs.kernels["uexp_f32"], Case.parse("uexp_f32(shape=[5],values=wide)"))
    value = launch.reference_arguments()["inp"][3]
    assert operands(launch, 3) == f"inp[3] is {float(value)!r} (0x{int(value.view(np.uint32)):08x})"


@pytest.mark.parametrize(("index", "places"), [(0, ("0", "0")), (1, ("5", "1")), (7, ("7", "1")), (9, ("3", "0"))])
def test_strides_lead_to_each_operand(specs: Specs, index: int, places: tuple[str, str]) -> None:
    """Row r and column c of a 5 x 3 result: element r + 5 c of the transposed operand, c of the repeated row."""
    said = read(specs, "badd_f32(shape=[5,3],lhs=transposed,rhs=broadcast_first,values=unit)", index)
    assert [part.split("]")[0].split("[")[1] for part in said.split(", ")] == [*places]


def test_scalars_belong_to_the_operands(specs: Specs) -> None:
    said = read(specs, "affine_f32(shape=[3],values=unit,mul=2,add=-1)", 1)
    assert said.endswith(", mul is 2.0 (0x40000000), add is -1.0 (0xbf800000)")


@pytest.mark.parametrize("name", ["fast_sum_f32", "sum_f32", "fill_f32", "softmax_f32", "conv1d_f32"])
@pytest.mark.slow("makes launches of every family")
def test_other_launches_have_none(specs: Specs, name: str) -> None:
    launches = [case.launch for case in generated(specs.kernels[name], None, "")]
    assert {operands(launch, 0) for launch in launches} == {""}


def test_a_failure_ends_with_them(specs: Specs) -> None:
    kernel = specs.kernels["uneg_f32"]
    (case,) = generated(kernel, [Case.parse("uneg_f32(shape=[4],values=unit)")], "")
    buffers = {arg.name: arg.data.copy() for arg in case.launch.args if hasattr(arg, "data")}
    buffers["out"][:4] = case.expected["out"].value[:4]
    buffers["out"][2] *= 3
    mismatch = Judging(kernel).take(case, buffers)
    assert mismatch is not None
    assert mismatch.why.endswith(f"; {operands(case.launch, 2)}")
    assert "inp[2] is " in mismatch.why
