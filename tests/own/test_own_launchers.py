"""Launchers of a port's own: described like own kernels, called as Candle's launchers are, and counted apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.cases import cases_for, launch_for
from conformance.cases.launch import PASSED_BY_VALUE
from conformance.port.config import read_config
from conformance.record.files import read_record, record_text
from conformance.runtimes.hip.calling import _C_TYPES
from conformance.session.gate import Judged, SelectedPart, decide
from conformance.session.setup import specs_from
from conformance.settings import Settings
from conformance.spec import SpecError
from conformance.spec.entry import OWN, ROWS
from conformance.spec.load import Specs
from tests.commands import answer
from tests.own.linked import LAUNCHER, with_launcher
from tests.own.ports import OwnPort, changed
from tests.record.made import record
from tests.record.made import row as made_row

RUN = ("run", "--runtime", "cpu", "-j", "1", "--order", "forward", "--own", "--json", "r.json")


@pytest.fixture
def linked(port: OwnPort) -> OwnPort:
    return with_launcher(port)


def specs(port: OwnPort) -> Specs:
    return specs_from(Settings(), read_config(port.declaration))


def row(name: str = "r.json"):
    (found,) = read_record(Path(name)).own_launchers
    return found


def test_a_case_becomes_a_call_without_a_geometry(linked: OwnPort) -> None:
    found = specs(linked)
    assert [*found.own] == ["fadd_relu_f32", "fadd_relu_f64"]
    assert [*found.own_launchers] == [LAUNCHER]
    launcher = found.own_launchers[LAUNCHER]
    launch = launch_for(launcher, cases_for(launcher)[1])
    assert (launch.grid, launch.block) == ((0, 0, 0), (0, 0, 0))
    assert launch.types == ("*", "*", "*", "*", "i32", "f32", "*")
    assert "stream" not in launch.reference_arguments()
    assert launch.buffers["scaled"].role == "scratch"


def test_every_dtype_that_a_launcher_may_have_by_value_can_be_passed() -> None:
    assert {*PASSED_BY_VALUE} == _C_TYPES.keys() - {"*"}


FAMILY, SPEC = "parity/families/linked.yaml", "parity/specs/linked.yaml"


@pytest.mark.parametrize(
    ("file", "before", "after", "words"),
    [
        (SPEC, "  entry: launcher\n", "", ("scratch is for launchers (entry: launcher)",)),
        (SPEC, "entry: launcher", "entry: luncher", ("'luncher'", "did you mean launcher?")),
        (
            SPEC,
            "n: scalar i32",
            "n: scalar u8",
            ("'n' of launcher launch_scaled_add_f32 is u8 by value", "or a pointer"),
        ),
        (SPEC, "scratch {dtype}*", "in {dtype}*", ("'scaled'", "role in launch family 'linked' is scratch")),
        (SPEC, "launch: linked", "launch: unary", ("'unary' is one of kernels", "name a family of launchers")),
        (FAMILY, "cases:", "grid: [n]\nblock: [64]\ncases:", ("role scratch in a family with grid and block",)),
        (FAMILY, "cases:", "grid: [n]\ncases:", ("key 'block' is missing", "or take grid out for launchers")),
        (FAMILY, "  stream: {role: stream}\n", "", ("has 0 parameters of role stream", "add grid and block")),
        (FAMILY, "{role: stream}", "{role: stream, shape: [n]}", ("has the key shape; expected no key but role",)),
    ],
)
def test_what_does_not_fit_a_launcher_is_said_with_its_place(
    linked: OwnPort, file: str, before: str, after: str, words: tuple[str, ...]
) -> None:
    changed(Path(file), before, after)
    with pytest.raises(SpecError) as caught:
        specs(linked)
    text = str(caught.value)
    assert all(word in text for word in (f"{Path(file).name}:", *words)), text


def test_a_kernel_of_a_family_without_geometry_is_told_what_it_lacks(linked: OwnPort) -> None:
    text = Path(SPEC).read_text().replace("  entry: launcher\n", "")
    for word in ("scratch", "stream"):
        text = "".join(line for line in text.splitlines(keepends=True) if word not in line)
    Path(SPEC).write_text(text)
    with pytest.raises(SpecError, match=r"linked\.yaml:8: launch family 'linked' of .* has no grid and block"):
        specs(linked)


@pytest.mark.slow("compiles a launcher and calls it")
def test_a_right_launcher_passes_and_is_counted_apart(linked: OwnPort, capfd) -> None:
    said = answer(capfd, *RUN, LAUNCHER, "--fail-under-own", "30")
    assert said.code == 0, said.err
    assert "1 of 1 selected own launcher passes (none is Candle's)" in said.out
    assert "own kernels and own launchers 33.33% (1 of 3), gate 30%: met" in said.out
    found = read_record(Path("r.json"))
    assert [(one.name, one.status, one.cases) for one in found.own_launchers] == [(LAUNCHER, "pass", 5)]
    assert {one.status for one in found.own} == {"not_run"}
    assert (found.summary.total, found.summary.passed, len(found.launchers)) == (748, 0, 0)


@pytest.mark.slow("compiles five launchers and calls them")
@pytest.mark.parametrize(
    ("before", "after", "status", "words"),
    [
        ("scaled[i] + rhs[i]", "scaled[i] - rhs[i]", "fail", "300 of 309 elements wrong"),
        (
            "alpha, void *stream",
            "double alpha, void *stream",
            "signature",
            "parameter 6 is double alpha, its spec's is f32",
        ),
        ("128, 0, s>>>(scaled", "128>>>(scaled", "fail", "on the null stream"),
        ("  if (i < n) out[i]", "  if (i == n) out[i] = 0;\n  if (i < n) out[i]", "fail", "must not be touched"),
        ('extern "C" void', "void", "missing", 'without extern "C": its symbol is mangled'),
    ],
    ids=["wrong value", "other parameters", "null stream", "writes too much", "mangled"],
)
def test_a_wrong_launcher_fails_with_a_cause(
    linked: OwnPort, capfd, before: str, after: str, status: str, words: str
) -> None:
    changed(linked.kernels.with_name("linked.hip"), before.replace("alpha, void", "float alpha, void"), after)
    said = answer(capfd, *RUN, LAUNCHER)
    assert (said.code, row().status) == (2 if status == "missing" else 1, status), said.err
    told = "; ".join([row().message or "", *(one.why for one in row().failures)])
    assert words in told, told


@pytest.mark.slow("compiles a launcher, calls it and times it")
def test_rows_about_kernels_are_not_about_launchers(linked: OwnPort, capfd) -> None:
    """Though their patterns match it: a launcher's geometry and its parameters are its own."""
    rows = (
        '[[launch]]\nkernels = "*add_*_f32"\nblock = [64]\nwhen = "numel > 3"\n',
        '[[adapter]]\nkernels = "*add_*_f32"\nparams = ["lhs"]\n',
    )
    linked.declaration.write_text("\n".join([linked.declaration.read_text(), *rows]))
    assert answer(capfd, *RUN, LAUNCHER).code == 0
    assert (row().status, row().cases, row().geometry, row().adapter) == ("pass", 5, None, None)
    said = answer(capfd, "bench", "--runtime", "cpu", f"{LAUNCHER}(shape=[300],values=unit)")
    assert (said.code, "1 workload" in said.out) == (0, True)


