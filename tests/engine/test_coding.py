"""Every message is of a type that says so, and nothing else is sent or taken."""

from __future__ import annotations

import ast
import inspect
import os
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import pytest

from conformance.engine import judge_process, messages, protocol
from conformance.engine.coding import KINDS, Exactly, Expected, Least, Longest, decoder, from_map, receive, send, to_map
from conformance.engine.ipc import Channel, Garbled, pair
from conformance.engine.protocol import (
    CompiledParameterRow,
    DeviceError,
    FindCall,
    FindFunction,
    KernelRow,
    LaunchEnds,
    Misused,
    Ready,
    RunLaunch,
)
from conformance.settings import ExecutorSettings

ENGINE = Path(protocol.__file__).parent

ERROR = DeviceError("hipModuleLaunchKernel", 700, "hipErrorIllegalAddress", "k", "thread 7", before_launch=True)
KERNELS = (KernelRow("k", 3, (CompiledParameterRow("float *", 8), CompiledParameterRow(None, 4))),)
READY = Ready("GPU", "gfx942", 64, "ROCm", "10", sandbox="seccomp", weakened=("A=0",), warnings=("mended",))
LAUNCH = RunLaunch(
    arena=1,
    mapped=4 << 20,
    function=2,
    shape=(1, 2, 3, 4, 5, 6, 0),
    slots=(bytes(8), (0, 4), None),
    pointers=((0, 8, 1, 16),),
    types=("*", "i32"),
    scratch=(64,),
    names=("inp", "scratch"),
    buffers=((256, 12),),
    pieces=((), ((0, 4, 8), (4, 8, 64))),
    total=512,
    orders=("forward", "reverse"),
    must_fault=True,
    what="k<<<...>>>",
)
SAMPLES: dict[str, object] = {
    "number": 7,
    "why": "no device",
    "stderr": "Fatal: no",
    "stdout": "",
    "how": "signal SIGSEGV",
    "ready": READY,
    "build": "launchers",
    "suspect": True,
    "loss": "garbled",
    "kernels": KERNELS,
    "function": None,
    "shared": 16,
    "error": ERROR,
    "ends": (None, ERROR, Misused("k freed what it was given")),
    "leak": (20, 1, 64, 0, 0, 0, 0),
    "wave": 64,
    "settings": ExecutorSettings(runtime="cpu", wave=32, sandbox=False),
}
"""A value for fields of messages, by name; others get one of their type."""

OWN = [kind.type for kind in KINDS.values() if kind.type is not None and kind.type.__module__ == protocol.__name__]


def made(kind: type[Any]) -> object:
    """A message of ``kind``."""
    if kind is RunLaunch:
        return LAUNCH
    if kind is Ready:
        return READY
    by_type = {int: 3, str: "text", bool: True}
    values: dict[str, object] = {}
    for name, hint in get_type_hints(kind).items():
        values[name] = True if name == "shared" and hint is bool else SAMPLES.get(name, by_type.get(hint, "text"))
    return kind(**values)


@pytest.fixture
def ends():
    ours, theirs = pair()
    other = Channel(theirs)
    yield ours, other
    ours.close()
    other.close()


@pytest.mark.parametrize("kind", OWN, ids=lambda kind: kind.__name__)
def test_a_message_arrives_as_it_was_sent(ends: tuple[Channel, Channel], kind: type[Any]) -> None:
    ours, other = ends
    message = made(kind)
    send(ours, message, 12)
    assert receive(other, Expected(kind), 5) == (message, 12, [])


def unioned(alias: Any) -> set[Any]:
    return set(get_args(alias))


def test_every_type_of_the_protocol_may_travel_and_has_a_place_in_it() -> None:
    """One that is a part of a message needs no kind; each of the others is named by who sends it to whom."""
    parts = {CompiledParameterRow, KernelRow, DeviceError, Misused}
    types = {one for _, one in inspect.getmembers(protocol, is_dataclass) if one.__module__ == protocol.__name__}
    assert set(OWN) == types - parts
    ways = ("ToHost", "FromHost", "ToCommand", "FromCommand", "ToExecutor", "FromExecutor")
    alone = {protocol.ShareArena, Ready}  # gets no answer; what a timer says
    assert set().union(*(unioned(getattr(protocol, way)) for way in ways)) | alone == set(OWN)
    for one in OWN:
        assert one.__name__ in (protocol.__doc__ or "") or one is Ready


def test_who_receives_expects_every_message_of_the_union_that_it_handles() -> None:
    """mypy holds what is expected to the type that ``receive`` gives; here, that none of the union is left out."""
    hints = get_type_hints(protocol, include_extras=True)
    expected = {name: one for name, one in vars(protocol).items() if isinstance(one, Expected)}
    assert len(expected) > 5
    for name, one in expected.items():
        (union,) = get_args(hints[name])
        assert set(one.kinds) == (unioned(union) or {union}), name


def test_a_message_of_a_base_is_taken_and_no_other(ends: tuple[Channel, Channel]) -> None:
    ours, other = ends
    send(ours, messages.Compile("a.hip"))
    assert receive(other, judge_process.REQUESTS, 5).message == messages.Compile("a.hip")
    send(ours, FindCall("k"))
    with pytest.raises(Garbled, match="another kind"):
        receive(other, judge_process.MODES, 5)


