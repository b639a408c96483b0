"""Linked launchers over the stand-in: built for an AMD GPU, loaded into the executor and called there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.toolchains.libraries import amd_library_compiler
from tests.launchers.test_launchers import CASE, LAUNCHER, TREE, Fault
from tests.rocm_runtime.stand_in import Ran, run

IN_TILES = "launch_mmq_gguf_q4_0"
WRITES = "_Z8write_atPcl"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the launchers as its port, so that one compilation serves every test."""
    folder = tmp_path_factory.mktemp("launchers")
    (folder / "kernels").mkdir()
    shutil.copy(TREE / "quantize.hip", folder / "kernels")
    return folder


def judged(folder: Path, *patterns: str, fault: Fault = Fault.RIGHT, **environment: str) -> Ran:
    return run(folder, "--jobs", "1", *patterns, LAUNCHER_FAULT=str(int(fault)), **environment)


@pytest.fixture
def compiler() -> str:
    """The name of the compiler of shared libraries."""
    found = amd_library_compiler("gfx942")
    if isinstance(found, str):
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {found}")
    return found.name


@pytest.mark.nightly("builds launchers for an AMD GPU and loads them into executors")
@pytest.mark.usefixtures("over_stand_in")
def test_a_right_launcher_passes_and_a_byte_behind_the_scratch_is_seen(folder: Path, compiler: str) -> None:
    case = f"{IN_TILES}(ncols=256,nrows=33,columns=1,values=random)"
    ran = judged(folder, LAUNCHER, case)
    right = ran.kernels[LAUNCHER]
    assert (right["status"], right["compiler"], right["compiler_name"]) == ("pass", "hipcc", compiler), ran.err
    assert ran.kernels[IN_TILES]["status"] == "fail"
    assert "wrote outside of tmp_fixup: 0 bytes before and 1 bytes behind it" in ran.why(IN_TILES)
    assert "outside" not in judged(folder, case, LAUNCHER_MENDED="1").why(IN_TILES)


@pytest.mark.nightly("builds launchers for an AMD GPU and loads them into executors")
@pytest.mark.usefixtures("over_stand_in", "compiler")
@pytest.mark.parametrize(
    ("fault", "environment", "status", "why"),
    [
        (Fault.PENDING, {}, "fail", "returns with the error hipErrorInvalidConfiguration (9) pending"),
        (Fault.WRITES_OUTSIDE, {"STAND_IN_HIP_FAULTS": f"{WRITES}=700"}, "crash", "hipErrorIllegalAddress (700)"),
        (Fault.CRASHES, {}, "crash", "signal SIGSEGV"),
        (
            Fault.NULL_STREAM,
            {},
            "fail",
            "launches on another stream, which does not wait for the stream that the launcher was given",
        ),
    ],
    ids=["PENDING", "WRITES_OUTSIDE", "CRASHES", "NULL_STREAM"],
)
def test_what_a_launcher_does_wrong_is_named(
    folder: Path, fault: Fault, environment: dict[str, str], status: str, why: str
) -> None:
    ran = judged(folder, CASE, fault=fault, **environment)
    assert ran.kernels[LAUNCHER]["status"] == status
    assert why in ran.why(LAUNCHER)


@pytest.mark.nightly("builds launchers for an AMD GPU and loads them into executors")
@pytest.mark.usefixtures("over_stand_in", "compiler")
@pytest.mark.parametrize("fault", [Fault.RIGHT, Fault.WAITS, Fault.NULL_STREAM], ids=lambda fault: fault.name)
@pytest.mark.parametrize("how", ["801", "unordered", "uncalled"])
def test_where_the_stream_cannot_be_held_nobody_is_accused(folder: Path, fault: Fault, how: str) -> None:
    """Host functions are refused, or the stream goes on while they wait, or they never come and no event does."""
    ran = judged(folder, CASE, fault=fault, STAND_IN_HIP_HOST_FUNCTIONS=how)
    assert ran.kernels[LAUNCHER]["status"] == "pass", ran.err


@pytest.mark.nightly("builds launchers for an AMD GPU and loads them into executors")
@pytest.mark.usefixtures("over_stand_in", "compiler")
def test_a_launcher_that_waits_for_its_stream_is_right(folder: Path) -> None:
    """It waits until the stream is let go, and for no longer than that."""
    ran = judged(folder, CASE, fault=Fault.WAITS)
    assert ran.kernels[LAUNCHER]["status"] == "pass", ran.err


@pytest.mark.nightly("builds launchers for an AMD GPU and loads them into executors")
@pytest.mark.usefixtures("over_stand_in")
def test_without_a_compiler_it_is_said_what_to_install(folder: Path) -> None:
    ran = judged(folder, CASE, CANDLE_PARITY_AMD_COMPILER="zig")
    row = ran.kernels[LAUNCHER]
    assert (row["status"], row["source"]) == ("not_run", "kernels/quantize.hip:66")
    assert row["message"].startswith("linked launchers ")
    assert "install ROCm" in row["message"]
