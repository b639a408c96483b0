"""The HTML report in a browser: what a reader does with it, and that nothing of a record is taken for mark-up."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import pytest
from hostile import hostile_record

from conformance.outcome import Evidence, Failure, Launched, Observation
from conformance.record import KernelResult, Record, every_kernel
from conformance.record.launched import with_launches
from conformance.report.html import render_html
from conformance.spec.load import Specs, load_specs
from tests.runs import run_info
from tests.specs import some_modules

pytestmark = pytest.mark.slow("opens pages in a browser")
needs_axe = pytest.mark.skipif(
    importlib.util.find_spec("axe_playwright_python") is None,
    reason="the Python package axe-playwright-python is not installed",
)

SPECS = load_specs()
FEW = some_modules(SPECS, "fill", "unary")
"""A fifth of the kernels, for what is the same with all of them: a page costs what its cells and rows cost."""
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"> & \" ' \u202e"
COMMAND = "candle-parity run --order forward 'usilu_f16(shape=[3,5],layout=transposed,values=unit)'"


def result(name: str, status: str, **changes: Any) -> KernelResult:
    kernel = SPECS.kernels[name]
    about = {key: getattr(kernel, key) for key in ("name", "module", "family", "upstream")}
    return KernelResult(**{**about, "status": status, "cases": 4, "source": "kernels/unary.hip:88", **changes})


def record(*others: KernelResult, specs: Specs = SPECS, **run: Any) -> Record:
    failure = Failure("usilu_f16(shape=[3,5],layout=transposed,values=unit)", "9 ulp off", 3, "-0", "1.5", 9, COMMAND)
    wrong = Observation(Evidence(("number for zero",)), ("shape=[3,5],layout=transposed,values=unit",))
    rows = [
        result("uexp_f32", "pass", max_ulp=1.0, nearest_ulp=1.0, nearest_ulp_bound=4.0),
        result(
            "usilu_f16",
            "fail",
            failed=1,
            max_ulp=9.0,
            failures=(failure,),
            observations=(wrong,),
            passed=("shape=[7],values=unit", "shape=[8],values=wide", "shape=[9],values=unit"),
        ),
        *others,
    ]
    return Record.of(run_info(**run), every_kernel(specs, rows))


def few(*others: KernelResult, **run: Any) -> Record:
    """``record`` with the kernels of ``FEW`` only."""
    return record(*others, specs=FEW, **run)


@cache
def usual() -> str:
    """The page of ``record()`` with every kernel."""
    return render_html(record(), SPECS)


@cache
def small() -> str:
    """The page of ``few()``, which most tests open."""
    return render_html(few(), FEW)


def test_the_map_has_every_kernel_with_a_sign_and_a_name(opened: Any) -> None:
    page = opened(usual())
    titles = page.tab.locator("#map a.cell").evaluate_all("found => found.map(link => link.title.split(':')[0])")
    assert sorted(titles) == sorted(SPECS.kernels)
    assert set(page.texts("#map a.cell")) == {"✓", "F", "○"}
    assert "1 of 748 kernels at parity" in page.texts(".verdicts li")[0]
    assert "not executed on an AMD GPU" in page.texts(".verdicts li")[0]


def test_filter_search_and_sort_are_in_the_address(opened: Any) -> None:
    page = opened(small())
    page.tab.keyboard.press("/")
    page.tab.keyboard.type("kernels silu_f16")
    assert page.texts("#map a.cell:visible") == ["F"]
    assert page.texts(".found") == ["1 of 147 kernels"]
    page.open("#view=list&module=unary&status=pass,fail&sort=-distance")
    assert page.texts("#list tbody th") == ["usilu_f16", "uexp_f32"]
    page.tab.click('#list [data-sort="kernel"]')
    assert page.texts("#list tbody th") == ["uexp_f32", "usilu_f16"]
    page.tab.click('.chip[data-status="fail"]')
    assert page.texts("#list tbody th") == ["uexp_f32"]
    page.reload(page.address)
    assert page.texts("#list tbody th") == ["uexp_f32"]


def test_title_and_heading_name_the_port_its_commit_and_the_percentage(opened: Any) -> None:
    page = opened(render_html(few(kernels="src/mine.hip", git="8a17ca0a4c66-dirty"), FEW))
    assert page.tab.title() == "mine.hip at 8a17ca0a4c66 with changes: 0.6% of Candle’s CUDA kernels at parity"
    heading = " ".join(page.texts("h1")[0].split())
    assert heading == "mine.hip at 8a17ca0a4c66 with changes 0.6% of Candle’s CUDA kernels at parity"
    assert "1 of the 2 kernels that were judged; 145 not run." in page.texts("header > p")


def test_searching_hides_what_does_not_match(opened: Any) -> None:
    page = opened(small())
    page.tab.fill("#search", "fill_u")
    assert page.tab.locator("#map figure:visible").count() == 1
    titles = page.tab.locator("#map a.cell:visible").evaluate_all("found => found.map(one => one.title)")
    assert titles == ["fill_u32: not run", "fill_u8: not run"]
    assert page.texts("#map tbody tr:visible th") == ["fill"]
    page.tab.fill("#search", "no such kernel")
    assert page.tab.locator("#map figure:visible").count() == 0
    assert page.texts("#map .nothing:visible") == ["No kernel is like that."]
    page.tab.fill("#search", "")
    assert page.tab.locator("#map a.cell:visible").count() == len(FEW.kernels)


def test_enter_in_the_search_opens_the_worst_that_matches(opened: Any) -> None:
    page = opened(small())
    for view in ("map", "list"):
        page.open(f"#view={view}")
        page.tab.focus("#search")
        page.tab.keyboard.press("Enter")
        assert page.tab.locator("#kernel").is_hidden()
        page.tab.keyboard.type("unary.hip")
        page.tab.keyboard.press("Enter")
        assert page.texts("#kernel h2") == ["usilu_f16"]
        assert page.tab.evaluate("document.activeElement.tagName") == "H2"


def test_the_list_begins_with_failures(opened: Any) -> None:
    worse = result("uelu_f32", "fail", failed=3)
    page = opened(render_html(few(worse, result("uneg_f32", "crash", failed=1, message="m")), FEW))
    page.open("#view=list")
    assert page.texts("#list tbody th")[:4] == ["uneg_f32", "uelu_f32", "usilu_f16", "uexp_f32"]
    page.tab.keyboard.press("j")
    assert page.texts("#kernel h2") == ["uneg_f32"]


def test_what_to_do_next_is_told_by_what_it_gains(opened: Any) -> None:
    other = [result(name, "signature", message="parameter 2 is size_t") for name in ("uneg_f32", "uneg_f16")]
    absent = [result(name, "missing", source=None) for name in ("uelu_f32", "fill_u8", "fill_u32")]
    page = opened(render_html(few(*other, *absent), FEW))
    said = [" ".join(text.split()) for text in page.texts(".next p, .next .gained")]
    assert said == [
        "Mend this cause: up to +2 kernels; then up to 3 of 147 kernels are at parity.",
        "+2",
        "3 kernels still to be written: fill (2), unary (1).",
    ]
    page.tab.click(".next a")
    assert page.texts("#kernel h2") == ["uneg_f16"]


def test_the_tab_key_stops_once_at_each_module(opened: Any) -> None:
    page = opened(usual())
    stops = page.tab.locator("#map a.cell:not([tabindex='-1'])")
    assert stops.count() == len(SPECS.modules)
    page.tab.focus('#map a.cell[title^="uexp_f32"]')
    assert stops.count() == len(SPECS.modules)
    assert "uexp_f32: at parity" in stops.evaluate_all("found => found.map(one => one.title)")


def test_the_map_of_one_module_is_shown_alone(opened: Any) -> None:
    page = opened(small())
    page.tab.select_option("#module", "unary")
    assert page.tab.locator("#map figure:visible").count() == 1
    assert page.texts(".found") == ["123 of 147 kernels"]


def test_a_cell_opens_its_kernel_and_back_closes_it(opened: Any) -> None:
    page = opened(render_html(few(), FEW, source_url="https://git.example/port/blob/1"))
    page.tab.click('#map a.cell[title^="usilu_f16"]')
    assert page.address == "#kernel=usilu_f16"
    panel = page.texts("#kernel")[0]
    for text in ("1 of 4 cases failed", "9 ulp off", "transposed", "Parameters", "numel", "expected", "1.5"):
        assert text in panel
    assert page.texts("#kernel .cases .some") == ["✗1"]
    links = page.tab.locator("#kernel dl a").evaluate_all("found => found.map(link => link.href)")
    assert links[0] == "https://git.example/port/blob/1/kernels/unary.hip#L88"
    assert links[1].endswith("/candle-kernels/src/unary.cu#L177")
    page.tab.keyboard.press("Escape")
    assert page.tab.locator("#kernel").is_hidden()
    page.tab.go_back()
    assert page.texts("#kernel h2") == ["usilu_f16"]
    page.tab.keyboard.press("j")
    assert page.texts("#kernel h2") != ["usilu_f16"]


def test_a_kernel_says_who_asks_for_it_and_who_has_launched_it(opened: Any) -> None:
    launched = with_launches(few(), {"usilu_f16": [Launched("./model -v", 1200), Launched("./other", 1)]})
    page = opened(render_html(launched, FEW))
    for kernel, text in (
        ("usilu_f16", "1,200 times by ./model -v, once by ./other"),
        ("uexp_f32", "by no program that"),
    ):
        page.tab.goto(page.tab.url.partition("#")[0] + f"#kernel={kernel}")
        assert text in page.texts("#kernel dl")[0]


def test_a_kernel_without_source_has_no_cases_and_an_exact_one_no_distance(opened: Any) -> None:
    absent = result("uelu_f32", "missing", cases=0, planned=52, source=None)
    page = opened(render_html(few(absent, result("uneg_f32", "pass", max_ulp=0.0)), FEW))
    page.open("#view=list&status=missing,pass&sort=kernel")
    rows = page.tab.locator("#list tbody tr").all()
    cells = [[text.strip() for text in row.locator("td").all_inner_texts()][1:4] for row in rows]
    assert cells == [["", "–", "–"], ["", "4", "1 ulp"], ["", "4", "0"]]
    page.open("#kernel=uelu_f32")
    assert "no source, no case was run" in page.texts("#kernel")[0]


def test_the_element_nearest_its_bound_is_told(opened: Any) -> None:
    page = opened(small())
    page.tab.click('#map a.cell[title^="uexp_f32"]')
    assert "1 of 4 ulp" in page.texts("#kernel")[0]


def test_the_distance_over_the_input_is_drawn(opened: Any) -> None:
    far = result("ugelu_f32", "fail", failed=1, profile="." * 30 + "0k" + "a" * 8 + "x" + "0" * 23)
    page = opened(render_html(few(far), FEW))
    page.open("#kernel=ugelu_f32")
    bars = [bar.text_content() for bar in page.tab.locator("#kernel .profile rect title").all()]
    assert bars[:2] == ["input -2^-15 to 0: 100% of the bound", "input 0 to 2^-15: 50% of the bound"]
    assert bars[-1] == "input 2^-8 to 2^-7: wrong"
    assert len(bars) == 10
    assert page.tab.locator("#kernel .profile .cross").all_text_contents() == ["✗"]
    label = page.tab.get_attribute("#kernel .profile svg", "aria-label")
    assert label == "worst distance over the input: wrong for inputs 2^-8 to 2^-7"
    page.open("#kernel=uexp_f32")
    assert page.texts("#kernel .profile") == []


def test_arrow_keys_go_from_cell_to_cell(opened: Any) -> None:
    page = opened(small())
    page.tab.focus('#map a.cell[title^="uexp_f32"]')
    page.tab.keyboard.press("ArrowRight")
    page.tab.keyboard.press("Enter")
    assert page.texts("#kernel h2") == ["uexp_f16"]


def test_the_command_is_copied(opened: Any) -> None:
    page = opened(small())
    page.open("#kernel=usilu_f16")
    page.tab.keyboard.press("c")
    page.tab.wait_for_selector("#kernel >> text=copied")
    assert page.tab.evaluate("navigator.clipboard.readText()") == "candle-parity run --runtime cpu --wave 64 usilu_f16"
    page.tab.click(".failure .copy")
    page.tab.wait_for_selector(".failure >> text=copied")
    assert page.tab.evaluate("navigator.clipboard.readText()") == COMMAND


def test_dark_and_light_follow_the_system_until_they_are_turned(opened: Any) -> None:
    page = opened(small(), color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.tab.evaluate(background)
    page.tab.click("#theme")
    assert page.tab.evaluate(background) != dark


VIEWS = ["", "#q=unary", "#view=list", "#view=causes", "#view=changes", "#view=runs", "#kernel=usilu_f16"]
WIDTHS = (1440, 768, 390)


@cache
def rich(all_kernels: bool = True) -> str:
    """A page with every view: three runs, a long message, and a baseline."""
    specs = SPECS if all_kernels else FEW
    long = result("uelu_f32", "crash", failed=1, message="x" * 3000)
    runs: list[dict[str, Any]] = [{}, {"wave": 32}, {"runtime": "rocm", "arch": "gfx1100"}]
    several = [record(long, specs=specs, **run) for run in runs]
    return render_html(several, specs, baseline=record(specs=specs))


@pytest.mark.parametrize(
    "media", ["screen", pytest.param("print", marks=pytest.mark.nightly("lays out seven views in three widths again"))]
)
def test_nothing_is_wider_than_the_window(opened: Any, media: str) -> None:
    page = opened(rich())
    page.tab.emulate_media(media=media)
    for view in VIEWS:
        page.open(view)
        for width in WIDTHS:
            page.tab.set_viewport_size({"width": width, "height": 800})
            assert not page.wider_than_the_window(), (view, width)


def test_nothing_of_the_header_is_cut_off(opened: Any) -> None:
    page = opened(rich())
    for width in WIDTHS:
        page.tab.set_viewport_size({"width": width, "height": 800})
        hides = "found => found.filter(one => getComputedStyle(one).overflowX !== 'visible').map(one => one.outerHTML)"
        assert page.tab.locator("header *:not(svg, svg *)").evaluate_all(hides) == []
    assert "isa" not in page.texts("header")[0]
    assert page.texts("header")[0].count("2026-01-02") == 3


@needs_axe
def test_axe_finds_nothing_in_the_first_view(opened: Any) -> None:
    page = opened(rich(all_kernels=False), bypass_csp=True)
    assert page.axe() == []


@needs_axe
@pytest.mark.nightly("axe looks at every element of seven views, four times")
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1440, "dark"), (768, "light"), (390, "dark")])
def test_axe_finds_nothing(opened: Any, width: int, scheme: str) -> None:
    size = {"width": width, "height": 844}
    page = opened(rich(), viewport=size, color_scheme=scheme, bypass_csp=True)
    for view in VIEWS:
        page.open(view)
        assert page.axe() == [], view


def test_print_has_the_map_and_the_causes_and_no_controls(opened: Any) -> None:
    page = opened(usual())
    page.open("#view=list&q=nothing+like+that")
    page.tab.emulate_media(media="print", color_scheme="dark")
    shown = {name: page.tab.locator(name).first.is_visible() for name in ("#map", "#causes", "#runs", "nav", "#search")}
    assert shown == {"#map": True, "#causes": True, "#runs": True, "nav": False, "#search": False}
    assert page.tab.locator("#map a.cell:visible").count() == 748
    assert page.tab.locator("#causes details .names a:visible").count() == 1
    assert page.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.tab.set_viewport_size({"width": 703, "height": 1000})  # A4 without its margins
    outside = "found => found.filter(one => one.getBoundingClientRect().right > innerWidth).map(one => one.title)"
    assert page.tab.locator("#map a.cell").evaluate_all(outside) == []
    assert page.tab.pdf()[:4] == b"%PDF"


def test_a_baseline_shows_what_changed(opened: Any) -> None:
    before = Record.of(run_info(), every_kernel(FEW, [result("usilu_f16", "pass")]))
    page = opened(render_html(few(), FEW, baseline=before))
    marked = page.tab.locator("#map a.cell.worse").all()
    assert [link.get_attribute("title") for link in marked] == ["usilu_f16: wrong answers, worse than the baseline"]
    trend = "-1 kernel at parity since the baseline: 1 now (0.6%), 1 then (0.6%). 1 worse"
    assert page.texts(".trend") == [trend.replace("-1 kernel", "As many")]
    page.tab.click(".trend a")
    assert page.texts("#changes h3") == ["Worse (1)"]
    page.tab.click("#changes tbody a")
    assert "worse than the baseline" in page.texts("#kernel")[0]


def test_one_run_of_several_can_be_chosen(opened: Any) -> None:
    page = opened(render_html([few(), few(result("uelu_f32", "crash", failed=1, message="m"), wave=32)], FEW))
    assert page.texts('#map a.cell[title^="uelu_f32"]') == ["C"]
    page.tab.select_option("#run", "0")
    assert page.texts('#map a.cell[title^="uelu_f32"]') == ["○"]


@pytest.mark.nightly("opens every hostile kernel in two views")
def test_hostile_texts_stay_texts(opened: Any) -> None:
    page = opened(render_html(hostile_record(SPECS, HOSTILE), SPECS, baseline=hostile_record(SPECS, HOSTILE)))
    title = page.tab.title()
    for kernel in [row.name for row in hostile_record(SPECS, HOSTILE).kernels if row.status != "not_run"]:
        page.open(f"#kernel={kernel}")
        page.open(f"#view=list&q=taken&kernel={kernel}")
        assert "document.title='taken'" in page.texts("#kernel")[0]
    for view in ("causes", "changes", "runs", "list"):
        page.open(f"#view={view}")
        assert page.tab.locator("img").count() == 0
    assert page.tab.title() == title
    assert "\u202e" not in page.tab.content()


def test_an_address_of_no_kernel_shows_the_map(opened: Any) -> None:
    page = opened(small())
    page.open("#view=nothing&kernel=%3Cimg%20src=x%3E&run=77&sort=constructor")
    assert page.tab.locator("#map").is_visible()
    assert page.tab.locator("#kernel").is_hidden()


def test_without_scripts_verdict_and_map_are_there(opened: Any) -> None:
    page = opened(usual(), java_script_enabled=False)
    assert "1 of 748 kernels at parity" in page.texts(".verdicts li")[0]
    assert page.tab.locator("#map a.cell").count() == 748
    assert page.tab.locator("#causes").is_visible()
    assert page.tab.locator("nav").is_hidden()


def test_own_kernels_and_library_calls_have_views_of_their_own(opened: Any) -> None:
    failure = Failure("uown_f32(n=1)", "7 ulp off", 3, "-0", "1.5", 7, COMMAND)
    about = {"module": "mine", "family": "mine", "cases": 4, "failed": 1, "failures": (failure,)}
    own = KernelResult(name="uown_f32", **about, status="fail", upstream="own/mine.yaml:3", adapter="inp, out")
    call = SPECS.libraries["gemm_f32"]
    rows = {key: getattr(call, key) for key in ("name", "module", "family", "upstream")}
    library = KernelResult(**rows, status="pass", cases=3)
    page = opened(render_html(few().with_parts({"own": [own], "library": [library]}), FEW))
    page.tab.click("nav a:text('Own kernels')")
    assert page.texts(".found") == ["1 own kernel"]
    page.tab.click("#own a.cell[href$='uown_f32']")
    panel = page.tab.inner_text("#kernel")
    said = ("7 ulp off", "own/mine.yaml:3", "own kernel", "judged through an adapter: inp, out")
    assert [text for text in said if text not in panel] == []
    assert "Parameters" not in panel
    page.tab.click("nav a:text('Library calls')")
    assert page.texts(".found") == [f"{len(SPECS.libraries)} library calls"]
    assert page.tab.locator("#libraries a.cell.pass").count() == 1
    page.open("#kernel=uown_f32")
    assert page.tab.is_visible("#own")


def test_launchers_have_a_view_of_their_own(opened: Any) -> None:
    name = "launch_mmq_gguf_q4_0"
    launcher = SPECS.launchers[name]
    about = {key: getattr(launcher, key) for key in ("name", "module", "family", "upstream")}
    failure = Failure(f"{name}(columns=1)", "9 ulp off", 3, "-0", "1.5", 9, COMMAND)
    row = KernelResult(**about, status="fail", cases=4, failed=1, failures=(failure,), source="kernels/mmq.hip:8")
    mine = few()
    page = opened(render_html(Record.of(mine.run, mine.kernels, [row]), FEW))
    assert page.tab.inner_text(".found") == "147 kernels"
    assert "1 of 147 kernels at parity (0.6%), 0 of 49 launchers" in page.tab.inner_text(".verdicts")
    page.tab.select_option("#module", "unary")
    page.tab.click("nav a:text('Launchers')")
    assert page.tab.inner_text(".found") == "49 launchers"
    assert page.tab.locator("#launchers [data-list] tbody tr").count() == 49
    page.tab.click('[data-status="fail"]')
    assert page.tab.inner_text(".found") == "1 of 49 launchers"
    page.tab.click(f"#launchers a.cell[href$='={name}']")
    panel = page.tab.inner_text("#kernel")
    assert all(text in panel for text in (name, "9 ulp off", COMMAND, "tmp_fixup", "kernels/mmq.hip:8"))
    page.open(f"#kernel={name}")
    assert page.tab.is_visible("#launchers")
    page.tab.keyboard.press("1")
    assert page.tab.inner_text(".found") == "147 kernels"
    assert page.said == []