def test_a_row_about_launchers_alone_is_refused(linked: OwnPort, capfd) -> None:
    linked.declaration.write_text(f'{linked.declaration.read_text()}\n[[launch]]\nkernels = "launch_*"\nblock = 64\n')
    said = answer(capfd, *RUN, LAUNCHER)
    assert said.code == 2
    assert "launchers have neither row, for they launch kernels themselves" in said.err


@pytest.mark.slow("a run by the command")
def test_without_own_no_launcher_is_called(linked: OwnPort, capfd) -> None:
    said = answer(capfd, "run", "--runtime", "cpu", "-j", "1", LAUNCHER)
    assert said.code == 2
    assert "give --own where you trust the port" in said.err


@pytest.mark.slow("three commands, two of which read every source")
def test_list_and_check_know_it(linked: OwnPort, capfd) -> None:
    assert f"{LAUNCHER}(shape=[300],values=unit)" in answer(capfd, "list", LAUNCHER, "--cases").out
    said = answer(capfd, "check", "--partial")
    assert said.code == 0, said.out
    assert "1 of the port's 1 own launcher is defined" in said.out
    changed(linked.kernels.with_name("linked.hip"), "launch_scaled_add_f32(", "launch_scaled_sum_f32(")
    said = answer(capfd, "check")
    assert said.code == 1
    assert "linked, scaled_add: all 1" in said.out
    assert "launch_scaled_sum_f32 is not a launcher of the specs; launch_scaled_add_f32 is missing" in said.out


