"""Hostile text in every field of a record: each report keeps it inside its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from typing import get_type_hints
from xml.etree import ElementTree

import pytest
from hostile import TEXTS, hostile, hostile_record
from markdown_it import MarkdownIt
from markdown_it.token import Token

from conformance.engine.timing.measure import Loss
from conformance.record import Record, read_record, write_record
from conformance.record.bench import BenchRecord, BenchRun, WorkloadResult
from conformance.report.bench import bench_markdown, render_bench
from conformance.report.ci import render_annotations, render_junit
from conformance.report.html import render_html
from conformance.report.kernels import explain
from conformance.report.markdown import render_markdown
from conformance.report.short_report import render_summary
from conformance.report.terminal import render_terminal
from conformance.spec.load import load_specs
from conformance.text import Screen, link, plain, visible
from tests.specs import some_modules

SPECS = some_modules(load_specs(), "affine", "fill", "indexing")
"""Some hundred kernels: a text breaks out of its place in a short page as it does in a long one."""
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
each_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())


def test_the_hostile_record_has_the_text_in_every_field() -> None:
    record = hostile_record(SPECS, "<hostile>")
    row = next(row for row in record.kernels if row.status == "crash")
    for model in (record.run, row, row.failures[0]):
        hints = get_type_hints(type(model))
        fields = {name for name, hint in hints.items() if "str" in str(hint) and "ClassVar" not in str(hint)}
        fields -= {"name", "subject", "status", "profile"}  # not any text may stand there
        assert {name for name in fields if "<hostile>" not in str(getattr(model, name))} == set()
    assert record.run.builds["<hostile>"].failed == {"<hostile>": "<hostile>"}


@pytest.mark.slow("renders a record for each text that could break a page")
@each_text
def test_a_hostile_record_is_written_and_read_as_it_is(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("record") / "r.json"
    write_record(hostile_record(SPECS, text), path)
    if not re.search("[\ud800-\udfff]", text):
        assert read_record(path) == hostile_record(SPECS, text)


class Tags(HTMLParser):
    """The elements of a page, with what their attributes are called, and where its links lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.met: list[tuple[str, tuple[str, ...]]] = []
        self.links: set[str] = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.met.append((tag, tuple(name for name, _ in attrs)))
        self.links |= {value or "" for name, value in attrs if name == "href"}

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


@cache
def elements(text: str) -> Tags:
    """The elements of a page about a record with ``text`` everywhere."""
    record = hostile_record(SPECS, text)
    return Tags(render_html(record, SPECS, baseline=record))


@pytest.mark.slow("renders a record for each text that could break a page")
@each_text
def test_html_has_the_elements_of_a_record_with_harmless_text(text: str) -> None:
    harmless, page = elements("harmless"), elements(text or "x")
    assert page.met == harmless.met
    assert page.links == harmless.links


def tokens(markdown: str) -> Iterator[Token]:
    for token in MarkdownIt("commonmark").enable("table").enable("strikethrough").parse(markdown):
        yield token
        yield from token.children or ()


def outline(markdown: str) -> list[str]:
    """Every block and every mark-up that a reader would see, without the text."""
    silent = ("text", "text_special", "code_inline", "softbreak")
    return [token.type for token in tokens(markdown) if token.type not in silent]


def addresses(markdown: str) -> set[object]:
    return {value for token in tokens(markdown) for key, value in token.attrs.items() if key in ("href", "src")}


@cache
def markdown(text: str) -> str:
    """The Markdown report of a record with ``text`` everywhere."""
    return render_markdown(hostile_record(SPECS, text), SPECS)


@cache
def summary(text: str) -> str:
    """The short report of the same, compared with itself."""
    return render_summary(hostile_record(SPECS, text), SPECS, baseline=hostile_record(SPECS, text))


@cache
def harmless_outline(render: Callable[[str], str]) -> tuple[list[str], set[object]]:
    """Mark-up and addresses of a report whose text is harmless."""
    page = render("harmless")
    return outline(page), addresses(page)


@pytest.mark.slow("renders a record for each text that could break a page")
@each_text
def test_markdown_has_the_outline_of_a_record_with_harmless_text(text: str) -> None:
    page = markdown(text or "x")
    blocks = outline(page)
    assert (blocks, addresses(page)) == harmless_outline(markdown)
    assert "html_inline" not in blocks
    outside = re.sub(r"(?ms)^ *(`{3,}).*?^ *\1$|`+[^`\n]*`+", "", page)
    assert "//evil" not in outside


