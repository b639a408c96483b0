"""``bench`` on the isa runtime: counts in place of times, of a code object made by hand."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from made import FOUR, record

from conformance.record.bench import CountResult, bench_text, read_bench
from conformance.report.bench import bench_markdown, render_bench
from conformance.runtimes.isa.kind import ARCH
from conformance.runtimes.kind import LaunchCounts
from tests.commands import answer, refused
from tests.isa_runtime.code import code_object

ARGUMENTS = ("by_value", "by_value", "global_buffer", "global_buffer", "global_buffer")
MOVES_AND_ENDS = (0x7E280300, 0x7E280300, 0xBF810000)
"""v_mov_b32 v20, v0, twice; s_endpgm"""

COUNTS = LaunchCounts(1, 4, 8, 40, 0, 4, 8, 12, 20, 1280, 2560, 8, 1000, 4000, 12, 7, 128)
CASE = CountResult(
    kernel="uneg_f32",
    module="unary",
    family="unary",
    case="uneg_f32(shape=[64])",
    size="given",
    grid=(1, 1, 1),
    block=(64, 1, 1),
    bytes=512,
    elements=64,
    counts=COUNTS,
)


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(ARCH, "gfx942")
    return partial(answer, capfd, "bench", "--runtime", "isa")


@pytest.fixture
def port(tmp_path: Path) -> Path:
    folder = tmp_path / "port"
    folder.mkdir()
    (folder / "unary.hsaco").write_bytes(code_object(MOVES_AND_ENDS, ARGUMENTS, name="uneg_f32"))
    return folder


@pytest.mark.slow("times kernels")
def test_a_launch_is_counted_and_no_time_is_told(said, port: Path, tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    told = said("--kernels", port, "--json", file, "uneg_f32(shape=[64])")
    assert told.code == 0, told.err
    assert "counts, not times" in told.out
    assert "GB/s" not in told.out
    found = read_bench(file)
    assert not found.workloads
    (row,) = found.counts
    assert (row.case, row.counts.launches, row.counts.line) == ("uneg_f32(shape=[64])", 1, 128)
    assert (row.counts.vector, row.counts.control) == (2 * row.counts.waves, row.counts.waves)
    assert row.counts.instructions == 3 * row.counts.waves


def test_what_compares_times_is_refused(said, port: Path) -> None:
    told = said("--against", port, "--kernels", port, "uneg_f32(shape=[64])")
    refused(told, "--against compares times; the isa runtime counts")


def test_counts_are_shown_by_wave_and_share() -> None:
    text = render_bench(record(runtime="isa", arch="gfx942", against=None).model_copy(update={"counts": (CASE,)}))
    (line,) = (line for line in text.splitlines() if line.startswith("uneg_f32(shape"))
    # waves, per element, per wave; of it by class; lanes, MB asked for and in lines, used, least, conflicts
    assert line.split()[1:9] == ["4", "92.0", "23", "10", "2", "2", "1", "3"]
    assert line.split()[9:] == ["0", "5", "50%", "0.00", "0.00", "25%", "0.00", "7"]
    assert "in the lines of 128 bytes" in " ".join(text.split())


def test_counts_survive_the_record(tmp_path: Path) -> None:
    made = record(runtime="isa", arch="gfx942").model_copy(update={"counts": (CASE,)})
    (tmp_path / "r.json").write_text(bench_text(made))
    assert read_bench(tmp_path / "r.json").counts == (CASE,)
    assert "# What kernels do on" in bench_markdown(made)
    assert "| 92.0 |" in bench_markdown(made)


def test_a_record_with_times_has_no_counts() -> None:
    assert "bank conflicts" not in render_bench(record(*FOUR))
