"""``[[launch]]``: the language of its expressions, and what becomes of a launch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.cases.case import Case
from conformance.cases.geometry import is_launched, launched_as, parse, parse_condition
from conformance.cases.launch import Buffer, Launch, Null, Scalar
from conformance.geometry import GeometryRow
from conformance.port.declared.geometry import check_geometry, described, geometry_of
from conformance.port.sources import SourceError
from conformance.spec.load import load_specs

KERNELS = load_specs().kernels
NAMES = {"n": 7, "m_2": 130}
CASE = Case.parse("k(rows=5,shape=[3,4],values=unit,grid=9)")
LAUNCH = Launch(
    "k", (6, 2, 1), (32, 4, 1), 16, (Scalar("nrows", "int", np.int32(130)), Scalar("eps", "f32", np.float32(1)))
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("n", 7),
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 2 - 3", 5),
        ("m_2 // 32 // 2", 2),
        ("-n // 2", -4),
        ("2 - -n", 9),
        ("ceildiv(m_2, 128) * 2", 4),
        ("ceildiv(128,128)", 1),
        ("max(1, n - 9, min(n, 3))", 3),
    ],
)
def test_an_expression_comes_to(text: str, value: int) -> None:
    assert parse(text)(NAMES) == value


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "'' is not an expression: invalid syntax"),
        ("1 +", "is not an expression: invalid syntax"),
        ("1 2", "is not an expression: invalid syntax"),
        ("n.real", "'n.real' is not allowed; there are numbers, names, + - * //, ceildiv(a, b), min and max"),
        ("1 + 2 ** 3", "'2 ** 3' is not allowed"),
        ("n / 2", "'n / 2' is not allowed"),
        ("+n", "'+n' is not allowed"),
        ("1.5", "'1.5' is not allowed"),
        ("True", "'True' is not allowed"),
        ("max(*n)", "'*n' is not allowed"),
        ("max()", "'max()' is not allowed"),
        ("min(1, key=n)", "'min(1, key=n)' is not allowed"),
        ("1 if n else 2", "is not allowed"),
        ("__import__('os')", "\"__import__('os')\" is not allowed"),
        ("abs(n)", "'abs(n)' is not allowed"),
        ("ceildiv(n)", "'ceildiv(n)' is not allowed; there are numbers, names, + - * //, ceildiv(a, b)"),
        ("ceildiv(n, 2, 3)", "'ceildiv(n, 2, 3)' is not allowed"),
        ("(1", "'(' was never closed"),
        ("max(1, 2", "'(' was never closed"),
        ("(" * 240 + "1" + ")" * 240, "too many nested parentheses"),
        ("-" * 60 + "1", "nested too deep"),
        ("1" * 600, "longer than 500"),
    ],
)
def test_what_is_no_expression(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        parse(text)
    assert word in str(raised.value)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("rows", "'rows' is not known; there are m_2, n"),
        ("n // (n - 7)", "a division by 0"),
        ("ceildiv(1, 0)", "a division by 0"),
        ("*".join(["1000000"] * 5), "too large"),
        ("9" * 30, "too large"),
    ],
)
def test_what_has_no_value(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        parse(text)(NAMES)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("n > 7", False),
        ("n >= 7 and m_2 != 7", True),
        ("not (n < 7 or m_2 == 130)", False),
        ("ceildiv(m_2, 32) * 2 <= 10", True),
        ("n < 7 or n > 7 or n == 7", True),
    ],
)
def test_a_condition(text: str, holds: bool) -> None:
    assert parse_condition(text)(NAMES) is holds


@pytest.mark.parametrize("text", ["n", "1 < n < 9", "n in m_2", "n > 1 and m_2", "not n", "(n > 1) + 1", "n is 7"])
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no condition; expected a comparison such as el > 32"):
        parse_condition(text)


@pytest.mark.parametrize(("text", "word"), [("n >", "invalid syntax"), ("n / 2 > 1", "'n / 2' is not allowed")])
def test_a_condition_over_no_expressions(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        parse_condition(text)


def test_a_launch_that_the_port_never_makes() -> None:
    """Its condition sees what its geometry may; without one every launch is made. Grid and block stay Candle's."""
    row = GeometryRow("k", when="nrows > 32 and rows == 5 and wave == 64 and block_x == 32")
    assert is_launched(row, CASE, LAUNCH, 64)
    assert not is_launched(row, CASE, LAUNCH, 32)
    assert is_launched(GeometryRow("k"), CASE, LAUNCH, 32)
    assert launched_as(row, CASE, LAUNCH, 64) == LAUNCH
    assert described(row) is None
    with pytest.raises(ValueError, match="'el > 32': 'el' is not known; there are block_x"):
        is_launched(GeometryRow("k", when="el > 32"), CASE, LAUNCH, 32)