@pytest.mark.slow("compiles a launcher, calls it, and renders the record")
def test_reports_and_comparisons_tell_of_it(linked: OwnPort, capfd) -> None:
    answer(capfd, *RUN, LAUNCHER)
    Path("r.json").rename("before.json")
    changed(linked.kernels.with_name("linked.hip"), "scaled[i] + rhs[i]", "scaled[i] - rhs[i]")
    said = answer(capfd, *RUN, LAUNCHER, "--baseline", "before.json", "--md", "r.md", "--html", "r.html")
    assert said.code == 1
    assert "1 own launcher is worse than in the baseline" in said.out
    markdown = Path("r.md").read_text()
    assert "## Own launchers\n\nHost functions that the port has and Candle has not." in markdown
    assert "own launchers: 0 of 1 at parity" in markdown
    assert "own launcher" in Path("r.html").read_text()
    told = answer(capfd, "diff", "before.json", "r.json", "--fail-on-worse", "--json", "d.json")
    assert told.code == 1
    assert "1 own launcher compared: 0 the same, 0 better (0 of them new), 1 worse" in told.out
    assert "own launchers newly failing, or further from parity (1)" in told.out
    (worse,) = json.loads(Path("d.json").read_text())["own_launchers"]["worse"]
    assert (worse["kernel"], worse["after"]) == (LAUNCHER, "fail")


def test_a_record_without_own_launchers_has_no_such_part() -> None:
    assert "own_launchers" not in json.loads(record_text(record(made_row("fill_u8", "pass"))))


@pytest.mark.nightly("two sessions of pytest, each of which reads every spec and compiles a file")
def test_pytest_has_an_item_for_it(linked: OwnPort) -> None:
    from tests.own.test_own_everywhere import items

    one = f"candle-parity.toml::linked::{LAUNCHER}"
    said = items(linked, one, "--parity-own")
    assert (said.returncode, "1 passed" in said.stdout) == (0, True), said.stdout
    changed(linked.kernels.with_name("linked.hip"), "scaled[i] + rhs[i]", "scaled[i] - rhs[i]")
    assert items(linked, one, "--parity-own").returncode == 1


@pytest.mark.nightly("compiles a library for an AMD target and interprets its kernels")
def test_it_is_judged_as_machine_code(linked: OwnPort, capfd) -> None:
    words = ("run", "--runtime", "isa", "--arch", "gfx942", "-j", "1", "--own", LAUNCHER, "--json", "r.json")
    said = answer(capfd, *words)
    if said.code == 2 and "clang" in said.err:
        pytest.skip("needs a compiler for AMD targets")
    if row().status == "not_run":
        pytest.skip(row().message)
    assert (said.code, row().status) == (0, "pass"), said.err
    changed(linked.kernels.with_name("linked.hip"), "scaled[i] + rhs[i]", "scaled[i] - rhs[i]")
    assert answer(capfd, *words).code == 1
    assert row().status == "fail"


def test_one_that_could_not_be_called_is_no_success() -> None:
    """As an own kernel, and unlike one of Candle's launchers: somebody asked for it by describing it."""
    parts = {entry: SelectedPart([made_row("mine", "not_run", message="no compiler")], 1) for entry in OWN}
    for entry, part in parts.items():
        judged = Judged({"kernel": SelectedPart([made_row("uexp_f32", "pass")], 748), entry: part})
        decision = decide(judged)
        assert (decision.code, decision.why) == (1, ("not judged: mine (no compiler)",))
        assert not ROWS[entry].may_be_not_run
