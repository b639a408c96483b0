"""What fails is said when it is known, in a few lines on standard error; standard output has the verdict at the end."""

from __future__ import annotations

import io
import sys
import threading

import pytest

from conformance.cli.judge import _AsTheyCome
from conformance.cli.progress import display
from conformance.engine.messages import Compiled, Setup
from conformance.engine.modes import JudgeGenerated, Tree
from conformance.engine.run import run
from conformance.outcome import Failure, Outcome
from conformance.report.places import NOWHERE
from conformance.spec.load import load_specs

FILL = """
extern "C" __global__ void fill_{0}({1} *buf, {1} value, size_t numel) {{
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < numel; i += (size_t)blockDim.x * gridDim.x)
    buf[i] = value{2};
}}
"""
WRONG = FILL.format("u8", "unsigned char", " + 1")
RIGHT = FILL.format("u32", "unsigned", "")
BROKEN = FILL.format("i64", "long long", " + absent")
FIRST = Failure("uneg_f32(shape=[1])", "out[0] is\n::error::wrong", 0, "1", "2")


def said(*found: Compiled | Outcome, reason: str | None = None) -> list[str]:
    lines: list[str] = []
    failures = _AsTheyCome(lambda text: lines.extend(text.splitlines()), NOWHERE)
    for one in found:
        failures(one, reason)
    return lines


@pytest.mark.slow("whole runs by the command")
def test_a_kernel_that_fails_is_said_once_on_each_stream(cli, port) -> None:
    answer = cli("run", "fill_*", "--runtime", "cpu", "--kernels", port(WRONG + RIGHT + BROKEN, "fill.hip"))
    assert answer.code == 1
    assert answer.err.count("candle-parity: fill_u8: fail, ") == 1
    assert answer.out.count("\nfill_u8: fail, ") == 1
    assert answer.err.count("candle-parity: fill_i64 does not compile: ") == 1
    assert "fill_u32" not in answer.err
    assert "candle-parity run" not in answer.err  # the command is where the end explains


@pytest.mark.slow("whole runs by the command")
def test_nothing_is_said_with_quiet(cli, port) -> None:
    answer = cli("run", "fill_u8", "-q", "--runtime", "cpu", "--kernels", port(WRONG, "fill.hip"))
    assert (answer.code, "fill_u8: fail" in answer.err) == (1, False)


@pytest.mark.slow("whole runs by the command")
def test_it_is_said_before_the_next_kernel_is_judged(port) -> None:
    happened: list[object] = []
    kernels = [load_specs().kernels[name] for name in ("fill_u8", "fill_u32")]
    run(
        Setup(runtime="cpu", wave=64, orders=("forward",)),
        JudgeGenerated(Tree.at(port(WRONG + RIGHT, "fill.hip"))),
        kernels,
        {kernel.name: (f"{kernel.name}(shape=[1],value=pattern)",) for kernel in kernels},
        on_progress=lambda what, done, total: happened.append(done) if what == "running" else None,
        on_found=lambda one, reason: happened.append(one.name) if isinstance(one, Outcome) else None,
    )
    assert happened[-4:] == ["fill_u8", 1, "fill_u32", 2]


def test_no_line_begins_with_words_of_a_port() -> None:
    failed = Outcome(name="uneg_f32", status="fail", cases=3, failed=1, failures=(FIRST,))
    crashed = Outcome(name="uneg_f32", status="signature", message="::error::\n::error::no")
    broken = Compiled("::error::.hip", "::error::\n::error:: words")
    lines = said(failed, crashed, broken)
    assert lines == [
        "candle-parity: uneg_f32: fail, 1 of 3 cases",
        r"  uneg_f32(shape=[1]): out[0] is \x3a:error::wrong",
        "  got 1, expected 2",
        r"candle-parity: uneg_f32: signature: \x3a:error:: \x3a:error::no",
        r"candle-parity: \x3a:error::.hip does not compile: \x3a:error:: \x3a:error:: words",
    ]


def test_an_error_that_many_kernels_have_is_said_once() -> None:
    lost = [Outcome(name=f"fill_{kind}", status="compile_error", message="no such type") for kind in ("u8", "u32")]
    assert said(*lost) == ["candle-parity: fill_u8 does not compile: no such type"]
    of_file = [one.model_copy(update={"source": "a.hip:3", "message": "a.hip:3: no such type"}) for one in lost]
    assert said(Compiled("a.hip", "a.hip:1: why"), *of_file) == ["candle-parity: a.hip does not compile: a.hip:1: why"]


@pytest.mark.parametrize("status", ["pass", "missing", "not_run", "known_failure"])
def test_what_is_no_failure_is_not_said(status) -> None:
    assert said(Outcome(name="fill_u8", status=status, cases=1)) == []
    assert said(Outcome(name="fill_u8", status="fail", cases=1, failed=1), reason="declared") == []


def test_a_terminal_shows_it_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    threads = threading.active_count()
    with display() as shown:
        assert threading.active_count() == threads  # judges can be forked until it is told something
        shown.progress("running", 1, 3)
        shown.say("uneg_f32(shape=[1],values=[red]) " + "long " * 40)
        shown.progress("running", 2, 3)
    text = stream.getvalue()
    assert "uneg_f32(shape=[1],values=[red]) long long " in text  # and further lines, broken at a blank
    assert text.count("long") == 40
    assert text.index("uneg_f32") < text.rindex("2/3")
