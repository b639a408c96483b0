"""The specs' rows of what is timed."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

import pytest

from conformance.cases.case import Case
from conformance.cases.launch import Buffer
from conformance.cases.layouts import MAX_ELEMENTS
from conformance.engine.timing.workload import PERIOD, SIZES, bytes_moved, large_launch, operations, workloads
from conformance.spec import SpecError
from conformance.spec.load import load_specs

SPECS = load_specs()
KERNELS = list(SPECS.kernels.values())
LAUNCHERS = list(SPECS.launchers.values())
COMPUTE = ("conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "mmq")


def smaller(case: Case, most: int) -> Case:
    """The same case with every number at most ``most``."""
    name, fields = case.id.split("(", 1)
    fields = re.sub(r"(?<![a-z0-9])[0-9]+(?=[^a-z])", lambda digits: str(min(int(digits[0]), most)), fields)
    return Case.parse(f"{name}({fields}")


@pytest.mark.parametrize("size", SIZES)
def test_every_kernel_and_launcher_has_cases_of_each_size(size):
    assert [kernel.name for kernel in KERNELS + LAUNCHERS if not kernel.bench[size]] == []


def test_every_call_of_a_launcher_can_be_built():
    for launcher in LAUNCHERS:
        for _, case in workloads(launcher, SIZES, None):
            assert large_launch(launcher, smaller(case, 256)).args


def test_every_case_can_be_built_and_its_traffic_told():
    for kernel in KERNELS:
        most = 256 if kernel.module == "quantized" else 16  # packed weights come in blocks
        for _, case in workloads(kernel, SIZES, None):
            launch = large_launch(kernel, smaller(case, most))
            assert bytes_moved(kernel.launch, launch) > 1
            assert (operations(kernel.launch, launch) is not None) == (kernel.launch in COMPUTE)


def test_no_shape_has_more_elements_than_an_operand_may_have():
    for kernel in KERNELS:
        for _, case in workloads(kernel, SIZES, None):
            if case.get("shape", "") != "":
                assert prod(case.integers("shape")) <= MAX_ELEMENTS, case.id


def test_given_cases_take_the_place_of_those_of_the_spec():
    given = list(workloads(SPECS.kernels["uneg_f32"], ("large",), ("uneg_f32(shape=[3])",)))
    assert given == [("given", Case.parse("uneg_f32(shape=[3])"))]


def test_a_row_of_a_spec_that_is_not_a_case_is_named():
    kernel = replace(SPECS.kernels["uneg_f32"], bench={"small": ("shape=[3",)})
    with pytest.raises(SpecError, match=r"unary\.yaml: kernel uneg_f32: 'shape=\[3', which bench times, is not a case"):
        list(workloads(kernel, ("small",), None))


def test_operands_of_a_large_case_repeat_with_a_period_that_no_row_has():
    launch = large_launch(SPECS.kernels["uneg_f16"], Case.parse(f"uneg_f16(shape=[{PERIOD + 7}])"))
    (operand,) = (arg.data.view("u2") for arg in launch.args if isinstance(arg, Buffer) and arg.name == "inp")
    assert (operand[:7] == operand[PERIOD:]).all()
    assert len(set(operand[:1000].tolist())) > 100
