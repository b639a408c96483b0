"""``record`` as a user meets it: new ground truth that ``replay`` accepts, and nothing lost to one bad kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.cases.case import Case
from conformance.replay import Traces
from conformance.replay.archive import read_header

ROOT = Path(__file__).resolve().parents[2]

HEAD = """#include <hip/hip_runtime.h>
#define KERNEL(NAME) \\
  extern "C" __global__ void NAME(size_t numel, size_t num_dims, const size_t *info, float *inp, float *out)
#define EACH for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x)
"""
GOOD = "KERNEL(uneg_f32) { EACH out[i] = -inp[i]; }\n"
CASES = [f"{name}(shape=[{size}],values=unit)" for name in ("uneg_f32", "uabs_f32") for size in (3, 41)]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.nightly("whole runs by the command")
@pytest.mark.parametrize("wave", [32, 64])
def test_a_fresh_recording_is_accepted_in_every_thread_order(cli, tmp_path, wave):
    patterns = ["copy2d_*", "sum_f32", "rmsnorm_f16", "asort_desc_u8", "badd_f8_e4m3", "mul_mat_vec_q4_0*1"]
    said = cli("record", tmp_path / "new", *patterns, "--runtime", "cpu", "--wave", wave)
    assert said.code == 0
    kernels = cli("replay", tmp_path / "new", "--runtime", "cpu")
    reference = cli("replay", tmp_path / "new", "--subject", "reference")
    assert (kernels.code, reference.code) == (0, 0)
    rows = kernels.record["kernels"]
    count = sum(row["cases"] + (row["robustness"] or {"cases": 0})["cases"] for row in rows)
    assert reference.record["summary"]["cases"] == count > kernels.record["summary"]["cases"]
    assert said.out.splitlines()[1].startswith(f"{count} cases of ")


@pytest.mark.slow("whole runs by the command")
def test_there_is_a_file_for_each_module_and_nothing_else(cli, tmp_path):
    assert cli("record", tmp_path / "new", *CASES, "fill_f32", "-j", "2").code == 0
    assert files(tmp_path / "new") == ["fill.traces.xz", "unary.traces.xz"]


@pytest.mark.slow("whole runs by the command")
def test_a_trace_is_found_again_by_its_id(cli, tmp_path):
    cli("record", tmp_path / "new", *CASES, CASES[0])
    ids = Traces(tmp_path / "new").ids("uneg_f32")
    assert ids == [f"uneg_f32(trace=generated,shape=[{size}],values=unit)" for size in (3, 41)]
    assert Case.parse(ids[0]).get("shape") == "[3]"
    assert cli("replay", tmp_path / "new", ids[0]).kernel("uneg_f32")["cases"] == 1


@pytest.mark.slow("whole runs by the command")
def test_a_recording_says_where_it_comes_from_and_so_does_its_replay(cli, tmp_path):
    cli("record", tmp_path / "new", CASES[0], "--runtime", "cpu", "--seed-salt", "s")
    recording = read_header(tmp_path / "new" / "unary.traces.xz").recording
    assert (recording["runtime"], recording["seed_salt"], recording["kernels"]) == ("cpu", "s", "kernels")
    assert recording["upstream_commit"] == "2a13b0f3ff62f7e67013597f2996f764c5735e21"
    assert {"device", "arch", "wave", "started", "sources", "git", "harness"} <= recording.keys()
    (shown,) = cli("replay", tmp_path / "new", "--subject", "reference").record["run"]["recorded_on"]
    assert shown.startswith(f"{recording['device']} ({recording['arch']}), cpu, {recording['started'][:10]}")


@pytest.mark.slow("whole runs by the command")
def test_a_salt_gives_other_data(cli, tmp_path):
    for salt in "ab":
        cli("record", tmp_path / salt, CASES[0], "--seed-salt", salt)
    first, second = (read_header(tmp_path / salt / "unary.traces.xz").cases[0]["args"][3]["data"] for salt in "ab")
    assert first != second


@pytest.mark.slow("whole runs by the command")
def test_cases_whose_right_answer_is_a_fault_are_left_out_and_counted(cli, tmp_path):
    kernel = cli("run", "gather_u32_f32", "--runtime", "cpu", "--all-cases").kernel("gather_u32_f32")
    ran = kernel["cases"] + kernel["robustness"]["cases"]
    said = cli("record", tmp_path / "new", "gather_u32_f32", "--runtime", "cpu")
    left_out = ran - len(Traces(tmp_path / "new").ids("gather_u32_f32"))
    assert said.code == 0
    assert f"cases left out, because the right result is a fault or the buffers have gaps: {left_out}\n" in said.out
    assert left_out > 0


@pytest.mark.slow("whole runs by the command")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("if (numel == 3) out[1 << 28] = 0;", ["uabs_f32: crash, 1 of 2 cases", "uabs_f32(shape=[3],values=unit)"]),
        ("if (numel == 3) __builtin_trap();", ["uabs_f32: crash, 1 of 2 cases"]),
        ("if (numel == 3) inp[0] += 1;", ["uabs_f32: fail, 1 of 2 cases", "4 bytes of input inp were overwritten"]),
    ],
)
def test_a_launch_without_an_answer_is_named_and_costs_that_case(cli, port, tmp_path, body, words):
    folder = port(HEAD + GOOD + f"KERNEL(uabs_f32) {{ {body} EACH out[i] = inp[i] < 0 ? -inp[i] : inp[i]; }}\n")
    said = cli("record", tmp_path / "new", *CASES, "--kernels", folder, "--runtime", "cpu")
    assert said.code == 1
    for word in ("not recorded: ", "candle-parity run --runtime cpu --wave 64", "--order forward", *words):
        assert word in said.out
    assert "3 cases of 2 kernels recorded" in said.out
    assert Traces(tmp_path / "new").ids("uabs_f32") == ["uabs_f32(trace=generated,shape=[41],values=unit)"]


@pytest.mark.slow("whole runs by the command")
def test_a_kernel_that_takes_the_process_down_costs_that_kernel(cli, port, tmp_path):
    quit_ = 'extern "C" void _exit(int);\nKERNEL(uabs_f32) { _exit(3); }\n'
    said = cli("record", tmp_path / "new", *CASES, "--kernels", port(HEAD + GOOD + quit_), "--runtime", "cpu")
    assert said.code == 1
    assert "not recorded: uabs_f32: crash" in said.out
    assert "its process ended with exit code 3" in said.out
    assert Traces(tmp_path / "new").kernels == ["uneg_f32"]
    assert len(Traces(tmp_path / "new").ids("uneg_f32")) == 2


@pytest.mark.slow("whole runs by the command")
def test_a_kernel_with_other_parameters_or_that_does_not_compile_is_named(cli, port, tmp_path):
    port(HEAD + 'KERNEL(uneg_f32) {}\nextern "C" __global__ void uabs_f32(float *out) {}\n')
    folder = port("no C++\n", "affine.hip")
    said = cli("record", tmp_path / "new", *CASES, "affine_f32", "--kernels", folder)
    assert said.code == 1
    assert "not recorded: uabs_f32: signature" in said.out
    assert "not recorded: affine_f32: compile_error" in said.out
    assert "port/affine.hip does not compile: " in said.err
    assert Traces(tmp_path / "new").kernels == ["uneg_f32"]


@pytest.mark.slow("whole runs by the command")
def test_kernels_that_a_port_lacks_are_counted_and_no_failure(cli, port, tmp_path):
    said = cli("record", tmp_path / "new", *CASES, "--kernels", port(HEAD + GOOD))
    assert said.code == 0
    assert "defined in no source, 1 in all: uabs_f32" in said.out


@pytest.mark.slow("runs the command for each row")
def test_where_nothing_was_recorded_nothing_is_left_behind(cli, port, tmp_path):
    said = cli("record", tmp_path / "new", "uabs_f32", "--kernels", port(HEAD + GOOD))
    assert said.code == 1
    assert "nothing was recorded" in said.err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda out: (out.mkdir(), (out / "unary.traces.xz").write_bytes(b"")), "holds traces already"),
        (lambda out: (out.mkdir(), (out / "notes.txt").write_text("")), "is not empty"),
        (lambda out: out.write_text(""), "it is not a folder"),
    ],
)
def test_only_a_new_or_empty_folder_is_written_to(cli, tmp_path, made, words):
    out = tmp_path / "out"
    made(out)
    before = files(out) if out.is_dir() else None
    said = cli("record", out, CASES[0])
    assert said.code == 2
    assert re.search(f"{re.escape(str(out))}:? {words}", said.err)
    assert (files(out) if out.is_dir() else None) == before


@pytest.mark.slow("runs the command several times")
def test_an_empty_folder_will_do(cli, tmp_path):
    (tmp_path / "new").mkdir()
    assert cli("record", tmp_path / "new", CASES[0]).code == 0


def test_bad_input_is_refused_before_a_folder_is_made(cli, tmp_path):
    for words in (["nothing_like_it"], ["uneg_f32(shape=[3"], ["uneg_f32", "--kernels", tmp_path / "absent"]):
        assert cli("record", tmp_path / "new", *words).code == 2
        assert not (tmp_path / "new").exists()
