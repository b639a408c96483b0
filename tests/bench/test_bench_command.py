"""``candle-parity bench`` as a user meets it, on the cpu runtime with trees of a few lines."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from made import FOUR, record

from conformance.cli.main import main
from conformance.record.bench import BenchRecord, bench_text, read_bench
from conformance.runtimes.cuda.control import nvidia_devices
from tests.commands import answer, refused

UNARY = """#include <hip/hip_runtime.h>
#define UNARY(NAME, VALUE) \\
  extern "C" __global__ void NAME(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out) { \\
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) VALUE; \\
  }
"""
GOOD = "UNARY(uneg_f32, out[i] = -inp[i])\nUNARY(uceil_f32, out[i] = ceilf(inp[i]))\n"
# Downwards: 64 GiB above a buffer may be no canonical address, of whose fault Linux tells neither place nor kind.
FAULTY = "UNARY(uabs_f32, *(out - ((i + 1) << 34)) = inp[i])\n"
AFFINE = """#include <hip/hip_runtime.h>
extern "C" __global__ void affine_f32(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out,
                                      float mul, float add) {}
"""
ONLY_OURS = "UNARY(usqr_f32, out[i] = inp[i] * inp[i])\n"


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]):
    """``said("--size", "small")``: what ``candle-parity bench`` with these words answers."""

    return partial(answer, capfd, "bench")


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("trees")
    ours, theirs = folder / "ours", folder / "theirs"
    for tree, text in ((ours, GOOD + FAULTY + ONLY_OURS), (theirs, GOOD + FAULTY)):
        tree.mkdir()
        (tree / "unary.hip").write_text(UNARY + text)
    (ours / "affine.hip").write_text(AFFINE)
    (theirs / "affine.hip").write_text("#include <hip/hip_runtime.h>\nint broken(\n")
    return ours, theirs


def compared(trees: tuple[Path, Path], folder: Path) -> tuple[int, BenchRecord]:
    ours, theirs = trees
    cases = [f"{kernel}(shape=[{n}])" for kernel in ("uabs_f32", "usqr_f32") for n in (64, 70)]
    cases += ["affine_f32(shape=[64])", "uneg_f32(shape=[64])", "uceil_f32(shape=[64])"]
    words = ["--runtime", "cpu", "--kernels", ours, "--against", theirs, "-j", "1", "--json", folder / "bench.json"]
    code = main(["bench", *map(str, [*cases, *words, "--md", folder / "bench.md"])])
    return code, read_bench(folder / "bench.json")


@pytest.mark.nightly("compiles two trees and times them")
def test_two_trees_are_timed_in_turn_and_what_cannot_be_is_told_without_the_rest_being_lost(trees, tmp_path):
    code, found = compared(trees, tmp_path)
    assert code == 1
    assert [row.case for row in found.workloads] == ["uneg_f32(shape=[64])", "uceil_f32(shape=[64])"]
    for row in found.workloads:
        assert row.size == "given"
        assert row.against is not None
        assert row.ours.launches == row.against.launches == 30
        assert row.ratio is not None
        assert row.grid == (1, 1, 1)
        assert row.floor_ms is None  # a launch's cost on the host says nothing of a GPU
    losses = {loss.cases: loss.why for loss in found.losses}
    # Two faults of one kernel: its second case was tried too, in a new process.
    why = losses["uabs_f32(shape=[64])", "uabs_f32(shape=[70])"]
    assert "hipErrorIllegalAddress" in why
    assert "of --kernels" in why
    assert losses["usqr_f32(shape=[64])", "usqr_f32(shape=[70])"].startswith("missing: no source defines it")
    assert "--against" in losses["usqr_f32(shape=[64])", "usqr_f32(shape=[70])"]
    why = losses[("affine_f32(shape=[64])",)]
    assert why.startswith("compile_error: theirs/affine.hip:2")
    assert "--against" in why
    assert len(found.losses) == 3
    run = found.bench
    assert (run.runtime, run.git, run.against_git) == ("cpu", None, None)
    assert run.copy_gbps > 0
    assert run.sources != run.against_sources
    assert "| `unary` | `shape=[64]` | 2 |" in (tmp_path / "bench.md").read_text()


def test_a_record_is_shown_again_without_measuring(said, tmp_path):
    path = tmp_path / "bench.json"
    path.write_text(bench_text(record(*FOUR)), encoding="utf-8")
    shown = said("--from", path, "--md", tmp_path / "again.md", "--every")
    assert shown.code == 0
    assert "uneg_f32(shape=[8])" in shown.out
    assert "## Families" in (tmp_path / "again.md").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["uneg_f32"],
        ["--json", "x.json"],
        ["--against", "x"],
        ["--size", "small"],
        ["--runtime", "cpu"],
        ["-j", "1"],
        ["--arch", "gfx942"],
        ["--compiler", "hipcc"],
        ["--no-sandbox"],
    ],
)
def test_a_record_that_is_shown_takes_nothing_that_says_what_to_measure(said, tmp_path, words):
    path = tmp_path / "bench.json"
    path.write_text(bench_text(record(*FOUR)), encoding="utf-8")
    refused(said("--from", path, *words), "--from shows a record", "leave out")


def test_a_record_that_does_not_exist_or_is_none(said, tmp_path):
    refused(said("--from", tmp_path / "absent.json"), "absent.json", "cannot be read")
    (tmp_path / "other.json").write_text('{"schema": 1, "run": {}, "kernels": []}')
    refused(said("--from", tmp_path / "other.json"), "other.json", "not a record of `candle-parity bench --json`")


def test_a_size_with_nothing_but_full_case_ids(said):
    refused(said("uneg_f32(shape=[8])", "--size", "small", "--runtime", "cpu"), "--size", "full case id")


def test_a_tree_to_compare_with_that_does_not_exist(said, trees, tmp_path):
    words = ("uneg_f32", "--runtime", "cpu", "--kernels", trees[0])
    refused(said(*words, "--against", tmp_path / "absent"), "absent", "does not exist")


def test_a_gpu_that_is_not_there(said, trees, monkeypatch):
    monkeypatch.setenv("CANDLE_PARITY_LIBCUDA", "/nowhere/libcuda.so.1")
    nvidia_devices.cache_clear()  # another test of this process may have asked
    try:
        refused(said("uneg_f32", "--runtime", "cuda", "--kernels", trees[0]), "/nowhere/libcuda.so.1", "--runtime cpu")
    finally:
        nvidia_devices.cache_clear()
