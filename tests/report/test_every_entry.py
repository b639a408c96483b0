"""What fails is told of a launcher and of a library call as of a kernel, wherever CI reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from xml.etree import ElementTree

import pytest

from conformance.outcome import Failure
from conformance.record import KernelResult, Record, every_kernel
from conformance.report.ci import render_annotations, render_junit
from conformance.report.details import upstream_url
from conformance.report.html import render_html
from conformance.report.markdown import render_markdown
from conformance.report.run_notes import remarks
from conformance.report.runs import Records
from conformance.report.short_report import render_summary
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
    nothing = Record.of(run_info(), every_kernel(SPECS, []))
    return kernel.name, nothing.with_parts({entry: every_kernel(SPECS, [row]) if entry == "kernel" else [row]})


@pytest.mark.parametrize("render", [render_summary, render_annotations, render_markdown, render_terminal, render_html])
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.slow("renders every kind of report")
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
def test_the_page_has_map_causes_and_details(entry: Entry) -> None:
    name, record = record_where_one_fails(entry)
    page = render_html(record, SPECS)
    assert f"<h2>Causes{'' if entry == 'kernel' else f' of {ROWS[entry].plural}'}: cpu wave64</h2>" in page
    _, _, section = page.partition(f'<section id="{"map" if entry == "kernel" else ROWS[entry].part}"')
    assert f'<a class="cell fail" href="#kernel={name}"' in section.partition("</section>")[0]
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    (row,) = (row for row in data["kernels"] if row["name"] == name)
    assert row.get("part") == (None if entry == "kernel" else ROWS[entry].part)
    assert data["causes"][row["runs"][0]["causes"][0]][0] == "Not recognised"
    assert row["runs"][0]["failures"][0]["why"] == "9 ulp off"


def test_an_own_kernel_that_one_run_of_two_has_is_not_run_in_the_other() -> None:
    name, record = record_where_one_fails("own")
    page = render_html([record.with_parts({"own": []}), record], SPECS)
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    (row,) = (row for row in data["kernels"] if row["name"] == name)
    assert [run["status"] for run in row["runs"]] == ["not_run", "fail"]


def test_a_library_call_leads_to_the_line_of_candles_rust() -> None:
    _, record = record_where_one_fails("library")
    assert upstream_url(record.libraries[0], SPECS).endswith("/candle-core/src/cuda_backend/mod.rs#L2671")


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
    root = ElementTree.fromstring(render_junit(record.with_parts({entry: part}), SPECS))
    (case,) = (case for case in root.iter("testcase") if case.attrib["name"] == name)
    assert (case.find("error") is not None) == (element == "error")


def test_what_a_port_declares_of_its_own_kernels_is_told() -> None:
    """As of Candle's kernels: what takes a kernel or a case out of a verdict is in the remarks on a run."""
    _, record = record_where_one_fails("own")
    (row,) = record.own
    gone = row.model_copy(update={"name": "ugone_f32", "status": "missing", "known_reason": "not yet", "failures": ()})
    some = row.model_copy(update={"launched_when": "el > 32", "never_launched": 7, "adapter": "inp, out"})
    own = record.with_parts({"own": [gone, some]})
    said = [remark.text for remark in remarks(own, own.kernels, SPECS)]
    assert "1 own kernel is missing, as the port declares: not yet (ugone_f32)" in said
    assert any(
        text.startswith("launched only when el > 32, as the port declares: 7 cases of 1 kernel") for text in said
    )
    assert any(text.startswith("1 kernel was judged through an adapter") for text in said)
    page = unescape(render_html(own, SPECS)).partition("What the port declares")[2]
    for choice in ("not in the port, as it declares: not yet", "launched by the port: only when el > 32: 7 cases"):
        assert choice in page