def test_every_message_is_frozen() -> None:
    models = {"Outcome"}  # of pydantic, and frozen there
    for name, kind in KINDS.items():
        if kind.type is not None and name not in models:
            assert is_dataclass(kind.type), name
            assert kind.type.__dataclass_params__.frozen, name


def calls(file: Path) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]


def test_nothing_else_is_sent_by_the_engine() -> None:
    """A channel takes any map: only ``coding`` gives it one, and what that is given are messages."""
    direct = [
        f"{file.name}:{call.lineno}"
        for file in ENGINE.rglob("*.py")
        for call in calls(file)
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("send", "receive")
    ]
    assert {place.partition(":")[0] for place in direct} == {"coding.py", "ipc.py"}
    maps = [
        f"{file.name}:{call.lineno}"
        for file in ENGINE.rglob("*.py")
        for call in calls(file)
        if isinstance(call.func, ast.Name) and call.func.id == "send" and isinstance(call.args[1], ast.Dict)
    ]
    assert maps == []


def test_what_is_no_message_cannot_be_sent(ends: tuple[Channel, Channel]) -> None:
    for thing in ({"do": "load"}, "load", KERNELS[0]):
        with pytest.raises(KeyError):
            send(ends[0], thing)


def test_a_message_of_a_wing_is_known_before_its_module_is_imported() -> None:
    assert {"JudgeRecorded", "RecordAnswers", "JudgeReference", "TimeTrees", "Time", "Timed"} <= KINDS.keys()
    assert messages.RunCases.answered_by.__name__ in KINDS


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"id": 1},
        {"id": 1, "kind": "FindCall"},
        {"id": 1, "kind": "FindCall", "data": {}},
        {"id": 1, "kind": "FindCall", "data": {"name": 3}},
        {"id": 1, "kind": "FindCall", "data": {"name": "k", "more": 3}},
        {"id": 1, "kind": "FindCall", "data": ["k"]},
        {"id": 1, "kind": "Unknown", "data": {}},
        {"id": 1, "kind": {}, "data": {}},
        {"id": 1.0, "kind": "FindCall", "data": {"name": "k"}},
        {"kind": "FindCall", "data": {"name": "k"}},
        {"id": 1, "kind": "Compile", "data": {"source": None}},
    ],
)
def test_what_is_not_exactly_a_message_is_garbled(ends: tuple[Channel, Channel], content: dict[str, Any]) -> None:
    ours, other = ends
    ours.send(content)
    with pytest.raises(Garbled):
        receive(other, Expected(FindCall, FindFunction), 5)


def test_a_message_of_another_kind_than_asked_for_is_garbled_and_its_descriptors_are_closed(
    ends: tuple[Channel, Channel],
) -> None:
    ours, other = ends
    read, write = os.pipe()
    send(ours, FindCall("k"), descriptors=[write])
    os.close(write)
    with pytest.raises(Garbled, match="another kind"):
        receive(other, Expected(LaunchEnds), 5, descriptors=True)
    assert os.read(read, 1) == b""
    os.close(read)


@dataclass(frozen=True)
class Inner:
    a: int


@dataclass(frozen=True)
class Other:
    b: str


@pytest.mark.parametrize(
    ("kind", "right", "value"),
    [
        (int, 3, 3),
        (int | None, None, None),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (tuple[bytes | tuple[int, int] | None, ...], [b"x", [1, 2], None], (b"x", (1, 2), None)),
        (Inner | Other | None, {"b": "x"}, Other("x")),
        (Annotated[str, Longest(3)] | None, "abc", "abc"),
        (Annotated[tuple[int, ...], Exactly(2)], [1, 2], (1, 2)),
        (Literal["x", "y"], "y", "y"),
    ],
)
def test_values_are_taken_as_they_are(kind: Any, right: object, value: object) -> None:
    assert decoder(kind)(right) == value


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (int, True),
        (int, 3.0),
        (int, "3"),
        (bool, 1),
        (str, b"x"),
        (int | None, "3"),
        (tuple[int, ...], 3),
        (tuple[int, ...], [1, "2"]),
        (tuple[int, ...], "12"),
        (tuple[int, str], [1]),
        (tuple[int, str], [1, "a", 2]),
        (Inner, {"a": 1, "b": "x"}),
        (Inner, {}),
        (Inner, {1: 1}),
        (Inner | Other, {"c": 1}),
        (Annotated[str, Longest(3)], "abcd"),
        (Annotated[int, Least(0)], -1),
        (Annotated[int, Least(0)], None),
        (Annotated[tuple[int, ...], Exactly(2)], [1]),
        (Literal["x", "y"], "z"),
    ],
)
def test_other_values_are_none(kind: Any, wrong: object) -> None:
    with pytest.raises(ValueError, match=r"in place of|that is not|none of|other names"):
        decoder(kind)(wrong)


@pytest.mark.parametrize(
    "kind",
    [Path, list[int], dict[str, int], Inner | dict[str, int], str | Literal["x"], Annotated[Inner, Exactly(1)] | Other],
)
def test_a_type_that_cannot_be_checked_is_refused_before_it_travels(kind: Any) -> None:
    with pytest.raises(TypeError):
        decoder(kind)


def test_a_map_names_its_kind_and_every_field() -> None:
    content = to_map(LAUNCH)
    assert content["kind"] == "RunLaunch"
    assert set(content["data"]) == {field.name for field in fields(RunLaunch)}
    assert from_map(content) == LAUNCH
