"""The board: its figures are its records', and what no record knows is called unknown."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from conformance.outcome import Failure
from conformance.record import KernelResult, Port, Record, every_kernel, write_record
from conformance.report.board import board_of, render_board, render_board_markdown
from conformance.report.board.columns import Board, Column
from conformance.report.kernels import choice_lines
from conformance.spec.load import load_specs
from tests.boards import committed
from tests.commands import answer
from tests.runs import run_info

SPECS = load_specs()
COMMAND = "candle-parity run --runtime cpu --wave 64 --kernels mine/src --order forward 'usilu_f16(shape=[5])'"
MINE = Port(name="mine", repository="https://git.example/mine", commit="a" * 40)
HOSTILE = "</script><script>document.title='taken'</script><img src=x>"


def result(name: str, status: str, **changes: Any) -> KernelResult:
    kernel = SPECS.kernels[name]
    about = {key: getattr(kernel, key) for key in ("name", "module", "family", "upstream")}
    return KernelResult(**{**about, "status": status, "source": "unary.hip:8", **changes})


def record(*others: KernelResult, **run: Any) -> Record:
    failure = Failure("usilu_f16(shape=[5])", "9 ulp off", 3, "-0", "1.5", 9, COMMAND)
    rows = [
        result("uexp_f32", "pass", cases=4, max_ulp=1.0),
        result("usilu_f16", "fail", cases=4, failed=1, failures=(failure,)),
        result("uneg_f32", "signature", message="parameter 2 is size_t"),
        *(result(name, "missing", source=None) for name in SPECS.kernels if name.startswith("badd_")),
        *others,
    ]
    run = {"kernels": "mine/src", "port": MINE, "git": "a" * 12, "specs_digest": SPECS.digest, **run}
    return Record.of(run_info(**run), every_kernel(SPECS, rows))


def ours() -> Record:
    rows = [result(name, "pass", cases=1) for name in SPECS.kernels]
    return Record.of(run_info(specs_digest=SPECS.digest), rows)


def test_a_port_has_its_names_and_a_column_for_each_record() -> None:
    board = board_of([record(), record(wave=32), ours()], SPECS)
    assert [(column.port, column.level) for column in board.columns] == [
        ("mine", "names"),
        ("mine", "cpu wave64"),
        ("mine", "cpu wave32"),
        ("candle-parity", "names"),
        ("candle-parity", "cpu wave64"),
    ]


def test_the_figures_are_those_of_the_records() -> None:
    made = record()
    board = board_of([made, ours()], SPECS)
    judged = board.judged[0].figure()
    assert (judged.passing, judged.total) == (made.summary.passed, made.summary.total)
    assert judged.unknown == made.summary.not_run
    assert board.judged[1].figure().text == "748 of 748"


def test_what_was_not_run_is_unknown_and_what_is_missing_is_not() -> None:
    board = board_of([record()], SPECS)
    numbers = {(module, family): found for module, family, found in board.groups()}
    (names, host) = board.columns

    def text(column: Any, module: str, family: str = "") -> str:
        return str(column.figure(column.rows[at] for at in numbers[module, family]).text)

    assert text(host, "cast") == text(names, "cast") == "unknown"
    assert text(host, "unary") == f"1 of 123, {123 - 3} unknown"
    assert text(names, "unary") == f"2 of 123, {123 - 3} unknown"  # uneg_f32 has other parameters
    assert text(host, "binary").startswith("0 of 96, ")


def test_the_markdown_has_every_cause_with_a_command_and_how_to_fetch_the_port() -> None:
    text = render_board_markdown(board_of([record()], SPECS))
    assert f"| mine | cpu wave64 | 1 of 748, {record().summary.not_run} unknown | aaaaaaaaaaaa | 2026-01-02 |" in text
    assert f"git clone https://git.example/mine mine && git -C mine checkout {'a' * 40}" in text
    assert f"(usilu\\_f16): `{COMMAND}`" in text
    assert "Other parameters than Candle's [L05]" in text
    assert "--kernels mine/src uneg_f32`" in text


def test_records_of_other_specs_are_compared_on_what_they_share() -> None:
    older = record(specs_digest="older")
    older = Record.of(older.run, [row for row in older.kernels if row.name != "uexp_f32"])
    board = board_of([older, ours()], SPECS)
    assert {column.figure().total for column in board.columns} == {747}
    assert [note for note in board.notes if "other specs" in note] == [
        "Judged by other specs than these, so that cases and bounds may differ: mine cpu wave64. Compared are the "
        "747 kernels that all records have."
    ]
    assert board.notes[-1] == "In no figure, as not every record has it: uexp_f32."


@pytest.mark.slow("renders a board of ten ports")
def test_ten_ports_fit_into_a_megabyte() -> None:
    worst = [
        result(
            name,
            "fail",
            cases=4,
            failed=2,
            failures=(Failure(f"{name}(shape=[3])", "x" * 400, 3, "", "", 9, "y" * 90),),
        )
        for name in SPECS.kernels
    ]
    ports = [Port(name=f"port{at}", repository="https://git.example/p", commit="b" * 40) for at in range(10)]
    records = [Record.of(run_info(port=port, specs_digest=SPECS.digest), worst) for port in ports]
    assert len(render_board(board_of(records, SPECS)).encode()) < 1_000_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["board", "r.json"], "board writes a page: give --html FILE, --md FILE or both"),
        (["board", "reference.json", "--md", "b.md"], "reference.json: judges no port's kernels"),
    ],
)
def test_bad_input_is_a_sentence(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_record(ours(), Path("r.json"))
    write_record(record(subject="reference"), Path("reference.json"))
    refused = answer(capsys, *words)
    assert (refused.code, said in refused.err) == (2, True)


def test_the_command_writes_both_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, made in {"mine": record(), "ours": ours()}.items():
        write_record(made, tmp_path / f"{name}.json.xz")
    pages = ["--html", tmp_path / "b.html", "--md", tmp_path / "b.md"]
    assert answer(capsys, "board", *sorted(tmp_path.glob("*.xz")), *pages).code == 0
    assert "| mine | cpu wave64 |" in (tmp_path / "b.md").read_text()
    assert (tmp_path / "b.html").read_text().startswith("<!doctype html>")


def test_a_port_is_one_row_with_its_best_run_and_the_best_port_is_first() -> None:
    better = record(result("uelu_f32", "pass", cases=4), wave=32)
    (first, second) = board_of([record(), better, ours()], SPECS).rows()
    assert (first.port, first.best.level, first.text) == ("candle-parity", "cpu wave64", "748 of 748 kernels")
    assert (second.port, second.best.level, [one.level for one in second.others]) == (
        "mine",
        "cpu wave32",
        ["cpu wave64"],
    )
    unknown = better.summary.not_run
    assert second.text == f"2 of 748 kernels; 2 fail, {better.summary.missing} without a source, {unknown} unknown"


@pytest.mark.slow("reads the records of every port")
def test_a_kernel_is_unknown_where_no_record_of_the_port_has_a_verdict() -> None:
    other = Record.of(record(wave=32).run, every_kernel(SPECS, [result("uelu_f32", "fail", cases=4, failed=1)]))
    (row,) = board_of([record(), other], SPECS).rows()
    assert row.unknown == record().summary.not_run - 1
    assert f"1 judged in other runs only, {row.unknown} unknown" in row.text


def with_choices() -> Record:
    """A record with two own kernels, of which one fails, and three choices of the port."""
    failure = Failure("uown_f32(n=1)", "7 ulp off", 3, "-0", "1.5", 7, COMMAND)
    about: dict[str, Any] = {"module": "mine", "family": "mine", "upstream": "own/mine.yaml:3", "cases": 4}
    bad = KernelResult(name="uown_f32", **about, status="fail", failed=1, failures=(failure,), adapter="inp, out")
    good = KernelResult(name="uown_f16", **about, status="pass")
    gone = result("uabs_f32", "missing", source=None, known_reason="not needed")
    return record(gone, result("uelu_f32", "pass", cases=2, launched_when="el > 32", never_launched=7)).with_parts(
        {"own": [bad, good]}
    )


def test_own_kernels_and_what_ports_declare_have_tables() -> None:
    board = board_of([with_choices(), ours()], SPECS)
    text = render_board_markdown(board)
    assert "own kernels: 1 of 2 at parity" in text.partition("## Records")[0]
    assert "| mine | cpu wave64 | 1 of 2 | uown\\_f32 (fail, 1 of 4 cases: 7 ulp off) |" in text
    for runs, choice, kernel in (
        ("cpu wave64: 0 of 1 at parity", "judged through an adapter: inp, out", "uown\\_f32"),
        (
            "cpu wave64: 1 of 1 at parity",
            "launched by the port: only when el \\> 32: 7 cases have no part in the verdict",
            "uelu\\_f32",
        ),
        ("cpu wave64", "not in the port, as it declares: not needed", "uabs\\_f32"),
    ):
        assert f"| mine | {runs} | {choice} | {kernel} |" in text
    without = board_of([ours()], SPECS)
    for page in (render_board_markdown(without), render_board(without)):
        assert "Own kernels<" not in page
        assert "What ports declare" not in page


def test_kernels_with_one_declaration_are_told_together() -> None:
    """However many cases a condition leaves out of each, and whatever the port calls each."""
    when = {"launched_when": "el > 32", "cases": 2}
    rows = [result(name, "pass", never_launched=7, **when) for name in ("uelu_f32", "uelu_f64")]
    rows += [result("uelu_f16", "fail", never_launched=9, failed=1, **when)]
    rows += [result(f"uabs_{kind}", "pass", cases=1, port_name=f"abs_{kind}") for kind in ("f32", "f64")]
    rows += [result("uneg_f32", "pass", cases=1, adapter="inp, out")]
    rows += [result(f"usqr_{kind}", "missing", source=None, known_reason="not yet") for kind in ("f32", "f64")]
    found = record(*rows)
    told = {one.text: (one.levels, one.kernels) for one in board_of([found], SPECS).declared()}
    left_out = "launched by the port: only when el > 32: 23 cases have no part in the verdicts"
    assert told[left_out] == ("cpu wave64: 2 of 3 at parity", "3 kernels: uelu_f16, uelu_f32, uelu_f64")
    assert told["the port calls it: abs_f32, abs_f64"] == (
        "cpu wave64: 2 of 2 at parity",
        "2 kernels: uabs_f32, uabs_f64",
    )
    assert told["not in the port, as it declares: not yet"] == ("cpu wave64", "2 kernels: usqr_f32, usqr_f64")
    (row,) = board_of([found], SPECS).rows()
    missing = found.summary.missing
    assert f"{missing} without a source ({'all' if missing == 2 else '2 of them'} declared)" in row.text
    ways = "of those at parity, 1 through an adapter, 2 only in cases that the port declares to launch"
    assert ways in row.text
    assert "`uelu_f16`, `uelu_f32`, `uelu_f64`: launched by the port: only when el \\> 32: 23 cases" in "\n".join(
        choice_lines(found.rows)
    )


@pytest.mark.slow("opens boards in a browser")
def test_own_kernels_and_choices_have_views(opened: Any) -> None:
    page = opened(render_board(board_of([with_choices(), ours()], SPECS)))
    page.tab.click("nav a:text('Own kernels')")
    assert page.texts("#own tbody td") == ["cpu wave64", "1 of 2", "uown_f32 (fail, 1 of 4 cases: 7 ulp off)"]
    page.tab.click("nav a:text('Declared')")
    assert page.texts("#declared tbody tr td:last-child") == ["uabs_f32", "uelu_f32", "uown_f32"]
    for media, width in (("screen", 390), ("print", A4)):
        page.tab.emulate_media(media=media)
        page.tab.set_viewport_size({"width": width, "height": 800})
        assert not page.wider_than_the_window()


FIGURES = """rows => rows.map(row => [...row.cells].slice(1).map(
    cell => cell.firstElementChild?.ariaLabel?.split(": ").at(-1) ?? cell.textContent))"""
WIDTHS = (1440, 768, 390)
browser = pytest.mark.slow("opens boards in a browser")
COMMITTED = "reads 20 records and draws the board of each port"
ON_COMMITTED = pytest.param("committed", 20, marks=pytest.mark.nightly(COMMITTED))
BOARDS = {"made": lambda: board_of([record(), ours()], SPECS), "committed": committed}
VIEWS = ["", "#view=parity", "#view=parity&port=candle-parity", "#view=classes", "#view=records", "#cell=1%3Aunary%2F"]


def shown(columns: list[Column], board: Board) -> list[list[str]]:
    return [
        [column.figure(column.rows[at] for at in numbers).text for column in columns]
        for _, _, numbers in board.groups()
    ]


@pytest.mark.parametrize(
    "which", [pytest.param("made", marks=browser), pytest.param("committed", marks=pytest.mark.nightly(COMMITTED))]
)
def test_every_figure_of_the_page_is_the_records(opened: Any, which: str) -> None:
    board = BOARDS[which]()
    page = opened(render_board(board))
    page.open("#view=parity")
    rows = page.tab.locator("#parity tbody tr")
    assert rows.evaluate_all(FIGURES) == shown([row.best for row in board.rows()], board)
    for port, columns in board.ports().items():
        page.open(f"#view=parity&port={port}")
        assert rows.evaluate_all(FIGURES) == shown(columns, board)
    assert {column.figure().passing for column in board.judged} == {
        column.record.summary.passed for column in board.judged
    }


@browser
def test_every_port_has_a_row_with_its_percentage(opened: Any) -> None:
    page = opened(render_board(board_of([record(), record(wave=32), ours()], SPECS)))
    rows = [" ".join(text.split()) for text in page.texts("#ports tbody tr")]
    assert rows[0].startswith("candle-parity unknown 100.0% 748 of 748 kernels cpu wave64 run on the host")
    assert rows[1].startswith("mine aaaaaaaaaaaa 0.1% 1 of 748 kernels; 2 fail, ")
    assert rows[1].endswith("cpu wave32 0.1%")
    page.tab.click("#ports a:text('mine')")
    assert page.texts("#parity thead th") == ["Module", "names", "cpu wave64", "cpu wave32"]


@pytest.mark.nightly("lays out a board of eight ports 48 times")
@pytest.mark.parametrize("media", ["screen", "print"])
def test_nothing_is_wider_than_the_window(opened: Any, media: str) -> None:
    page = opened(render_board(committed()))
    page.tab.emulate_media(media=media)
    for view in VIEWS:
        page.open(view)
        for width in (*WIDTHS, A4):
            page.tab.set_viewport_size({"width": width, "height": 800})
            assert not page.wider_than_the_window(), (view, width)


A4 = 703
"""The width of a sheet without its margins, in CSS pixels."""


@pytest.mark.parametrize(("which", "classes"), [pytest.param("made", 1, marks=browser), ON_COMMITTED])
def test_print_has_every_port_module_class_and_record(opened: Any, which: str, classes: int) -> None:
    board = BOARDS[which]()
    page = opened(render_board(board), viewport={"width": A4, "height": 1000}, color_scheme="dark")
    page.tab.emulate_media(media="print", color_scheme="dark")
    counts = {name: page.tab.locator(f"#{name} tbody tr:visible").count() for name in ("ports", "parity", "records")}
    assert counts == {"ports": len(board.ports()), "parity": len(board.groups()), "records": len(board.judged)}
    assert page.tab.locator("#classes .why > li:visible").count() > classes
    outside = "found => found.filter(one => one.getBoundingClientRect().right > innerWidth).map(one => one.outerHTML)"
    assert page.tab.locator(".views td:visible, .views th:visible").evaluate_all(outside) == []
    assert page.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@browser
def test_a_cell_opens_its_kernels_and_escape_goes_back_to_it(opened: Any) -> None:
    page = opened(render_board(board_of([record(), ours()], SPECS)))
    page.open("#view=parity")
    page.tab.focus('[data-cell="1:unary/"]')
    page.tab.keyboard.press("Enter")
    assert page.address == "#view=parity&cell=1%3Aunary%2F"
    panel = page.texts("#kernel")[0]
    for text in ("mine, cpu wave64: unary", "1 of 123, 120 unknown", "9 ulp off", COMMAND, "git clone", "Unknown: 120"):
        assert text in panel
    assert page.tab.evaluate("document.activeElement.tagName") == "H2"
    page.tab.keyboard.press("Escape")
    assert page.tab.locator("#kernel").is_hidden()
    assert page.tab.evaluate("document.activeElement.dataset.cell") == "1:unary/"
    page.open("#cell=1%3Aunary%2F&dtype=f16")
    assert "uneg_f32" not in page.texts("#kernel")[0]


@browser
def test_only_the_classes_of_mistakes_that_occur_are_named(opened: Any) -> None:
    page = opened(render_board(board_of([record(), ours()], SPECS)))
    page.open("#view=classes")
    items = [" ".join(text.split()) for text in page.texts("#classes .why > li")]
    assert items[0] == "L05 Other parameters than Candle's mine cpu wave64: 1 kernel"
    assert len(items) == 2
    page.tab.click("#classes a >> nth=0")
    assert "uneg_f32" in page.texts("#kernel")[0]
    page.open("#view=classes&port=candle-parity")
    assert page.texts("#classes p") == ["No mistake was seen in what was judged."]


@browser
def test_rows_are_sorted_and_filtered_by_the_address(opened: Any) -> None:
    page = opened(render_board(board_of([record(), ours()], SPECS)))
    page.open("#view=parity&sort=module&dtype=f16&port=mine")
    modules = page.texts("#parity tbody th:not(.family)")
    assert modules[0] == "all kernels"
    assert modules[1:] == sorted(modules[1:])
    assert page.texts("#parity thead th") == ["Module ↑", "names", "cpu wave64"]
    page.tab.click('#parity [data-sort="1"]')
    assert "sort=1" in page.address


@browser
def test_hostile_texts_stay_texts(opened: Any) -> None:
    port = Port(name=HOSTILE, repository=f"https://x/{HOSTILE}", commit=HOSTILE)
    bad = result("uabs_f32", "compile_error", message=HOSTILE)
    page = opened(render_board(board_of([record(bad, port=port, git=HOSTILE, kernels=HOSTILE)], SPECS)))
    for address in ("#cell=1%3Aunary%2F", "#view=classes", "#view=records", "#cell=9:x&view=%3Cimg%3E&sort=77"):
        page.open(address)
        assert page.tab.title() == "Ports of Candle’s kernels"
        assert page.tab.locator("img").count() == 0


@pytest.mark.skipif(
    importlib.util.find_spec("axe_playwright_python") is None,
    reason="the Python package axe-playwright-python is not installed",
)
@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        pytest.param(390, "light", marks=browser),
        pytest.param(768, "dark", marks=pytest.mark.nightly("axe looks at every element of six views again")),
        pytest.param(1440, "light", marks=pytest.mark.nightly("axe looks at every element of six views again")),
    ],
)
def test_axe_finds_nothing(opened: Any, width: int, scheme: str) -> None:
    size = {"width": width, "height": 844}
    html = render_board(board_of([record(), ours()], SPECS))
    page = opened(html, viewport=size, color_scheme=scheme, bypass_csp=True)
    for address in VIEWS:
        page.open(address)
        assert page.axe() == [], address
