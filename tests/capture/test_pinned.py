"""A recorded launch that is kept as a case: which one, next to which others, and what is expected of a kernel by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.capture.launches import CaptureError
from conformance.capture.pin import pin, place_of
from conformance.cases import cases_for, launch_for
from conformance.cases.case import Case
from conformance.cli.main import main
from conformance.engine.recordings import recorded
from conformance.replay.recorder import PART_SUFFIX, Recorder, pack_parts
from conformance.replay.traces import Traces
from conformance.spec.load import load_specs
from conformance.verdict.trials import expected_of
from tests.capture.recordings import recording

NEG = load_specs().kernels["uneg_f32"]


def test_of_a_programs_launch_the_reference_is_expected_whatever_it_answered(tmp_path: Path) -> None:
    for subject in ("kernels", "reference"):
        (trial,) = recorded(NEG, None, recording(tmp_path / subject, 5.0), subject)
        assert (trial.expected["out"].value.tolist(), trial.flaw) == ([-1.0], None)
        assert trial.answer is not None
        assert trial.answer["out"].tolist() == [5.0]


def test_an_answer_of_candles_own_that_is_wrong_still_judges_nobody(tmp_path: Path) -> None:
    (trial,) = recorded(NEG, None, recording(tmp_path / "a", 5.0, program=False), "kernels")
    assert trial.flaw is not None


def test_a_launch_is_pinned_once_and_next_to_those_of_other_recordings(tmp_path: Path) -> None:
    into = tmp_path / "pinned"
    one, two = recording(tmp_path / "one", -1.0, 5.0), recording(tmp_path / "two", 7.0)
    assert pin(one, "2", into) == pin(one, "2", into) == "uneg_f32(trace=one-2)"
    assert pin(two, "1", into) == "uneg_f32(trace=two-1)"
    traces = list(Traces(into).of(NEG))
    assert [(trace.case.id, trace.answer["out"].tolist(), trace.of_program) for trace in traces] == [
        ("uneg_f32(trace=one-2)", [5.0], True),
        ("uneg_f32(trace=two-1)", [7.0], True),
    ]


def test_a_launch_of_another_recording_in_a_folder_of_the_same_name_is_kept_too(tmp_path: Path) -> None:
    into = tmp_path / "pinned"
    for parent, answer in (("before", 5.0), ("after", -1.0), ("after", -1.0)):
        (tmp_path / parent).mkdir(exist_ok=True)
        folder = tmp_path / parent / "launches"
        pin(folder if folder.exists() else recording(folder, answer), "1", into)
    answers = {trace.case.id: trace.answer["out"].tolist() for trace in Traces(into).of(NEG)}
    assert answers == {"uneg_f32(trace=launches-1)": [5.0], "uneg_f32(trace=launches-1b)": [-1.0]}


def test_no_launch_is_pinned_next_to_candles_own_answers(tmp_path: Path) -> None:
    """Which then would judge nobody any more."""
    into = recording(tmp_path / "gpu", -1.0, program=False)
    with pytest.raises(CaptureError, match="has answers that no program gave"):
        pin(recording(tmp_path / "launches", -1.0), "1", into)


def test_what_a_link_in_the_folder_leads_to_is_not_written(tmp_path: Path) -> None:
    into, theirs = tmp_path / "pinned", tmp_path / "theirs"
    into.mkdir()
    theirs.write_text("theirs")
    for name in (".unary.traces.xz", "other"):
        (into / name).symlink_to(theirs)
    pin(recording(tmp_path / "launches", -1.0), "1", into)
    assert theirs.read_text() == "theirs"


@pytest.mark.parametrize("text", ["launches", "#3", "launches#", "launches#x"])
def test_a_launch_is_named_by_folder_and_number(text: str) -> None:
    with pytest.raises(CaptureError, match="expected the folder of a recording and a number: launches#17"):
        place_of(text)
    assert place_of("a/b#c#017") == (Path("a/b#c"), "17")


def test_a_launch_that_the_reference_does_not_take_is_not_pinned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recording(tmp_path / "one", -1.0, numel=5)
    assert main(["new", "--case-from", "one#1"]) == 2
    assert "launch 1 of one can be no case: the reference does not take its arguments" in capsys.readouterr().err
    assert not (tmp_path / "pinned").exists()


def test_a_launch_that_is_not_recorded_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recording(tmp_path / "one", -1.0)
    assert main(["new", "--case-from", "one#9"]) == 2
    assert capsys.readouterr().err.startswith("candle-parity: one has no recorded launch 9; ")
    assert main(["new", "--case-from", "one#1", "--own"]) == 2
    assert main(["new"]) == 2
    capsys.readouterr()
    assert main(["new", "--case-from", "one#1"]) == 0
    said = capsys.readouterr().out
    assert "candle-parity run --pinned pinned --kernels path/to/port 'uneg_f32(trace=one-1)'" in said
    assert said.splitlines()[-1] == 'pinned = "pinned"'


@pytest.mark.parametrize(
    ("declared", "folder"), [('kernels = "."', "pinned"), ('kernels = "."\npinned = "tests/kept"', "tests/kept")]
)
def test_a_launch_is_pinned_where_runs_of_the_port_find_it(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    declared: str,
    folder: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "candle-parity.toml").write_text(f"{declared}\n")
    recording(tmp_path / "one", -1.0)
    assert main(["new", "--case-from", "one#1"]) == 0
    said = capsys.readouterr().out
    assert "candle-parity run 'uneg_f32(trace=one-1)'" in said
    assert "pinned =" not in said
    assert (tmp_path / folder / "unary.traces.xz").exists()


def test_a_call_of_a_launcher_is_pinned_and_found_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kernel = load_specs().launchers["launch_mmvq_gguf_quantize_q8_1_f32"]
    launch = launch_for(kernel, next(iter(cases_for(kernel))), "")
    answer = {name: found.value for name, found in expected_of(kernel, launch).items()}
    recorder, part = Recorder(), tmp_path / f"{kernel.name}{PART_SUFFIX}"
    recorder.add(Case(kernel.name, ()), launch, answer, label="3")
    recorder.write(tmp_path, kernel.name)
    (tmp_path / "one").mkdir()
    pack_parts([part], tmp_path / "one", kernel.module, {"program": "model"})
    assert main(["new", "--case-from", "one#3"]) == 0
    capsys.readouterr()
    assert main(["list", "--pinned", "pinned", "--cases", kernel.name]) == 0
    assert f"{kernel.name}(trace=one-3)" in capsys.readouterr().out


def test_a_folder_of_any_name_gives_a_case_id(tmp_path: Path) -> None:
    assert pin(recording(tmp_path / "a, b", -1.0), "1", tmp_path / "pinned") == "uneg_f32(trace=a__b-1)"


def test_a_pinned_case_is_not_written_through_a_link(tmp_path: Path) -> None:
    into = tmp_path / "pinned"
    into.mkdir()
    (tmp_path / "victim").write_text("precious")
    for name in ("unary.traces.xz", ".unary.traces.xz"):
        (into / name).symlink_to(tmp_path / "missing" if name[0] == "u" else tmp_path / "victim")
    pin(recording(tmp_path / "one", -1.0), "1", into)
    assert (tmp_path / "victim").read_text() == "precious"
    assert not (tmp_path / "missing").exists()
