"""Linked launchers: host functions of a port, compiled with their kernels, called and judged."""

from __future__ import annotations

import json
from enum import IntEnum, auto
from pathlib import Path
from typing import Any

import pytest

from conformance.spec.load import load_specs
from reference import has_module
from tests.commands import answer

TREE = Path(__file__).parent / "tree"
REFUSED = Path(__file__).parent / "refused"
LAUNCHER = "launch_mmvq_gguf_quantize_q8_1_f32"
CASE = f"{LAUNCHER}(kx=32,rows=1,values=unit)"

referenced = pytest.mark.skipif(not has_module("mmvq"), reason="there is no reference of the launchers (mmvq) yet")


class Fault(IntEnum):
    """As in the source."""

    RIGHT = 0
    CRASHES = auto()
    HANGS = auto()
    FREES_TWICE = auto()
    FREES_TWICE_ON_HOST = auto()
    FREES_ARGUMENT = auto()
    NULL_STREAM = auto()
    MEMSET = auto()
    PENDING = auto()
    WRITES_OUTSIDE = auto()
    WRONG = auto()


@pytest.fixture
def judged(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The row of a launcher, by its name or case and by what it does wrong."""

    def judge(pattern: str, fault: Fault = Fault.RIGHT, tree: Path = TREE) -> dict[str, Any]:
        monkeypatch.setenv("LAUNCHER_FAULT", str(int(fault)))
        file = tmp_path / "record.json"
        words = ("run", "--runtime", "cpu", "--kernels", tree, "--jobs", 1, "--order", "forward", "-q")
        answer(capsys, *words, "--json", file, pattern)
        record = json.loads(file.read_text())
        assert record["summary"]["total"] == 748
        (row,) = record["launchers"]
        assert isinstance(row, dict)
        return row

    return judge


def test_there_are_49_launchers_next_to_748_kernels_and_each_says_where_it_is_called() -> None:
    specs = load_specs()
    assert (len(specs.kernels), len(specs.launchers)) == (748, 49)
    assert not specs.kernels.keys() & specs.launchers.keys()
    assert all(launcher.wired_at and launcher.params[-1].role == "stream" for launcher in specs.launchers.values())


def test_a_launcher_is_not_selected_where_no_source_names_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "fill.hip").write_text('extern "C" __global__ void nothing() {}\n')
    said = answer(capsys, "run", "--runtime", "cpu", "--kernels", tmp_path, "--jobs", 1, "--module", "fill")
    assert "0 of 748 kernels at parity (0.0%), 0 of 49 launchers" in said.out


@referenced
@pytest.mark.parametrize("name", [LAUNCHER, "launch_mmvq_gguf_quantize_q8_1_f16"])
def test_a_right_launcher_passes_in_both_spellings_of_a_launch(judged: Any, name: str) -> None:
    row = judged(f"{name}(kx=96,rows=5,values=unit)")
    assert (row["status"], row["cases"], row["source"].split(":")[0]) == ("pass", 1, "tree/quantize.hip")


@referenced
@pytest.mark.parametrize(
    ("fault", "status", "why"),
    [
        (Fault.CRASHES, "crash", "SIGSEGV"),
        (Fault.FREES_TWICE, "fail", "pending: free of the 64-byte allocation: it has been freed already"),
        (Fault.FREES_TWICE_ON_HOST, "crash", "double free"),
        (Fault.FREES_ARGUMENT, "fail", "freed what it was given: vy"),
        (Fault.NULL_STREAM, "fail", "put work on the null stream"),
        (Fault.MEMSET, "fail", "hipMemset put work on the null stream"),
        (Fault.PENDING, "fail", "returns with the error hipErrorInvalidConfiguration (9) pending"),
        (Fault.WRITES_OUTSIDE, "crash", "past the end of the 585-byte allocation"),
        (Fault.WRONG, "fail", "vy["),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else "",
)
def test_what_a_launcher_must_not_do_is_named(judged: Any, fault: Fault, status: str, why: str) -> None:
    row = judged(CASE, fault)
    assert row["status"] == status
    assert why in row["failures"][0]["why"]


@referenced
def test_a_launcher_that_does_not_end_is_stopped(judged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDLE_PARITY_HANG_SECONDS", "2")
    assert judged(CASE, Fault.HANGS)["status"] == "timeout"


@pytest.mark.skipif(not has_module("mmq"), reason="there is no reference of the launchers (mmq) yet")
def test_a_byte_behind_the_scratch_is_a_fault(judged: Any) -> None:
    row = judged("launch_mmq_gguf_q4_0(ncols=256,nrows=33,columns=1,values=random)")
    assert row["status"] == "crash"
    assert "past the end of the 16777216-byte allocation" in row["failures"][0]["why"]


def test_launchers_with_other_parameters_or_errors_are_not_called(judged: Any) -> None:
    row = judged(LAUNCHER, tree=REFUSED)
    assert (row["status"], row["message"]) == ("signature", "parameter 3 is long, Candle's is i32 kx")
    row = judged("launch_mmvq_gguf_quantize_q8_1_f16", tree=REFUSED)
    assert row["status"] == "compile_error"
    assert "use of undeclared identifier 'not_declared'" in row["message"]


def test_a_launcher_that_no_source_defines_is_missing(judged: Any) -> None:
    assert judged("launch_mmvq_gguf_q4_0_f32_plain")["status"] == "missing"


def test_launchers_have_a_gate_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", "--runtime", "cpu", "--kernels", REFUSED, "--jobs", 1, "--module", "mmvq", "-q")
    said = answer(capsys, *words, "--fail-under", 0, "--fail-under-launchers", 1)
    assert (said.code, "launchers 0.00% (0 of 49), gate 1%: NOT met" in said.out) == (1, True)
    said = answer(capsys, *words, "--fail-under", 0, "--fail-under-launchers", 0)
    assert (said.code, "launchers 0.00% (0 of 49), gate 0%: met" in said.out) == (0, True)
