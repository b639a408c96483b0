"""Buffers of which only some rows have memory: 32-bit offsets fail, and what is written far away is seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import main

SOURCE = Path(__file__).with_name("gaps.hip")
FAR = ("src_s=2147483", "dst_s=2147483")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    file = tmp_path_factory.mktemp("gaps") / "record.json"
    words = ["copy2d_*", "--runtime", "cpu", "-j", "1", "--kernels", str(SOURCE), "--json", str(file)]
    assert main(["run", *words]) == 1
    return {row["name"]: row for row in json.loads(file.read_text())["kernels"]}


def failing(row: dict[str, Any]) -> list[str]:
    return [case for group in row["observations"] for case in group["cases"]]


@pytest.mark.slow("compiles a file of kernels and judges it")
def test_a_right_kernel_passes(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["copy2d_f64"]["status"] == "pass"


@pytest.mark.slow("compiles a file of kernels and judges it")
@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("copy2d_u8", "crash", "out-of-bounds read, an address that is not near a device allocation"),
        ("copy2d_f32", "fail", "dst[5]"),
        ("copy2d_i64", "fail", "in the allocation it is element 2147483685"),
        ("copy2d_u32", "fail", "of input src was overwritten"),
    ],
)
def test_a_wrong_neighbour_fails_in_far_rows_alone(
    rows: dict[str, dict[str, Any]], name: str, status: str, says: str
) -> None:
    row = rows[name]
    assert row["status"] == status
    assert failing(row)
    assert all(any(stride in case for stride in FAR) for case in failing(row))
    assert any(says in failure["why"] for failure in row["failures"])
