"""Smaller versions of a recorded launch: that their items are independent, and which of them is kept as a case."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conformance.capture.shrink import NotShrinkable, items_of, items_table, smaller
from conformance.cases import cases_for, launch_for
from conformance.cases.case import Case
from conformance.cases.launch import Buffer, Launch
from conformance.cli.main import main
from conformance.replay.traces import Trace, Traces
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from conformance.verdict.trials import expected_of
from tests.capture.recordings import one_launch

KERNELS = load_specs().kernels
NEG = KERNELS["uneg_f32"]
SOURCE = """#include <hip/hip_runtime.h>
extern "C" __global__ void uneg_f32(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x)
    out[i] = (WRONG) ? 99 : -inp[i];
}
"""


def traced(kernel: Kernel, launch: Launch) -> Trace:
    """``launch`` with the answer that is right."""
    answer = {name: expected.value for name, expected in expected_of(kernel, launch).items()}
    return Trace(Case(kernel.name, (("trace", "1"),)), launch, answer, of_program=True)


def with_items(kernel: Kernel) -> Launch | None:
    """The first generated launch of ``kernel`` with several items that can be told apart."""
    for case in cases_for(kernel):
        launch = launch_for(kernel, case, "")
        try:
            items_of(kernel, launch)
        except NotShrinkable:
            continue
        if all(argument.start == 0 for argument in launch.args if isinstance(argument, Buffer)):
            return launch
    return None


def some_of_each_family() -> list[Kernel]:
    """The first kernel of each family of the table, and of quantized weights one of each format."""
    found: dict[tuple[str, str], Kernel] = {}
    for kernel in KERNELS.values():
        if kernel.launch in items_table() and int(kernel.variant.get("ncols_y", "1")) == 1:
            found.setdefault((kernel.launch, kernel.variant.get("qtype", "")), kernel)
    return list(found.values())


def test_every_row_of_the_table_names_what_its_family_has() -> None:
    for family, row in items_table().items():
        for kernel in (one for one in KERNELS.values() if one.launch == family):
            by_name = {parameter.name: parameter for parameter in kernel.params}
            assert all(by_name[name].pointer for name in row.each)
            assert not any(by_name[name].pointer for name in row.told if name in by_name)
        told = {name for one in KERNELS.values() if one.launch == family for name in (p.name for p in one.params)}
        assert set(row.told) <= told | {"grid", "grid_y"}
    assert items_table().keys() <= {kernel.launch for kernel in KERNELS.values()}


@pytest.mark.parametrize("kernel", some_of_each_family(), ids=lambda kernel: kernel.name)
def test_a_part_has_the_answer_of_these_items_of_the_whole(kernel: Kernel) -> None:
    launch = with_items(kernel)
    assert launch is not None
    items = items_of(kernel, launch)
    trace = traced(kernel, launch)
    (name,) = trace.answer
    item = items.count // 2
    parts = smaller(kernel, trace, name, item * items.each[name])
    assert (parts[0].first, parts[0].count) == (item, 1)
    for part in parts:
        assert part.first <= item < part.first + part.count < items.count + 1
        assert expected_of(kernel, part.launch)[name].value.tobytes() == part.answer[name].tobytes()


def test_the_parts_of_a_launch_of_elements() -> None:
    args = (*launch_for(NEG, Case.parse("uneg_f32(shape=[8],values=unit)")).args,)
    launch = replace(launch_for(NEG, Case.parse("uneg_f32(shape=[8],values=unit)")), args=args)
    parts = smaller(NEG, traced(NEG, launch), "out", 5)
    assert [(part.first, part.count) for part in parts] == [(5, 1), (4, 2), (3, 4), (0, 6)]
    assert {part.launch.grid for part in parts} == {launch.grid}


def test_what_lies_behind_the_elements_of_an_output_stays_behind_them() -> None:
    launch = launch_for(NEG, Case.parse("uneg_f32(shape=[4],values=unit)"))
    behind = np.full(3, 7, np.float32)
    args = tuple(
        replace(one, data=np.concatenate((one.data[:4], behind)))
        if isinstance(one, Buffer) and one.role == "out"
        else one
        for one in launch.args
    )
    trace = traced(NEG, replace(launch, args=args))
    part = smaller(NEG, trace, "out", 2)[0]
    assert part.answer["out"].tolist() == [trace.answer["out"][2], 7, 7, 7]


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("uneg_f32(shape=[1],values=unit)", "it has 1 item"),
        ("uneg_f32(shape=[3,5,7],values=unit,info=given)", "its operands have strides"),
        ("fast_sum_f32(shape=[3,70],values=unit)", "which elements of a launch of fast_sum_f32 belong together is not"),
    ],
)
def test_a_launch_of_which_there_is_no_part_is_told(case: str, why: str) -> None:
    kernel = KERNELS[case.partition("(")[0]]
    trace = traced(kernel, launch_for(kernel, Case.parse(case)))
    with pytest.raises(NotShrinkable, match=why):
        smaller(kernel, trace, next(iter(trace.answer)), 0)


VALUES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


def pinned(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    wrong: str,
    *words: str,
    kernels: str = "unary.hip",
) -> tuple[str, list[float]]:
    """What ``new`` says of a launch whose element 5 was answered wrong, to a port that is ``wrong``; the input that is
    kept."""
    monkeypatch.chdir(folder)
    (folder / "candle-parity.toml").write_text(f'kernels = "{kernels}"\nruntime = "cpu"\n')
    (folder / "unary.hip").write_text(SOURCE.replace("WRONG", wrong))
    answers = [99.0 if value == 6 else -value for value in VALUES]
    one_launch(folder / "launches", VALUES, answers)
    assert main(["new", "--case-from", "launches#1", *words]) == 0
    (trace,) = Traces(folder / "pinned").of(NEG)
    assert trace.case.id == "uneg_f32(trace=launches-1)"
    (inp,) = [one for one in trace.launch.args if isinstance(one, Buffer) and one.name == "inp"]
    assert trace.answer["out"].size == inp.data.size
    return capsys.readouterr().out.splitlines()[1], inp.data.tolist()


_SLOW = pytest.mark.slow("compiles a kernel and launches it a few times")
_NIGHTLY = pytest.mark.nightly("more of these than make test has time for")


@pytest.mark.parametrize(
    ("wrong", "kept", "said"),
    [
        pytest.param(
            "inp[i] == 6", [6.0], "shrunk to 1 of its 8 items, from item 5 on: the port is wrong", marks=_SLOW
        ),
        pytest.param(
            "i == 5", VALUES[:6], "shrunk to 6 of its 8 items, from item 0 on: the port is wrong", marks=_SLOW
        ),
        pytest.param("numel == 8", VALUES, "kept as recorded: the port is right in the 4 smaller", marks=_NIGHTLY),
        pytest.param("0", VALUES, "kept as recorded: the port is right in it here, so that", marks=_NIGHTLY),
    ],
)
def test_the_smallest_part_that_the_port_gets_wrong_is_kept(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    wrong: str,
    kept: list[float],
    said: str,
) -> None:
    line, values = pinned(tmp_path, monkeypatch, capsys, wrong)
    assert line.startswith(said)
    assert values == kept


def test_a_port_that_cannot_be_judged_here_keeps_the_whole_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line, values = pinned(tmp_path, monkeypatch, capsys, "1", kernels="elsewhere.hip")
    assert line.startswith("kept as recorded: ")
    assert "elsewhere.hip" in line
    assert values == VALUES


def test_on_request_the_whole_launch_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pinned(tmp_path, monkeypatch, capsys, "1", "--as-recorded") == ("kept as recorded", VALUES)


def test_what_is_kept_without_a_port_and_of_a_right_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    said = {}
    for name, answer in (("right", -2.0), ("wrong", 9.0)):
        one_launch(tmp_path / name, [1.0, 2.0], [-1.0, answer])
        assert main(["new", "--case-from", f"{name}#1"]) == 0
        said[name] = capsys.readouterr().out.splitlines()[1]
    assert said["right"] == "kept as recorded: what the program answered is right"
    assert said["wrong"].startswith("kept as recorded: smaller ones are tried with a port whose kernels a candle-par")
