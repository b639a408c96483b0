"""Until it is asked for something, a judge reads its share of the sources; what arrives is answered at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from conformance.engine.coding import Expected, receive, send
from conformance.engine.ipc import Channel, Closed, Progress, pair
from conformance.engine.messages import Compile, Compiled, MemberKind, Ready, Setup, Started, _serve
from conformance.engine.modes import JudgeGenerated, Tree
from conformance.processes import Supervisor
from conformance.runtimes.kind import Choice

SETUP = Setup(runtime="cpu", wave=64, orders=("forward",), command="candle-parity run", choice=Choice("cpu"))
SECONDS = 20.0


def _without_end() -> Iterator[None]:
    while True:
        yield


def _broken() -> Iterator[None]:
    yield
    raise RuntimeError("it cannot be read")


class Reader:
    """A member that does the steps of ``steps`` ahead, and says of every source that it compiles."""

    ready: Ready | None = None

    def __init__(self, steps: Callable[[], Iterator[None]]) -> None:
        self.steps = steps

    def ahead(self) -> Iterator[None]:
        return self.steps()

    def answer(self, request: Compile) -> Compiled:
        return Compiled(request.source, None)


@pytest.mark.parametrize("steps", [_without_end, _broken, partial(iter, ())], ids=["no end", "an error", "nothing"])
def test_a_request_is_answered_whatever_is_done_ahead(steps: Callable[[], Iterator[None]], tmp_path: Path) -> None:
    kind = MemberKind(lambda *_: Reader(steps), Expected(JudgeGenerated), Expected(Compile))
    ours, theirs = pair()

    def serve() -> None:
        with suppress(Closed), Supervisor() as supervisor:
            _serve(kind, Channel(theirs), Progress(), supervisor)

    (tmp_path / "a.hip").touch()
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    send(ours, SETUP)
    send(ours, JudgeGenerated(Tree.at(tmp_path)))
    assert receive(ours, Expected(Started), SECONDS).message == Started()
    send(ours, Compile("a.hip"), 1)
    assert receive(ours, Expected(Compiled), SECONDS).message.source == "a.hip"
    ours.close()
    thread.join(SECONDS)
    assert not thread.is_alive()


def test_judges_have_different_shares() -> None:
    setups = [SETUP.for_member(number, 3) for number in range(3)]
    assert [setup.member for setup in setups] == [(0, 3), (1, 3), (2, 3)]
