"""Who is to blame, as one table: what follows each event in each state, and what is done about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.engine.judge_process import Judge
from conformance.engine.library import Library, LostLoading
from conformance.engine.messages import RunCases
from conformance.engine.modes import Tree
from conformance.engine.protocol import EndOfExecutor
from conformance.engine.remote_executor import Lost
from conformance.outcome import Outcome
from conformance.processes import InfrastructureError
from conformance.runtimes.hip.errors import FAULTS, NOT_SUPPORTED, OUT_OF_MEMORY, RESERVE, TIMEOUT, HipError
from conformance.spec.load import load_specs
from conformance.verdict.blame import (
    STATE_FIELDS,
    TABLE,
    TRIES,
    Action,
    BlameRow,
    Event,
    State,
    costs_device,
    decide,
    launch_event,
    lost_event,
    may_be_mine,
    outcome_event,
)
from tests.house.blame_page import PAGE, WORDS, with_table

STATES = [State(*facts) for facts in product((True, False), repeat=len(STATE_FIELDS))]


@pytest.mark.parametrize("event", Event, ids=lambda event: event.name)
def test_exactly_one_row_is_for_an_event_in_a_state(event: Event) -> None:
    for state in STATES:
        assert len([row for row in TABLE if row.event is event and row.applies(state)]) == 1, state


def test_the_page_shows_the_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_table(text), "docs/internals.md: `python -m tests.house.blame_page` writes the table"


HOST, GPU = {"survives": True}, {"survives": False}
FRESH, USED = {"fresh": True}, {"fresh": False}
MINE, ANOTHERS = {"mine": True}, {"mine": False}
NO_COST, COST = {"cost_executor": False}, {"cost_executor": True}
FIRST_ATTEMPT, LATER_ATTEMPT = {"tried": False}, {"tried": True}
EARLY, LAST = {"last_try": False}, {"last_try": True}

POLICY = [
    # a pass counts wherever it was seen
    (Event.RIGHT, {}, Action.COUNT),
    (Event.KNOWN, {}, Action.COUNT),
    # another kernel of the same process may have caused a wrong answer, or that nothing loads any more
    (Event.WRONG, HOST | USED, Action.ALONE),
    (Event.WRONG, HOST | FRESH, Action.COUNT_LAST),
    (Event.WRONG, GPU, Action.COUNT),
    (Event.POISONED, GPU | USED, Action.ALONE),
    (Event.POISONED, GPU | FRESH, Action.COUNT_LAST),
    (Event.NOT_LOADED, USED, Action.ALONE),
    (Event.NOT_LOADED, FRESH, Action.COUNT_LAST),
    (Event.LACKING, USED, Action.ALONE),
    (Event.LACKING, FRESH, Action.NOBODY),
    # one lost process is chance, the second is the kernel's, and nobody answers for a neighbour
    (Event.ENDED, MINE | NO_COST, Action.ALONE),
    (Event.ENDED, MINE | COST, Action.BLAME),
    (Event.ENDED, ANOTHERS | FIRST_ATTEMPT, Action.ANEW),
    (Event.ENDED, ANOTHERS | LATER_ATTEMPT, Action.ALONE),
    (Event.SILENT, MINE | NO_COST | USED, Action.ALONE),
    (Event.SILENT, MINE | NO_COST | FRESH, Action.BLAME),
    (Event.SILENT, MINE | COST, Action.BLAME),
    (Event.SILENT, ANOTHERS | FIRST_ATTEMPT, Action.ANEW),
    (Event.SILENT, ANOTHERS | LATER_ATTEMPT, Action.ALONE),
    (Event.ENDED_LOADING, ANOTHERS, Action.ALONE),
    (Event.ENDED_LOADING, MINE | NO_COST, Action.ALONE),
    (Event.ENDED_LOADING, MINE | COST, Action.BLAME),
    (Event.SILENT_LOADING, ANOTHERS, Action.ALONE),
    (Event.SILENT_LOADING, MINE | NO_COST | USED, Action.ALONE),
    (Event.SILENT_LOADING, MINE | NO_COST | FRESH, Action.BLAME),
    (Event.SILENT_LOADING, MINE | COST, Action.BLAME),
    # a fault costs its case, on a GPU all that come after it
    (Event.FAULT, HOST, Action.FAIL_CASE),
    (Event.FAULT, GPU, Action.FAIL_LAST),
    (Event.TIME_OUT, HOST | {"timed_out": False}, Action.FAIL_CASE),
    (Event.TIME_OUT, HOST | {"timed_out": True}, Action.FAIL_LAST),
    (Event.TIME_OUT, GPU, Action.FAIL_LAST),
    (Event.DUE, {}, Action.PASS_CASE),
    # what the machine lacks is nobody's fault
    (Event.NO_ROOM, {}, Action.NOBODY),
    (Event.NOT_LAUNCHED, {}, Action.NOBODY),
    (Event.NO_ADDRESS_SPACE, {}, Action.LEAVE_OUT),
    (Event.UNSUPPORTED, {"case_failed": False}, Action.NOBODY),
    (Event.UNSUPPORTED, {"case_failed": True}, Action.STOP),
    # processes of ours
    (Event.UNUSED, EARLY, Action.ANEW),
    (Event.UNUSED, LAST, Action.NOBODY),
    (Event.MEMBER, EARLY, Action.ANEW),
    (Event.MEMBER, LAST, Action.NOBODY),
    (Event.STARTING, EARLY, Action.ANEW),
    (Event.STARTING, LAST, Action.END_RUN),
]


def test_a_row_has_a_condition_for_each_field_of_a_state() -> None:
    assert {one.name for one in fields(BlameRow)} == {"event", "action", *STATE_FIELDS}
    assert WORDS.keys() == set(STATE_FIELDS)


def test_a_field_of_a_state_decides_something() -> None:
    """One that no row looks at, or that is looked at with one value only, would mean nothing."""
    for name in STATE_FIELDS:
        assert {row.conditions[name] for row in TABLE if name in row.conditions} == {True, False}, name


@pytest.mark.parametrize(
    "row", TABLE, ids=lambda row: "-".join((row.event.name, *(f"{k}={v}" for k, v in row.conditions.items())))
)
def test_a_row_decides_by_its_own_conditions_alone(row: BlameRow) -> None:
    """Whatever else a state has; and where one of its conditions does not hold, another row decides."""
    for state in STATES:
        holds = all(getattr(state, name) == value for name, value in row.conditions.items())
        assert row.applies(state) == holds
        if holds:
            assert decide(row.event, state) is row.action


@pytest.mark.parametrize(
    ("event", "facts", "action"), POLICY, ids=[f"{event.name}-{number}" for number, (event, _, _) in enumerate(POLICY)]
)
def test_what_follows(event: Event, facts: dict[str, bool], action: Action) -> None:
    """In every state that has these facts, whatever else it has."""
    states = [state for state in STATES if all(getattr(state, name) == value for name, value in facts.items())]
    assert states
    assert {decide(event, state) for state in states} == {action}


def test_the_policy_is_of_every_event_and_state() -> None:
    said = {
        (event, state)
        for event, facts, _ in POLICY
        for state in STATES
        if all(getattr(state, name) == value for name, value in facts.items())
    }
    # A fault that costs the context is one of a GPU.
    assert said == set(product(Event, STATES)) - {(Event.POISONED, state) for state in STATES if state.survives}


@pytest.mark.parametrize(
    ("passed", "survives", "poisoned", "launched", "not_loaded", "event"),
    [
        (True, True, False, True, True, Event.RIGHT),
        (False, True, False, True, False, Event.WRONG),
        (False, True, False, False, False, Event.KNOWN),
        (False, True, False, False, True, Event.NOT_LOADED),
        (False, False, True, True, True, Event.POISONED),
        (False, False, False, True, False, Event.WRONG),
        (False, False, False, True, True, Event.NOT_LOADED),
    ],
)
def test_what_an_outcome_says(
    passed: bool, survives: bool, poisoned: bool, launched: bool, not_loaded: bool, event: Event
) -> None:
    assert outcome_event(passed, survives, poisoned, launched, not_loaded) is event


LAUNCH = "hipModuleLaunchKernel"


def error(call: str, code: int, before_launch: bool = False) -> HipError:
    return HipError(call, code, "", before_launch=before_launch)


@pytest.mark.parametrize(
    ("found", "must_fault", "later", "event"),
    [
        (error(LAUNCH, NOT_SUPPORTED), False, False, Event.UNSUPPORTED),
        (error(RESERVE, 1, before_launch=True), False, False, Event.NO_ADDRESS_SPACE),
        (error(LAUNCH, FAULTS[0]), True, False, Event.DUE),
        (error(LAUNCH, TIMEOUT), True, False, Event.TIME_OUT),
        (error("hipMalloc", OUT_OF_MEMORY, before_launch=True), False, True, Event.NO_ROOM),
        (error("hipMemcpy", FAULTS[0], before_launch=True), False, False, Event.NOT_LAUNCHED),
        (error("hipMemcpy", FAULTS[0], before_launch=True), False, True, Event.FAULT),
        (error("hipMemcpy", 1, before_launch=True), False, True, Event.NOT_LAUNCHED),
        (error(LAUNCH, FAULTS[0]), False, False, Event.FAULT),
        (error(LAUNCH, 1), False, False, Event.FAULT),
        (error(LAUNCH, TIMEOUT), False, False, Event.TIME_OUT),
    ],
)
def test_what_an_error_of_a_launch_says(found: HipError, must_fault: bool, later: bool, event: Event) -> None:
    assert launch_event(found, must_fault, later) is event


def test_only_a_fault_on_a_gpu_and_no_lack_of_memory_costs_the_device() -> None:
    assert costs_device(error(LAUNCH, FAULTS[0]), survives=False)
    assert not costs_device(error(LAUNCH, FAULTS[0]), survives=True)
    assert not costs_device(error("hipMalloc", OUT_OF_MEMORY), survives=False)


@pytest.mark.parametrize(
    ("users", "running", "may_be"), [(1, "7", True), (3, "2", True), (3, "1", False), (3, "", True)]
)
def test_of_several_judges_only_that_whose_request_was_running_may_be_the_cause(
    users: int, running: str, may_be: bool
) -> None:
    assert may_be_mine(users, running, "2") == may_be


def test_what_is_lost_while_it_loads_is_told_apart() -> None:
    assert [lost_event(silent, loading) for silent in (False, True) for loading in (False, True)] == [
        *(Event.ENDED, Event.ENDED_LOADING),
        *(Event.SILENT, Event.SILENT_LOADING),
    ]


# ---- a judge that does what follows

KERNEL = load_specs().kernels["fill_u8"]
PASS = Outcome(name="fill_u8", status="pass", launches=1)
FAIL = Outcome(name="fill_u8", status="fail", launches=1)
MISSING = Outcome(name="fill_u8", status="missing")
POISONED = Outcome(name="fill_u8", status="crash", launches=1, poisoned=True)
ENDED, SILENT = Lost("ended", "its process ended"), Lost("silent", "no answer within 8 s")
FULL = InfrastructureError("the device has no room")


class Executors:
    """Executors that tell of each loss whether it may be the judge's, and count those that were taken alone."""

    def __init__(self, survives: bool, suspects: Iterator[bool], fresh: bool) -> None:
        self.ready = SimpleNamespace(guards_memory=survives)
        self.alone_taken = 0
        self.discarded = False
        self._suspects, self._fresh = suspects, fresh

    def settle(self) -> None: ...

    def touch(self) -> bool:
        fresh, self._fresh = self._fresh, False
        return fresh

    def alone(self) -> None:
        self.alone_taken += 1
        self._fresh = True

    def discard(self) -> None:
        self.discarded = True

    def lost(self, _: Lost) -> EndOfExecutor:
        return EndOfExecutor("signal SIGSEGV", next(self._suspects))


