"""Kernels compiled by libhiprtc and run by libamdhip64, through hip-python, for both wave sizes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="module", params=[32, 64])
def ran(request: pytest.FixtureRequest) -> tuple[int, dict[str, Any], str]:
    """Wave size, what run_collectives.py reports, and what the kernels printed."""
    command = [sys.executable, str(HERE / "run_collectives.py"), str(request.param)]
    environment = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    printed, _, report = done.stdout.rstrip().rpartition("\n")
    return request.param, json.loads(report), printed


def test_shuffles_stay_within_their_width(ran: tuple[int, dict[str, Any], str]) -> None:
    wave, report, _ = ran
    lane = np.arange(256)
    for width in (2, 8, 32, wave):
        part = lane // width * width
        expected = {
            "down": np.where(lane % width + 3 < width, lane + 3, lane),
            "up": np.where(lane % width >= 3, lane - 3, lane),
            "xor": np.where((lane ^ 3) < part + width, lane ^ 3, lane),
            "index": part + 3 % width,
        }
        for form, lanes in expected.items():
            np.testing.assert_array_equal(report["shuffles"][f"{form} {width}"], lanes, err_msg=f"{form} {width}")


def test_dynamic_shared_memory(ran: tuple[int, dict[str, Any], str]) -> None:
    _, report, _ = ran
    backwards = list(range(255, -1, -1))
    assert report["reverse"] == [backwards, backwards]


def test_votes_and_reductions(ran: tuple[int, dict[str, Any], str]) -> None:
    wave, report, _ = ran
    even = sum(1 << lane for lane in range(0, wave, 2))
    assert report["votes"] == [96, 1, 0, sum(range(wave)), wave - 1, even, 0b1111, 7]


def test_printf(ran: tuple[int, dict[str, Any], str]) -> None:
    _, _, printed = ran
    assert sorted(line for line in printed.splitlines() if line) == ["thread 0 of two", "thread 1 of two"]


@pytest.mark.parametrize(
    ("kernel", "texts"),
    [
        ("asserts", ["assertion failed: out == nullptr", "collectives.hip:"]),
        ("aborts", ["abort()"]),
        ("traps", ["__trap()", "collectives.hip:"]),
        ("overruns", ["out of bounds"]),
        ("reverse_inside", ["512 bytes of dynamic shared memory"]),
    ],
)
def test_faults_are_named(ran: tuple[int, dict[str, Any], str], kernel: str, texts: list[str]) -> None:
    _, report, _ = ran
    for text in [kernel, *texts]:
        assert text in report["faults"][kernel]


def test_an_array_that_fits_is_no_fault(ran: tuple[int, dict[str, Any], str]) -> None:
    _, report, _ = ran
    assert report["fits"] == [1.0] * 32


def test_a_kernel_without_c_linkage_has_its_mangled_name_only(ran: tuple[int, dict[str, Any], str]) -> None:
    _, report, _ = ran
    assert report["mangled"] == [False, True]


def test_lines_are_the_sources(ran: tuple[int, dict[str, Any], str]) -> None:
    _, report, _ = ran
    source = (HERE / "collectives.hip").read_text().splitlines()
    assert len(report["lines"]) == 13
    for name, line in report["lines"].items():
        plain = "forgets_extern_c" if name.startswith("_Z") else name
        assert f"void {plain}(" in source[line - 1]
