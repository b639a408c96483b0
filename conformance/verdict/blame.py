"""Who is to blame: what follows when a kernel, an executor, a judge or the machine fails, as one table.

``decide(event, state)`` looks it up. The table is all there is to the policy: who uses it finds out what has happened
and does what the action says. docs/internals.md shows it, rendered by ``python -m tests.house.blame_page``.

    >>> decide(Event.WRONG, State(survives=True, fresh=False)).name
    'ALONE'

Two rules are behind its rows. A verdict other than ``pass`` counts only where no other kernel can have caused it: on
the host, where kernels share a process with what runs them, only in an executor that had run nothing else. And one loss
may be chance, so that a kernel is called the cause of the second, in an executor that nobody else used.

Without input, output and other modules of ours but one: an executor imports it too.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum

from conformance.runtimes.hip.errors import RESERVE, HipError

TRIES = 5
"""Executors that a kernel may take up, and that may end before they are asked for anything."""


class Event(Enum):
    """What has happened, in words that follow "when"."""

    # a kernel was tried
    RIGHT = "every answer is right"
    KNOWN = "nothing was launched, for a reason that the source shows"
    WRONG = "an answer is wrong, or a launch faults and its process goes on"
    POISONED = "a launch faults and the device's context does not survive it"
    NOT_LOADED = "a source does not compile or load"
    LACKING = "the machine lacks memory, a compiler or room on a disk"
    ENDED = "the executor's process ends, or its answer is none"
    SILENT = "the executor does not answer in time"
    ENDED_LOADING = "the executor's process ends while it loads a source"
    SILENT_LOADING = "the executor does not answer in time while it loads a source"

    # a launch of a case ended with an error
    FAULT = "a launch faults"
    TIME_OUT = "a launch is ended by the runtime, for it takes too long"
    DUE = "a case faults that has to fault"
    NO_ROOM = "the device has no room for a case"
    NOT_LAUNCHED = "the device fails before a case is launched"
    NO_ADDRESS_SPACE = "there is no address space for a case whose buffers have gaps"
    UNSUPPORTED = "the runtime cannot make the launch"

    # a process was lost
    UNUSED = "an executor ends before it is asked for anything"
    MEMBER = "a judge or a timer ends, makes no progress, or says what is no answer"
    STARTING = "a judge or a timer ends while it is set up"


class Action(Enum):
    """What follows, in words."""

    COUNT = "that counts"
    COUNT_LAST = "that counts, and nothing else runs in this executor"
    ALONE = "once more, in a fresh executor that nobody else uses"
    ANEW = "once more"
    BLAME = "the kernel, or the source, is to blame: `crash`, `timeout` or `compile_error`"
    NOBODY = "nobody is to blame, and there is no verdict: `not_run`"
    END_RUN = "nobody is to blame, and the run ends"
    FAIL_CASE = "the case fails, and the next one runs"
    FAIL_LAST = "the case fails, and is the last one"
    PASS_CASE = "that is right, and the next order runs"
    LEAVE_OUT = "the case is left out"
    STOP = "the kernel is judged by the cases before"


@dataclass(frozen=True)
class State:
    """What is known when something happens; each event looks at some of it."""

    survives: bool = True
    """A fault costs no more than its case, as on runtimes of ours that guard memory; on a GPU it costs the context."""

    fresh: bool = False
    """The executor had loaded and run nothing before."""

    mine: bool = True
    """What this judge asked of the executor may have been the cause, and not only what another judge asked."""

    cost_executor: bool = False
    """The same kernel has cost an executor before, or while sources are loaded the same source."""

    tried: bool = False
    """It is not the first attempt to judge the kernel."""

    timed_out: bool = False
    """A case of the kernel was ended before, because it took too long."""

    case_failed: bool = False
    """A case of the kernel has failed before."""

    last_try: bool = False
    """The process that was lost was the last of those that may be tried."""


@dataclass(frozen=True)
class BlameRow:
    """``action`` follows ``event`` in every state that has what is not ``None`` here, by the names of ``State``."""

    event: Event
    action: Action
    survives: bool | None = None
    fresh: bool | None = None
    mine: bool | None = None
    cost_executor: bool | None = None
    tried: bool | None = None
    timed_out: bool | None = None
    case_failed: bool | None = None
    last_try: bool | None = None

    @property
    def conditions(self) -> dict[str, bool]:
        """What a state has to have, by name."""
        return {name: value for name in STATE_FIELDS if (value := getattr(self, name)) is not None}

    def applies(self, state: State) -> bool:
        return all(getattr(state, name) == value for name, value in self.conditions.items())


STATE_FIELDS = tuple(one.name for one in fields(State))

TABLE = (
    BlameRow(Event.RIGHT, Action.COUNT),
    BlameRow(Event.KNOWN, Action.COUNT),
    BlameRow(Event.WRONG, Action.COUNT, survives=False),  # memory of a kernel is its own on a GPU
    BlameRow(Event.WRONG, Action.ALONE, survives=True, fresh=False),
    BlameRow(Event.WRONG, Action.COUNT_LAST, survives=True, fresh=True),
    BlameRow(Event.POISONED, Action.ALONE, fresh=False),
    BlameRow(Event.POISONED, Action.COUNT_LAST, fresh=True),
    BlameRow(Event.NOT_LOADED, Action.ALONE, fresh=False),
    BlameRow(Event.NOT_LOADED, Action.COUNT_LAST, fresh=True),
    BlameRow(Event.LACKING, Action.ALONE, fresh=False),  # a kernel before may have taken all memory
    BlameRow(Event.LACKING, Action.NOBODY, fresh=True),
    BlameRow(Event.ENDED, Action.ANEW, mine=False, tried=False),
    BlameRow(Event.ENDED, Action.ALONE, mine=False, tried=True),  # neighbours must not keep a kernel from its verdict
    BlameRow(Event.ENDED, Action.ALONE, mine=True, cost_executor=False),
    BlameRow(Event.ENDED, Action.BLAME, mine=True, cost_executor=True),
    BlameRow(Event.SILENT, Action.ANEW, mine=False, tried=False),
    BlameRow(Event.SILENT, Action.ALONE, mine=False, tried=True),
    BlameRow(Event.SILENT, Action.ALONE, mine=True, cost_executor=False, fresh=False),
    BlameRow(
        Event.SILENT, Action.BLAME, mine=True, cost_executor=False, fresh=True
    ),  # a second wait would tell nothing more
    BlameRow(Event.SILENT, Action.BLAME, mine=True, cost_executor=True),
    BlameRow(Event.ENDED_LOADING, Action.ALONE, mine=False),
    BlameRow(Event.ENDED_LOADING, Action.ALONE, mine=True, cost_executor=False),
    BlameRow(Event.ENDED_LOADING, Action.BLAME, mine=True, cost_executor=True),
    BlameRow(Event.SILENT_LOADING, Action.ALONE, mine=False),
    BlameRow(Event.SILENT_LOADING, Action.ALONE, mine=True, cost_executor=False, fresh=False),
    BlameRow(Event.SILENT_LOADING, Action.BLAME, mine=True, cost_executor=False, fresh=True),
    BlameRow(Event.SILENT_LOADING, Action.BLAME, mine=True, cost_executor=True),
    BlameRow(Event.FAULT, Action.FAIL_CASE, survives=True),
    BlameRow(Event.FAULT, Action.FAIL_LAST, survives=False),
    BlameRow(Event.TIME_OUT, Action.FAIL_CASE, survives=True, timed_out=False),
    BlameRow(Event.TIME_OUT, Action.FAIL_LAST, survives=True, timed_out=True),  # every further one may take as long
    BlameRow(Event.TIME_OUT, Action.FAIL_LAST, survives=False),
    BlameRow(Event.DUE, Action.PASS_CASE),
    BlameRow(Event.NO_ROOM, Action.NOBODY),
    BlameRow(Event.NOT_LAUNCHED, Action.NOBODY),
    BlameRow(Event.NO_ADDRESS_SPACE, Action.LEAVE_OUT),
    BlameRow(Event.UNSUPPORTED, Action.NOBODY, case_failed=False),
    BlameRow(Event.UNSUPPORTED, Action.STOP, case_failed=True),
    BlameRow(Event.UNUSED, Action.ANEW, last_try=False),
    BlameRow(Event.UNUSED, Action.NOBODY, last_try=True),
    BlameRow(Event.MEMBER, Action.ANEW, last_try=False),
    BlameRow(Event.MEMBER, Action.NOBODY, last_try=True),
    BlameRow(Event.STARTING, Action.ANEW, last_try=False),
    BlameRow(Event.STARTING, Action.END_RUN, last_try=True),
)
"""Exactly one row for every event and state."""


def decide(event: Event, state: State = State()) -> Action:
    """What follows ``event`` in ``state``."""
    return next(row.action for row in TABLE if row.event is event and row.applies(state))


# ---- what has happened


def outcome_event(passed: bool, survives: bool, poisoned: bool, launched: bool, not_loaded: bool) -> Event:
    """What an outcome says; ``not_loaded``: a source could not be compiled or loaded for it."""
    if passed:
        return Event.RIGHT
    if not survives and poisoned:
        return Event.POISONED
    if not_loaded:
        return Event.NOT_LOADED
    return Event.WRONG if launched else Event.KNOWN


def launch_event(error: HipError, must_fault: bool, later: bool) -> Event:
    """What an error of a launch says of its case, which is one that ``must_fault`` or is not.

    ``later``: it is not the first launch of the kernel here. A fault that shows before a launch is then its own.
    """
    if error.is_unsupported:
        return Event.UNSUPPORTED
    if error.call == RESERVE:
        return Event.NO_ADDRESS_SPACE
    if must_fault and error.is_fault:
        return Event.DUE
    if error.lacks_memory:
        return Event.NO_ROOM
    if error.before_launch and not (later and error.is_fault):
        return Event.NOT_LAUNCHED
    return Event.TIME_OUT if error.is_timeout else Event.FAULT


def lost_event(silent: bool, loading: bool) -> Event:
    """What the loss of an executor is."""
    if loading:
        return Event.SILENT_LOADING if silent else Event.ENDED_LOADING
    return Event.SILENT if silent else Event.ENDED


def may_be_mine(users: int, running: str, mine: str) -> bool:
    """Whether a judge may have caused the loss of an executor with so many ``users``: of several only the one whose
    request was ``running``, and each where none was."""
    return users == 1 or running in ("", mine)


def costs_device(error: HipError, survives: bool) -> bool:
    """Whether nothing that runs in a process after ``error`` can be believed: on a GPU, where every later call may
    fail."""
    return not (survives or error.lacks_memory)
