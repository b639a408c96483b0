"""What stands on a terminal first: what was asked and what came of it, what fails, and what to mend."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.text import Text

from conformance.outcome import Evidence, Observation
from conformance.record import KernelResult, Record, every_kernel
from conformance.report.causes import Finding, cause_lines, find_causes
from conformance.report.causes.gain import propose
from conformance.report.lines import rendered, wrapped
from conformance.report.places import Places
from conformance.report.terminal import render_terminal
from conformance.spec.load import load_specs
from conformance.status import Status
from conformance.text import LOG, Screen
from tests.runs import run_info

SPECS = load_specs()
ULP = Evidence(elements=("1 ulp away from zero",))
ZERO = Evidence(elements=("sign of zero",))


def row(name: str, status: Status, *evidence: Evidence, **fields: object) -> KernelResult:
    """A kernel that is there, with a failing case of each ``evidence``."""
    cases = tuple(Observation(one, (f"shape=[{number + 3}]",)) for number, one in enumerate(evidence))
    base = KernelResult.not_run(SPECS.kernels[name])
    there = {"source": "port/a.hip:3", "cases": 5} if status not in ("missing", "not_run") else {}
    return base.model_copy(update={"status": status, "failed": len(cases), "observations": cases, **there, **fields})


def selection(*rows: KernelResult) -> Record:
    return Record.of(run_info(selected=len(rows), patterns=["u*"]), every_kernel(SPECS, rows))


def whole(*rows: KernelResult) -> Record:
    """A run of every kernel, of which the port has ``rows``."""
    others = [row(name, "missing") for name in SPECS.kernels if name not in {one.name for one in rows}]
    return Record.of(run_info(selected=len(SPECS.kernels)), every_kernel(SPECS, [*rows, *others]))


def headline(record: Record) -> str:
    return next(line for line in render_terminal(record, SPECS).splitlines() if line.startswith("cpu wave64: "))


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (selection(row("uexp_f32", "pass"), row("uexp_f16", "pass")), "2 of 2 selected pass (of 748)"),
        (selection(row("uexp_f32", "pass")), "1 of 1 selected passes (of 748)"),
        (selection(row("uexp_f32", "pass"), row("uexp_f16", "missing")), "1 of 2 selected pass (of 748)"),
        (
            whole(row("uexp_f32", "pass"), row("uexp_f16", "fail", ULP)),
            "1 of the 2 kernels you have is at parity; 746 of Candle's 748 are missing",
        ),
        (
            whole(row("uexp_f32", "fail", ULP)),
            "the 1 kernel you have is not at parity; 747 of Candle's 748 are missing",
        ),
        (
            whole(*(row(name, "pass") for name in SPECS.kernels)),
            "748 of 748 kernels at parity (100.0%), 0 of 49 launchers",
        ),
    ],
)
def test_the_headline_is_of_what_was_asked(record: Record, expected: str) -> None:
    assert headline(record) == f"cpu wave64: {expected}"


def test_the_share_of_all_kernels_stands_below_the_headline() -> None:
    assert "\n  of all: 1 of 748 kernels at parity (0.1%)" in render_terminal(selection(row("uexp_f32", "pass")), SPECS)


def test_modules_that_fail_stand_first_and_missing_ones_last_in_grey() -> None:
    record = whole(row("affine_f32", "pass"), row("uexp_f32", "fail", ULP))
    text = render_terminal(record, SPECS, Screen(120, colour=True))
    order = [text.index(name) for name in ("unary ", "affine ", "binary ", "ternary ")]
    assert order == sorted(order)
    missing = next(line for line in text.splitlines() if "binary " in line)
    assert "\x1b[2m" in missing
    assert "\x1b[31m" not in missing


@pytest.mark.parametrize(("status", "shown"), [("pass", False), ("fail", True)])
def test_the_worst_is_shown_where_something_is_wrong(status: Status, shown: bool) -> None:
    near = {"max_ulp": 4.0, "nearest_ulp": 4.0, "nearest_ulp_bound": 4.0}
    evidence = [ULP] if status == "fail" else []
    table = render_terminal(selection(row("uexp_f32", status, *evidence, **near)), SPECS).partition("\n\n")[0]
    assert ("worst" in table) is shown
    assert ("uexp_f32: 1 of 5 cases fail" in table) is shown
    assert "ulp" not in table


def test_notes_stand_below_the_failures_and_those_without_a_part_in_the_verdict_need_verbose() -> None:
    record = selection(row("uexp_f32", "fail", ULP), row("uexp_f16", "pass", unasked=3, message="ties are ordered"))
    text = render_terminal(record, SPECS, failures=["uexp_f32: fail, 1 of 5 cases"])
    assert text.index("1 cause of 1 kernel") < text.index("uexp_f32: fail") < text.index("note: uexp_f16: ties")
    assert "3 cases were not run" not in text
    assert "3 cases were not run" in render_terminal(record, SPECS, verbose=True)


def test_what_to_mend_first_says_what_it_gains() -> None:
    both = row("uexp_f32", "fail", ULP, ZERO)
    found = find_causes([both, row("uabs_f32", "compile_error", message="a.hip:1:1: error: no")], SPECS)
    assert cause_lines(found)[0] == "2 causes of 2 kernels that fail; mending the first gains up to 1 kernel:"
    assert "Does not compile" in cause_lines(found)[1]


def test_only_kernels_without_another_cause_are_gained() -> None:
    several = [row(name, "fail", ULP) for name in ("uabs_f32", "uneg_f32", "usin_f32")]
    (finding,) = find_causes(several, SPECS)
    assert str(propose([finding])) == "mending it gains 3 kernels"
    other = Finding(finding.cause, finding.shares[:1])
    assert str(propose([other, finding], most=1)) == "mending the first gains 2 kernels"
    assert str(propose([other, finding])) == "mending these 2 gains 3 kernels"


def test_a_cause_that_gains_nothing_is_not_proposed() -> None:
    (finding,) = find_causes([row("uabs_f32", "fail", ULP)], SPECS)
    same = Finding(finding.cause, finding.shares)
    assert propose([finding, same], most=1) is None
    (unknown,) = find_causes([row("uneg_f32", "fail", Evidence())], SPECS)
    assert str(propose([finding, unknown])) == "mending the first gains 1 kernel"


@pytest.mark.parametrize(("screen", "whole"), [(LOG, True), (Screen(80), False), (Screen(300), False)])
def test_a_line_of_a_log_is_not_broken(screen: Screen, whole: bool) -> None:
    record = selection(row("uexp_f32", "pass", message="ties are ordered" * 3 + " and" * 30))
    lines = render_terminal(record, SPECS, screen).splitlines()
    note = next(line for line in lines if line.startswith("note: uexp_f32"))
    assert note.endswith(" and" * 30) is whole


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    (tmp_path / "port" / "include").mkdir(parents=True)
    (tmp_path / "port" / "fill.hip").touch()
    (tmp_path / "port" / "include" / "all.h").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("where", "text", "expected"),
    [
        ("here", "first at port/fill.hip:4; 25 cases", "first at ../port/fill.hip:4; 25 cases"),
        (".", "first at port/fill.hip:4; 25 cases", "first at port/fill.hip:4; 25 cases"),
        ("port", "at port/include/all.h:7-9: no", "at include/all.h:7-9: no"),
        ("here", "port/gone.hip:3", "port/gone.hip:3"),
        ("here", "--kernels ../port/fill.hip", "--kernels ../port/fill.hip"),
        ("here", "port/../../etc/passwd:1", "port/../../etc/passwd:1"),
    ],
)
def test_a_place_is_seen_from_the_working_directory(
    tree: Path, monkeypatch: pytest.MonkeyPatch, where: str, text: str, expected: str
) -> None:
    monkeypatch.chdir(tree / where)
    places = Places.of(run_info(kernels=os.path.relpath(tree / "port")))
    assert places.relative(text) == places.linked(text).plain == expected


def test_a_place_is_a_link_where_the_screen_has_links(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "here")
    line = Places.at(tree / "port").linked("at port/fill.hip:4")
    assert f";file://{tree}/port/fill.hip\x1b\\" in rendered([line], Screen(80, colour=True, links=True))
    assert rendered([line], Screen(80, colour=True)) == "at ../port/fill.hip:4"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  aaa bbb ccc", ["  aaa bbb", "    ccc"]),
        ("  fill_f32(shape=[2500]) b", ["  fill_f32(shape=[2500])", "    b"]),
        ("    candle-parity run --kernels port", ["    candle-parity run --kernels port"]),
        ("  | error:  two  blanks stay", ["  | error:  two  blanks stay"]),
        ("", [""]),
    ],
)
def test_lines_are_broken_at_blanks_and_commands_never(text: str, expected: list[str]) -> None:
    assert [line.plain for line in wrapped(Text(text), 9)] == expected
