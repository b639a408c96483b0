"""Who counts as hung: a compiler has a limit of its own, whatever a launch may take."""

from __future__ import annotations

import time

import pytest

from conformance.engine.ipc import Progress
from conformance.engine.messages import RunCases, Setup
from conformance.engine.pool import COMPILING, _Asked, _Member
from conformance.spec.load import load_specs


@pytest.fixture
def member(monkeypatch: pytest.MonkeyPatch) -> _Member:
    """A judge that has said nothing for 100 s, where a launch may take 2 s and a file's compilation 60 s."""
    monkeypatch.setenv("CANDLE_PARITY_HANG_SECONDS", "2")
    made = _Member.__new__(_Member)  # without its process
    made.setup = Setup(runtime="rocm", orders=("forward",), compile_seconds=60.0)
    made.progress = Progress()
    made.asked = _Asked(RunCases(load_specs().kernels["fill_u8"], None))
    made.since = time.monotonic() - 100
    return made


@pytest.mark.parametrize(
    ("doing", "silent", "stalled"),
    [
        ("fill_u8(shape=[3])", 100, True),
        ("fill_u8(shape=[3])", 5, False),
        (f"{COMPILING}kernels/fill.hip", 100, False),
        (f"{COMPILING}kernels/fill.hip", 2000, True),
    ],
)
def test_a_compilation_is_not_a_launch(member: _Member, doing: str, silent: float, stalled: bool, monkeypatch) -> None:
    now = time.monotonic()
    member.since = now - silent
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: now - silent)
        member.progress.begin(doing)
    assert member.stalled() == stalled
    member.asked = None
    assert not member.stalled()
