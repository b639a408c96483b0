"""Launchers in gates, baselines, shards and declarations: counted apart from the kernels everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.outcome import Outcome
from conformance.port.config import Config, KnownFailure
from conformance.port.declared.known import check_rows, settle
from conformance.port.declared.names import names_of
from conformance.port.sources import SourceError
from conformance.record import KernelResult, Record, merge
from conformance.record.compare import compare, same_verdicts
from conformance.record.merge import contradictions, elsewhere, gaps
from conformance.report.comparison import comparison_json, render_changes
from conformance.session.gate import Against, SelectedPart, gating_from
from conformance.settings import Gate
from tests.cli.gates import decide
from tests.commands import answer
from tests.record.made import row
from tests.runs import run_info

NONE: Sequence[KernelResult] = ()
K_PASS, K_MISSING = row("k", "pass"), row("k", "missing")
PASS, FAIL, MISSING = row("l", "pass"), row("l", "fail", ["n=1"]), row("l", "missing")
IDLE = row("l", "not_run", message="linked launchers cannot be called here")
LOST = row("l", "not_run", message="infrastructure: killed")


def record(kernels: Sequence[KernelResult], launchers: Sequence[KernelResult] = (), **run: Any) -> Record:
    return Record.of(run_info(**{"specs_digest": "d", "selected": len(kernels), **run}), kernels, launchers)


@pytest.mark.parametrize(
    ("kernels", "launchers", "plain", "kernel_gate", "launcher_gate", "strict"),
    [
        ([K_PASS], [PASS], 0, 0, 0, 0),
        ([K_PASS], [FAIL], 1, 0, 1, 1),
        ([K_PASS], [MISSING], 0, 0, 1, 0),
        ([K_PASS], [IDLE], 0, 0, 1, 0),
        ([K_PASS], [LOST], 2, 0, 2, 0),
        ([K_MISSING], [PASS], 1, 1, 0, 1),
        ([K_MISSING], [MISSING], 2, 2, 2, 2),
        ([K_MISSING], [IDLE], 2, 2, 2, 2),
        ([], [PASS], 0, 1, 0, 0),
        ([], [FAIL], 1, 1, 1, 1),
        ([], [PASS, row("m", "missing")], 1, 1, 0, 1),
        ([], [MISSING], 2, 2, 2, 2),
        ([], [LOST], 2, 2, 2, 2),
    ],
    ids=lambda rows: "+".join(one.status for one in rows) or "nothing" if isinstance(rows, list) else "",
)
def test_launchers_have_gates_of_their_own_and_no_part_in_the_coverage(
    kernels: list[KernelResult],
    launchers: list[KernelResult],
    plain: int,
    kernel_gate: int,
    launcher_gate: int,
    strict: int,
) -> None:
    apart = SelectedPart(launchers, 2)
    assert decide(kernels, 1, launchers=apart).code == plain
    assert decide(kernels, 1, 1.0, launchers=apart).code == kernel_gate
    decision = decide(kernels, 1, launchers=apart, fail_under_launchers=50.0)
    assert (decision.code, decision.line) == (launcher_gate, None)
    assert decision.launchers is not None
    assert decision.launchers.startswith("launchers ")
    assert decide(kernels, 1, strict=True, launchers=apart).code == (1 if strict == 1 else plain)


def test_what_gates_say_of_launchers() -> None:
    both = decide([K_PASS], 1, 100.0, launchers=SelectedPart([FAIL], 49), fail_under_launchers=2.0)
    assert both.lines == [
        "coverage 100.00% (1 of 1 kernels), gate 100%: met",
        "launchers 0.00% (0 of 49), gate 2%: NOT met",
    ]
    strict = decide([K_PASS], 1, 100.0, strict=True, launchers=SelectedPart([FAIL], 49))
    assert (strict.code, strict.line) == (
        1,
        "coverage 100.00% (1 of 1 kernels), gate 100%: NOT met: --strict, and 1 of the selected launchers are not at "
        "parity",
    )
    shard = decide([], 748, 80.0, shard="2/2", launchers=SelectedPart([PASS], 49), fail_under_launchers=80.0)
    assert (shard.code, shard.launchers) == (0, None)


def test_a_launcher_that_became_worse_is_a_regression_of_its_own() -> None:
    old, new = record([K_PASS], [PASS]), record([K_PASS], [FAIL])
    found = compare(old, new)
    assert ([one.kernel for one in found.worse], [one.kernel for one in found.launchers.worse]) == ([], ["l"])
    decision = decide([K_PASS], 1, against=Against("b.json", found), launchers=SelectedPart([FAIL], 49))
    assert decision.code == 1
    assert decision.line == (
        "baseline b.json: 0 worse and 0 better of 1 kernel compared, 1 worse and 0 better of 1 launcher compared: "
        "NOT met: 1 launcher is worse than in the baseline"
    )
    assert "launchers newly failing, or further from parity (1)" in render_changes(found)
    assert '"launchers": {' in comparison_json(found, "a", "b")
    assert not same_verdicts(old, new)


def test_launchers_that_no_source_names_any_more_are_lost() -> None:
    old = record([K_PASS], [PASS])
    gone = compare(old, record([K_PASS])).launchers
    assert [(one.before, one.after) for one in gone.worse] == [("pass", "missing")]
    chosen = compare(old, record([K_PASS], patterns=("k",))).launchers
    assert (chosen.worse, chosen.left_out, chosen.unjudged) == ((), {"not selected in the new record": ("l",)}, ("l",))
    older = compare(record([K_PASS], specs_digest="before launchers"), old).launchers
    assert (older.compared, older.left_out) == (0, {"not judged in the old record": ("l",)})


def test_records_of_launchers_join_and_contradict() -> None:
    one, two = row("l", "pass"), row("m", "pass")
    idle = [row("k", "not_run")]
    first, second = record(idle, [one], selected=0), record(idle, [two], selected=0)
    (joined,) = merge([first, second])
    assert [(each.name, each.status) for each in joined.launchers] == [("l", "pass"), ("m", "pass")]
    assert len(merge([first, record(idle, [FAIL], selected=0)])) == 2
    assert "l (pass and fail, 1 of 1 cases failed)" in contradictions([first, record(idle, [FAIL], selected=0)])[0]


def test_shards_with_launchers_join_to_a_whole_run() -> None:
    other = [elsewhere("2/2"), elsewhere("1/2")]
    parts = [
        record([K_PASS], [row("l", "not_run", message=other[0])], shard="1/2"),
        record([row("k", "not_run", message=other[1])], [PASS], shard="2/2", selected=0),
    ]
    (joined,) = merge(parts)
    assert (joined.run.selected, joined.summary.passed, [one.status for one in joined.launchers]) == (1, 1, ["pass"])
    (gap,) = merge(parts[:1])
    assert gaps([gap]) == [
        "shard 2/2 is missing: 0 selected kernels and 1 launchers have no verdict; give its record too"
    ]


def test_a_line_of_names_is_about_kernels_else_about_launchers() -> None:
    kernels, launchers = ("a_f32", "b_f32"), ("launch_a", "moe_b")
    names = names_of([("*", "my_*")], kernels, "F", launchers)
    assert (names.port("a_f32"), names.port("launch_a")) == ("my_a_f32", "launch_a")
    names = names_of([("launch_*", "hip_launch_*")], kernels, "F", launchers)
    assert (names.port("launch_a"), names.candle("hip_launch_a")) == ("hip_launch_a", "launch_a")
    with pytest.raises(SourceError, match="matches none of the 2 kernels and 2 launchers of the specs"):
        names_of([("gone_*", "x_*")], kernels, "F", launchers)


def test_a_known_failure_of_a_launcher_is_declared_and_borne_out() -> None:
    kernels, launchers = ("k",), ("launch_a", "launch_b")
    check_rows([KnownFailure("launch_*", "R")], kernels, "F", launchers)
    with pytest.raises(SourceError, match="matches none of the 1 kernels and 2 launchers of the specs"):
        check_rows([KnownFailure("moe_*", "R")], kernels, "F", launchers)

    def settled(pattern: str, **statuses: str) -> Any:
        outcomes = {name: Outcome(name=name, status=status, cases=1) for name, status in statuses.items()}  # type: ignore[arg-type]
        return settle([KnownFailure(pattern, "R")], outcomes, kernels, (), "cpu", "", launchers=launchers)

    fails = settled("launch_*", launch_a="compile_error", launch_b="pass")
    assert (fails.reasons, fails.problems) == ({"launch_a": "R"}, ())
    assert len(settled("launch_*", launch_a="pass", launch_b="pass").problems) == 1
    assert settled("*", launch_a="pass").problems == ()
    assert len(settled("*", k="pass").problems) == 1


def test_the_file_of_the_port_may_have_the_gate_of_the_launchers() -> None:
    config = Config(Path("F"), gate=Gate(fail_under_launchers=4.0))
    gating = gating_from(Gate(), config)
    assert (gating.asked.fail_under, gating.asked.fail_under_launchers, gating.anything) == (None, 4.0, True)
    assert not gating_from(Gate(), config, whole=False).anything
    given = Gate(fail_under_launchers=50.0)
    assert gating_from(given, config, whole=False).asked.fail_under_launchers == 50.0


@pytest.mark.nightly("compiles launchers and judges them")
def test_a_tree_of_launchers_alone_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    tree = Path(__file__).parent / "refused"
    said = answer(capsys, "run", "--runtime", "cpu", "--kernels", tree, "--jobs", 1, "-q", "--order", "forward")
    assert said.code == 1
    assert "0 of 748 kernels at parity (0.0%), 0 of 49 launchers" in said.out
    assert "nothing was judged" not in said.err
