"""Two records: what is worse, what is better, and what is not compared."""

from __future__ import annotations

import pytest

from conformance.outcome import Failure, Robustness
from conformance.record import KernelResult
from conformance.record.compare import RANK, Change, Comparison, compare, same_verdicts
from conformance.status import STATUSES, Status
from tests.record.made import record, row


def only(old: KernelResult, new: KernelResult) -> tuple[str, Change | None]:
    found = compare(record(old), record(new))
    for name in ("worse", "better", "declared"):
        for change in getattr(found, name):
            return name, change
    return "same", None


def names(found: Comparison, what: str) -> list[str]:
    return [change.kernel for change in getattr(found, what)]


def test_every_status_with_a_verdict_has_a_rank() -> None:
    assert {*RANK, "not_run"} == set(STATUSES)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("pass", "fail", "worse"),
        ("pass", "known_failure", "worse"),
        ("fail", "crash", "worse"),
        ("crash", "timeout", "same"),
        ("fail", "compile_error", "worse"),
        ("signature", "missing", "worse"),
        ("missing", "compile_error", "better"),
        ("missing", "pass", "better"),
        ("missing", "missing", "same"),
        ("pass", "pass", "same"),
    ],
)
def test_a_status_is_worse_the_further_it_is_from_parity(before: Status, after: Status, kind: str) -> None:
    assert only(row("k", before), row("k", after))[0] == kind


def test_a_kernel_that_no_source_defines_any_more_is_gone_and_one_that_was_not_there_new() -> None:
    kind, change = only(row("k", "fail"), row("k", "missing"))
    assert (kind, change and change.gone, change and change.new) == ("worse", True, False)
    kind, change = only(row("k", "missing"), row("k", "fail"))
    assert (kind, change and change.gone, change and change.new) == ("better", False, True)


def test_a_newly_failing_case_is_worse_whatever_else_passes() -> None:
    kind, change = only(row("k", "fail", ["n=1"], ["n=2", "n=3"]), row("k", "fail", ["n=2"], ["n=1", "n=3"]))
    assert change is not None
    assert (kind, change.failing, change.passing) == ("worse", ("k(n=2)",), ("k(n=1)",))
    assert only(row("k", "crash", ["n=1"], ["n=2"]), row("k", "fail", ["n=2"], ["n=1"]))[0] == "worse"


def test_a_case_less_that_fails_is_better_and_one_that_was_not_judged_before_is_neither() -> None:
    kind, change = only(row("k", "fail", ["n=1", "n=2"]), row("k", "fail", ["n=1"], ["n=2"]))
    assert (kind, change and change.passing) == ("better", ("k(n=2)",))
    assert only(row("k", "fail", ["n=1"]), row("k", "fail", ["n=1", "n=9"]))[0] == "same"


def test_a_failure_that_the_port_declares_is_told_apart() -> None:
    found = compare(record(row("k", "pass")), record(row("k", "fail", ["n=1"], known_reason="pow differs")))
    assert (found.worse, names(found, "declared"), found.compared) == ((), ["k"], 1)


def test_an_older_record_without_the_cases_that_passed_is_compared_by_their_number() -> None:
    def old(failed: int) -> KernelResult:
        failures = tuple(Failure(case=f"k(n={n})", why="w") for n in range(failed))
        return row("k", "fail", cases=30, failed=failed, failures=failures)

    new = row("k", "fail", [f"n={n}" for n in range(3)], [f"n={n}" for n in range(3, 30)])
    kind, change = only(old(2), new)
    assert (kind, change and change.counts) == ("worse", "3 of 30 cases fail, before 2")
    assert only(old(3), new)[0] == "same"
    assert only(old(4), new)[0] == "better"


