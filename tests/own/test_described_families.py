"""A launch family is a description in YAML: roles, expressions for sizes and geometry, and cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.cases import cases_for, launch_for
from conformance.cases.launch import Buffer, Launch, Scalar
from conformance.port.config import read_config
from conformance.session.setup import specs_from
from conformance.settings import Settings
from conformance.spec import SpecError
from conformance.spec.kernel import Kernel
from tests.commands import answer
from tests.own.described import described
from tests.own.ports import OwnPort, changed


@pytest.fixture
def rowwise(port: OwnPort) -> OwnPort:
    return described(port)


def kernel(port: OwnPort, name: str) -> Kernel:
    return specs_from(Settings(), read_config(port.declaration)).own[name]


def buffer(launch: Launch, name: str) -> Buffer:
    return next(one for one in launch.args if isinstance(one, Buffer) and one.name == name)


def test_a_case_becomes_a_launch_by_expressions(rowwise: OwnPort) -> None:
    one = kernel(rowwise, "row_total_f32")
    launch = launch_for(one, cases_for(one)[0])
    assert (launch.grid, launch.block, launch.shared) == ((3, 1, 1), (64, 1, 1), 256)
    assert [arg.name for arg in launch.args] == ["inp", "scale", "out", "cols", "least"]
    assert buffer(launch, "scale").data.size == 5
    assert [int(arg.value) for arg in launch.args if isinstance(arg, Scalar) and arg.name == "cols"] == [5]


def test_each_value_of_a_scalar_is_tried(rowwise: OwnPort) -> None:
    tried = [case.get("least", "usual") for case in cases_for(kernel(rowwise, "row_total_f32"))]
    assert tried == ["usual", "usual", "usual", "0", "-2"]


def test_indices_are_below_their_bound(rowwise: OwnPort) -> None:
    one = kernel(rowwise, "pick_rows_f32")
    launch = launch_for(one, cases_for(one)[1])
    ids = buffer(launch, "ids").data
    assert ids.size == 100
    assert 0 <= ids.min() < ids.max() < 40
    assert launch.grid == (3, 1, 1)


@pytest.mark.parametrize(
    ("file", "before", "after", "words"),
    [
        ("rows", "value: cols", "value: colls", "'colls' is not known"),
        ("rows", "grid: [rows]", "grid: [rows**2]", "'rows ** 2' is not allowed"),
        ("rows", "role: output", "role: outptu", "did you mean output?"),
        ("rows", "role: input, shape: [cols]", "role: input, shap: [cols]", "did you mean shape?"),
        ("rows", "value: cols", "below: cols", "has the key below; expected value"),
        ("rows", "grid: [rows]\n", "", "key 'grid' is missing; add it: a list of one to three expressions"),
        ("rows", "block: [64]", "block: [2048]", "a block must have 1 to 1024 threads"),
        ("rows", "shape=[3,5]", "shape=[3]", "shape must have 2 sizes of 0 or more"),
        ("pick", "below: rows", "value: rows", "has the key value; expected below and shape"),
        ("pick", ",n=100", ",m=100", "unknown field 'm'; its family has: shape, values, n"),
    ],
)
def test_an_error_names_file_line_and_what_is_expected(
    rowwise: OwnPort, file: str, before: str, after: str, words: str
) -> None:
    path = Path("parity/families") / f"{file}.yaml"
    changed(path, before, after)
    with pytest.raises(SpecError) as caught:
        kernel(rowwise, "row_total_f32")
    text = str(caught.value)
    assert words in text
    assert f"{file}.yaml:" in text


def test_a_parameter_that_the_family_lacks_is_said_with_the_nearest(rowwise: OwnPort) -> None:
    changed(rowwise.spec.with_name("rowwise.yaml"), "scale: in", "scales: in")
    with pytest.raises(SpecError, match=r"rowwise\.yaml:8: launch family 'rows' has no parameter 'scales'.*mean scale"):
        kernel(rowwise, "row_total_f32")


@pytest.mark.slow("compiles a file and judges two kernels")
def test_kernels_over_rows_and_by_indices_are_judged(rowwise: OwnPort, capfd) -> None:
    said = answer(capfd, "run", "--runtime", "cpu", "-j", "1", "--own", "row_total_*", "pick_rows_*")
    assert said.code == 0
    assert "2 of 2 selected own kernels pass (none is Candle's)" in said.out


@pytest.mark.slow("compiles a file and judges two kernels")
def test_a_mistake_over_rows_and_one_of_an_index_fail(rowwise: OwnPort, capfd) -> None:
    changed(rowwise.kernels.with_name("rowwise.hip"), "scale[col]", "scale[threadIdx.x]")
    changed(rowwise.kernels.with_name("rowwise.hip"), "i / cols] * cols", "i / cols] * n")
    said = answer(capfd, "run", "--runtime", "cpu", "-j", "1", "--own", "row_total_*", "pick_rows_*")
    assert said.code == 1
    assert "0 of 2 selected own kernels pass (none is Candle's)" in said.out
