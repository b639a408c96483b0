"""A kernel against a recorded answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.cases.case import Case
from conformance.cases.launch import Buffer, Launch
from conformance.engine.recordings import against_recording
from conformance.replay.traces import Trace
from conformance.spec.kernel import Tolerance
from conformance.spec.load import load_specs
from conformance.verdict.judge import Judging
from conformance.verdict.loop import Answers, run_cases
from reference.expected import Expected

KERNEL = load_specs().kernels["uexp_f32"]
OUT = Buffer("out", "f32", "out", np.zeros(3, np.float32))


def moved(values, steps: int) -> np.ndarray:
    return (np.asarray(values, np.float32).view(np.uint32) + np.uint32(steps)).view(np.float32)


def verdict(got, recorded, bound: Expected, ulp: int = 0) -> str:
    trace = Trace(
        Case.parse("uexp_f32(trace=a)"), Launch("uexp_f32", (1, 1, 1), (32, 1, 1), 0, (OUT,)), {"out": recorded}
    )
    kernel = replace(KERNEL, tolerance=Tolerance(ulp, 0, "test"))
    case = against_recording(kernel, trace, {"out": bound})
    answers = Answers(lambda *_: {"out": got}, ("forward",))
    return run_cases(kernel, [case], answers, Judging(kernel), "replay", lambda _: None).status


ONES = np.ones(3, np.float32)


def test_an_exact_answer_must_be_met_to_the_bit():
    assert verdict(ONES, ONES, Expected(ONES)) == "pass"
    assert verdict(moved(ONES, 1), ONES, Expected(ONES)) == "fail"


def test_within_an_interval_kernel_and_recording_may_lie_anywhere():
    bound = Expected(moved(ONES, 2), ONES, moved(ONES, 4))
    assert verdict(ONES, moved(ONES, 4), bound) == "pass"
    assert verdict(moved(ONES, 5), moved(ONES, 4), bound) == "fail"


def test_a_recording_one_step_beyond_the_tolerance_is_rejected_whatever_the_kernel_says():
    bound = Expected(moved(ONES, 2), ONES, moved(ONES, 4))
    assert verdict(moved(ONES, 2), moved(ONES, 5), bound) == "fail"
    assert verdict(moved(ONES, 5), moved(ONES, 5), bound) == "fail"
    assert verdict(moved(ONES, 2), moved(ONES, 5), bound, ulp=1) == "pass"
