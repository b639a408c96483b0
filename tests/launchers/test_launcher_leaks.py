"""What a launcher leaves behind at every call is told next to its verdict; what it allocates once and keeps is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.executor_client import described
from conformance.engine.executor_server import AGAIN, Counts, Leaks
from conformance.runtimes.hip.errors import HipError
from conformance.toolchains.libraries import amd_library_compiler
from tests.commands import answer
from tests.launchers.test_launchers import CASE, LAUNCHER, TREE, Fault

LEAKS = Path(__file__).parent / "leaks"

LEFT = {
    "q4_0_f32": "left 1 allocation of device memory (64 bytes) behind",
    "q4_1_f32": "left 2 allocations of device memory (64 bytes) behind",
    "q5_0_f32": "left 1 allocation of host memory (4,096 bytes) behind",
    "q5_1_f32": "left 1 stream behind",
    "q8_0_f32": "left 1 event behind",
    "q6_k_f32": "left 256 bytes more in allocations of device memory behind",
}
KEPT = ("q4_0_f16", "q4_1_f16", "q5_0_f16", "q5_1_f16", "q8_0_f16")


@pytest.fixture(params=["cpu", "isa"])
def runtime(request: pytest.FixtureRequest) -> str:
    """A runtime that knows what is live."""
    if request.param == "isa" and isinstance(lacking := amd_library_compiler("gfx942"), str):
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {lacking}")
    return str(request.param)


def rows_of(capsys: pytest.CaptureFixture[str], tmp_path: Path, *words: object) -> dict[str, dict[str, Any]]:
    """The launchers of the record that ``run`` with ``words`` writes, by name."""
    file = tmp_path / "record.json"
    answer(capsys, "run", "--jobs", 1, "-q", "--json", file, *words)
    return {row["name"]: row for row in json.loads(file.read_text())["launchers"]}


@pytest.mark.slow("compiles launchers and judges them")
def test_what_every_call_leaves_behind_is_told_and_what_is_kept_is_not(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, runtime: str
) -> None:
    names = {short: f"launch_mmvq_gguf_{short}_plain" for short in (*LEFT, *KEPT)}
    patterns = [f"{name}(nrows={rows};*)" for name in names.values() for rows in (1, 33)]
    found = rows_of(capsys, tmp_path, "--runtime", runtime, "--kernels", LEAKS, *patterns)
    told = {short: found[name]["leak"] for short, name in names.items()}
    assert {short: f"left {text.partition(' left ')[2]}" for short, text in told.items() if text} == LEFT


@pytest.mark.slow("compiles launchers and judges them")
def test_a_leak_is_no_failure_and_is_said_below_the_table_and_in_the_reports(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LAUNCHER_FAULT", str(int(Fault.LEAKS)))
    record, page = tmp_path / "record.json", tmp_path / "PARITY.md"
    words = ("run", "--runtime", "cpu", "--kernels", TREE, "--jobs", 1, "--order", "forward", CASE)
    said = answer(capsys, *words, "--json", record, "--md", page)
    (row,) = json.loads(record.read_text())["launchers"]
    leak = f"each of {1 + AGAIN} calls of {CASE} left 1 allocation of device memory (64 bytes) behind"
    assert (said.code, row["status"], row["failed"], row["leak"]) == (0, "pass", 0, leak)
    assert f"warning: 1 launcher leaks, which changes no verdict: {LAUNCHER}:" in " ".join(said.out.split())
    assert "✅ 1 cases; leaks: each of 17 calls of" in page.read_text()


def calls(*counts: Counts | Exception) -> Iterator[Counts]:
    for each in counts:
        if isinstance(each, Exception):
            raise each
        yield each


NOTHING, STREAM, LESS, MORE = (0,) * 6, (0, 0, 0, 0, 1, 0), (1, 8, 0, 0, 0, 0), (2, 64, 0, 0, 0, -1)


@pytest.mark.parametrize(
    ("first", "further", "found"),
    [
        ([NOTHING], [], None),
        ([STREAM, NOTHING], [], None),
        ([STREAM], [NOTHING], None),
        ([STREAM], [STREAM] * (AGAIN - 1) + [NOTHING], None),
        ([STREAM], [LESS], None),
        ([None], [], None),
        ([STREAM], [STREAM] * AGAIN, (AGAIN + 1, *STREAM)),
        ([MORE], [LESS, MORE] * (AGAIN // 2), (AGAIN + 1, *LESS)),
    ],
)
def test_calls_go_on_for_as_long_as_each_leaves_something(
    first: list[Counts | None], further: list[Counts], found: Counts | None
) -> None:
    leaks, again = Leaks(), calls(*further)
    leaks.look(7, first, lambda: next(again))
    assert leaks.known(7) == found
    assert next(again, None) is None


def test_a_leak_that_takes_the_last_memory_is_told_and_a_first_call_that_fails_is_not() -> None:
    full = HipError("hipMalloc", 2, "hipErrorOutOfMemory", "", "")
    for further, found in ([full], None), ([STREAM, STREAM, full], (3, *STREAM)):
        leaks, again = Leaks(), calls(*further)
        with pytest.raises(HipError):
            leaks.look(7, [STREAM], lambda again=again: next(again))
        assert leaks.known(7) == found


def test_what_is_left_is_said_with_numbers() -> None:
    assert described((2, 4096, 0, 0, 0, 1), 17, "k(n=1)") == (
        "each of 17 calls of k(n=1) left 2 allocations of device memory (4,096 bytes) and 1 event behind"
    )
