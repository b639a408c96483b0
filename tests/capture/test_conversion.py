"""From what the library in front of a program has written to traces: the elements of a launch, and damaged files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conformance.capture import convert
from conformance.capture.convert import NoCase, integers_of, to_launch, to_traces
from conformance.capture.extents import _table, extents
from conformance.capture.inside import inner_kernels
from conformance.capture.launches import CaptureError, RecordedBuffer, RecordedLaunch, Seen, read_launch, read_logs
from conformance.capture.plan import Bounds, plan_text
from conformance.capture.program import RAW, About, Ended, new_recording, run_program
from conformance.capture.tally import (
    KernelTally,
    add_verdicts,
    first_wrong,
    number_of,
    tallies,
    unrecorded,
    without_verdict,
)
from conformance.capture.usual import unusual
from conformance.cases import cases_for, has_cases, launch_for
from conformance.cases.launch import Buffer, Launch, Null, Scalar
from conformance.cases.never_launched import never_launched
from conformance.dtypes import dtype
from conformance.errors import UsageError
from conformance.outcome import Failure, KernelResult
from conformance.port.declared.names import names_of
from conformance.replay.traces import Traces
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from conformance.verdict.trials import expected_of

KERNELS, LAUNCHERS = load_specs().kernels, load_specs().launchers
INSIDE = inner_kernels(LAUNCHERS.values())
HEAD = "candle-parity capture log 1 /bin/model\n"


def floats(*values: float) -> bytes:
    return np.array(values, np.float32).tobytes()


def size_t(value: int) -> bytes:
    return np.uint64(value).tobytes()


def neg(inp: RecordedBuffer, out: RecordedBuffer, numel: int = 2) -> RecordedLaunch:
    """A launch of uneg_f32 over contiguous elements."""
    return RecordedLaunch("uneg_f32", (1, 1, 1), (1024, 1, 1), 0, (size_t(numel), size_t(1), None, inp, out))


def test_the_plan_has_each_parameter_by_what_it_is() -> None:
    text = plan_text([KERNELS["affine_f32"]], Bounds(1, 0, 7))
    assert text.splitlines()[1:] == ["first 1", "every 0", "most_bytes 7", "kernel affine_f32 i8 i8 r r w s4 s4"]


def test_a_kernel_is_recorded_under_the_ports_name_and_judged_under_candles(tmp_path: Path) -> None:
    names = names_of([("uneg_f32", "neg_float")], KERNELS, "candle-parity.toml")
    text = plan_text([KERNELS["uneg_f32"], KERNELS["uexp_f32"]], Bounds(1, 0, 7), names)
    assert [line.split()[1] for line in text.splitlines()[-2:]] == ["neg_float", "uexp_f32"]
    launched = ("neg_float", "uneg_f32", "mine")
    lines = [f"launch {n} {n} count {name} 1,1,1 1,1,1 0 -\n" for n, name in enumerate(launched)]
    (tmp_path / "7-1.log").write_text(HEAD + "".join(lines))
    (log,) = read_logs(tmp_path, names)
    assert [one.kernel for one in log.launches] == ["uneg_f32", "the port's own uneg_f32", "mine"]


def test_every_row_of_the_table_names_buffers_of_its_family() -> None:
    buffers = {
        kernel.launch: {parameter.name for parameter in kernel.params if parameter.pointer}
        for kernel in (*KERNELS.values(), *LAUNCHERS.values())
    }
    assert {family: row.keys() - buffers[family] for family, row in _table().items()} == {
        family: set() for family in _table()
    }


def some_of_each_family() -> list[Kernel]:
    """The first kernel of every launch family, and of every variant of dequantize_block and dmmv."""
    found = {(kernel.launch, len(kernel.params)): kernel for kernel in reversed(KERNELS.values())}
    return list(found.values())


def test_a_null_pointer_to_no_elements_is_a_tensor_without_any() -> None:
    """What an allocation of no bytes is; the sum of nothing is 0."""
    info = RecordedBuffer(1 << 32, np.array([3, 0, 1, 3], np.uint64).tobytes(), None)
    dst = RecordedBuffer(2 << 32, floats(5, 5, 5), floats(0, 0, 0))
    args = (size_t(0), size_t(0), size_t(2), info, None, dst)
    launch, after = to_launch(KERNELS["fast_sum_f32"], RecordedLaunch("fast_sum_f32", (3, 1, 1), (1, 1, 1), 0, args))
    expected = expected_of(KERNELS["fast_sum_f32"], launch)
    assert expected["dst"].value.tolist() == after["dst"].tolist() == [0, 0, 0]
    args = (size_t(0), size_t(1), None, None, None)
    launch, after = to_launch(KERNELS["uneg_f32"], RecordedLaunch("uneg_f32", (1, 1, 1), (1, 1, 1), 0, args))
    assert [type(argument) for argument in launch.args] == [Scalar, Scalar, Null, Buffer, Buffer]
    assert expected_of(KERNELS["uneg_f32"], launch)["out"].value.size == after["out"].size == 0


def as_recorded(kernel: Kernel, launch: Launch) -> dict[str, bytes | RecordedBuffer | None]:
    """The arguments of ``launch``, as if a program had made it with room behind every buffer that is read."""
    given: dict[str, bytes | RecordedBuffer | None] = {}
    for place, argument in enumerate(launch.args):
        if isinstance(argument, Buffer):
            behind = 4096 if kernel.param(argument.name).role == "in" else 0
            content = argument.data[argument.start :].tobytes() + bytes(behind)
            given[argument.name] = RecordedBuffer(place << 32, content, content)
        else:
            given[argument.name] = argument.value.tobytes() if isinstance(argument, Scalar) else None
    return given


@pytest.mark.parametrize("kernel", some_of_each_family(), ids=lambda kernel: kernel.name)
def test_a_launch_keeps_all_that_its_reference_needs(kernel: Kernel) -> None:
    """As if a program had made the first generated cases, with room behind every buffer."""
    assert has_cases(kernel)
    for case in list(cases_for(kernel))[:3]:
        launch = launch_for(kernel, case, "")
        if launch.spread is not None:
            continue
        args = tuple(as_recorded(kernel, launch).values())
        made, _ = to_launch(kernel, RecordedLaunch(kernel.name, launch.grid, launch.block, 0, args))
        expected, found = expected_of(kernel, launch), expected_of(kernel, made)
        for name, content in found.items():
            # What is behind the output's own elements is cut off, and its length is not the launch's.
            ours, theirs = content.value, expected[name].value
            assert np.array_equal(ours.view(np.uint8), theirs[: ours.size].view(np.uint8)), (case.id, name)


@pytest.mark.parametrize(
    ("launcher", "inner"),
    [
        ("launch_mmvq_gguf_quantize_q8_1_f16", "mmvq_gguf_quantize_q8_1_f16"),
        ("launch_mmvq_gguf_q4_0_f32_plain", "mmvq_gguf_q4_0_f32_plain_cuda{b_size}"),
        ("launch_mmvq_gguf_q6_k_bf16_plain", "mmvq_gguf_q6_k_bf16_plain_cuda{b_size}"),
        ("launch_mmq_quantize_q8_1_D4", "quantize_mmq_q8_1<(mmq_q8_1_ds_layout)0>"),
        ("launch_mmq_quantize_q8_1_D2S6", "quantize_mmq_q8_1<(mmq_q8_1_ds_layout)2>"),
    ],
)
def test_a_launch_inside_of_a_launcher_is_the_call_of_the_launcher(launcher: str, inner: str) -> None:
    kernel = LAUNCHERS[launcher]
    for case in list(cases_for(kernel))[:3]:
        launch = launch_for(kernel, case, "")
        integers = {one.name: int(one.value) for one in launch.args if isinstance(one, Scalar)}
        known = INSIDE[inner.format(**integers)]
        args = as_recorded(kernel, launch)
        passed = [
            value[: dtype(one.dtype).size] if isinstance(value := args[one.name], bytes) else value
            for one in known.params
        ]
        grid = (1, integers.get("num_rows", 1), integers.get("ne2", 1) * integers.get("ne3", 1))
        made, _ = to_launch(kernel, RecordedLaunch(known.name, grid, (32, 4, 1), 0, tuple(passed)), INSIDE)
        assert made.types == launch.types
        of_call = {one.name: int(one.value) for one in made.args if isinstance(one, Scalar)}
        assert of_call == integers | ({"type_x": 0} if "type_x" in integers else {})  # which no launcher uses
        expected, found = expected_of(kernel, launch), expected_of(kernel, made)
        for name, content in found.items():
            ours, theirs = content.value, expected[name].value
            assert np.array_equal(ours.view(np.uint8), theirs[: ours.size].view(np.uint8)), (case.id, name)


def test_a_launch_with_other_arguments_than_the_kernel_inside_of_a_launcher_has_is_no_case() -> None:
    kernel = LAUNCHERS["launch_mmvq_gguf_quantize_q8_1_f32"]
    recorded = RecordedLaunch("mmvq_gguf_quantize_q8_1_f32", (1, 1, 1), (256, 1, 1), 0, (size_t(1),))
    with pytest.raises(NoCase, match="its arguments have"):
        to_launch(kernel, recorded, INSIDE)


@pytest.mark.parametrize("kernel", some_of_each_family(), ids=lambda kernel: kernel.name)
def test_launches_as_candles_rust_makes_them_are_usual(kernel: Kernel) -> None:
    for case in [case for case in cases_for(kernel) if not never_launched(kernel.launch, case)][:20]:
        launch = launch_for(kernel, case, "")
        assert unusual(kernel, launch.grid, launch.block, integers_of(launch)) is None, case.id


@pytest.mark.parametrize(
    ("name", "grid", "block", "integers", "said"),
    [
        ("softmax_f32", 4, (64, 1, 1), {"n_cols": 8}, "block 64,1,1, Candle's is 1,32,1"),
        ("uneg_f32", 4, (1024, 1, 1), {"numel": 2000}, "a grid of 4 blocks, Candle's has 2"),
        ("mul_mat_vec_q4_0_q8_1_cuda5", 8, (32, 4, 1), {"nrows_x": 16}, "block 32,4,1, Candle's is 32,2,1"),
        ("fast_sum_f32", 4, (7, 1, 1), {}, None),
    ],
)
def test_another_geometry_is_told(
    name: str, grid: int, block: tuple[int, int, int], integers: dict[str, int], said: str | None
) -> None:
    assert unusual(KERNELS[name], (grid, 1, 1), block, integers) == said


def test_a_row_counts_only_where_the_kernel_has_its_names() -> None:
    without_k, with_k = KERNELS["dequantize_block_q2_K_f32"], KERNELS["dequantize_block_q4_0_f32"]
    assert extents(without_k, (3, 1, 1), (64, 1, 1), {}, None) == {"vx": 3 * 84, "y": 3 * 256}
    assert extents(with_k, (3, 1, 1), (64, 1, 1), {"k": 3}, None) == {}


def test_rows_that_are_copied_end_with_their_last_element() -> None:
    """As where tensors are joined along their last dimension: the second begins inside of the output's first row."""
    sizes = {"d1": 2, "d2": 3, "src_s": 3, "dst_s": 6}
    assert extents(KERNELS["copy2d_f32"], (1, 1, 1), (1, 1, 1), sizes, None) == {"src": 6, "dst": 9}


