"""Pinned cases among the others of a run: where they are looked for, how they are chosen, and what they count for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.capture.pin import pin
from conformance.cli.main import main
from conformance.engine.declared_geometry import launched_by_port, with_geometry
from conformance.engine.modes import JudgeGenerated, Tree
from conformance.engine.recordings import JudgeWithPinned
from conformance.errors import UserError
from conformance.files import ROOT
from conformance.geometry import GeometryRow
from conformance.port.config import Config, read_config
from conformance.port.declared.declared import Declared
from conformance.processes import InfrastructureError
from conformance.record import read_record
from conformance.session.pinned import PinnedCases, pinned_cases
from conformance.session.selection import check_cases, select
from conformance.settings import NO_SETTINGS, Settings
from conformance.spec.load import load_specs
from conformance.verdict.trials import generated_parts
from tests.capture.recordings import one_launch, recording
from tests.house.same_records import differences

SPECS = load_specs()
NEG = SPECS.kernels["uneg_f32"]
CASE = "uneg_f32(trace=one-1)"
GENERATED = "uneg_f32(shape=[64],values=unit)"
SOURCE = """#include <hip/hip_runtime.h>
extern "C" __global__ void uneg_f32(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) {
    size_t at = info ? 0 : i, rest = i;
    for (size_t d = num_dims; info && d-- > 0; rest /= info[d]) at += rest % info[d] * info[num_dims + d];
    float x = inp ? inp[at] : out[i];
    out[i] = numel == 1 && x == WRONG_FOR ? 5 : -x;
  }
}
"""
"""Wrong for a single element that has the value WRONG_FOR."""


@pytest.fixture
def port(tmp_path: Path) -> Path:
    """A port of ``uneg_f32`` with its file, and a pinned launch of one element, to which its program answered 5."""
    folder = tmp_path / "port"
    folder.mkdir()
    (folder / "candle-parity.toml").write_text('kernels = "."\nruntime = "cpu"\n')
    (folder / "unary.hip").write_text(SOURCE)
    pin(recording(tmp_path / "one", 5.0), "1", folder / "pinned")
    return folder


def declared(port: Path, more: str = "") -> Config:
    file = port / "candle-parity.toml"
    file.write_text(file.read_text() + more)
    return read_config(file)


def ids(found: PinnedCases) -> dict[str, list[str]]:
    return {name: [case.id for case in cases] for name, cases in found.cases.items()}


def test_they_are_found_next_to_the_ports_file(port: Path) -> None:
    assert ids(pinned_cases(NO_SETTINGS, declared(port), SPECS)) == {"uneg_f32": [CASE]}


def test_they_are_found_in_the_folder_that_the_file_or_the_option_names(port: Path, tmp_path: Path) -> None:
    (port / "pinned").rename(port / "kept")
    assert ids(pinned_cases(NO_SETTINGS, declared(port), SPECS)) == {}
    assert ids(pinned_cases(Settings(pinned=port / "kept"), None, SPECS)) == {"uneg_f32": [CASE]}
    assert ids(pinned_cases(NO_SETTINGS, declared(port, 'pinned = "kept"\n'), SPECS)) == {"uneg_f32": [CASE]}


@pytest.mark.parametrize("content", [None, {}, {"notes.txt": "kept by hand"}])
def test_a_port_without_any_is_judged_as_before(port: Path, content: dict[str, str] | None) -> None:
    (port / "pinned" / "unary.traces.xz").unlink()
    (port / "pinned").rmdir()
    if content is not None:
        (port / "pinned").mkdir()
        for name, text in content.items():
            (port / "pinned" / name).write_text(text)
    found = pinned_cases(NO_SETTINGS, declared(port), SPECS)
    assert found == PinnedCases()
    assert type(found.mode(Tree(port))) is JudgeGenerated


def test_a_folder_that_is_named_has_to_be_there(port: Path) -> None:
    with pytest.raises(UserError, match="no such folder; give one that holds MODULE"):
        pinned_cases(NO_SETTINGS, declared(port, 'pinned = "elsewhere"\n'), SPECS)


def test_a_pinned_case_of_what_is_no_kernel_is_told(port: Path) -> None:
    without = load_specs()
    del without.kernels["uneg_f32"]
    with pytest.raises(UserError, match="has pinned cases of uneg_f32, which is no kernel of the specs"):
        pinned_cases(NO_SETTINGS, declared(port), without)


def test_they_stand_behind_the_generated_cases_and_count_for_the_verdict(port: Path) -> None:
    mode = pinned_cases(NO_SETTINGS, declared(port), SPECS).mode(Tree(port))
    assert isinstance(mode, JudgeWithPinned)
    plain, found = generated_parts(NEG), mode.parts(NEG)
    assert (found.judged[:-1], found.others) == plain
    assert found.judged[-1].id == CASE
    assert (mode.pinned(found.judged), mode.pinned(plain.judged)) == (1, 0)
    other = SPECS.kernels["uexp_f32"]
    assert mode.parts(other) == generated_parts(other)
    trials = list(mode.cases(NEG, [plain.judged[0], found.judged[-1]], ""))
    assert [trial.id for trial in trials] == [plain.judged[0].id, CASE]
    assert trials[1].expected["out"].value.tolist() == [-1.0]
    assert [case.id for case, _ in mode.launches(NEG, found.judged[-2:], "")] == [one.id for one in found.judged[-2:]]


def test_they_are_launched_as_recorded_whatever_the_port_declares_of_candles_launches(port: Path) -> None:
    mode = pinned_cases(NO_SETTINGS, declared(port), SPECS).mode(Tree(port))
    row = GeometryRow("uneg_f32", block=("block_x // 4", "1", "1"), when="numel > 100")
    says = Declared(launch=(row,))
    cases = mode.parts(NEG).judged
    found = {one.id: one.launch.block for one in with_geometry(mode.cases(NEG, cases[-2:], ""), says, NEG.name, 64)}
    assert found == {cases[-2].id: (256, 1, 1), CASE: (1024, 1, 1)}
    ever, never = launched_by_port(says, row, mode.launches(NEG, cases, ""), 64)
    assert CASE in [case.id for case in ever]
    assert {case.get("shape") for case in never} >= {"[1]", "[31]"}


def test_a_pinned_case_that_the_reference_no_longer_takes_is_not_passed_over(port: Path, tmp_path: Path) -> None:
    pin(recording(tmp_path / "two", 5.0, numel=9), "1", port / "pinned")
    mode = pinned_cases(NO_SETTINGS, declared(port), SPECS).mode(Tree(port))
    trials = mode.cases(NEG, mode.parts(NEG).judged[-2:], "")
    assert next(trials).id == CASE
    with pytest.raises(InfrastructureError, match=r"pinned case uneg_f32\(trace=two-1\); remove it"):
        next(trials)


def test_other_data_is_another_digest(port: Path, tmp_path: Path) -> None:
    before = pinned_cases(NO_SETTINGS, declared(port), SPECS).mode(Tree(port)).data
    pin(recording(tmp_path / "two", 5.0, numel=0), "1", port / "pinned")
    assert before
    assert pinned_cases(NO_SETTINGS, declared(port), SPECS).mode(Tree(port)).data != before


def test_patterns_choose_them_by_id_and_by_field(port: Path) -> None:
    pinned = pinned_cases(NO_SETTINGS, declared(port), SPECS).cases
    for pattern in (CASE, "uneg_*(trace=*)", "u*(trace=one-?)"):
        _, chosen = select(SPECS, [pattern], None, pinned=pinned)
        assert chosen == {"uneg_f32": (CASE,)}
        check_cases(SPECS, chosen, pinned)
    with pytest.raises(UserError, match=r"uneg_f32\(trace=one-2\)"):
        check_cases(SPECS, {"uneg_f32": ("uneg_f32(trace=one-2)",)}, pinned)


def test_list_counts_and_names_them(
    port: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed() -> tuple[int, list[str]]:
        assert main(["list", "uneg_f32", "--cases", "--json", str(port / "list.json")]) == 0
        (row,) = json.loads((port / "list.json").read_text())["kernels"]
        return row["cases"], row["case_ids"]

    count, names = listed()
    monkeypatch.chdir(port)
    assert listed() == (count + 1, [*names, CASE])
    main(["list", "uneg_f32"])
    assert capsys.readouterr().out.endswith(f"1 kernel, {count + 1} cases\n")


def test_check_counts_them_and_tells_those_that_cannot_be_read(port: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check", "--kernels", str(port), "--partial", "uneg_f32"]
    main(words)
    assert "1 pinned case of 1 kernel, for `run` to judge\n" in capsys.readouterr().out
    (port / "pinned" / "unary.traces.xz").write_bytes(b"no archive")
    assert main(words) == 2
    assert "unary.traces.xz: " in capsys.readouterr().err


def judged(port: Path, wrong_for: float, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and record of a run of ``port`` whose kernel is wrong for one value."""
    (port / "unary.hip").write_text(SOURCE.replace("WRONG_FOR", str(wrong_for)))
    out = port / "record.json"
    code = main(["run", "--kernels", str(port), "--json", str(out), "-q", *words])
    return code, json.loads(out.read_text())


