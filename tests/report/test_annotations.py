"""Failures as GitHub's workflow commands, and the badge."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from conformance.outcome import Failure
from conformance.record import KernelResult, Record
from conformance.report.ci import MOST, render_annotations, render_badge
from conformance.spec.load import load_specs
from tests.report.hostile import TEXTS
from tests.runs import run_info

SPECS = load_specs()


def record(changes: dict[str, dict[str, Any]], **run: Any) -> Record:
    rows = [
        KernelResult.not_run(kernel).model_copy(update={"status": "missing", **changes.get(name, {})})
        for name, kernel in SPECS.kernels.items()
    ]
    return Record.of(run_info(**{"kernels": "./kernels", **run}), rows)


def failed(source: str, message: str = "other parameters") -> dict[str, Any]:
    return {"status": "signature", "source": source, "message": message}


@pytest.mark.parametrize(
    ("kernels", "source", "file"),
    [
        ("./kernels", "kernels/a/fill.hip:3", "kernels/a/fill.hip"),
        ("src/port", "port/fill.hip:3", "src/port/fill.hip"),
        ("src/port/fill.hip", "port/fill.hip:3", "src/port/fill.hip"),
        (".", "repository/fill.hip:3", "fill.hip"),
        ("src/port", "shim.h:3", None),
        ("../elsewhere", "elsewhere/fill.hip:3", None),
        ("/tmp/elsewhere", "elsewhere/fill.hip:3", None),
        ("the shipped kernels", "kernels/fill.hip:3", None),
    ],
)
def test_the_file_is_named_from_the_working_folder(kernels: str, source: str, file: str | None) -> None:
    (line,) = render_annotations(record({"fill_u8": failed(source)}, kernels=kernels), SPECS).splitlines()
    assert line.startswith("::error title=" if file is None else f"::error file={file},line=3,title=")
    assert "fill_u8%0Aother parameters%0A" in line


def test_kernels_of_one_cause_and_line_are_one_and_there_is_an_end() -> None:
    names = list(SPECS.kernels)[:60]
    same = render_annotations(record({name: failed("kernels/a.hip:1") for name in names}), SPECS)
    assert same.count("\n") == 1
    assert "and 56 more" in same
    many = render_annotations(
        record({name: failed(f"kernels/a.hip:{number}") for number, name in enumerate(names)}), SPECS
    ).splitlines()
    assert len(many) == MOST + 1
    assert many[-1] == f"::notice title=candle-parity::{60 - MOST} more are in the report"


def test_what_is_declared_missing_or_right_is_not_shown() -> None:
    rows = {
        "fill_u8": failed("kernels/a.hip:1") | {"known_reason": "we know"},
        "fill_u32": {"status": "pass", "cases": 1},
    }
    assert render_annotations(record(rows), SPECS) == ""


@pytest.mark.parametrize("text", [*TEXTS.values(), "a%b,c:d\r\n::error::e"])
def test_texts_cannot_leave_their_place(text: str) -> None:
    failure = Failure(case=f"fill_u8({text})", why=text, reproduce=text)
    rows = {
        "fill_u8": {"status": "fail", "source": f"kernels/{text}:3", "message": text or "?", "failures": (failure,)}
    }
    out = render_annotations(record(rows), SPECS)
    assert out.count("\n") == 1
    assert out.splitlines() == [out.rstrip("\n")]
    assert re.fullmatch(r"::error (file=[^,:]*,line=[^,:]*,)?title=[^,:]*::.*\n", out)
    assert re.fullmatch(r"(?:[^%]|%25|%0A|%0D|%3A|%2C)*", out, re.DOTALL)


def test_the_badge() -> None:
    half = record({name: {"status": "pass", "cases": 1} for name in list(SPECS.kernels)[:374]})
    badge = render_badge(half, SPECS)
    assert badge == render_badge(half, SPECS)
    texts = "".join(ElementTree.fromstring(badge).itertext()).split("\n")
    assert texts[1].startswith(f"Candle parity: cpu wave64 50.0% of {len(SPECS.kernels)} kernels; run on the host")
    assert f"cpu wave64 50.0% of {len(SPECS.kernels)}" in texts
    assert "#bf8700" in badge
    assert "#cf222e" in render_badge([half, record({})], SPECS)
    hostile = record({}, runtime="<b>&\x01", wave=None)
    assert ElementTree.fromstring(render_badge(hostile, SPECS)) is not None