def test_a_strided_operand_reaches_as_far_as_its_strides() -> None:
    info = np.array([2, 3, 1, 10], np.uint64)  # dims (2, 3), strides (1, 10)
    assert extents(KERNELS["uneg_f32"], (1, 1, 1), (1, 1, 1), {"numel": 6, "num_dims": 2}, info)["inp"] == 22


def test_what_lies_behind_an_input_is_cut_off_and_kept_behind_an_output() -> None:
    behind = floats(*range(100))
    launch, after = to_launch(
        KERNELS["uneg_f32"], neg(RecordedBuffer(0, behind, None), RecordedBuffer(4096, behind, behind))
    )
    sizes = {argument.name: argument.data.size for argument in launch.args if isinstance(argument, Buffer)}
    assert (sizes, after["out"].size) == ({"inp": 2, "out": 66}, 66)
    assert isinstance(launch.args[2], Null)


def test_a_launch_that_needs_more_than_there_is_is_not_judged() -> None:
    short = RecordedBuffer(0, floats(1), None)
    with pytest.raises(NoCase, match="inp has 1 elements, and the launch takes 2"):
        to_launch(KERNELS["uneg_f32"], neg(short, RecordedBuffer(4096, floats(0, 0), floats(0, 0))))


def test_a_launch_of_more_than_a_case_may_have_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "MAX_ELEMENTS", 1)
    two = RecordedBuffer(0, floats(1, 2), None)
    with pytest.raises(NoCase, match="inp has 2 elements, more than the 1 of a case"):
        to_launch(KERNELS["uneg_f32"], neg(two, RecordedBuffer(4096, floats(0, 0), floats(0, 0))))