def test_a_port_may_launch_contiguous_operands_alone() -> None:
    """Candle passes a null info for these."""
    row = GeometryRow("k", when="info_is_null == 1")
    contiguous = replace(LAUNCH, args=(*LAUNCH.args, Null("info")))
    strided = replace(LAUNCH, args=(*LAUNCH.args, Buffer("info", "size_t", "in", np.zeros(4, np.uint64))))
    assert is_launched(row, CASE, contiguous, 64)
    assert not is_launched(row, CASE, strided, 64)


def test_a_launch_with_the_ports_geometry() -> None:
    """Over arguments of the kernel, whole numbers of the case, Candle's geometry and the wave size; the rest stays."""
    row = GeometryRow(
        "k", ("ceildiv(nrows, 128)", "rows + grid_y", "1"), ("wave", "block_y * 2", "1"), "shared + wave * 4"
    )
    launch = launched_as(row, CASE, LAUNCH, 64)
    assert (launch.grid, launch.block, launch.shared) == ((2, 7, 1), (64, 8, 1), 16 + 256)
    assert launch.args is LAUNCH.args
    assert described(row).endswith("block (wave, block_y * 2, 1), shared + wave * 4 bytes of shared memory")
    launch = launched_as(GeometryRow("k", block=("256", "1", "1")), CASE, LAUNCH, 32)
    assert (launch.grid, launch.block, launch.shared) == ((6, 2, 1), (256, 1, 1), 16)


@pytest.mark.parametrize(
    ("row", "word"),
    [
        (GeometryRow("k", ("nrows - 130", "1", "1")), "makes grid x 0 here; it is from 1"),
        (GeometryRow("k", ("1", "70000", "1")), "makes grid y 70000 here"),
        (GeometryRow("k", block=("2048", "1", "1")), "makes block x 2048 here; it is from 1 to 1024"),
        (GeometryRow("k", block=("64", "32", "1")), "a block of 2048 threads"),
        (GeometryRow("k", shared="-1"), "-1 bytes of shared memory"),
        (GeometryRow("k", shared="eps"), "'eps' is not known"),
    ],
)
def test_a_geometry_that_cannot_be_launched(row: GeometryRow, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        launched_as(row, CASE, LAUNCH, 32)


def test_rows_are_checked_against_the_specs() -> None:
    tiles = GeometryRow("mul_mat_q4_*", ("ceildiv(nrows_x, 64)", "ceildiv(ncols_y, columns)", "1"))
    check_geometry([tiles, GeometryRow("uneg_f32", block=("256", "1", "1"))], KERNELS, "F")
    assert geometry_of([tiles], "mul_mat_q4_K") == tiles
    assert geometry_of([tiles], "mul_mat_q5_K") is None
    for rows, word in (
        ([GeometryRow("mul_mat_q9")], "F: launch, row 1: 'mul_mat_q9' matches none of the 748 kernels"),
        ([tiles, GeometryRow("mul_mat_*_K")], "F: launch, row 2: mul_mat_q4_K is ambiguous: row 1 matches it too"),
        ([GeometryRow("uneg_f32", shared="1 +")], "F: launch, row 1: '1 +' is not an expression"),
        ([GeometryRow("uneg_f32", when="numel")], "F: launch, row 1: 'numel': 'numel' is no condition"),
        ([GeometryRow("uneg_f32", when="el > 1")], "F: launch, row 1: 'el > 1': 'el' is not known; there are"),
        ([GeometryRow("uneg_f32", shared="nrows_x")], "F: launch, row 1: 'nrows_x': 'nrows_x' is not known; there are"),
    ):
        with pytest.raises(SourceError) as raised:
            check_geometry(rows, KERNELS, "F")
        assert word in str(raised.value)