@pytest.mark.slow("renders a record for each text that could break a page")
@each_text
def test_the_summary_has_the_outline_of_a_record_with_harmless_text(text: str) -> None:
    page = summary(text or "x")
    assert (outline(page), addresses(page)) == harmless_outline(summary)
    assert addresses(page) == set()
    assert page.count("<details>") == page.count("</details>") == summary("harmless").count("<details>")


@each_text
def test_junit_is_xml_with_a_case_per_kernel(text: str) -> None:
    output = render_junit(hostile_record(SPECS, text), SPECS)
    root = ElementTree.fromstring(output)
    assert [case.get("name") for case in root.iter("testcase")] == list(SPECS.kernels)
    tags = {"testsuites", "testsuite", "properties", "property", "testcase", "failure", "error", "skipped"}
    assert {element.tag for element in root.iter()} == tags


@pytest.mark.slow("renders a record for each text that could break a page")
@each_text
def test_the_terminal_gets_no_control_character_and_no_line_of_foreign_make(text: str) -> None:
    record = hostile_record(SPECS, text)
    output = render_terminal([record, record], SPECS)
    assert not CONTROL.search(output.replace("\n", ""))
    assert not any(line.lstrip().startswith(("# heading", "- item\n")) for line in output.splitlines())
    for row in record.kernels:
        assert not CONTROL.search("".join(explain(row.name, row, shown=5)).replace("\n", ""))


def hostile_bench(text: str) -> BenchRecord:
    rows = [hostile(WorkloadResult, text, ratio=ratio, ratio_high=ratio) for ratio in (0.5, 2.0)]
    return BenchRecord(bench=hostile(BenchRun, text), workloads=tuple(rows), losses=(hostile(Loss, text),))


@each_text
def test_a_hostile_bench_record_stays_inside_its_places(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    record = hostile_bench(text)
    assert not CONTROL.search(render_bench(record).replace("\n", ""))
    harmless, page = (bench_markdown(hostile_bench(said)) for said in ("harmless", text or "x"))
    assert outline(page) == outline(harmless)
    assert addresses(page) == set()
    assert not CONTROL.search(page.replace("\n", ""))


def test_a_link_leads_where_it_should_whatever_its_parts_are() -> None:
    text = link("a](b)", "https://github.com/o/r/blob/c/a b)<x>\"'\n[#L1")
    assert text == "[a\\](b)](https://github.com/o/r/blob/c/a%20b%29%3Cx%3E%22%27%0A%5B#L1)"


def test_plain_text_is_left_alone_where_nothing_would_read_it_as_markup() -> None:
    for text in ("10.0", "2026-01-02T03:04:05Z", "-1.5", "host, 2 cores", "clang 19.1", "–"):
        assert plain(text) == text


def logs(record: Record) -> Iterator[str]:
    """What ends in logs of CI services: what is printed, and Markdown and XML, which a job may show there."""
    for render in (render_terminal, render_markdown, render_summary, render_junit, render_html, render_annotations):
        yield render(record, SPECS)
    yield render_terminal(record, SPECS, Screen(60))
    yield from ("\n".join(explain(row.name, row, shown=5)) for row in record.kernels if row.failures)


COMMAND = re.compile(r"^\s*::(?!(?:error|notice) [^\n:]*::)|##\w*\[|[\r\x1b]", re.MULTILINE)


def test_no_text_forms_a_command_of_a_ci_service() -> None:
    """Only annotations are such, and begin with a title of ours."""
    record = hostile_record(SPECS, TEXTS["commands"])
    assert COMMAND.search(TEXTS["commands"])
    for log in logs(record):
        assert [match[0] for match in COMMAND.finditer(log)] == []
    lines = render_annotations(record, SPECS).splitlines()
    assert all(re.match("::(error|notice) (file=[^,]*,line=[^,]*,)?title=candle-parity", line) for line in lines)
    printed = [line for log in logs(record) for line in log.splitlines() if line.lstrip().startswith("::")]
    assert printed == lines


def test_a_text_of_several_lines_begins_none_of_ours() -> None:
    record = hostile_record(SPECS, "a\ncandle-parity: 748 of 748 kernels at parity")
    assert "\ncandle-parity: 748" not in render_terminal(record, SPECS)
    for row in record.kernels:
        assert "\ncandle-parity: 748" not in "\n".join(explain(row.name, row, shown=5))


def test_the_names_of_cpp_are_left_as_they_are() -> None:
    assert visible("no member named ::std::max in a::b") == "no member named ::std::max in a::b"
    assert visible("a ## b, x[i]") == "a ## b, x[i]"