def test_an_input_that_was_overwritten_is_seen_but_not_where_it_is_the_output() -> None:
    written, out = RecordedBuffer(0, floats(1, 2), floats(1, 3)), RecordedBuffer(4096, floats(0, 0), floats(-1, -2))
    assert set(to_launch(KERNELS["uneg_f32"], neg(written, out))[1]) == {"inp", "out"}
    in_place = replace(out, address=0)
    assert set(to_launch(KERNELS["uneg_f32"], neg(written, in_place))[1]) == {"out"}
    # In one allocation with the output, which lies behind it.
    first, second = floats(1, 2, 0, 0), floats(1, 3, -1, -2)
    behind = RecordedBuffer(8, first[8:], second[8:])
    assert set(to_launch(KERNELS["uneg_f32"], neg(RecordedBuffer(0, first, second), behind))[1]) == {"inp", "out"}


def write_launch(folder: Path, process: str, number: int, launch: RecordedLaunch) -> None:
    """The file of ``launch`` as ``front/recorder.cpp`` writes it."""
    rows: list[object] = []
    data = b""
    for value in launch.args:
        if isinstance(value, RecordedBuffer):
            rows.append(
                {"address": value.address, "behind": 0, "bytes": len(value.before), "after": value.after is not None}
            )
            data += value.before + (value.after or b"")
        else:
            rows.append(None if value is None else {"value": value.hex()})
    head = {
        "kernel": launch.kernel,
        "launch": number,
        "grid": launch.grid,
        "block": launch.block,
        "shared": 0,
        "args": rows,
    }
    text = f"candle-parity launch 1\n{json.dumps(head)}\n".encode()
    (folder / f"{process}-{number}.launch").write_bytes(text + data)