def row(record: dict[str, Any]) -> dict[str, Any]:
    return next(one for one in record["kernels"] if one["name"] == "uneg_f32")


@pytest.mark.slow("runs by the command")
def test_a_kernel_that_is_wrong_only_in_its_pinned_case_fails(port: Path) -> None:
    code, record = judged(port, 1, GENERATED, CASE)
    found = row(record)
    assert (code, found["status"], found["cases"], found["failed"], found["pinned"]) == (1, "fail", 2, 1, 1)
    (failure,) = found["failures"]
    assert (failure["case"], failure["got"][:3], failure["expected"][:4]) == (CASE, "5.0", "-1.0")
    assert failure["reproduce"].endswith(f"--order forward '{CASE}'")
    assert (record["summary"]["total"], len(record["kernels"])) == (748, 748)


@pytest.mark.slow("runs by the command")
def test_a_kernel_that_is_right_passes_and_its_row_says_how_many_are_pinned(
    port: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, record = judged(port, 2, GENERATED, CASE)
    found = row(record)
    assert (code, found["status"], found["cases"], found["pinned"]) == (0, "pass", 2, 1)
    assert record["run"]["pinned"]
    main(["report", str(port / "record.json")])
    assert "1 of the cases is pinned, of 1 kernel: launches of programs" in " ".join(capsys.readouterr().out.split())
    code, record = judged(port, 2, GENERATED)
    assert (row(record)["cases"], row(record)["pinned"]) == (1, 0)


@pytest.mark.slow("runs pytest, which judges one kernel")
def test_pytest_judges_them_too(port: Path) -> None:
    (port / "unary.hip").write_text(SOURCE.replace("WRONG_FOR", "1"))
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "candle-parity.toml", "-k", "uneg_f32"]
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=port, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "uneg_f32: fail, 1 of " in done.stdout
    assert f"'{CASE}'" in done.stdout


