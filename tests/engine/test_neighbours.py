"""A device that judges share: what one judge's kernel does to the executor is not held against another's."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.engine import executor_client
from conformance.engine.coding import from_map, to_map
from conformance.engine.executor_client import ExecutorClient
from conformance.engine.ipc import pair
from conformance.engine.judge_process import Judge
from conformance.engine.library import Library, LostLoading
from conformance.engine.modes import Tree
from conformance.engine.protocol import EndOfExecutor, LostExecutor, Ready, WantExecutor
from conformance.engine.remote_executor import Lost
from conformance.processes import InfrastructureError


class Told:
    """A client that says of every lost executor whether this judge may be to blame."""

    def __init__(self, suspect: bool) -> None:
        self.suspect = suspect

    def lost(self, _: Lost) -> EndOfExecutor:
        return EndOfExecutor("its process ended with signal SIGABRT", self.suspect)


@pytest.mark.parametrize(
    ("suspect", "deadly"), [(True, ["port/fill.hip"]), (False, [])], ids=["its own", "a neighbour's"]
)
def test_a_source_is_broken_by_losses_of_its_own_only(suspect: bool, deadly: list[str]) -> None:
    judge = Judge.__new__(Judge)
    judge._losses, judge._executors = set(), Told(suspect)  # type: ignore[assignment]
    library = Library(Tree(Path("port")), SimpleNamespace(), lambda: None)  # type: ignore[arg-type, return-value]
    for _ in range(2):
        judge._lost_loading(library, LostLoading("port/fill.hip", Lost("ended", "its process ended")), fresh=False)
    assert list(library.deadly) == deadly


class Answers:
    """The process that started a judge: hands over an executor whenever it is asked, and hears of lost ones."""

    def __init__(self) -> None:
        self.said: list[object] = []

    def send(self, message: dict[str, Any], *_: object) -> None:
        self.said.append(from_map(message))

    def receive(self, _: float) -> tuple[dict[str, Any], list[int]]:
        if isinstance(self.said[-1], LostExecutor):
            return {"id": 0, **to_map(EndOfExecutor("its process ended", suspect=False))}, []
        ready = Ready("GPU", "gfx942", 64, "ROCm", "10", guards_memory=False)
        ours, theirs = pair()
        ours.close()
        handed = {"kind": "HandedExecutor", "data": {"ready": vars(ready), "shared": True}}
        return {"id": 0, **handed}, [theirs.detach(), executor_client.Progress().fd]


@pytest.mark.parametrize("ended", [0, 2])
def test_an_executor_that_ends_before_the_first_request_is_replaced(
    ended: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, made = Answers(), []

    def executor(*_: Any) -> object:
        made.append(len(made))
        if len(made) <= ended:
            raise Lost("ended", "its process ended")
        return object()

    monkeypatch.setattr(executor_client, "Executor", executor)
    asked = ExecutorClient(answers, lambda: None)  # type: ignore[arg-type]
    assert asked.current() is not None
    assert answers.said == [WantExecutor(alone=False), *[LostExecutor("ended"), WantExecutor(alone=False)] * ended]


def test_executors_that_all_end_at_once_are_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def executor(*_: Any) -> object:
        raise Lost("ended", "its process ended")

    monkeypatch.setattr(executor_client, "Executor", executor)
    with pytest.raises(InfrastructureError, match="5 executors in a row ended before they got a request"):
        ExecutorClient(Answers(), lambda: None).current()  # type: ignore[arg-type]