@pytest.fixture
def confirmed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, int]]:
    """``confirmed(attempts, survives, suspects, fresh)``: what becomes of a kernel whose attempts end so, its status or
    why it has none, and how many of them were alone."""

    def judged(
        attempts: list[Any], survives: bool = True, suspects: tuple[bool, ...] = (True,) * TRIES, fresh: bool = False
    ) -> tuple[str, int]:
        judge = Judge.__new__(Judge)
        executors = Executors(survives, iter(suspects), fresh)
        library = Library(Tree(Path("port")), SimpleNamespace(), lambda: None)  # type: ignore[arg-type, return-value]
        judge._losses, judge._finders = set(), {"kernel": library}
        judge._executors, judge._library = executors, library  # type: ignore[assignment]
        left = iter(attempts)

        def attempt(*_: object) -> Outcome:
            found = next(left)
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setattr(judge, "_attempt", attempt)
        monkeypatch.setattr(judge, "_process_lost", lambda *_: Outcome(name="fill_u8", status="crash"))
        try:
            status: str = judge._confirmed(KERNEL, RunCases(KERNEL, None), None).status
        except InfrastructureError as failed:
            status = str(failed)
        assert list(left) == []
        return status, executors.alone_taken

    return judged


@pytest.mark.parametrize(
    ("attempts", "settings", "status", "alone"),
    [
        ([PASS], {}, "pass", 0),
        ([MISSING], {}, "missing", 0),
        ([FAIL, PASS], {}, "pass", 1),
        ([FAIL, FAIL], {}, "fail", 1),
        ([FAIL], {"fresh": True}, "fail", 0),
        ([FAIL], {"survives": False}, "fail", 0),
        ([POISONED, PASS], {"survives": False}, "pass", 1),
        ([POISONED, POISONED], {"survives": False}, "crash", 1),
        ([ENDED, PASS], {}, "pass", 1),
        ([ENDED, ENDED], {}, "crash", 1),
        ([SILENT], {"fresh": True}, "crash", 0),
        ([SILENT, SILENT], {}, "crash", 1),
        ([ENDED, ENDED, PASS], {"suspects": (False, False)}, "pass", 1),
        ([ENDED, ENDED, ENDED], {"suspects": (False, True, True)}, "crash", 1),
        ([FULL, PASS], {}, "pass", 1),
        ([FULL, FULL], {}, "the device has no room", 1),
        ([LostLoading("a.hip", ENDED), LostLoading("a.hip", ENDED), FAIL], {}, "fail", 2),
        ([ENDED] * TRIES, {"suspects": (False,) * TRIES}, "5 executors in a row ended", 4),
    ],
)
def test_a_judge_does_what_follows(
    confirmed: Callable[..., tuple[str, int]], attempts: list[Any], settings: dict[str, Any], status: str, alone: int
) -> None:
    found, taken = confirmed(attempts, **settings)
    assert found.startswith(status)
    assert taken == alone