def test_launches_of_two_processes_are_numbered_by_time_and_become_traces(tmp_path: Path) -> None:
    for process, time, value in (("7-1", 20, 1.0), ("8-1", 10, 2.0)):
        line = f"launch 1 {time} record uneg_f32 1,1,1 1024,1,1 0 2,1,null,*,*\nrecorded 1 32 5\n"
        (tmp_path / f"{process}.log").write_text(HEAD + line)
        inp, out = (
            RecordedBuffer(0, floats(value, value), None),
            RecordedBuffer(4096, floats(0, 0), floats(-value, -value)),
        )
        write_launch(tmp_path, process, 1, neg(inp, out))
    seen = [one for log in read_logs(tmp_path) for one in log.launches]
    found = to_traces(seen, KERNELS, tmp_path, {"program": "model"})
    assert (found.cases, found.refused) == (2, {})
    traces = Traces(tmp_path)
    first, second = traces.of(KERNELS["uneg_f32"])
    assert (first.case.id, first.answer["out"].tolist(), first.of_program) == ("uneg_f32(trace=1)", [-2, -2], True)
    assert second.answer["out"].tolist() == [-1, -1]


def test_a_log_that_was_cut_off_is_read_to_its_last_whole_line(tmp_path: Path) -> None:
    (tmp_path / "7-1.log").write_text(f"{HEAD}launch 1 10 record uneg_f32 1,1,1 1,1,1 0 -\nlaunch 2 11 reco")
    (log,) = read_logs(tmp_path)
    assert [(one.number, one.is_recorded) for one in log.launches] == [(1, False)]
    assert unrecorded(log.launches) == ["uneg_f32: 1 launch not recorded: the program ended in it"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"candle-parity launch 2\n{}\n", "another version"),
        (b"candle-parity launch 1\n{}\n", "args"),
        (
            b'candle-parity launch 1\n{"kernel":"u","grid":[1,1,1],"block":[1,1,1],"shared":0,'
            b'"args":[{"address":0,"bytes":8,"after":false}]}\nabc',
            "cut short",
        ),
    ],
)
def test_a_damaged_file_is_told(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "7-1-1.launch").write_bytes(content)
    with pytest.raises(CaptureError, match=f"7-1-1.launch: is not a recorded launch .*{why}"):
        read_launch(tmp_path / "7-1-1.launch")


