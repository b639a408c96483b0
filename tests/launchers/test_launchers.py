"""Linked launchers: host functions of a port, compiled with their kernels, called and judged."""

from __future__ import annotations

import dataclasses
import json
from enum import IntEnum, auto
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from candle_wiring.sources import launcher_calls
from conformance.cases import cases_for, launch_for
from conformance.cli.commands.record import recordable
from conformance.errors import UsageError
from conformance.files import traces_folder
from conformance.replay import Traces
from conformance.replay.archive import SUFFIX, read_archive, write_archive
from conformance.runtimes import runtime_kind
from conformance.spec.load import load_specs
from tests.commands import answer
from tests.launchers.causes import FAULT, MENDED, causes_of

TREE = Path(__file__).parent / "tree"
REFUSED = Path(__file__).parent / "refused"
ADDS = Path(__file__).parent / "adds"
LAUNCHER = "launch_mmvq_gguf_quantize_q8_1_f32"
CASE = f"{LAUNCHER}(kx=32,rows=1,values=unit)"


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
    FORBIDDEN = auto()
    WAITS = auto()
    LEAKS = auto()


@pytest.fixture
def judged(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The row of a launcher, by its name or case and by what it does wrong."""

    def judge(pattern: str, fault: Fault = Fault.RIGHT, tree: Path = TREE, command: str = "run") -> dict[str, Any]:
        monkeypatch.setenv(FAULT, str(int(fault)))
        file = tmp_path / "record.json"
        words = (command, "--runtime", "cpu", "--kernels", tree, "--jobs", 1, "--order", "forward", "-q")
        answer(capsys, *words, "--json", file, pattern)
        record = json.loads(file.read_text())
        assert record["summary"]["total"] == 748
        (row,) = record["launchers"]
        assert isinstance(row, dict)
        return row | {"causes": causes_of(file)}

    return judge


def test_there_are_49_launchers_next_to_748_kernels_and_each_says_where_it_is_called() -> None:
    specs = load_specs()
    assert (len(specs.kernels), len(specs.launchers)) == (748, 49)
    assert not specs.kernels.keys() & specs.launchers.keys()
    assert all(launcher.wired_at and launcher.params[-1].role == "stream" for launcher in specs.launchers.values())


@pytest.mark.slow("compiles launchers and judges them")
def test_a_launcher_is_not_selected_where_no_source_names_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "fill.hip").write_text('extern "C" __global__ void nothing() {}\n')
    said = answer(capsys, "run", "--runtime", "cpu", "--kernels", tmp_path, "--jobs", 1, "--module", "fill")
    assert said.code == 2
    assert "nothing was judged: the sources define none of the 24 selected kernels" in said.err
    assert "module" not in said.out  # no table where nothing was judged


@pytest.mark.slow("compiles launchers and judges them")
@pytest.mark.parametrize(
    ("name", "file"),
    [
        (LAUNCHER, "tree/quantize.hip"),
        ("launch_mmvq_gguf_quantize_q8_1_f16", "tree/quantize.hip"),
        ("launch_mmvq_gguf_quantize_q8_1_bf16", "tree/quantize_bf16.cu"),
    ],
    ids=["triple brackets", "hipLaunchKernelGGL", "CUDA"],
)
def test_a_right_launcher_passes_however_it_spells_its_launch(judged: Any, name: str, file: str) -> None:
    row = judged(f"{name}(kx=96,rows=5,values=unit)")
    assert (row["status"], row["cases"], row["source"].split(":")[0]) == ("pass", 1, file)


WRONG = [
    (Fault.CRASHES, "crash", "SIGSEGV", "not recognised"),
    (Fault.FREES_TWICE, "fail", "frees what it must not: free of the 64-byte allocation", "freed-twice"),
    (Fault.FREES_TWICE_ON_HOST, "crash", "double free", "not recognised"),
    (Fault.FREES_ARGUMENT, "fail", "freed buffers that it was given: vy", "freed-argument"),
    (Fault.NULL_STREAM, "fail", "put work on the null stream", "stream"),
    (Fault.MEMSET, "fail", "hipMemset put work on the null stream", "stream"),
    (Fault.PENDING, "fail", "returns with the error hipErrorInvalidConfiguration (9) pending", "pending-error"),
    (Fault.WRITES_OUTSIDE, "crash", "past the end of the 585-byte allocation", "write-outside"),
    (Fault.WRONG, "fail", "vy[", "not recognised"),
    (Fault.FORBIDDEN, "crash", "called socket(), which is forbidden in kernels", "forbidden"),
]
ADVISED = {
    fault: cause
    for fault, _, _, cause in WRONG
    if cause in ("freed-twice", "freed-argument", "stream", "pending-error")
}


@pytest.mark.nightly("compiles launchers and judges them")
@pytest.mark.parametrize(("fault", "status", "why", "cause"), WRONG, ids=[fault.name for fault, *_ in WRONG])
def test_what_a_launcher_must_not_do_is_named(judged: Any, fault: Fault, status: str, why: str, cause: str) -> None:
    row = judged(CASE, fault)
    assert (row["status"], row["causes"]) == (status, [cause])
    assert why in row["failures"][0]["why"]


@pytest.mark.slow("compiles launchers and judges them")
@pytest.mark.parametrize("fault", ADVISED, ids=lambda fault: f"{ADVISED[fault]} {fault.name}")
def test_a_launcher_that_follows_the_advice_of_its_cause_passes(
    judged: Any, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    monkeypatch.setenv(MENDED, "1")
    assert judged(CASE, fault)["status"] == "pass"


@pytest.mark.slow("replays recorded calls")
def test_recorded_calls_judge_the_reference_and_are_counted_apart(capsys: pytest.CaptureFixture[str]) -> None:
    words = (LAUNCHER, "launch_mmvq_gguf_q4_0_*", "moe_gemm_wmma", "fill_u8")
    said = answer(capsys, "replay", "--subject", "reference", "--jobs", 1, *words)
    assert said.code == 0
    assert "of all: 1 of 748 kernels at parity (0.1%), 5 of 49 launchers" in said.out
    assert "  launchers: 5 pass" in said.out


@pytest.mark.slow("compiles launchers and judges them")
@pytest.mark.parametrize(("fault", "status"), [(Fault.RIGHT, "pass"), (Fault.WRONG, "fail")])
def test_recorded_calls_judge_the_launchers_of_a_port(judged: Any, fault: Fault, status: str) -> None:
    row = judged(LAUNCHER, fault, command="replay")
    recorded = len(Traces(traces_folder()).ids(LAUNCHER))
    assert (row["status"], row["cases"]) == (status, recorded)
    assert bool(row["failures"]) == (status == "fail")


@pytest.mark.slow("replays recorded calls")
def test_a_recorded_call_with_one_wrong_bit_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cases, pool = read_archive(traces_folder() / f"mmvq{SUFFIX}")
    case = next(row for row in cases if row["kernel"] == LAUNCHER)
    written = next(row for row in case["args"] if row.get("role") == "out")
    pool["wrong"] = pool[written["expect"]].copy()
    pool["wrong"].view(np.uint8)[0] ^= 0x40
    written["expect"] = "wrong"
    write_archive(tmp_path / f"mmvq{SUFFIX}", [case], pool, preset=0)
    said = answer(capsys, "replay", tmp_path, "--subject", "reference", "--jobs", 1, "-v")
    assert said.code == 1
    assert f"{LAUNCHER}(trace={case['case']})\n    vy[0] must be equal; 1 of " in said.out


@pytest.mark.nightly("compiles launchers and judges them")
def test_what_launchers_answer_can_be_recorded_and_replayed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ("--runtime", "cpu", "--kernels", TREE, "--jobs", 1)
    said = answer(capsys, "record", tmp_path / "new", *words, CASE, f"{LAUNCHER}(kx=96,rows=5,values=unit)")
    assert (said.code, said.out.splitlines()[-1].split(" recorded")[0]) == (0, "2 cases of 1 launcher")
    for subject in ((*words, "--order", "forward"), ("--subject", "reference")):
        said = answer(capsys, "replay", tmp_path / "new", *subject)
        assert (said.code, "1 of 49 launchers" in said.out) == (0, True)


def test_a_runtime_that_calls_no_launchers_records_kernels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = load_specs()
    kernel, launcher = specs.entry("fill_u8"), specs.entry(LAUNCHER)
    assert recordable([kernel, launcher], "cpu") == [kernel, launcher]
    without = dataclasses.replace(runtime_kind("cpu"), launchers=None)
    monkeypatch.setattr("conformance.cli.commands.record.runtime_kind", lambda name: without)
    assert recordable([kernel, launcher], "new") == [kernel]
    with pytest.raises(UsageError, match="cannot be called on the new runtime yet"):
        recordable([launcher], "new")


@pytest.mark.slow("compiles launchers and judges them")
def test_a_launcher_that_does_not_end_is_stopped(judged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDLE_PARITY_HANG_SECONDS", "2")
    assert judged(CASE, Fault.HANGS)["status"] == "timeout"


@pytest.mark.slow("compiles launchers and judges them")
def test_a_byte_behind_the_scratch_is_a_fault(judged: Any) -> None:
    row = judged("launch_mmq_gguf_q4_0(ncols=256,nrows=33,columns=1,values=random)")
    assert row["status"] == "crash"
    assert "past the end of the 16777216-byte allocation" in row["failures"][0]["why"]


@pytest.mark.slow("compiles launchers and judges them")
@pytest.mark.parametrize(
    ("case", "got"),
    [
        ("launch_mmvq_gguf_q8_0_f32_plain(ncols=256,nrows=64,columns=5,values=random)", "(0xfbfbfbfb)"),
        ("launch_mmq_gguf_q8_0(ncols=256,nrows=33,columns=1,values=random)", "nan (0xffffffff)"),
    ],
)
def test_what_is_added_to_an_output_or_to_scratch_is_wrong(judged: Any, case: str, got: str) -> None:
    row = judged(case, tree=ADDS)
    assert row["status"] == "fail"
    assert got in row["failures"][0]["got"]


@pytest.mark.slow("compiles launchers and judges them")
def test_launchers_with_other_parameters_or_errors_are_not_called(judged: Any) -> None:
    row = judged(LAUNCHER, tree=REFUSED)
    assert (row["status"], row["message"]) == ("signature", "parameter 3 is long, Candle's is i32 kx")
    row = judged("launch_mmvq_gguf_quantize_q8_1_f16", tree=REFUSED)
    assert row["status"] == "compile_error"
    assert "use of undeclared identifier 'not_declared'" in row["message"]


@pytest.mark.nightly("compiles launchers and judges them")
def test_a_launcher_that_does_not_compile_costs_no_other(judged: Any) -> None:
    row = judged("launch_mmvq_gguf_quantize_q8_1_bf16", tree=REFUSED)
    assert row["status"] == "compile_error"
    assert "use of undeclared identifier 'nowhere' (in broken, which it uses)" in row["message"]
    row = judged("launch_mmq_quantize_q8_1_D4(ne00=32,columns=1,values=unit)", tree=REFUSED)
    assert (row["status"], "vy[" in row["failures"][0]["why"]) == ("fail", True)


@pytest.mark.slow("compiles launchers and judges them")
def test_a_launcher_that_calls_into_another_source_is_not_run(judged: Any, tmp_path: Path) -> None:
    """The port's own build links the two; here each source is a library."""
    parameters = "(const void *, void *, int, int, int, void *)"
    (tmp_path / "helper.hip").write_text("void helper() {}\n")
    (tmp_path / "mmvq.hip").write_text(f'void helper();\nextern "C" void {LAUNCHER}{parameters} {{ helper(); }}\n')
    row = judged(CASE, tree=tmp_path)
    assert row["status"] == "not_run"
    assert row["message"].startswith(f"it calls helper, which is in {tmp_path.name}/helper.hip, and each source is")


@pytest.mark.slow("compiles launchers and judges them")
def test_a_launcher_in_a_source_that_cannot_be_read_is_not_missing(judged: Any, tmp_path: Path) -> None:
    source = tmp_path / "moe.hip"
    source.write_text('#include "gone.h"\nextern "C" void moe_gemm_gguf() {}\n')
    row = judged("moe_gemm_gguf", tree=source)
    assert row["status"] == "compile_error"
    assert row["source"].endswith("/moe.hip")
    assert row["message"].startswith(f"{tmp_path.name}/moe.hip:1: 'gone.h' file not found")
    assert judged("moe_gemm_wmma", tree=source)["status"] == "missing"


@pytest.mark.slow("compiles launchers and judges them")
def test_a_report_with_wiring_has_the_launchers_too(
    judged: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged(LAUNCHER)
    (tmp_path / "wiring.json").write_text(json.dumps({"kernels": []}))
    words = (tmp_path / "record.json", "--wiring", tmp_path / "wiring.json", "--md", tmp_path / "PARITY.md")
    assert answer(capsys, "report", *words).code == 0
    assert "at parity (0.0%)**, 1 of 49 launchers, " in (tmp_path / "PARITY.md").read_text()


@pytest.mark.slow("compiles launchers and judges them")
def test_a_launcher_that_no_source_defines_is_missing(judged: Any) -> None:
    assert judged("launch_mmvq_gguf_q4_0_f32_plain")["status"] == "missing"


@pytest.mark.slow("compiles launchers and judges them")
def test_launchers_have_a_gate_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", "--runtime", "cpu", "--kernels", REFUSED, "--jobs", 1, LAUNCHER, "-q")
    said = answer(capsys, *words, "--fail-under", 0, "--fail-under-launchers", 1)
    assert (said.code, "launchers 0.00% (0 of 49), gate 1%: NOT met" in said.out) == (1, True)


def test_check_compares_the_parameters_of_launchers_and_names_near_misses(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = answer(capsys, "check", "--kernels", REFUSED, "--partial")
    assert "parameter 3 is long, Candle's is i32 kx" in said.out
    assert "4 of 49 linked launchers are defined" in said.out
    (tmp_path / "moe.hip").write_text('extern "C" void moe_gemm_ggufs(int) {}\nextern "C" __global__ void k() {}\n')
    said = answer(capsys, "check", "--kernels", tmp_path, "--partial")
    assert "moe_gemm_ggufs" in said.out
    assert "is not a launcher of the specs; moe_gemm_gguf is missing" in said.out


@pytest.mark.slow("compiles launchers and judges them")
def test_c_linkage_may_come_from_a_declaration_and_its_absence_is_named(
    judged: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    parameters = "(const void *x, void *vy, int kx, int kx_padded, int num_rows, void *stream)"
    source = tmp_path / "mmvq.hip"
    source.write_text(
        "#include <hip/hip_runtime.h>\n"
        f'extern "C" {{ void {LAUNCHER}{parameters}; }}\n'
        f"void {LAUNCHER}{parameters} {{}}\n"
        f"void launch_mmvq_gguf_quantize_q8_1_f16{parameters} {{}}\n"
    )
    assert judged(CASE, tree=source)["status"] == "fail"  # found, and it does nothing
    row = judged("launch_mmvq_gguf_quantize_q8_1_f16", tree=source)
    assert (row["status"], row["message"].partition(":4 ")[2]) == (
        "missing",
        'defines it without extern "C": its symbol is mangled',
    )
    said = answer(capsys, "check", "--kernels", source, "--partial").out
    assert "mmvq.hip:4: launch_mmvq_gguf_quantize_q8_1_f16 extern" in said
    assert "1 of 49 linked launchers are defined" in said


def test_list_has_launchers_by_module_and_counts_them_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert "3 launchers, " in answer(capsys, "list", "--module", "moe").out
    assert "748 kernels, " in answer(capsys, "list").out
    assert "launch_mmq_quantize_q8_1_D4(ne00=32" in answer(capsys, "list", "launch_mmq_quantize_*", "--cases").out


def test_wiring_finds_calls_in_rust_and_no_comments_or_declarations(tmp_path: Path) -> None:
    (tmp_path / "ffi.rs").write_text("pub fn moe_gemm_wmma();\n")
    (tmp_path / "moe.rs").write_text("// moe_gemm_gguf\nunsafe { ffi::moe_gemm_wmma(1) }\n")
    calls = launcher_calls(tmp_path, load_specs().launchers)
    assert {name: places for name, places in calls.items() if places} == {"moe_gemm_wmma": ("moe.rs:2",)}


def test_every_case_has_the_arguments_of_its_launcher() -> None:
    families = {launcher.launch: launcher for launcher in load_specs().launchers.values()}
    assert len(families) == 7
    for launcher in families.values():
        launches = [launch_for(launcher, case) for case in cases_for(launcher)]
        assert len(launches) >= 6
        for launch in launches:
            assert [argument.name for argument in launch.args] == [parameter.name for parameter in launcher.params]
            assert len(launch.types) == len(launch.args)
            assert "stream" not in launch.reference_arguments()