@pytest.mark.slow("two runs by the command")
def test_the_other_rows_and_the_share_are_the_same_without_them(port: Path) -> None:
    judged(port, 2, "uneg_f32(values=unit;*)", CASE, "uexp_f32")
    found = read_record(port / "record.json")
    (port / "pinned").rename(port / "elsewhere")
    judged(port, 2, "uneg_f32(values=unit;*)", "uexp_f32")
    without = read_record(port / "record.json")
    differing = [line.partition(" was ")[0] for line in differences(without, found)]
    assert differing == ["run: patterns", "run: pinned", "uneg_f32: cases", "uneg_f32: pinned"]
    same = ("total", "passed", "coverage", "not_run", "missing")
    assert [getattr(found.summary, name) for name in same] == [getattr(without.summary, name) for name in same]


@pytest.mark.slow("three runs by the command")
def test_a_verdict_is_kept_only_as_long_as_the_pinned_data_is_the_same(port: Path, tmp_path: Path) -> None:
    words = (GENERATED, CASE, "--reuse", "--runtime", "cpu")
    judged(port, 2, *words)
    _, record = judged(port, 2, *words)
    assert (row(record)["status"], record["run"]["kept"]) == ("pass", 1)
    (tmp_path / "other").mkdir()
    (port / "pinned" / "unary.traces.xz").unlink()
    pin(one_launch(tmp_path / "other" / "one", [2.0], [5.0]), "1", port / "pinned")
    _, record = judged(port, 2, *words)
    assert (row(record)["status"], record["run"]["kept"]) == ("fail", None)
