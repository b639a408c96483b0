"""What a report says of cases that have no part in a verdict."""

from __future__ import annotations

import pytest

from conformance.outcome import Failure, Robustness
from conformance.record import KernelResult
from conformance.report.run_notes import reasons, robustness_lines, robustness_note, unasked_note
from conformance.spec.load import load_specs

SPECS = load_specs()


def row(robustness: Robustness) -> KernelResult:
    return KernelResult(
        name="uneg_f32",
        module="unary",
        family="unary",
        status="pass",
        cases=1,
        upstream="unary.cu:1",
        robustness=robustness,
    )


FAILURE = Failure("uneg_f32(shape=[3],inp=null)", "fault")


@pytest.mark.parametrize(
    ("robustness", "said"),
    [
        (Robustness(3, 0, 0), "they have no part in any verdict; none was run"),
        (Robustness(3, 2, 0), "; none of the 2 that were run failed"),
        (Robustness(3, 3, 0), "; none failed"),
        (Robustness(3, 3, 1, (FAILURE,)), "; 1 failed, in 1 kernel (1 as "),
        (Robustness(3, 2, 1, (FAILURE,)), "; 1 of the 2 that were run failed, in 1 kernel (1 as "),
        (Robustness(1, 1, 0), "1 more case is a launch that"),
    ],
)
def test_the_note_tells_what_was_run(robustness: Robustness, said: str) -> None:
    assert said in (robustness_note([row(robustness)], SPECS) or "")


def test_what_nobody_asked_for_is_counted() -> None:
    left = [row(Robustness(1, 1, 0)).model_copy(update={"unasked": count}) for count in (0, 1)]
    assert unasked_note(left[:1]) is None
    assert (unasked_note(left) or "").startswith("1 case was not run, as it has no part in any verdict: ")
    assert (unasked_note([*left, *left]) or "").startswith("2 cases were not run, as they have no part in any verdict")
    assert "--all-cases" in (unasked_note(left) or "")


def test_one_case_of_one_kernel() -> None:
    assert "): 1 case of 1 kernel: " in "\n".join(robustness_lines([row(Robustness(3, 3, 1, (FAILURE,)))], SPECS))


def test_a_case_that_cannot_be_read_has_an_unknown_reason() -> None:
    for text in ("uneg_f32(", "uneg_f32(block=" + "9" * 5000 + ")", "uneg_f32(trace=[--1])"):
        (reason,) = reasons([row(Robustness(1, 1, 1, (Failure(text, "fault"),)))], SPECS)
        assert reason.why == "why is not known to these specs"
