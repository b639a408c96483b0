"""A judge that is killed while it is set up is replaced once; one that dies again ends the run with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine import pool
from conformance.engine.messages import NO_DEVICE, Setup
from conformance.engine.pool import EngineError, Pool
from conformance.engine.recordings import JudgeReference


@pytest.mark.slow("starts judges that are killed")
@pytest.mark.parametrize("deaths", [1, 2])
def test_a_judge_that_is_killed_while_it_is_set_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, deaths: int
) -> None:
    started = []

    def process(*words: object) -> object:
        started.append(real(*words))
        if len(started) <= deaths:
            started[-1].child.kill()
        return started[-1]

    real = pool.Process
    monkeypatch.setattr(pool, "Process", process)
    setup = Setup(runtime="cpu", orders=("forward",))
    with Pool([setup, setup], JudgeReference(tmp_path)) as judges:
        if deaths == 1:
            assert judges.greet() == NO_DEVICE
            assert len(started) == 3
        else:
            monkeypatch.setattr(pool, "Process", lambda *words: _killed(real(*words)))
            with pytest.raises(EngineError, match="a process died while it was set up: signal SIGKILL"):
                judges.greet()


def _killed(made: pool.Process) -> pool.Process:
    made.child.kill()
    return made
