"""``--baseline``, ``--update-baseline``, ``[gate]`` of ``candle-parity.toml`` and ``diff``, on two kernels."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from conformance.record import every_kernel, read_record, write_record
from conformance.spec.load import SPEC_FOLDER, load_specs
from tests.record.made import record, row

FILL = """#include <hip/hip_runtime.h>
extern "C" __global__ void fill_u8(unsigned char *buf, unsigned char value, size_t numel) {{
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < numel; i += (size_t)blockDim.x * gridDim.x)
    buf[i] = {first};
}}
extern "C" __global__ void {name}(unsigned *buf, unsigned value, size_t numel) {{
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < numel; i += (size_t)blockDim.x * gridDim.x)
    buf[i] = {second};
}}
"""
WRONG = "i > 40 ? 0 : value"


@pytest.fixture
def judge(cli, port):
    """``judge(words, first=..., second=...)``: ``run`` of a port whose two kernels write these."""

    def call(*words: object, first: str = WRONG, second: str = "value", name: str = "fill_u32"):
        folder = port(FILL.format(first=first, second=second, name=name), "fill.hip")
        patterns = [] if any("fill" in str(word) for word in words) else ["fill_u*"]
        return cli("run", *patterns, *words, "--runtime", "cpu", "--order", "forward", "--kernels", folder, "-j", "1")

    return call


def last(text: str) -> str:
    return text.strip().splitlines()[-1]


@pytest.mark.nightly("whole runs by the command")
def test_a_baseline_lets_pass_what_failed_before_and_stops_what_is_worse(judge, tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    said = judge("--baseline", base)
    assert said.code == 2
    assert "--update-baseline writes it" in said.err
    said = judge("--baseline", base, "--update-baseline")
    assert (said.code, base.exists()) == (0, True)
    assert last(said.out).endswith("none yet, so nothing was compared: met")
    assert judge().code == 1
    said = judge("--baseline", base)
    assert said.code == 0
    assert last(said.out).endswith("0 worse and 0 better of 2 kernels compared: met")
    assert judge("--baseline", base, "--strict").code == 1
    before = base.read_bytes()
    # A case more of the kernel that fails already, then a kernel that passed, then one that is gone.
    for changes, words in (
        ({"first": "i > 31 ? 0 : value"}, "newly failing, or further from parity (1)\n  fill_u8: fail, "),
        ({"second": "value + 1"}, "fill_u32: pass -> fail"),
        ({"name": "own_u32"}, "gone: sources define these no more (1)\n  fill_u32: pass -> missing"),
    ):
        said = judge("--baseline", base, "--update-baseline", **changes)
        assert said.code == 1
        assert words in said.out
        assert last(said.out).endswith("NOT met: 1 kernel is worse than in the baseline")
        assert "base.json stays as it is: " in said.err
        assert "worse than in the baseline; delete it to begin with this run" in said.err
        assert base.read_bytes() == before


@pytest.mark.nightly("whole runs by the command")
def test_the_new_baseline_has_what_became_better_and_after_a_deletion_what_became_worse(judge, tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    judge("--baseline", base, "--update-baseline")
    written = base.stat().st_mtime_ns
    said = judge("--baseline", base, "--update-baseline")
    assert (said.code, base.stat().st_mtime_ns) == (0, written)
    assert "nothing to write" in said.out
    said = judge("--baseline", base, "--update-baseline", first="value")
    assert said.code == 0
    assert "newly passing, or closer to parity (1)\n  fill_u8: fail -> pass" in said.out
    assert read_record(base).summary.passed == 2
    assert judge("--baseline", base).code == 1
    base.unlink()
    assert judge("--baseline", base, "--update-baseline", first="1").code == 0
    assert read_record(base).summary.passed == 1


@pytest.mark.slow("whole runs by the command")
def test_a_part_of_the_kernels_is_compared_and_is_no_new_baseline(judge, tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    judge("--baseline", base, "--update-baseline")
    before = base.read_bytes()
    said = judge("fill_u32", "--baseline", base)
    assert said.code == 0
    assert "1 not selected in the new record: fill_u8" in said.out
    said = judge("fill_u32", "--baseline", base, "--update-baseline")
    assert said.code == 2
    assert "base.json stays as it is: it has verdicts on 1 kernel that was not judged here" in last(said.out)
    assert base.read_bytes() == before


@pytest.mark.nightly("whole runs by the command")
def test_a_baseline_of_another_device_is_compared_and_not_replaced(judge, tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    judge("--baseline", base, "--update-baseline")
    other = read_record(base)
    write_record(other.model_copy(update={"run": other.run.model_copy(update={"runtime": "rocm"})}), base)
    assert judge("--baseline", base).code == 0
    assert judge("--baseline", base, second="1").code == 1
    said = judge("--baseline", base, "--update-baseline")
    assert said.code == 2
    assert "judged in another way or on another device" in said.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--update-baseline",), "name the file with --baseline"),
        (("--baseline", "{build}"), "a build has no verdicts"),
        (("--baseline", "{text}"), "not a record"),
        (("--fail-under", "x"), "'x' is not a percentage"),
        (("--fail-under", "nan"), "'nan' is not a percentage"),
    ],
)
def test_bad_usage_is_2_before_anything_is_judged(cli, port, tmp_path: Path, words, sentence: str) -> None:
    write_record(record(row("k", "not_run"), runtime="build"), tmp_path / "build")
    (tmp_path / "text").write_text("{}")
    named = [word.format(build=tmp_path / "build", text=tmp_path / "text") for word in words]
    said = cli(
        "run", "--kernels", port(FILL.format(first="1", second="1", name="fill_u32")), "--runtime", "cpu", *named
    )
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err


@pytest.mark.slow("whole runs by the command")
def test_other_cases_say_nothing_of_each_other(judge, tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    judge("--baseline", base, "--update-baseline")
    made = read_record(base)
    write_record(made.model_copy(update={"run": made.run.model_copy(update={"traces": "t"})}), base)
    said = judge("--baseline", base)
    assert said.code == 2
    assert "not decided: the baseline has other cases" in last(said.out)


@pytest.mark.slow("whole runs by the command")
def test_the_file_of_the_port_has_the_gate(judge, port, tmp_path: Path) -> None:
    file = port("") / "candle-parity.toml"
    specs = tmp_path / "specs"
    specs.mkdir()
    shutil.copy(SPEC_FOLDER / "fill.yaml", specs)
    file.write_text('[gate]\nfail_under = 8.3\nstrict = false\nbaseline = "../base.json"\n')
    every = ("--specs", specs, "fill_*", "copy2d_*", "const_set_*")
    said = judge(*every, "--update-baseline", first="value")
    assert said.code == 0, said.err
    assert last(said.out).endswith("none yet, so nothing was compared: met")
    assert (tmp_path / "base.json").exists()
    # One of 24 is 4.2%. The command line wins; of a part of the kernels the file asks for no coverage.
    assert judge(*every).code == 1
    said = judge(*every, "--fail-under", "4", "--baseline", "/dev/null")
    assert said.code == 2
    said = judge("--specs", specs, "fill_u32")
    assert said.code == 0
    assert f"fail_under of {file} is not applied, as only some kernels were selected" in said.err
    file.write_text("[gate]\nfail_under = 4\nstrict = true\n")
    assert judge(*every).code == 1
    assert judge(*every, "--no-strict").code == 0


@pytest.mark.slow("runs the command several times")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("gate = 80", "gate must be a table [gate]"),
        (
            "[gate]\nunder = 80",
            "gate: unknown key 'under'; expected one of fail_under, ",
        ),
        ("[gate]\nfail_under = 101", "gate: fail_under must be a percentage, 0 to 100"),
        ("[gate]\nfail_under = nan", "gate: fail_under must be a percentage, 0 to 100"),
        ("[gate]\nstrict = 1", "gate: strict must be true or false"),
        ("[gate]\nbaseline = 1", "gate: baseline must be a string"),
    ],
)
def test_a_wrong_gate_in_the_file_is_named(judge, port, text: str, sentence: str) -> None:
    (port("") / "candle-parity.toml").write_text(text)
    said = judge()
    assert said.code == 2
    assert sentence in said.err


@pytest.mark.slow("whole runs by the command")
def test_a_file_that_cannot_be_written_leaves_no_verdict_that_is_met(judge) -> None:
    said = judge("--fail-under", "0.1", "--md", "/dev/full")
    assert said.code == 2
    assert last(said.out).endswith("gate 0.1%: not decided: a file could not be written")


@pytest.mark.slow("whole runs by the command")
def test_diff_of_two_runs(cli, judge, tmp_path: Path) -> None:
    old, new, told = (tmp_path / name for name in ("old.json", "new.json", "diff.json"))
    judge("--json", old)
    judge("--json", new, first="value", name="own_u32")
    said = cli("diff", old, new, "--json", told)
    assert said.code == 0
    assert "gone: sources define these no more (1)\n  fill_u32: pass -> missing" in said.out
    assert "newly passing, or closer to parity (1)\n  fill_u8: fail -> pass" in said.out
    assert max(map(len, said.out.splitlines())) <= 100
    data = json.loads(told.read_text())
    assert [(one["kernel"], one["kind"]) for one in (*data["worse"], *data["better"])] == [
        ("fill_u32", "gone"),
        ("fill_u8", "changed"),
    ]
    assert cli("diff", old, new, "--fail-on-worse").code == 1
    assert cli("diff", old, old, "--fail-on-worse").code == 0
    write_record(record(row("k", "pass")), new)
    said = cli("diff", old, new)
    assert said.code == 2
    assert "no kernel in common" in said.err


@pytest.mark.slow("whole runs by the command")
def test_report_decides_nothing_over_a_run_that_was_stopped_and_names_what_contradicts(cli, tmp_path: Path) -> None:
    """Records by hand: the first was stopped, the others disagree."""
    specs, paths = load_specs(), [tmp_path / f"{n}.json" for n in range(3)]
    stopped = row("fill_u32", "not_run", message="interrupted before it was judged")
    for path, other, complete in zip(
        paths, (stopped, row("fill_u32", "pass"), row("fill_u32", "fail", ["n=1"])), (False, True, True), strict=True
    ):
        rows = every_kernel(specs, [row("fill_u8", "pass"), other])
        write_record(record(*rows, specs_digest=specs.digest, complete=complete, selected=2), path)
    said = cli("report", paths[0], "--fail-under", "0.1")
    assert said.code == 2
    assert last(said.out).endswith("gate 0.1%: not decided: the run did not come to its end")
    assert cli("report", paths[1], "--fail-under", "0.2").code == 0
    assert cli("report", paths[2], "--fail-under", "0.2").code == 1
    said = cli("report", paths[1], paths[2])
    assert said.code == 0
    assert "contradict each other in 1 kernel: fill_u32 (pass and fail, 1 of 1 cases failed)" in said.err
    assert cli("report", paths[1], paths[2], "--fail-under", "0.2").code == 2