@pytest.mark.parametrize("args", [(), (b"", b"", None, None, None), (size_t(1), size_t(0), None, None, size_t(0))])
def test_a_launch_with_other_arguments_than_the_kernel_has_is_not_judged(args: tuple[bytes | None, ...]) -> None:
    with pytest.raises(NoCase, match="bytes by value"):
        to_launch(KERNELS["uneg_f32"], RecordedLaunch("uneg_f32", (1, 1, 1), (1, 1, 1), 0, args))


def test_a_folder_holds_one_recording(tmp_path: Path) -> None:
    with new_recording(tmp_path / "a") as out:
        (out / RAW / "7-1.log").touch()
        with pytest.raises(UsageError, match="holds launches already, or a program writes to it"), new_recording(out):
            pass
    with pytest.raises(UsageError, match="is not empty"), new_recording(tmp_path):
        pass


def test_what_a_recording_is_of_is_kept_next_to_it(tmp_path: Path) -> None:
    about = About("./model -v", "a GPU", "2026-01-02T03:04:05Z", ended=Ended(-11, 2.5))
    about.write(tmp_path)
    assert About.read(tmp_path) == about
    assert about.recording == {"program": "./model -v", "device": "a GPU", "started": "2026-01-02T03:04:05Z"}
    for content in ("{", '"text"', "{}"):
        (tmp_path / "about.json").write_text(content)
        with pytest.raises(UsageError, match="is no recording"):
            About.read(tmp_path)


def test_a_recording_that_is_judged_later_knows_the_ports_names(tmp_path: Path) -> None:
    names = names_of([("uneg_f32", "neg_float")], KERNELS, "candle-parity.toml")
    port = {"port_names": names.ports, "keeping": sorted(names.keeping)}
    About("./model", "a GPU", "2026-01-02T03:04:05Z", **port).write(tmp_path)
    (tmp_path / "7-1.log").write_text(f"{HEAD}launch 1 1 count neg_float 1,1,1 1,1,1 0 -\n")
    (log,) = read_logs(tmp_path, About.read(tmp_path).names)
    assert [one.kernel for one in log.launches] == ["uneg_f32"]


@pytest.mark.parametrize(("code", "said"), [(-11, "was ended by signal SIGSEGV"), (-35, "was ended by signal 35")])
def test_a_signal_has_a_name_or_a_number(code: int, said: str) -> None:
    assert Ended(code, 1.0).text == said


