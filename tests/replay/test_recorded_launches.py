"""What is recorded of a launch is what the reader gives back, and what a replay makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conformance.cases import cases_for, launch_for
from conformance.cases.case import Case
from conformance.cases.launch import Buffer
from conformance.engine.recordings import RecordingHandler, recorded
from conformance.replay.archive import SMALLEST, read_archive, read_header, write_archive
from conformance.replay.recorder import PART_SUFFIX, Recorder, pack_parts
from conformance.replay.traces import TraceError, Traces
from conformance.runtimes.hip.errors import HipError
from conformance.spec.load import load_specs
from conformance.verdict.loop import Answers, Damage, run_cases
from conformance.verdict.trials import generated

SPECS = load_specs()
FIRST_OF_EACH_FAMILY = list({kernel.launch: kernel for kernel in SPECS.kernels.values()}.values())
LAUNCHERS = list({launcher.launch: launcher for launcher in SPECS.launchers.values()}.values())


def record(folder: Path, kernel, launches, **recording) -> Traces:
    """A recording of ``launches``, rows of case id, launch and every buffer's content after it."""
    recorder = Recorder()
    for case_id, launch, after in launches:
        recorder.add(Case.parse(case_id), launch, after)
    recorder.write(folder, kernel.name)
    (folder / "packed").mkdir()
    part = folder / f"{kernel.name}{PART_SUFFIX}"
    assert pack_parts([part, folder / "absent"], folder / "packed", kernel.module, recording) == len(launches)
    return Traces(folder / "packed")


def answered(launch):
    """An answer that is not a kernel's: the written buffers turned around."""
    return {
        arg.name: arg.data[::-1] if arg.role != "in" else arg.data for arg in launch.args if isinstance(arg, Buffer)
    }


def content(buffer):
    """What counts of a buffer: of scratch its size."""
    return buffer.data.nbytes if buffer.role == "scratch" else buffer.data.tobytes()


def shown(launch):
    """All of a launch, as plain data."""
    args = [
        (type(arg), arg.name, arg.role, arg.dtype, arg.start, arg.data.dtype, content(arg))
        if isinstance(arg, Buffer)
        else (type(arg), arg.name, getattr(arg, "value", np.uint8(0)).tobytes())
        for arg in launch.args
    ]
    return launch.kernel, tuple(launch.grid), tuple(launch.block), launch.shared, args


@pytest.mark.slow("writes and reads a launch of every family")
@pytest.mark.parametrize("kernel", FIRST_OF_EACH_FAMILY, ids=lambda kernel: kernel.launch)
def test_every_familys_launches_come_back_whole(tmp_path, kernel):
    cases = cases_for(kernel)
    launches = [launch_for(kernel, case) for case in cases]
    answers = [answered(launch) for launch in launches]
    rows = list(zip([case.id for case in cases], launches, answers, strict=True))
    traces = record(tmp_path, kernel, rows)
    found = list(traces.of(kernel))
    assert [shown(trace.launch) for trace in found] == [shown(launch) for launch in launches]
    for trace, launch, answer in zip(found, launches, answers, strict=True):
        written = {arg.name for arg in launch.args if isinstance(arg, Buffer) and arg.role != "in"}
        assert {name: data.tobytes() for name, data in trace.answer.items()} == {
            name: answer[name].tobytes() for name in written
        }


