"""What a report says of kernels that access vectors which are not aligned, where their target allows that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.record import KernelResult, Record, RunInfo, every_kernel
from conformance.report import render_html, render_markdown, render_terminal
from conformance.spec.load import load_specs

SPECS = load_specs()
WHAT = "ucopy_f32(shape=[261],values=unit,start=1) reads 16 bytes at an address that is no multiple of 16"


@pytest.mark.parametrize("render", [render_terminal, render_markdown, render_html])
@pytest.mark.parametrize("misaligned", [None, WHAT])
def test_a_pass_stays_one_and_a_note_tells(render: Callable[..., str], misaligned: str | None) -> None:
    run = RunInfo(runtime="cpu", device="host", started="2026-01-02T03:04:05Z", seconds=1.0, upstream_commit="2a13b0f")
    about = {key: getattr(SPECS.kernels["ucopy_f32"], key) for key in ("name", "module", "family", "upstream")}
    row = KernelResult(**about, status="pass", cases=1, misaligned=misaligned)
    text = " ".join(render(Record.of(run, every_kernel(SPECS, [row])), SPECS).replace("\\", "").split())
    note = "1 kernel accesses vectors that are not aligned, which changes no verdict: ucopy_f32: "
    assert (note in text) == (misaligned is not None)
    assert ("no multiple of 16; AMD GPUs allow that in global memory" in text) == (misaligned is not None)
