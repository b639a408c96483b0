"""Recordings of launches of uneg_f32, without a program that made them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from conformance.cases.case import Case
from conformance.cases.launch import Buffer, Launch, Null, Scalar
from conformance.replay.recorder import PART_SUFFIX, Recorder, pack_parts


def recording(folder: Path, *answers: float, program: bool = True, numel: int = 1) -> Path:
    """Launches of uneg_f32 of 1, with what it answered to each."""
    folder.mkdir()
    recorder = Recorder()
    for number, answer in enumerate(answers, 1):
        args = (
            Scalar("numel", "size_t", np.uint64(numel)),
            Scalar("num_dims", "size_t", np.uint64(1)),
            Null("info"),
            Buffer("inp", "f32", "in", np.ones(1, np.float32)),
            Buffer("out", "f32", "out", np.zeros(1, np.float32)),
        )
        launch = Launch("uneg_f32", (1, 1, 1), (1024, 1, 1), 0, args)
        recorder.add(Case("uneg_f32", ()), launch, {"out": np.full(1, answer, np.float32)}, label=str(number))
    recorder.write(folder, "uneg_f32")
    part = folder / f"uneg_f32{PART_SUFFIX}"
    pack_parts([part], folder, "unary", {"program": "model"} if program else {"device": "a GPU"})
    part.unlink()
    return folder


def one_launch(folder: Path, inputs: Sequence[float], answers: Sequence[float]) -> Path:
    """Launch 1, of uneg_f32 over contiguous ``inputs``, with what it answered."""
    folder.mkdir()
    args = (
        Scalar("numel", "size_t", np.uint64(len(inputs))),
        Scalar("num_dims", "size_t", np.uint64(1)),
        Null("info"),
        Buffer("inp", "f32", "in", np.array(inputs, np.float32)),
        Buffer("out", "f32", "out", np.zeros(len(inputs), np.float32)),
    )
    launch = Launch("uneg_f32", (1, 1, 1), (1024, 1, 1), 0, args)
    recorder = Recorder()
    recorder.add(Case("uneg_f32", ()), launch, {"out": np.array(answers, np.float32)}, label="1")
    recorder.write(folder, "uneg_f32")
    part = folder / f"uneg_f32{PART_SUFFIX}"
    pack_parts([part], folder, "unary", {"program": "model"})
    part.unlink()
    return folder
