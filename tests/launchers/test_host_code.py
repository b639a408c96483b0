"""What the host code of launchers must not do, because it is wrong on a GPU alone, and what it may."""

from __future__ import annotations

import json
from enum import IntEnum, auto
from pathlib import Path
from typing import Any

import pytest

from conformance.toolchains.libraries import amd_library_compiler
from tests.commands import answer
from tests.launchers.causes import DOING, MENDED, causes_of

TREE = Path(__file__).parent / "host"
CASE = "launch_mmvq_gguf_quantize_q8_1_f32(kx=96,rows=5,values=unit)"


class Doing(IntEnum):
    """As in the source."""

    RIGHT = 0
    FREES_TWICE = auto()
    READS_DEVICE = auto()
    WRITES_DEVICE = auto()
    WRITES_OWN = auto()
    PASSES_HEAP = auto()
    PASSES_STACK = auto()
    COPIES = auto()
    LEAVES_EARLY = auto()
    STARTS_EARLY = auto()
    INDEX = auto()
    FORKS = auto()
    COPIES_LATER = auto()
    PRINTS = auto()
    CATCHES = auto()
    ASKS = auto()
    UPLOADS = auto()


WRONG = [
    (Doing.FREES_TWICE, "fail", "frees what it must not: free of the 64-byte allocation: it has been freed already"),
    (Doing.READS_DEVICE, "crash", "host code reads the 1920-byte allocation of argument 0, which is memory of the"),
    (Doing.WRITES_DEVICE, "crash", "host code writes to the 2889-byte allocation of argument 1, which is memory"),
    (Doing.WRITES_OWN, "crash", "host code writes to the 64-byte allocation, which is memory of the device"),
    (Doing.COPIES, "fail", "hipMemcpy put work on the null stream, and not on the one that the launcher was given"),
    (Doing.STARTS_EARLY, "fail", "quantize put work on another stream, and not on the one that the launcher was given"),
    (Doing.LEAVES_EARLY, "fail", "for which it does not wait"),
]

ADVISED = {
    Doing.FREES_TWICE: "freed-twice",
    Doing.READS_DEVICE: "host-access",
    Doing.WRITES_OWN: "host-access",
    Doing.PASSES_HEAP: "host-pointer",
    Doing.PASSES_STACK: "host-pointer",
    Doing.COPIES: "stream",
    Doing.STARTS_EARLY: "stream",
    Doing.LEAVES_EARLY: "stream",
}
"""The cause that the host has for each, whose advice is followed where ``MENDED`` is set."""

RIGHT = (Doing.RIGHT, Doing.FORKS, Doing.COPIES_LATER, Doing.PRINTS, Doing.CATCHES, Doing.ASKS, Doing.UPLOADS)


@pytest.fixture
def judged(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The row of the launcher that does ``doing`` on the runtime."""

    def judge(runtime: str, doing: Doing) -> dict[str, Any]:
        monkeypatch.setenv(DOING, str(int(doing)))
        file = tmp_path / "record.json"
        words = ("run", "--runtime", runtime, "--kernels", TREE, "--jobs", 1, "--order", "forward", "-q")
        answer(capsys, *words, "--json", file, CASE)
        (row,) = json.loads(file.read_text())["launchers"]
        assert isinstance(row, dict)
        return row | {"causes": causes_of(file)}

    return judge


@pytest.fixture(params=["cpu", "isa"])
def runtime(request: pytest.FixtureRequest) -> str:
    """A runtime that sees every call of a launcher."""
    if request.param == "isa" and isinstance(lacking := amd_library_compiler("gfx942"), str):
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {lacking}")
    return str(request.param)


@pytest.mark.nightly("compiles launchers and judges each mistake")
@pytest.mark.parametrize(("doing", "status", "why"), WRONG, ids=[doing.name for doing, _, _ in WRONG])
def test_what_host_code_must_not_do_is_named(judged: Any, runtime: str, doing: Doing, status: str, why: str) -> None:
    row = judged(runtime, doing)
    assert row["status"] == status
    assert why in row["failures"][0]["why"]


@pytest.mark.nightly("compiles launchers and judges each mistake")
@pytest.mark.parametrize("doing", ADVISED, ids=lambda doing: f"{ADVISED[doing]} {doing.name}")
def test_a_launcher_that_follows_the_advice_of_its_cause_passes(
    judged: Any, monkeypatch: pytest.MonkeyPatch, doing: Doing
) -> None:
    assert judged("cpu", doing)["causes"] == [ADVISED[doing]]
    monkeypatch.setenv(MENDED, "1")
    assert judged("cpu", doing)["status"] == "pass"


@pytest.mark.nightly("compiles launchers and judges each mistake")
@pytest.mark.parametrize("doing", RIGHT, ids=lambda doing: doing.name)
def test_what_host_code_may_do_passes(judged: Any, runtime: str, doing: Doing) -> None:
    assert judged(runtime, doing)["status"] == "pass"


@pytest.mark.nightly("compiles launchers and judges each mistake")
@pytest.mark.parametrize("doing", [Doing.PASSES_HEAP, Doing.PASSES_STACK], ids=lambda doing: doing.name)
def test_memory_of_the_host_is_none_that_kernels_can_read(judged: Any, runtime: str, doing: Doing) -> None:
    row = judged(runtime, doing)
    assert row["status"] == "crash"
    told = {"cpu": "kernel read: argument 0 (int const*) points to memory of the host", "isa": "kernel read: block"}
    assert told[runtime] in row["failures"][0]["why"]


@pytest.mark.slow("compiles launchers and judges each mistake")
def test_an_index_beyond_an_array_of_the_host_is_named(judged: Any) -> None:
    row = judged("cpu", Doing.INDEX)
    assert row["status"] == "crash"
    assert "host code: an index is out of bounds of its array at " in row["failures"][0]["why"]
