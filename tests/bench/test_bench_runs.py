"""A whole bench run with workers that answer what a test says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from made import SPECS, timing

from conformance.engine.messages import Compile, Ready, Setup
from conformance.engine.modes import Mode, Tree
from conformance.engine.pool import EngineError
from conformance.engine.timing import bench_run
from conformance.engine.timing.bench_run import BenchResult, bench
from conformance.engine.timing.measure import Measurement
from conformance.engine.timing.requests import Time, Timed, TimeTrees
from conformance.files import kernels_folder

CASES = tuple(f"uneg_f32(shape=[{n}])" for n in range(1, 5))


def measured(case: str) -> Timed:
    return Timed("uneg_f32", case, Measurement(case, "given", 8, None, (1, 1, 1), (1, 1, 1), 1.0, (timing(1.0),)))


@pytest.fixture
def benched(monkeypatch: pytest.MonkeyPatch):
    """``benched(answers)``: a run over ``CASES``; an answer that is an exception is raised. ``benched.asked`` is what
    its processes were asked, one list for each round."""
    asked: list[list[Compile | Time]] = []

    def call(answers: Sequence[Timed | BaseException], sizes: Sequence[str] = ("small",), **cases: Any) -> BenchResult:
        class Workers:
            def __init__(self, setups: Sequence[Setup], mode: Mode) -> None: ...

            def __enter__(self) -> Workers:
                return self

            def __exit__(self, *_: object) -> None: ...

            def greet(self) -> Ready:
                return Ready("a device", "", 32, "", "")

            def answers(self, requests: Sequence[Compile | Time]) -> Iterator[Timed]:
                asked.append(list(requests))
                if not requests or isinstance(requests[0], Compile):
                    return
                for answer in answers:
                    if isinstance(answer, BaseException):
                        raise answer
                    yield answer

        monkeypatch.setattr(bench_run, "Pool", Workers)
        setup = Setup(runtime="cuda")
        return bench(
            setup,
            TimeTrees((Tree.at(kernels_folder()),)),
            [SPECS.entry(name) for name in cases or ("uneg_f32",)],
            cases or {"uneg_f32": CASES},
            sizes,
            1,
        )

    call.asked = asked
    return call


def test_libraries_of_launchers_are_compiled_by_all_processes_before_the_first_case(benched):
    name = "launch_mmvq_gguf_quantize_q8_1_f32"
    benched([], sizes=("huge",), **{name: None})
    (library,) = next(requests for requests in benched.asked if requests)
    assert isinstance(library, Compile)
    assert library.build == "launchers"
    assert library.source == "kernels/mmvq.hip"


def test_a_case_that_is_lost_costs_no_other(benched):
    lost = Timed("uneg_f32", CASES[1], error="hipMalloc returned hipErrorOutOfMemory (2) for 4 bytes")
    found = benched([measured(CASES[0]), lost, measured(CASES[2]), measured(CASES[3])])
    assert [measured.case for _, measured in found.measured] == [CASES[0], CASES[2], CASES[3]]
    assert [(loss.cases, loss.why) for loss in found.losses] == [((CASES[1],), lost.error)]


def test_what_has_one_reason_is_one_loss(benched):
    found = benched([Timed("uneg_f32", case, error="missing") for case in CASES])
    assert [(loss.kernel, loss.cases) for loss in found.losses] == [("uneg_f32", CASES)]


def test_what_was_measured_is_kept_when_the_device_is_gone(benched):
    found = benched([measured(CASES[0]), EngineError("no device can be taken")])
    assert [measured.case for _, measured in found.measured] == [CASES[0]]
    assert [(loss.cases, loss.why) for loss in found.losses] == [(CASES[1:], "no device can be taken")]


def test_a_kernel_without_a_case_of_the_size_is_said(benched):
    found = benched([], sizes=("huge",), uneg_f32=None)
    assert [loss.why for loss in found.losses] == ["its spec has no case of size huge to time"]


def test_what_was_measured_is_kept_when_the_run_is_stopped(benched):
    found = benched([measured(CASES[0]), Timed("uneg_f32", CASES[1], error="no"), KeyboardInterrupt()])
    assert [measured.case for _, measured in found.measured] == [CASES[0]]
    assert [loss.cases for loss in found.losses] == [(CASES[1],)]
    assert found.planned == len(CASES)
    assert isinstance(found.stopped_by, KeyboardInterrupt)


def test_a_run_that_is_stopped_before_its_first_answer_has_nothing_to_keep(benched):
    with pytest.raises(KeyboardInterrupt):
        benched([KeyboardInterrupt()])
