"""What fails is told of a launcher and of a library call as of a kernel, wherever CI reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from conformance.outcome import Failure
from conformance.record import KernelResult, Record, every_kernel
from conformance.report.ci import render_annotations, render_junit
from conformance.report.markdown import render_markdown
from conformance.report.runs import Records
from conformance.report.summary import render_summary
from conformance.report.terminal import render_terminal
from conformance.spec.entry import ENTRIES, ROWS, Entry
from conformance.spec.load import Specs, load_specs
from tests.runs import run_info

SPECS = load_specs()
OWN = replace(SPECS.kernels["uexp_f32"], name="uown_f32", entry="own")


def record_where_one_fails(entry: Entry) -> tuple[str, Record]:
    """The name of the first of one kind, and a record in which it fails and nothing else was judged."""
    kernel = next(iter(SPECS.of(entry).values()), OWN)
    failure = Failure(f"{kernel.name}(n=1)", "9 ulp off", 0, "-0", "1.5", 9.0, "candle-parity run")
    about = {key: getattr(kernel, key) for key in ("name", "module", "family", "upstream")}
    row = KernelResult(**about, status="fail", cases=1, failed=1, failures=(failure,))
    rows = {kind: [row] if kind == entry else [] for kind in ENTRIES}
    kernels = every_kernel(SPECS, rows["kernel"])
    return kernel.name, Record.of(run_info(), kernels, rows["launcher"], rows["library"], rows["own"])


@pytest.mark.parametrize("render", [render_summary, render_annotations, render_markdown, render_terminal])
@pytest.mark.parametrize("entry", ENTRIES)
def test_what_fails_is_named(entry: Entry, render: Callable[[Records, Specs], str]) -> None:
    name, record = record_where_one_fails(entry)
    assert name in render(record, SPECS)


def test_the_headline_of_selected_own_kernels_is_not_of_candles() -> None:
    _, record = record_where_one_fails("own")
    run = record.run.model_copy(update={"selected": 1, "patterns": ("uown*",)})
    text = render_terminal(record.model_copy(update={"run": run}), SPECS)
    assert "0 of 1 selected own kernel passes (none is Candle's)" in text
    assert "of all: 0 of 748 kernels at parity" in text


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_markdown_has_a_section_on_its_causes(entry: Entry) -> None:
    _, record = record_where_one_fails(entry)
    title = "Causes" if entry == "kernel" else f"Causes of {ROWS[entry].plural}"
    assert f"\n## {title}\n" in render_markdown(record, SPECS)


@pytest.mark.parametrize("entry", ENTRIES)
def test_junit_has_a_failure_in_the_suite_of_its_kind(entry: Entry) -> None:
    name, record = record_where_one_fails(entry)
    root = ElementTree.fromstring(render_junit(record, SPECS))
    failing = [
        (suite.attrib["name"], case.attrib["name"])
        for suite in root
        for case in suite.iter("testcase")
        if case.find("failure") is not None
    ]
    module = next(row.module for row in record.rows if row.name == name)
    assert failing == [(module if entry == "kernel" else f"{ROWS[entry].part}: {module}", name)]


@pytest.mark.parametrize(
    ("entry", "element"), [("kernel", "error"), ("launcher", None), ("library", "error"), ("own", "error")]
)
def test_what_was_selected_and_not_judged_is_an_error_where_it_must_be_there(entry: Entry, element: str | None) -> None:
    name, record = record_where_one_fails(entry)
    (row,) = (row for row in record.rows if row.name == name)
    idle = row.model_copy(update={"status": "not_run", "cases": 0, "failed": 0, "failures": (), "message": "not here"})
    part = tuple(idle if row.name == name else row for row in record.rows_of(entry))
    parts = {kind: part if kind == entry else record.rows_of(kind) for kind in ENTRIES}
    root = ElementTree.fromstring(render_junit(Record.of(record.run, *parts.values()), SPECS))
    (case,) = (case for case in root.iter("testcase") if case.attrib["name"] == name)
    assert (case.find("error") is not None) == (element == "error")
