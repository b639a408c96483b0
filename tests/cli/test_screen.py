"""What stands on a terminal, and what in a log."""

from __future__ import annotations

import io
import os
import re
import sys

import pytest

from conformance.cli.ending import _safe, screen
from conformance.cli.progress import logged
from conformance.record import KernelResult, Record, every_kernel
from conformance.report.terminal import render_terminal, verdict_line
from conformance.spec.load import load_specs
from conformance.text import LOG, Screen
from tests.runs import run_info

SPECS = load_specs()
ESCAPE = re.compile("\x1b\\[[0-9;]*m")


def record(*names: str, **changes: object) -> Record:
    passed = {"status": "pass", "cases": 3, "source": "port/a.hip:3", **changes}
    rows = [KernelResult.not_run(SPECS.kernels[name]).model_copy(update=passed) for name in names]
    return Record.of(run_info(selected=len(names)), every_kernel(SPECS, rows))


def test_colours_are_nothing_but_colours():
    found = record("uexp_f32", "fill_u8")
    coloured = render_terminal(found, SPECS, Screen(120, colour=True))
    assert ESCAPE.search(coloured)
    plain = [line.rstrip() for line in ESCAPE.sub("", coloured).splitlines()]
    assert plain == render_terminal(found, SPECS, Screen(120)).splitlines()


@pytest.mark.parametrize("names", [["ugelu_erf_fp8_e4m3", "indexed_moe_forward_q8_0_q8_1"], list(SPECS.kernels)])
def test_a_narrow_terminal_is_not_exceeded(names: list[str]):
    passing = render_terminal(record(*names), SPECS, Screen(80)).splitlines()
    failing = render_terminal(record(*names, status="fail", failed=2), SPECS, Screen(80)).splitlines()
    assert max(map(len, passing + failing)) <= 80
    assert any(line.endswith("2 of 3 cases fail") for line in failing)


def test_the_verdict_says_where_the_kernels_ran():
    line = verdict_line(record("uexp_f32"), SPECS)
    assert line.startswith("cpu wave64: 1 of 1 selected passes (of 748); 1 of 748 kernels at parity (0.1%), 0 of 49")
    assert line.endswith("not executed on an AMD GPU")


@pytest.mark.parametrize(
    ("terminal", "variables", "colour"),
    [
        (True, {"TERM": "xterm"}, True),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {"TERM": "xterm", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_are_for_terminals_that_have_them(monkeypatch, terminal, variables, colour):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(os, "environ", variables)
    found = screen()
    assert found.colour is colour
    assert (found == LOG) is not terminal
    assert bool(ESCAPE.search(render_terminal(record("uexp_f32"), SPECS, found))) is colour


@pytest.mark.parametrize(
    ("columns", "expected"), [("80", Screen(80)), ("1", Screen(40)), ("0", LOG), ("wide", LOG), (None, LOG)]
)
def test_a_log_is_as_wide_as_columns_says(monkeypatch, columns, expected):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(os, "environ", {} if columns is None else {"COLUMNS": columns})
    assert screen() == expected


def test_a_log_gets_a_line_every_ten_seconds_at_most():
    now, lines = [0.0], list[str]()
    note = logged(lines.append, lambda: now[0])
    for second in range(31):
        now[0] = float(second)
        note("running", second, 60)
    assert lines == [
        "candle-parity: running: 10 of 60 after 10 s, about 50 s left",
        "candle-parity: running: 20 of 60 after 20 s, about 40 s left",
        "candle-parity: running: 30 of 60 after 30 s, about 30 s left",
    ]


@pytest.mark.parametrize(
    ("encoding", "variables", "shown"),
    [
        ("utf-8", {}, "fill ✓ – · …\n"),
        ("utf-8", {"CANDLE_PARITY_ASCII": "1"}, "fill + - - ~\n"),
        ("ascii", {}, "fill + - - ~\n"),
        ("latin-1", {}, "fill + - · ~\n"),
    ],
)
def test_signs_that_the_encoding_lacks_are_shown_by_others(monkeypatch, tmp_path, encoding, variables, shown):
    monkeypatch.setattr(os, "environ", variables)
    with (tmp_path / "out").open("wb") as file:
        _, stream = _safe(file.fileno(), io.TextIOWrapper(io.BytesIO(), encoding=encoding))
        stream.write("fill ✓ – · …\n")
        stream.flush()
    assert (tmp_path / "out").read_text(encoding) == shown


def test_other_characters_that_the_encoding_lacks_are_escapes(tmp_path):
    with (tmp_path / "out").open("wb") as file:
        _, stream = _safe(file.fileno(), io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
        stream.write("pört✓/ü: 中")
        stream.flush()
    assert (tmp_path / "out").read_text("ascii") == r"p\xf6rt+/\xfc: \u4e2d"


@pytest.mark.parametrize(("terminal", "links"), [("xterm-256color", True), ("linux", False), ("screen", False)])
def test_links_are_for_terminals_that_do_not_print_them(monkeypatch, terminal, links):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(os, "environ", {"TERM": terminal})
    assert screen().links is links
