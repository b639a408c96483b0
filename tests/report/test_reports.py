"""Reports of small hand-made records: every status, several machines, and text that tries to break out."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conformance.cases import cases_for
from conformance.cases.never_launched import never_launched
from conformance.outcome import Evidence, Failure, Observation
from conformance.record import KernelResult, Record, RunInfo, every_kernel
from conformance.report.ci import render_junit
from conformance.report.html import render_html
from conformance.report.html.data import SHOWN_FAILURES, Matrices
from conformance.report.markdown import render_markdown
from conformance.report.short_report import render_summary
from conformance.report.tally import Tally, worst
from conformance.report.terminal import render_terminal
from conformance.spec.load import SPEC_FOLDER, Specs, load_specs
from conformance.status import STATUSES, Status
from conformance.text import code, fence, plain, visible
from tests import runs

NASTY = "a | b\n# no heading\n```\n<script>alert(1)</script> & ]]> \x00\x1b[31mred\x07 \ud800 \uffff é `tick` \u202e"
RENDERERS: list[Callable[..., str]] = [
    render_terminal,
    render_markdown,
    render_html,
    render_junit,
    render_summary,
]

# One kernel of the unary module for each status.
EXAMPLES: dict[Status, str] = {
    "pass": "uexp_f32",
    "fail": "usilu_f16",
    "signature": "uneg_f32",
    "missing": "uelu_f32",
    "compile_error": "ulog_f32",
    "crash": "usin_f32",
    "timeout": "ucos_f32",
    "known_failure": "utanh_f32",
    "not_run": "uabs_f32",
}


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def run_info(**changes: Any) -> RunInfo:
    own: dict[str, Any] = {
        "seconds": 75.0,
        "orders": ("forward", "reverse"),
        "source_lines": {"kernels/unary.hip": 123},
    }
    return runs.run_info(**{**own, **changes})


def result(specs: Specs, name: str, status: Status, **changes: Any) -> KernelResult:
    kernel = specs.kernels[name]
    has_source = status not in ("missing", "not_run")
    values: dict[str, Any] = {
        "name": name,
        "module": kernel.module,
        "family": kernel.family,
        "status": status,
        "upstream": kernel.upstream,
        "source": "kernels/unary.hip:88" if has_source else None,
        "cases": 4 if status in ("pass", "fail") else 0,
        "failed": 3 if status == "fail" else 0,
        **changes,
    }
    return KernelResult(**values)


def record(specs: Specs, run: RunInfo | None = None, text: str = "off by a step") -> Record:
    failure = Failure(
        case="usilu_f16(shape=[3,5],layout=transposed)",
        why=text,
        index=3,
        got="-0",
        expected="1.5",
        ulp=9.0,
        reproduce="candle-parity run --order reverse 'usilu_f16(shape=[3,5],layout=transposed)'",
    )
    rows = [
        result(
            specs,
            name,
            status,
            max_ulp={"pass": 1.0, "fail": 9.0}.get(status),
            failures=(failure,) if status == "fail" else (),
            message=(text or "no text")
            if status in ("compile_error", "crash", "signature", "timeout", "known_failure")
            else None,
        )
        for status, name in EXAMPLES.items()
    ]
    return Record.of(run or run_info(), every_kernel(specs, rows))


def test_every_status_has_an_example() -> None:
    assert set(EXAMPLES) == set(STATUSES)


@pytest.mark.parametrize("render", RENDERERS)
def test_output_is_the_same_every_time(specs: Specs, render: Callable[..., str]) -> None:
    assert render(record(specs), specs) == render([record(specs)], load_specs())


@pytest.mark.parametrize("render", RENDERERS)
def test_nothing_to_report_is_an_error(specs: Specs, render: Callable[..., str]) -> None:
    with pytest.raises(ValueError, match="at least one record"):
        render([], specs)


@pytest.mark.slow("causes of 20 failures of every kernel in three runs, for the size of the page")
@pytest.mark.parametrize("render", RENDERERS)
@pytest.mark.parametrize("text", [NASTY, "", "|||", "```", "\x1b]0;title\x07"])
def test_no_control_character_gets_out(specs: Specs, render: Callable[..., str], text: str) -> None:
    where = {
        "device": f"gpu {text}",
        "host": text,
        "git": text,
        "harness": text,
        "traces": text,
        "recorded_on": (text,),
    }
    nasty = record(specs, run_info(kernels=text, patterns=(text,), **where), text)
    output = render([nasty, nasty], specs)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202e]", output)
    output.encode("utf-8")


@pytest.mark.parametrize("render", [render_terminal, render_markdown, render_html])
@pytest.mark.slow("renders every kind of report")
def test_a_host_run_is_never_called_an_amd_run(specs: Specs, render: Callable[..., str]) -> None:
    said = "run on the host through the cpu runtime; not executed on an AMD GPU"
    output = render(record(specs), specs)
    assert said in output
    assert "AMD" not in output.replace(said, "").replace("AMD in these places", "")
    assert "executed on an AMD GPU through the ROCm runtime" in render(
        record(specs, run_info(runtime="rocm", device="gfx1100", wave=32)), specs
    )
    assert "not executed on an AMD GPU" in render(record(specs, run_info(runtime="cuda")), specs)
    assert "no kernel was run" in render(record(specs, run_info(subject="reference", traces="traces")), specs)


def test_the_percentage_is_over_every_kernel(specs: Specs) -> None:
    # A record of one passing kernel, all others absent: still one of 748.
    lonely = Record.of(run_info(), [result(specs, "uexp_f32", "pass")])
    assert "1 of 748 kernels at parity (0.1%)" in render_markdown(lonely, specs)
    assert "1 of 748 kernels at parity (0.1%)" in render_terminal(lonely, specs)


@pytest.mark.parametrize(
    ("tally", "percent", "mark"),
    [
        (Tally(748, 748, 748), "100.0", "✅"),
        (Tally(10_000, 10_000, 9_999), "99.9", "⚠️"),
        (Tally(748, 10, 0), "0.0", "❌"),
        (Tally(0, 0, 0), "–", "❌"),
    ],
)
def test_percentages_round_down(tally: Tally, percent: str, mark: str) -> None:
    assert (tally.percent, tally.mark) == (percent, mark)


def section(markdown: str, heading: str) -> str:
    return markdown.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def status_rows(output: str) -> dict[str, list[str]]:
    """The cells of the status table by operation."""
    lines = [line for line in section(output, "Status").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {row[0].replace("\\", "").lstrip("·* ").partition("**")[0]: row[1:] for row in cells}


def test_markdown_has_one_status_table(specs: Specs) -> None:
    output = render_markdown(record(specs), specs)
    rows = status_rows(output)
    assert rows["all"] == ["748", "123 lines", "7,763 lines", "–", "⚠️ 1/748, 0.1%"]
    told = "❌ 0/10 (no source: `uelu_f32`; not run: 9 (f64, f32, f16, bf16, f8e4m3))"
    assert rows["unary1"] == ["10", "–", "`unary.cu:120–229`", "–", told]
    assert rows["conv2d"][-1] == "❌ 0/6"
    first = [line for line in output.splitlines() if line.startswith(("| **", "| · "))]
    modules = specs.modules.values()
    assert len(first) == 1 + sum(len(module.families) + (len(module.families) > 1) for module in modules)


def test_the_status_table_tells_dtypes_that_fail(specs: Specs) -> None:
    names = [name for name in specs.kernels if name.startswith("affine_")]
    rows = [result(specs, name, "fail" if name in ("affine_bf16", "affine_u8") else "pass") for name in names]
    assert status_rows(render_markdown(Record.of(run_info(), rows), specs))["affine"][-1] == (
        "⚠️ 8/10 (fails: `affine_bf16`, `affine_u8`)"
    )
    rows = [result(specs, name, "fail" if "f" in name[6:] else "pass") for name in names]
    assert status_rows(render_markdown(Record.of(run_info(), rows), specs))["affine"][-1] == (
        "⚠️ 5/10 (fails: 5 (f64, f32, f16, bf16, f8e4m3))"
    )


def test_markdown_says_what_failed_and_how_to_see_it_again(specs: Specs) -> None:
    output = section(render_markdown(record(specs), specs), "Not at parity")
    for status, name in EXAMPLES.items():
        assert (f"`{name}`" in output) == (status not in ("pass", "missing", "not_run")), name
    assert "got `-0`, expected `1.5`, 9 ulp apart" in output
    assert "candle-parity run --order reverse 'usilu_f16(shape=[3,5],layout=transposed)'" in output
    assert "candle-parity run --runtime cpu --wave 64 ulog_f32" in output
    assert "blob/2a13b0f3ff62f7e67013597f2996f764c5735e21/candle-kernels/src/unary.cu#L177" in output
    missing = section(render_markdown(record(specs), specs), "Missing or not run")
    assert "- unary, no source (1): `uelu_f32`" in missing
    assert "- affine, not run (10): affine (all 10)" in missing


def test_kernels_that_one_message_is_about_are_told_together(specs: Specs) -> None:
    names = [name for name in specs.kernels if name.startswith("ucopy_")]
    rows = [result(specs, name, "compile_error", message="unary.hip:3: no such header") for name in names]
    output = render_markdown(Record.of(run_info(), rows), specs)
    assert output.partition("## Not at parity")[2].count("no such header") == 1
    assert "### Sources that do not compile (8)" in output
    assert all(f"`{name}`" in output for name in names)


def test_long_messages_are_cut_and_say_so(specs: Specs) -> None:
    rows = [result(specs, "ucopy_f32", "compile_error", message="x" * 10_000)]
    output = render_markdown(Record.of(run_info(), rows), specs)
    assert "x" * 4001 not in output
    assert "6000 more characters in the record" in output


def test_markdown_tells_upstream_defects_and_what_is_not_compared(specs: Specs) -> None:
    output = render_markdown(record(specs), specs)
    assert re.search("8 times too small.* `expert-stride`", section(output, "What upstream gets wrong"))
    assert "INT64\\_MIN / -1" in section(output, "Inputs that are not compared")


def test_runs_that_are_alike_stand_once_in_markdown(specs: Specs) -> None:
    alike = [record(specs), record(specs, run_info(wave=32))]
    output = render_markdown(alike, specs)
    head = output[: output.index("## Status")]
    assert head.count("at parity") == 1
    assert "- cpu wave64, cpu wave32: **1 of 748 kernels at parity (0.1%)**" in head
    assert output.count("| Operation | Kernels | Port | Candle | Wired | Status |") == 1
    assert [line for line in output.splitlines() if line.startswith(("## Missing", "## Not at"))] == [
        "## Not at parity: cpu wave64",
        "## Not at parity: cpu wave32",
        "## Missing or not run",
    ]
    assert "6 kernels as under cpu wave64: " in section(output, "Not at parity: cpu wave32")


def test_runs_that_differ_have_a_column_each_in_markdown(specs: Specs) -> None:
    better = Record.of(run_info(runtime="rocm", arch="gfx1100", wave=32), [result(specs, "fill_u8", "pass")])
    output = render_markdown([record(specs), better], specs)
    rows = status_rows(output)
    assert rows["Operation"][-2:] == ["cpu wave64", "rocm gfx1100 wave32"]
    assert rows["fill"][-2:] == ["❌ 0/8", "⚠️ 1/8 (not run: 7 (f64, f32, f16, bf16, f8e4m3, i64, u32))"]
    assert len({len(row) for row in rows.values()}) == 1
    differ = section(output, "What was run").split("\n\n")[-1]
    assert "| Wave size | 64 | 32 |" in differ
    assert "| Kernels | kernels |" in section(output, "What was run")


@pytest.mark.parametrize("render", [render_markdown, render_html])
def test_the_head_names_device_date_and_commits(specs: Specs, render: Callable[..., str]) -> None:
    known = record(specs, run_info(device="H100", git="abc123", harness="def456-dirty"))
    older = record(specs, run_info(device="host"))
    output = render([known, older], specs)
    head = output[: output.index("What was run")]
    assert "(H100, 2026-01-02, port at abc123, harness at def456-dirty)" in head
    assert "(host, 2026-01-02)" in head


@pytest.mark.parametrize("render", [render_markdown, render_html])
def test_what_was_run_names_commits_and_where_traces_come_from(specs: Specs, render: Callable[..., str]) -> None:
    output = render(record(specs, run_info(harness="def456", traces="new", recorded_on=("H100, cuda",))), specs)
    assert re.search("Commit of the harness.{1,20}def456", output)
    assert re.search("Recorded cases.{1,20}new; H100, cuda", output)


@pytest.mark.parametrize("render", [render_markdown, render_html])
@pytest.mark.parametrize("file", ["port/candle-parity.toml", "pyproject.toml"])
def test_what_was_run_tells_settings_of_the_command_line_from_those_that_the_port_declares(
    specs: Specs, render: Callable[..., str], file: str
) -> None:
    host = {"wave": 32, "target": "gfx1100", "config": file}
    interpreted = {"runtime": "isa", "device": "interpreter", "arch": "gfx1100", "config": file}
    declared = {"declared_settings": ("runtime", "arch", "wave", "kernels")}
    by = f"declared by {file.removeprefix('port/')}"

    def shown(**run: Any) -> str:
        page = render(record(specs, run_info(**run)), specs)
        return re.sub(r"(<[^>]*>|\||\s|`|\\)+", " ", page[page.index("What was run") :])

    for text in ("Runtime cpu", "Wave size 32", "Macros of gfx1100", "Kernels kernels"):
        assert f" {text} " in shown(**host)
        assert f" {text}, {by} " in shown(**host, **declared)
    assert f" Device interpreter (gfx1100), {by} " in shown(**interpreted, **declared)
    assert "declared by" not in shown(**interpreted)


def test_records_of_one_kind_keep_different_labels(specs: Specs) -> None:
    output = render_markdown([record(specs), record(specs)], specs)
    assert "cpu wave64 \\#2" in output


def test_nasty_text_stays_inside_its_place(specs: Specs) -> None:
    clean = render_markdown(record(specs, run_info(device="x"), "y"), specs)
    nasty = render_markdown(record(specs, run_info(device="x"), NASTY), specs)

    def outline(text: str) -> list[str]:
        """Headings and table rows outside fenced blocks."""
        kept, closing = [], ""
        for line in text.splitlines():
            opened = re.match(r" *(`{3,})", line)
            if closing:
                closing = "" if line.strip() == closing else closing
            elif opened:
                closing = opened[1]
            elif line.startswith(("#", "|")):
                kept.append(line)
        return kept

    assert outline(nasty) == outline(clean)
    assert "<script>" not in re.sub(r"(?ms)^ *(`{3,}).*?^ *\1$", "", nasty).replace("\\<script\\>", "")


@pytest.mark.parametrize("text", ["a`b", "``", "`", "", "a|b", " x "])
def test_code_spans_end_where_they_should(text: str) -> None:
    span = code(text)
    ticks = re.match("`+", span)
    assert ticks is not None
    assert span.endswith(ticks[0])
    inside = span[len(ticks[0]) : -len(ticks[0])]
    assert not re.search(f"(?<!`)`{{{len(ticks[0])}}}(?!`)", inside)
    assert not re.search(r"(?<!\\)\|", span)


def test_text_helpers() -> None:
    assert visible("a\x00b\x1b\ud800\t\n") == "a\\x00b\\x1b\\ud800\t\n"
    assert plain("a|b\n*c*") == "a\\|b \\*c\\*"
    assert fence("a\n````\nb") == ["`````", "a", "````", "b", "`````"]


def test_terminal_table(specs: Specs) -> None:
    output = render_terminal(record(specs), specs)
    lines = output.splitlines()
    unary = next(line for line in lines if line.startswith("unary "))
    assert unary.split()[1:6] == ["123", "7", "1", "0.8", "✗"]
    assert any(line.startswith("· unary1") for line in lines)
    assert not any(line.startswith("· conv2d") for line in lines)
    assert "usin_f32: crash" in output
    assert "1 known_failure, 740 not_run" in output
    assert max(map(len, lines)) <= 120


def test_of_those_that_pass_none_is_the_worst(specs: Specs) -> None:
    near = result(specs, "uexp_f16", "pass", max_ulp=4.0, nearest_ulp=4.0, nearest_ulp_bound=4.0)
    assert worst([near]) == ""
    assert worst([near, result(specs, "uexp_f32", "fail")]) == "uexp_f32: 3 of 4 cases fail"


def test_junit_has_a_case_per_kernel(specs: Specs) -> None:
    root = ElementTree.fromstring(render_junit(record(specs, text=NASTY), specs))
    assert [suite.get("name") for suite in root] == list(specs.modules)
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert list(cases) == list(specs.kernels)
    children = {status: [child.tag for child in cases[name]] for status, name in EXAMPLES.items()}
    assert children == {
        "pass": [],
        "fail": ["failure"],
        "signature": ["error"],
        "missing": ["skipped"],
        "compile_error": ["error"],
        "crash": ["error"],
        "timeout": ["error"],
        "known_failure": ["skipped"],
        "not_run": ["skipped"],
    }
    unary = next(suite for suite in root if suite.get("name") == "unary")
    counts = {key: unary.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "123", "failures": "1", "errors": "4", "skipped": "117"}
    assert "usilu_f16(shape" in (cases["usilu_f16"][0].text or "")


class Balanced(HTMLParser):
    """Fails on a tag that is closed out of order, and notes what it met."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.met: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.met.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.met.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_whole_and_needs_nothing_else(specs: Specs) -> None:
    parser = Balanced()
    parser.feed(render_html([record(specs, text=NASTY), record(specs, run_info(wave=32))], specs))
    assert parser.open == []
    tags = [tag for tag, _ in parser.met]
    assert not {"img", "iframe", "object", "base", "form"} & set(tags)
    assert not any("src" in attributes or "style" in attributes for _, attributes in parser.met)
    assert [attributes for tag, attributes in parser.met if tag == "link"] == [{"rel": "icon", "href": "data:,"}]
    assert [attributes for tag, attributes in parser.met if tag == "script"] == [
        {"type": "application/json", "id": "data"},
        {},
    ]
    policy = next(attributes["content"] for _, attributes in parser.met if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_html_lists_every_kernel(specs: Specs) -> None:
    output = render_html(record(specs), specs)
    data = json.loads(output.partition('id="data">')[2].partition("</script>")[0])
    assert [kernel["name"] for kernel in data["kernels"]] == list(specs.kernels)
    assert all(f'href="#kernel={name}"' in output for name in specs.kernels)


@pytest.mark.slow("causes of 20 failures of every kernel in three runs, for the size of the page")
def test_a_record_of_many_failures_stays_small_in_html(specs: Specs) -> None:
    written = range(SHOWN_FAILURES + 1)
    failures = tuple(Failure(f"c(shape=[{n}])", "w" * 3000, n, "1", "2", 1.0, "command " * 60) for n in written)
    rows = [result(specs, name, "fail", cases=30, failed=25, failures=failures) for name in specs.kernels]
    runs = [Record.of(run_info(wave=wave), rows) for wave in (None, 32, 64)]
    assert len(render_html(runs, specs).encode()) < 3_000_000


def test_cases_by_layout_and_values_are_those_of_the_record(specs: Specs) -> None:
    wrong = Observation(Evidence(), ("shape=[3,5],layout=transposed,values=unit", "shape=[1],values=unit"))
    row = result(specs, "uexp_f32", "fail", cases=3, failed=2, observations=(wrong,), passed=("shape=[7],values=unit",))
    found = Matrices(specs).of(row, run_info())
    assert sorted(found) == [("", "unit", 1, 1), ("transposed", "unit", 0, 1)]
    assert Matrices(specs).of(result(specs, "uexp_f32", "fail"), run_info(specs_digest=specs.digest)) == []


def test_cases_of_a_passing_kernel_are_those_of_the_specs_where_they_are_as_many(specs: Specs) -> None:
    known = run_info(specs_digest=specs.digest)
    own = [case for case in cases_for(specs.kernels["uexp_f32"]) if never_launched("unary", case) is None]
    row = result(specs, "uexp_f32", "pass", cases=len(own))
    assert sum(passed for *_, passed, _ in Matrices(specs).of(row, known)) == len(own)
    assert Matrices(specs).of(row.model_copy(update={"cases": 3}), known) == []
    assert Matrices(specs).of(row, run_info(specs_digest="other")) == []
    assert Matrices(specs).of(row, run_info(specs_digest=specs.digest, traces="reference/traces")) == []


def test_kernels_that_no_spec_has_are_told(specs: Specs) -> None:
    stray = KernelResult(name="stray_f32", module="x", family="x", status="pass", cases=1, upstream="x.cu:1")
    output = render_markdown(Record.of(run_info(), [stray]), specs)
    assert "1 kernels that no spec has, such as `stray_f32`" in output
    assert "0 of 748" in output


@pytest.fixture
def fill_specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Specs:
    """Specs that are not the harness's own: one module of it, in the folder ``fill-specs`` of the working directory."""
    (tmp_path / "fill-specs").mkdir()
    shutil.copy(SPEC_FOLDER / "fill.yaml", tmp_path / "fill-specs")
    monkeypatch.chdir(tmp_path)
    return load_specs(Path("fill-specs"))


@pytest.mark.parametrize("render", RENDERERS)
@pytest.mark.parametrize("recorded", [True, False])
def test_specs_that_are_not_the_harness_own_are_said_with_the_count(
    fill_specs: Specs, render: Callable[..., str], recorded: bool
) -> None:
    info = run_info(specs="fill-specs", specs_digest=fill_specs.digest) if recorded else run_info()
    rows = [result(fill_specs, name, "pass", source="kernels/fill.hip:1") for name in fill_specs.kernels]
    output = render(Record.of(info, rows), fill_specs)
    said = f"of the given specs fill-specs (digest {fill_specs.digest})"
    if render is render_junit:
        assert output.count(said) == 1
    else:
        assert f"24 of 24 kernels {said} at parity (100.0%)" in output
        assert "that Candle has" not in output


@pytest.mark.parametrize("render", RENDERERS)
def test_the_harness_own_specs_are_not_called_given(specs: Specs, render: Callable[..., str]) -> None:
    assert "given specs" not in render(record(specs, run_info(specs_digest=specs.digest)), specs)


def test_the_digest_of_the_specs_stands_under_what_was_run(specs: Specs) -> None:
    known = record(specs, run_info(specs_digest=specs.digest))
    assert f"| Specs | the harness's own (digest {specs.digest}) |" in render_markdown(known, specs)
    assert "| Specs |" not in render_markdown(record(specs), specs)
    older = render_markdown(record(specs, run_info(specs_digest="of old")), specs)
    assert "> **Note:** recorded with specs of digest of old; this report is over the kernels of specs of" in older


def test_the_command_that_runs_a_kernel_again_names_the_specs(fill_specs: Specs) -> None:
    info = run_info(specs="my specs", specs_digest=fill_specs.digest)
    rows = [result(fill_specs, "fill_u8", "compile_error", message="no")]
    output = render_markdown(Record.of(info, every_kernel(fill_specs, rows)), fill_specs)
    assert "candle-parity run --runtime cpu --wave 64 --specs 'my specs' fill_u8" in output


CONDITIONS: dict[str, tuple[dict[str, Any], str]] = {
    "weakened": ({"weakened": ("HIPCPU_GUARD=0", "X=1")}, "checks were weakened: HIPCPU_GUARD=0, X=1"),
    "no sandbox": ({"sandbox": "none: --no-sandbox"}, "no sandbox: none: --no-sandbox"),
    "interrupted": ({"complete": False, "selected": 40}, "interrupted: 8 of 40 selected kernels judged"),
    "infrastructure": ({"infrastructure": ("The cache is full.",)}, "The cache is full."),
}


@pytest.mark.slow("causes of 20 failures of every kernel in three runs, for the size of the page")
@pytest.mark.parametrize("render", RENDERERS)
@pytest.mark.parametrize("what", CONDITIONS)
def test_what_weakens_the_figures_is_said_with_them(specs: Specs, render: Callable[..., str], what: str) -> None:
    changes, said = CONDITIONS[what]
    output = render(record(specs, run_info(**changes)), specs)
    place = output.index("What was run") if render in (render_markdown, render_html) else len(output)
    assert said in output[:place].replace("\\", "")
    assert "warning:" in output[:place].lower().replace('class="warning">', "warning:")
    assert "warning" not in render(record(specs), specs).lower().replace(".warning", "")


@pytest.mark.parametrize("render", RENDERERS)
def test_the_sandbox_is_named(specs: Specs, render: Callable[..., str]) -> None:
    output = render(record(specs, run_info(sandbox="seccomp and Landlock 7")), specs)
    assert ("seccomp and Landlock 7" in output) == (render is not render_summary)


def test_kernels_lost_to_the_infrastructure_stand_apart(specs: Specs) -> None:
    why = "infrastructure: the executor was killed twice"
    rows = [
        result(specs, "uexp_f32", "not_run", message=why),
        result(specs, "uabs_f32", "not_run", message="only empty"),
    ]
    found = Record.of(run_info(), every_kernel(specs, rows))
    missing = section(render_markdown(found, specs), "Missing or not run")
    assert f"- unary, lost, which is not the kernels' doing (1): `uexp_f32` ({why})" in missing
    assert "- unary, selected and not judged (1): `uabs_f32` (only empty)" in missing
    assert "- affine, not run (10): affine (all 10)" in missing
    said = "1 selected kernel was not judged, which is not its doing: uexp_f32: the executor was killed twice"
    for render in (render_terminal, render_html):
        assert said in " ".join(render(found, specs).split())
    root = ElementTree.fromstring(render_junit(found, specs))
    kinds = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert (kinds["uexp_f32"], kinds["uabs_f32"], kinds["ulog_f32"]) == (["error"], ["error"], ["skipped"])


def test_cases_that_were_not_launched_are_counted(specs: Specs) -> None:
    rows = [result(specs, "is_u32_f32", "pass", left_out=3), result(specs, "is_u32_f16", "pass", left_out=2)]
    said = "note: 5 cases of 2 kernels were not launched: their right result is a fault"
    assert said in " ".join(render_terminal(Record.of(run_info(), every_kernel(specs, rows)), specs).split())


def test_module_and_family_are_those_of_the_specs_whatever_a_record_says(specs: Specs) -> None:
    rows = [result(specs, "uexp_f32", "pass", module="fill", family="no_such", upstream="<b>")]
    output = render_markdown(Record.of(run_info(), every_kernel(specs, rows)), specs)
    assert "1/123" in output
    assert "no_such" not in output.replace("\\", "")


@pytest.mark.parametrize("render", RENDERERS)
def test_kernels_without_a_dtype_axis_are_reported(render: Callable[..., str]) -> None:
    specs = load_specs()
    plainer = replace(specs.kernels["uexp_f32"], variant={})
    without = replace(specs, kernels={**specs.kernels, "uexp_f32": plainer})
    run = RunInfo(runtime="cpu", device="host", started="2026-01-01T00:00:00Z", seconds=1, upstream_commit="2a13b0f3")
    row = KernelResult(
        name="uexp_f32", module="unary", family=plainer.family, status="pass", cases=1, upstream=plainer.upstream
    )
    assert "unary" in render(Record.of(run, every_kernel(without, [row])), without)