def test_what_one_of_them_did_not_judge_is_not_compared_and_never_gone() -> None:
    old = record(row("a", "pass"), row("b", "pass"), row("c", "not_run"), row("d", "not_run"), row("e", "pass"))
    new = record(
        row("a", "not_run"),
        row("b", "not_run", message="infrastructure: killed"),
        row("c", "fail"),
        row("d", "not_run"),
        row("f", "fail"),
    )
    found = compare(old, new)
    assert (found.worse, found.better, found.compared) == ((), (), 0)
    assert found.left_out == {
        "not selected in the new record": ("a",),
        "selected and not judged in the new record": ("b",),
        "not judged in the old record": ("c",),
        "judged in neither record": ("d",),
        "not in the specs of the old record": ("f",),
        "no longer in the specs": ("e",),
    }
    assert found.unjudged == ("a", "b")


def test_two_runs_of_the_same_cases_are_compared_as_two_of_all_cases_are() -> None:
    for pattern in ("k(n=1)", "k(layout=*;*)"):
        passes, fails, gone = (
            record(one, patterns=(pattern,))
            for one in (row("k", "pass"), row("k", "fail", ["n=1"]), row("k", "missing"))
        )
        assert names(compare(passes, fails), "worse") == ["k"]
        assert names(compare(fails, passes), "better") == ["k"]
        assert names(compare(passes, gone), "worse") == ["k"]


def test_of_a_kernel_that_was_run_in_some_cases_only_those_are_compared() -> None:
    whole = record(row("k", "fail", ["n=1", "n=2"], ["n=3"]))
    asked = record(row("k", "pass"), patterns=("k(n=3)",))
    assert compare(whole, asked).same == 1
    asked = record(row("k", "pass"), patterns=("k(n=1)",))
    assert compare(whole, asked).better[0].passing == ("k(n=1)",)
    assert compare(asked, record(row("k", "fail", ["n=2"], ["n=1"]))).same == 1
    assert compare(asked, record(row("k", "fail", ["n=1"], ["n=2"]))).worse[0].failing == ("k(n=1)",)
    whole_again = record(row("k", "pass"), patterns=("k(n=3)", "k*"))
    assert names(compare(whole, whole_again), "better") == ["k"]


def test_what_differs_between_the_runs_is_named() -> None:
    old, new = record(row("k", "pass"), runtime="rocm", arch="gfx942"), record(row("k", "pass"), specs_digest="e")
    found = compare(old, new)
    assert found.differing == ("runtime", "architecture", "specs")
    assert not found.same_place
    assert compare(new, new).differing == ()
    assert compare(record(row("k", "pass")), new).same_place


def test_distances_of_kernels_that_pass_in_both() -> None:
    found = compare(
        record(row("a", "pass", max_ulp=1.0), row("b", "fail", max_ulp=1.0), row("c", "pass", max_ulp=2.0)),
        record(row("a", "pass", max_ulp=3.0), row("b", "fail", max_ulp=2.0), row("c", "pass", max_ulp=2.0)),
    )
    assert [(one.kernel, one.before, one.after) for one in found.distances] == [("a", 1.0, 3.0)]


def test_cases_that_one_run_left_out_make_no_difference() -> None:
    without, ran = row("k", "pass", unasked=3), row("k", "pass", robustness=Robustness(3, 2, 1, left_out=1), left_out=1)
    assert same_verdicts(record(without), record(ran))
    assert same_verdicts(record(ran), record(without))
    assert not same_verdicts(record(row("k", "fail", unasked=3)), record(ran))
    assert not same_verdicts(record(ran), record(ran.model_copy(update={"robustness": Robustness(3, 2, 2)})))
    assert not same_verdicts(record(without), record(row("k", "pass", unasked=3, left_out=1)))


def test_times_alone_make_no_difference() -> None:
    assert same_verdicts(record(row("k", "pass", seconds=1.0)), record(row("k", "pass", seconds=2.0), seconds=9))
    assert not same_verdicts(record(row("k", "pass")), record(row("k", "fail")))
    assert not same_verdicts(record(row("k", "pass")), record(row("k", "pass"), specs_digest="e"))
