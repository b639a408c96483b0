"""Modes: what a run does with kernels, as plain data between processes."""

from __future__ import annotations

from pathlib import Path

import msgpack
import pytest

from conformance.cases.case import Case
from conformance.engine.coding import KINDS, from_map, to_map
from conformance.engine.modes import JudgeGenerated, Mode, PortMode, Tree
from conformance.engine.recordings import (
    JudgeRecorded,
    JudgeReference,
    JudgeWithPinned,
    RecordAnswers,
    RecordingHandler,
)
from conformance.engine.timing.requests import Time, TimeTrees
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource
from conformance.spec.load import load_specs
from conformance.verdict.judge import Judging

SOURCE = KernelSource(Path("/port/unary.cu"), Path("/port"))
TREE = Tree(Path("/port"), BuildOptions((Path("/headers"),), ("A=1",), (), "cuda"), sources=(SOURCE,))
FOLDER = Path("/folder")
EACH: tuple[Mode, ...] = (
    JudgeGenerated(TREE),
    JudgeRecorded(TREE, FOLDER),
    JudgeWithPinned(TREE, FOLDER, "2f05"),
    RecordAnswers(TREE, FOLDER),
    JudgeReference(FOLDER),
    TimeTrees((TREE, Tree(Path("/other")))),
)
KERNEL = load_specs().kernels["uneg_f32"]


def sent(message: object) -> object:
    """``message`` as the other process gets it."""
    return from_map(msgpack.unpackb(msgpack.packb(to_map(message)), strict_map_key=False))


@pytest.mark.parametrize("mode", EACH, ids=lambda mode: type(mode).__name__)
def test_a_mode_arrives_as_what_it_is(mode: Mode) -> None:
    assert sent(mode) == mode


def test_every_mode_is_tried_here() -> None:
    modes = {kind.type for kind in KINDS.values() if kind.type is not None and issubclass(kind.type, Mode)}
    assert {type(mode) for mode in EACH} == modes


def test_a_case_to_time_arrives_as_data_though_its_id_was_made() -> None:
    request = Time(KERNEL, "small", Case("uneg_f32", (("shape", "[3]"),)), ({"port/unary.cu": "error: no"}, {}))
    assert request.case.id == "uneg_f32(shape=[3])"
    assert sent(request) == request


@pytest.mark.parametrize("mode", [JudgeGenerated(TREE), RecordAnswers(TREE, FOLDER)], ids=["judge", "record"])
def test_generated_cases_are_never_parsed(mode: PortMode, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(text: str) -> Case:
        raise AssertionError(f"{text} was parsed")

    expected = [case.id for case in mode.cases(KERNEL, None, "")]
    monkeypatch.setattr(Case, "parse", parse)
    assert [case.id for case in mode.cases(KERNEL, None, "")] == expected
    assert len(expected) > 10


def test_only_what_is_recorded_is_not_judged_and_never_launched_to_fault() -> None:
    assert isinstance(JudgeGenerated(TREE).handler(KERNEL), Judging)
    assert isinstance(RecordAnswers(TREE, FOLDER).handler(KERNEL), RecordingHandler)
    assert (JudgeGenerated.launches_faults, RecordAnswers.launches_faults) == (True, False)