@pytest.mark.slow("writes and reads a launch of every family")
@pytest.mark.parametrize("kernel", FIRST_OF_EACH_FAMILY, ids=lambda kernel: kernel.launch)
def test_a_traces_id_is_unique_and_holds_the_fields_of_its_case(tmp_path, kernel):
    cases = cases_for(kernel)
    launches = [launch_for(kernel, case) for case in cases]
    traces = record(
        tmp_path, kernel, [(case.id, one, answered(one)) for case, one in zip(cases, launches, strict=True)]
    )
    ids = traces.ids(kernel.name)
    assert len(set(ids)) == len(cases)
    assert [Case.parse(one) for one in ids] == [
        replace(case, fields=(("trace", "generated"), *case.fields)) for case in cases
    ]


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=lambda launcher: launcher.launch)
def test_calls_of_launchers_come_back_with_stream_and_scratch(tmp_path, launcher):
    cases = cases_for(launcher)[:2]
    launches = [launch_for(launcher, case) for case in cases]
    rows = [(case.id, launch, answered(launch)) for case, launch in zip(cases, launches, strict=True)]
    traces = record(tmp_path, launcher, rows)
    assert (traces.kernels, traces.launchers) == ([], [launcher.name])
    for trace, launch in zip(traces.of(launcher), launches, strict=True):
        assert trace.launch.types == launch.types
        assert shown(trace.launch) == shown(launch)
        assert trace.answer.keys() == {a.name for a in launch.args if getattr(a, "role", "in") in ("out", "inout")}


def test_an_empty_buffer_can_be_recorded(tmp_path):
    kernel = SPECS.kernels["uneg_f32"]
    launch = launch_for(kernel, Case.parse("uneg_f32(shape=[0],values=unit)"))
    empty = [replace(arg, data=arg.data[:0]) for arg in launch.args[3:]]
    launch = replace(launch, args=(*launch.args[:3], *empty))
    (trace,) = record(tmp_path, kernel, [("uneg_f32(shape=[0])", launch, answered(launch))]).of(kernel)
    assert [arg.data.size for arg in trace.launch.args[3:]] == [0, 0]


@pytest.mark.parametrize("start", [-1, 2510, "3", None])
def test_a_start_outside_the_buffer_is_named(tmp_path, start):
    kernel = SPECS.kernels["uneg_f32"]
    launch = launch_for(kernel, Case.parse("uneg_f32(shape=[2500],values=unit)"))
    record(tmp_path, kernel, [("uneg_f32(shape=[2500])", launch, answered(launch))])
    path = tmp_path / "packed" / "unary.traces.xz"
    cases, pool = read_archive(path)
    cases[0]["args"][4]["start"] = start
    write_archive(path, cases, pool, preset=0)
    with pytest.raises(TraceError, match=rf"out starts at element {start!r} of 2509"):
        list(Traces(path.parent).of(kernel))


def test_equal_arrays_are_kept_once(tmp_path):
    kernel = SPECS.kernels["uneg_f32"]
    launch = launch_for(kernel, Case.parse("uneg_f32(shape=[5],values=unit)"))
    record(tmp_path, kernel, [(f"uneg_f32(n={n})", launch, answered(launch)) for n in range(3)])
    header = read_header(tmp_path / "packed" / "unary.traces.xz")
    assert len(header.cases) == 3
    assert len(header.rows) == 2


def test_a_recording_says_what_it_was_recorded_on_and_an_older_file_need_not(tmp_path):
    kernel = SPECS.kernels["uneg_f32"]
    launch = launch_for(kernel, Case.parse("uneg_f32(shape=[5],values=unit)"))
    traces = record(tmp_path, kernel, [("uneg_f32(shape=[5])", launch, answered(launch))], device="some GPU", wave=32)
    assert traces.recordings == [{"device": "some GPU", "wave": 32}]
    path = tmp_path / "packed" / "unary.traces.xz"
    write_archive(path, *read_archive(path), preset=SMALLEST)
    assert Traces(path.parent).recordings == []


def test_an_archive_with_more_or_less_than_its_arrays_is_named(tmp_path):
    kernel = SPECS.kernels["uneg_f32"]
    launch = launch_for(kernel, Case.parse("uneg_f32(shape=[5],values=unit)"))
    record(tmp_path, kernel, [("uneg_f32(shape=[5])", launch, answered(launch))])
    whole = (tmp_path / "uneg_f32.traces").read_bytes()
    for wrong in (whole[:-1], whole + b"x"):
        path = tmp_path / "wrong.traces"
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match="is not a trace archive"):
            read_archive(path)