def test_lines_that_a_full_disk_has_cut_off_are_left_out(tmp_path: Path) -> None:
    launch = "count uneg_f32 1,1,1 1,1,1 0 -\n"
    lines = f"launch 1 1 {launch}launch 2 2launch 3 3 {launch}lost 3 room 1\n"
    (tmp_path / "7-1.log").write_text(HEAD + lines)
    (log,) = read_logs(tmp_path)
    assert [one.own_number for one in log.launches] == [1]


def test_recorded_launches_of_no_kernel_of_the_specs_are_told(tmp_path: Path) -> None:
    mine = Seen(tmp_path / "7-1.log", 1, 1, "record", "mine", "-", number=1, is_recorded=True)
    with pytest.raises(CaptureError, match="is of mine, which is no kernel of the specs"):
        to_traces([mine], KERNELS, tmp_path, {"program": "model"})


def test_a_recorded_launch_without_a_verdict_is_told() -> None:
    found = {name: KernelTally(name, recorded=3) for name in ("a", "b", "c")}
    lost = row("c", cases=0).model_copy(update={"status": "not_run", "lost": True, "message": "the disk is full"})
    assert without_verdict(found, [row("a", cases=2), row("b", cases=2), lost], {"a": 1}) == [
        "b: 1 recorded launch not judged: the reference does not take such arguments",
        "c: the disk is full",
    ]


def test_the_library_may_lie_in_a_folder_with_spaces(tmp_path: Path) -> None:
    """LD_PRELOAD, whose separators they are, names a path without."""
    library = tmp_path / "my cache" / "front.so"
    command = ["/bin/sh", "-c", 'case "$LD_PRELOAD" in *" "*) exit 1;; esac; test -L "$LD_PRELOAD"']
    assert run_program(command, library, tmp_path, {"LD_PRELOAD": ""}).code == 0


def test_a_recording_of_nothing_leaves_no_folder(tmp_path: Path) -> None:
    with new_recording(tmp_path / "a") as out:
        (out / RAW / "plan").touch()
    assert not (tmp_path / "a").exists()


def row(name: str, *wrong: int, cases: int = 3) -> KernelResult:
    failures = tuple(Failure(f"{name}(trace={number})", "wrong") for number in wrong)
    about = {"module": "unary", "family": "unary", "upstream": "unary.cu:1"}
    return KernelResult(name=name, status="fail", cases=cases, failed=len(wrong), failures=failures, **about)


def test_the_first_wrong_launch_is_that_of_the_program_and_not_of_the_first_kernel() -> None:
    found = first_wrong([row("uneg_f32", 12, 30), row("uexp_f32", 9)])
    assert found is not None
    assert (found[0], found[1].name, number_of(found[2].case)) == (9, "uexp_f32", 9)
    assert first_wrong([row("uneg_f32")]) is None


def test_figures_are_of_launches_shapes_and_verdicts(tmp_path: Path) -> None:
    lines = "".join(
        f"launch {n} {n} count {name} 1,1,1 1,1,1 0 {shape}\n"
        for n, (name, shape) in enumerate((("b", "4"), ("a", "1"), ("a", "2"), ("a", "1")), 1)
    )
    (tmp_path / "7-1.log").write_text(HEAD + lines)
    found = tallies(read_logs(tmp_path))
    add_verdicts(found, [row("a", 2)])
    assert list(found) == ["b", "a"]
    assert (found["a"].launches, len(found["a"].shapes), found["a"].right, found["a"].wrong) == (3, 2, 2, 1)


def test_a_launch_that_is_not_recorded_has_a_reason() -> None:
    seen = [
        Seen(Path("x.log"), n, n, state, "uneg_f32", "-") for n, state in enumerate(("room", "count", "graph", "room"))
    ]
    assert unrecorded(seen) == [
        "uneg_f32: 2 launches not recorded: its buffers go beyond --most-bytes",
        "uneg_f32: 1 launch not recorded: it was captured into a graph, which launches it later",
    ]
