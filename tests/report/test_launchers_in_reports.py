"""Launchers in every report: rows and counts of their own, next to those of the kernels."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from conformance.outcome import Evidence, Failure, Observation, Robustness
from conformance.record import KernelResult, Record, every_kernel
from conformance.report.ci import render_annotations, render_badge, render_junit
from conformance.report.html import render_html
from conformance.report.html.grid import place
from conformance.report.markdown import render_markdown
from conformance.report.short_report import render_summary
from conformance.report.terminal import render_terminal
from conformance.spec.load import load_specs
from tests.runs import run_info

SPECS = load_specs()
PASSING, WRONG = "launch_mmvq_gguf_q4_0_f16_plain", "launch_mmq_gguf_q4_0"
CASE = f"{WRONG}(ncols=256,nrows=33,columns=1,values=random)"
COMMAND = f"candle-parity run --order forward '{CASE}'"


def row(name: str, status: str, **changes: Any) -> KernelResult:
    kernel = SPECS.entry(name)
    about = {key: getattr(kernel, key) for key in ("name", "module", "family", "upstream")}
    return KernelResult(**{**about, "status": status, "cases": 4, "source": "port/mmq.hip:8", **changes})


def record(wrong: str = "fail", **run: Any) -> Record:
    """One kernel and one launcher pass, one launcher fails, one is not defined."""
    text = CASE.partition("(")[2].removesuffix(")")
    evidence = {
        "failed": 1,
        "failures": (Failure(CASE, "9 ulp off", 3, "-0", "1.5", 9, COMMAND),),
        "observations": (Observation(Evidence(), (text,)),),
    }
    launchers = [
        row(WRONG, wrong, **(evidence if wrong == "fail" else {})),
        row(PASSING, "pass"),
        row("moe_gemm_wmma", "missing", cases=0, source=None),
    ]
    kernels = every_kernel(SPECS, [row("uexp_f32", "pass")])
    info = run_info(**{"specs_digest": SPECS.digest, "kernels": "port", **run})
    return Record.of(info, kernels, launchers)


def without() -> Record:
    """As of a version that knew no launchers."""
    return Record.of(run_info(), record().kernels)


@pytest.mark.parametrize("render", [render_terminal, render_markdown, render_html, render_summary])
def test_every_headline_has_both_counts_and_no_sum_of_them(render: Any) -> None:
    text = render(record(), SPECS)
    assert "1 of 748 kernels at parity (0.1%)" in text
    assert re.search(r"1 of 748 kernels at parity \(0\.1%\)\**, 1 of 49 launchers", text)
    assert not re.search(r"\b797 ", text)
    assert "of 748 kernels" in render(without(), SPECS)


def test_the_terminal_has_a_table_of_launchers_with_their_causes() -> None:
    text = render_terminal(record(), SPECS)
    assert re.search(r"module +launchers +selected +present +passing", text)
    assert re.search(r"mmq +13 +1 +1 +0 +✗", text)
    assert "1 cause of 1 launcher that fails:" in text
    assert "launchers" not in render_terminal(without(), SPECS).partition("cpu")[0]


def test_junit_has_suites_of_launchers() -> None:
    root = ElementTree.fromstring(render_junit(record(), SPECS))
    suites = {suite.get("name"): suite for suite in root.iter("testsuite")}
    assert {name for name in suites if name and name.startswith("launchers: ")} == {
        f"launchers: {module}" for module in ("mmq", "mmvq", "moe")
    }
    mmq = suites["launchers: mmq"]
    assert (mmq.get("tests"), mmq.get("failures"), mmq.get("skipped")) == ("13", "1", "12")
    assert COMMAND in (mmq.findtext("testcase/failure") or "")
    assert suites["launchers: moe"].get("failures") == "0"
    assert not any(
        "launchers" in (one.get("name") or "") for one in ElementTree.fromstring(render_junit(without(), SPECS))
    )


def test_annotations_have_launchers_and_the_badge_has_not() -> None:
    (line,) = render_annotations(record(), SPECS).splitlines()
    assert line.startswith("::error file=port/mmq.hip,line=8,")
    assert WRONG in line
    assert render_badge(record(), SPECS) == render_badge(without(), SPECS)


def test_markdown_and_summary_say_what_fails_of_launchers() -> None:
    text = render_markdown(record(), SPECS)
    assert "## Causes of launchers" in text
    assert f"## Launchers not at parity\n\n### Wrong answers (1)\n\n**`{WRONG}`**" in text
    assert "## Launchers not at parity" not in render_markdown(record("missing"), SPECS)
    text = render_summary(record(), SPECS)
    assert "| Module | Launchers |" in text
    assert "<summary>1 launcher with a verdict other than pass</summary>" in text
    assert "| Launchers |" not in render_summary(without(), SPECS)


def test_the_page_has_each_launcher_with_what_a_kernel_has_there() -> None:
    text = render_html(record(), SPECS, baseline=record("missing"))
    data = json.loads(re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)[0])
    called = {one["name"]: one for one in data["kernels"] if one.get("part") == "launchers"}
    assert (len(data["kernels"]), len(called)) == (748 + 49, 49)
    wrong = called[WRONG]
    assert data["params"][wrong["params"]][-1][2] == "stream"
    assert wrong["runs"][0]["failures"][0]["reproduce"] == COMMAND
    assert data["causes"][wrong["runs"][0]["causes"][0]][0] == "Not recognised"
    assert wrong["changes"][0][1:4] == ["better", "missing", "fail, 1 of 4 cases failed"]
    assert "nothing changed" not in text
    assert "<h3>Launchers: Better (1)</h3>" in text
    assert '<section id="launchers"' not in render_html(without(), SPECS)


def test_the_rows_of_the_map_of_launchers() -> None:
    entry = SPECS.launchers
    assert place(entry[PASSING], SPECS) == ("mmvq f16", "q4_0")
    assert place(entry[WRONG], SPECS) == ("mmq", "q4_0")
    assert place(entry["moe_gemm_wmma"], SPECS) == ("moe_gemm_wmma", "")


def test_what_launchers_do_in_launches_that_rust_never_makes_is_told_where_it_is_wrong() -> None:
    case = f"{PASSING}(ncols=256,nrows=5,columns=3,gap=2,values=random)"
    failed = Robustness(4, 4, 1, (Failure(case, "9 ulp off"),))
    for robustness, told in ((Robustness(4, 4, 0), False), (failed, True)):
        found = Record.of(
            run_info(specs_digest=SPECS.digest), every_kernel(SPECS, []), [row(PASSING, "pass", robustness=robustness)]
        )
        text = "4 more cases of launchers are launches that Candle's Rust side never makes"
        assert (text in " ".join(render_terminal(found, SPECS).split())) is told
        markdown = render_markdown([found], SPECS)
        assert ("## Robustness of launchers" in markdown) is told
        assert ("1 case of 1 launcher: " in markdown) is told