def argsorted(order) -> tuple:
    """Equal values, and the order that a kernel left them in."""
    kernel = SPECS.kernels["asort_asc_f32"]
    launches = [launch_for(kernel, case) for case in cases_for(kernel)]
    launch = next(launch for launch in launches if int(launch.args[2].value) > 3)
    columns = int(launch.args[2].value)
    x = replace(launch.args[0], data=np.zeros_like(launch.args[0].data))
    after = launch.args[1].data.copy()
    rows = x.data.size // columns
    after[: rows * columns] = np.tile(order(np.arange(columns)), rows)
    launch = replace(launch, args=(x, *launch.args[1:]))
    return kernel, launch, {"x": x.data, "dst": after}


@pytest.mark.parametrize(
    ("order", "right"), [(lambda ids: ids, True), (lambda ids: ids[::-1], True), (lambda ids: ids * 0, False)]
)
def test_a_recording_may_hold_equal_values_in_any_order(tmp_path, order, right):
    kernel, launch, after = argsorted(order)
    record(tmp_path, kernel, [("asort_asc_f32(n=1)", launch, after)])
    (case,) = recorded(kernel, None, tmp_path / "packed", "kernels")
    assert (case.flaw is None) == right


def test_an_answer_where_upstream_faults_is_no_ground_truth(tmp_path):
    kernel = SPECS.kernels["gather_u32_f32"]
    case = next(case for case in generated(kernel, None, "") if case.must_fault)
    record(tmp_path, kernel, [(case.id, case.launch, answered(case.launch))])
    for subject in ("kernels", "reference"):
        (trial,) = recorded(kernel, None, tmp_path / "packed", subject)
        assert "Candle stops this launch" in trial.flaw


def outcome_of(folder: Path, given_answers, survives_faults: bool):
    """What becomes of four cases; an answer is an exception to raise, or ``None`` for a good launch."""
    kernel = SPECS.kernels["uneg_f32"]
    cases = list(generated(kernel, [Case.parse(f"uneg_f32(shape=[{size}],values=unit)") for size in range(1, 5)], ""))
    given = dict(zip([case.id for case in cases], given_answers, strict=True))

    def answer(case, order):
        assert order == "forward"
        if given[case.id] is not None:
            raise given[case.id]
        return answered(case.launch)

    answers = Answers(answer, ("forward",), survives_faults, must_fault=False)
    outcome = run_cases(kernel, cases, answers, RecordingHandler(kernel, folder), "again", lambda _: None)
    part = folder / f"uneg_f32{PART_SUFFIX}"
    kept = [row["case"] for row in read_archive(part)[0]] if part.exists() else []
    return outcome, [case.split("[")[1].split("]")[0] for case in kept]


FAULT, TIMEOUT = HipError("hipDeviceSynchronize", 700, "fault"), HipError("hipDeviceSynchronize", 702, "timeout")


@pytest.mark.parametrize(
    ("answers", "survives", "status", "failed", "kept", "poisoned"),
    [
        ((None, None, None, None), True, "pass", 0, ["1", "2", "3", "4"], False),
        ((None, Damage("beyond"), None, None), False, "fail", 1, ["1", "3", "4"], False),
        ((None, FAULT, None, None), True, "crash", 1, ["1", "3", "4"], False),
        ((TIMEOUT, None, Damage("beyond"), None), True, "timeout", 2, ["2", "4"], False),
        ((FAULT, FAULT, FAULT, None), True, "crash", 3, ["4"], False),
        ((TIMEOUT, TIMEOUT, None, None), True, "timeout", 2, [], False),
        ((None, FAULT, None, None), False, "crash", 1, ["1"], True),
    ],
)
def test_launches_without_an_answer_are_counted_and_the_others_kept(
    tmp_path, answers, survives, status, failed, kept, poisoned
):
    outcome, found = outcome_of(tmp_path, answers, survives)
    assert (outcome.status, outcome.failed, outcome.poisoned, found) == (status, failed, poisoned, kept)
    assert len(outcome.failures) == failed
