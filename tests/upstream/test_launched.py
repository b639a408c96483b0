"""Wiring with evidence: kernels that recordings of programs have, next to what the Rust side asks for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.cli.main import main
from tests.upstream.rust import make_specs, make_tree

GO = 'fn go(d: &Dev) { d.get_or_load_func("toy_u8", &M); }\n'


def recording(folder: Path, program: str, **kernels: int) -> Path:
    """What ``capture`` leaves of a program that launched ``kernels`` so often."""
    folder.mkdir()
    rows = {name: {"launches": count, "shapes": 1, "recorded": 1} for name, count in kernels.items()}
    (folder / "capture.json").write_text(json.dumps({"version": 1, "program": program, "kernels": rows}))
    return folder


def test_what_programs_launched_stands_next_to_who_asks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = recording(tmp_path / "one", "./model -v", toy_u8=1200, toy_f64=2, mine=5)
    two = recording(tmp_path / "two", "./other", toy_u8=1)
    candle, file = make_tree(tmp_path, GO), tmp_path / "wiring.json"
    words = ["--candle", str(candle), "--specs", str(make_specs(tmp_path)), "--json", str(file)]
    assert main(["wiring", *words, "--launched", str(one), "--launched", str(two)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "  launched by a program  2" in lines
    (wired,) = [line for line in lines if line.startswith("  toy_u8  ")]
    assert wired.endswith("; launched 1,200 times by ./model -v, 1 times by ./other")
    place = lines.index("launched by a program, and not seen to be asked for: 1")
    assert lines[place + 1] == "  toy_f64  launched 2 times by ./model -v"
    rows = json.loads(file.read_text())["launched"]
    assert [(row["name"], [by["launches"] for by in row["by"]]) for row in rows] == [
        ("toy_u8", [1200, 1]),
        ("toy_f64", [2]),
    ]


def test_without_recordings_nothing_is_said_of_launches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["wiring", "--candle", str(make_tree(tmp_path, GO)), "--specs", str(make_specs(tmp_path))])
    assert "launched" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot be read (No such file or directory)"), ("[]", "is not what capture writes"), ("{", "is not what")],
)
def test_a_folder_that_is_no_recording_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "capture.json").write_text(content)
    words = ["--candle", str(make_tree(tmp_path, GO)), "--specs", str(make_specs(tmp_path))]
    assert main(["wiring", *words, "--launched", str(tmp_path)]) == 2
    assert f"capture.json {said}" in capsys.readouterr().err
