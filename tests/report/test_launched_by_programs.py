"""What programs launched, next to what Candle's Rust side asks for: in rows of records, and in reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.cli.main import main
from conformance.outcome import Launched
from conformance.record import KernelResult, Record, RunInfo, every_kernel, read_record, write_record
from conformance.record.launched import with_launches
from conformance.report.families import status_table
from conformance.report.html import render_html
from conformance.report.launches import times_by_program
from conformance.report.markdown import render_markdown
from conformance.report.terminal import render_terminal
from conformance.spec.load import load_specs

SPECS = load_specs()
MODEL, OTHER = "./model -v", "./other"
BY_TWO = {"copy2d_f32": [Launched(MODEL, 1200), Launched(OTHER, 1)], "copy2d_u8": [Launched(MODEL, 3)]}


def record(**fields: object) -> Record:
    """A record of one kernel that passes, whose row has ``fields`` besides."""
    run = RunInfo(runtime="cpu", device="d", wave=64, started="2026-01-02T03:04:05Z", seconds=1, upstream_commit="c")
    row = KernelResult.model_validate(
        {
            **{"name": "copy2d_f32", "module": "fill", "family": "copy2d", "status": "pass", "cases": 1},
            **{"upstream": SPECS.kernels["copy2d_f32"].upstream, **fields},
        }
    )
    return Record.of(run, every_kernel(SPECS, [row]))


def row_of(record: Record, name: str) -> KernelResult:
    return next(row for row in record.kernels if row.name == name)


def wired(*records: Record) -> str:
    """The cell of ``copy2d``, whose eight kernels are one row of the table."""
    names = [str(number) for number, _ in enumerate(records)]
    heads, body = status_table(records, names, [list(one.kernels) for one in records], SPECS)
    (row,) = [row for row in body if row[0].startswith("· copy2d")]
    return row[heads.index("Wired")]


def below_the_table(record: Record) -> str:
    """The sentence on the column below the table of the Markdown."""
    return next(line for line in render_markdown(record, SPECS).splitlines() if line.startswith("✅")).split("Wired: ")[
        1
    ]


def test_a_row_has_its_programs_and_others_have_none() -> None:
    found = with_launches(record(), BY_TWO)
    assert row_of(found, "copy2d_f32").launched_by == (Launched(MODEL, 1200), Launched(OTHER, 1))
    assert row_of(found, "copy2d_f64").launched_by == ()
    assert row_of(record(), "copy2d_f32").launched_by is None


def test_launches_change_no_verdict() -> None:
    assert with_launches(record(), BY_TWO).summary == record().summary


def test_one_recording_told_twice_is_counted_once() -> None:
    twice = with_launches(with_launches(record(), BY_TWO), BY_TWO)
    assert row_of(twice, "copy2d_u8").launched_by == (Launched(MODEL, 3),)
    assert wired(twice, twice) == "launched: 2 of 8, 1,204 times"


@pytest.mark.parametrize(
    ("fields", "launched", "cell"),
    [
        ({}, None, "–"),
        ({"wired_at": ("mod.rs:5",)}, None, "1 of 1: `mod.rs:5`"),
        ({}, BY_TWO, "launched: 2 of 8, 1,204 times"),
        ({"wired_at": ("mod.rs:5",)}, BY_TWO, "1 of 1: `mod.rs:5`; launched: 2 of 8, 1,204 times"),
        ({"wired_at": ("mod.rs:5",)}, {}, "1 of 1: `mod.rs:5`; launched: 0 of 8"),
    ],
)
def test_the_column_tells_sources_from_launches(
    fields: dict[str, object], launched: dict[str, list[Launched]] | None, cell: str
) -> None:
    one = record(**fields)
    assert wired(one if launched is None else with_launches(one, launched)) == cell


def test_the_text_below_the_table_says_what_the_column_rests_on() -> None:
    read = record(wired_at=("mod.rs:5",))
    assert below_the_table(read).startswith("how many Candle's Rust side asks for. ")
    assert below_the_table(with_launches(read, BY_TWO)).startswith(
        "how many Candle's Rust side asks for, as its sources are read; launched: how many were launched by a program "
        "that `capture` recorded, and how often. "
    )
    assert "; Candle's Rust side was not read. " in below_the_table(with_launches(record(), BY_TWO))


def test_a_terminal_names_the_programs() -> None:
    text = " ".join(render_terminal(with_launches(record(), BY_TWO), SPECS).split())
    assert "2 of 748 kernels; 2 of them by ./model -v, 1,203 times in all; 1 of them by ./other, 1 time in all" in text
    assert "launched by programs" not in render_terminal(record(), SPECS)


def test_of_a_long_command_line_the_folders_are_left_out_and_then_its_end() -> None:
    folder, arguments = "/a/long/path" * 10, "rocm " * 30
    for program, shown in ((f"{folder}/model -v", "model -v"), (f"{folder}/model {arguments}", "model rocm rocm ")):
        said = times_by_program([Launched(program, 2)]).removeprefix("2 times by ")
        assert said.startswith(shown)
        assert len(said) <= 100
    assert times_by_program([Launched("bin/model", 1)]) == "once by bin/model"


def test_the_html_tells_of_each_kernel_how_often_and_by_whom() -> None:
    page = render_html(with_launches(record(), BY_TWO), SPECS)
    assert "1,200 times by ./model -v, once by ./other" in page


def reported(folder: Path, *words: object) -> Record:
    """What ``report`` with ``words`` makes of a record without launches."""
    write_record(record(), folder / "parity.json")
    told = folder / "told.json"
    assert main(["report", str(folder / "parity.json"), *map(str, words), "--json", str(told)]) == 0
    return read_record(told)


def recording(folder: Path, program: str, **launches: int) -> Path:
    """What ``capture`` leaves of a program that launched kernels so often."""
    folder.mkdir()
    rows = {name: {"launches": count, "shapes": 1, "recorded": 1} for name, count in launches.items()}
    (folder / "capture.json").write_text(json.dumps({"version": 1, "program": program, "kernels": rows}))
    return folder


def test_report_takes_them_from_recordings(tmp_path: Path) -> None:
    one = recording(tmp_path / "one", MODEL, copy2d_f32=2, mine=9)
    two = recording(tmp_path / "two", MODEL, copy2d_f32=3)
    found = reported(tmp_path, "--launched", one, "--launched", two)
    assert row_of(found, "copy2d_f32").launched_by == (Launched(MODEL, 5),)
    assert row_of(found, "copy2d_u8").launched_by == ()


def test_report_takes_them_from_a_wiring_that_was_made_with_recordings(tmp_path: Path) -> None:
    by = [{"program": MODEL, "launches": 4}]
    wiring: dict[str, object] = {"kernels": [{"name": "copy2d_f32", "wired_at": ["mod.rs:5"]}]}
    (tmp_path / "wiring.json").write_text(json.dumps({**wiring, "launched": [{"name": "copy2d_f32", "by": by}]}))
    row = row_of(reported(tmp_path, "--wiring", tmp_path / "wiring.json"), "copy2d_f32")
    assert (row.wired_at, row.launched_by) == (("mod.rs:5",), (Launched(MODEL, 4),))
    (tmp_path / "wiring.json").write_text(json.dumps(wiring))
    row = row_of(reported(tmp_path, "--wiring", tmp_path / "wiring.json"), "copy2d_f32")
    assert (row.wired_at, row.launched_by) == (("mod.rs:5",), None)


def test_a_count_below_nothing_is_no_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_record(record(), tmp_path / "parity.json")
    folder = recording(tmp_path / "one", MODEL, copy2d_f32=-1)
    assert main(["report", str(tmp_path / "parity.json"), "--launched", str(folder)]) == 2
    assert "is not what capture writes; record the program again" in capsys.readouterr().err
