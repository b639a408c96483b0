"""What goes to a process of a run and what comes back, as plain data; and how such a process takes requests.

Every message is a dataclass or a model of pydantic, one of ``KINDS``, and travels as a map that names its kind.
A member of the pool (``conformance.engine.pool``) gets its ``Setup`` with the run's mode, answers ``Ready``, nothing or
``Refused``, and then answers requests, one at a time:

    Compile   -> Compiled    one source
    RunCases  -> Outcome     one kernel

``bench`` adds a request of its own (``conformance.engine.timing.requests``) by ``add_kinds``.
"""

from __future__ import annotations

import faulthandler
import gc
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol

from pydantic import TypeAdapter

from conformance.cases.case import Case
from conformance.engine.ipc import Channel, Closed, Progress
from conformance.engine.modes import JudgeGenerated, Mode
from conformance.outcome import Outcome
from conformance.port.sources import SourceError
from conformance.processes import Supervisor, die_with_parent
from conformance.runtimes.hip.errors import HipError
from conformance.runtimes.kind import NOTHING_RUNS, Choice
from conformance.settings import Settings
from conformance.spec.kernel import Kernel

ORDERS = ("forward", "reverse", "shuffle:1", "shuffle:2")


@dataclass(frozen=True)
class Setup(Settings):
    """What every process of a run has; what the run does with kernels is its mode (``conformance.engine.modes``).

    These are the settings as they came out: a ``runtime`` that is not ``auto``, its ``wave`` and ``orders``. ``arch``
    is the AMD GPU whose macros sources see where kernels run on the host.
    """

    device: int = 0
    threads: int = 1
    command: str = ""
    """The command, up to the case, that reproduces a failure."""
    choice: Choice = NOTHING_RUNS
    """How the runtime and its devices were chosen."""
    asked: tuple[tuple[str, str], ...] = ()
    """The kernels that the run judges, each its module and name: what is compiled for them may leave out others. Empty:
    nothing is left out."""

    def for_kernels(self, kernels: Iterable[Kernel]) -> Setup:
        """The same setup for a run that judges ``kernels``."""
        return replace(self, asked=tuple((kernel.module, kernel.name) for kernel in kernels if not kernel.is_launcher))

    def for_member(self, number: int) -> Setup:
        """The same setup for judge ``number``, on the device that is its."""
        return replace(self, device=self.choice.devices[number % len(self.choice.devices)])


class Answer(Protocol):
    """What a member answers to a request."""

    @property
    def is_open(self) -> bool:
        """Whether it says nothing of what was asked about, for a reason that is not the port's doing."""
        ...

    @property
    def ends_member(self) -> bool:
        """Whether the member cannot answer more: a fault took the context of its device with it."""
        ...


class Request(ABC):
    """What a member is asked for."""

    tries: ClassVar[int] = 2
    """How many members it may cost before it stays without an answer."""

    @abstractmethod
    def unanswered(self, why: str) -> Answer:
        """The answer where nothing was found out, for a reason that is not the port's doing."""

    @abstractmethod
    def lost(self, doing: str, why: str) -> str:
        """Why there is no answer: its last member ended as ``why`` says while it was ``doing`` something."""


@dataclass(frozen=True)
class Compile(Request):
    """Compile one source of one of the mode's trees, by its label, and load it; answered by ``Compiled``.

    With ``launchers`` it is compiled as a library, with its host functions, and not loaded. Of a source that is
    compiled in parts (``conformance.port.compiling.shards``) every ``step``-th is compiled, from number ``first`` on.
    """

    source: str
    tree: int = 0
    launchers: bool = False
    first: int = 0
    step: int = 1

    def unanswered(self, why: str) -> Compiled:
        return Compiled(self.source, None, self.tree, why, launchers=self.launchers)

    def lost(self, doing: str, why: str) -> str:
        return f"the process that compiled it died twice ({why})"


@dataclass(frozen=True)
class Compiled:
    """``error`` is ``None`` on success, else the compiler's text or why the code object cannot be loaded.

    ``infrastructure`` says what else went wrong: then nothing is known of the source. ``kernels`` are those that the
    source defines, where that is known; ``launchers`` is as in the request.
    """

    source: str
    error: str | None
    tree: int = 0
    infrastructure: str | None = None
    warnings: tuple[str, ...] = ()
    launchers: bool = False
    kernels: tuple[str, ...] = ()
    ends_member: ClassVar[bool] = False

    @property
    def is_open(self) -> bool:
        return self.infrastructure is not None


@dataclass(frozen=True)
class RunCases(Request):
    """Run one kernel over ``cases`` (ids; ``None`` for all that there are) as the mode says; answered by ``Outcome``.

    ``broken`` holds the sources that do not compile or load, by label, with the first error, ``unavailable`` those
    that could not be compiled for a reason of the machine's.
    """

    kernel: Kernel
    cases: tuple[str, ...] | None
    broken: dict[str, str] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)

    def parsed(self) -> tuple[Case, ...] | None:
        """The cases that were asked for; raises ``ValueError`` for an id that is none."""
        return None if self.cases is None else tuple(map(Case.parse, self.cases))

    def unanswered(self, why: str) -> Outcome:
        return Outcome.infrastructure(self.kernel.name, why)

    def lost(self, doing: str, why: str) -> str:
        return f"the process that judged it died twice ({why})"


@dataclass(frozen=True)
class Ready:
    """What a run runs on.

    ``identity`` is what decides a code object in addition to source and options; ``pad`` the guard bytes that the
    harness puts around buffers, 0 where the runtime guards memory itself. ``sandbox`` says what confines the executors,
    ``weakened`` which checks of the runtime the environment has switched off.
    """

    device: str
    arch: str
    wave: int
    description: str
    hip_python: str
    identity: str = ""
    guards_memory: bool = True
    pad: int = 0
    sandbox: str | None = None
    weakened: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What was found damaged, such as a runtime library, and mended."""


NO_DEVICE = Ready("none: recorded answers", "", 0, "reference on trial", "")
"""Where only the reference is judged."""


@dataclass(frozen=True)
class Refused:
    """Why a process could not be set up, or a request could not be met; the text is for the user."""

    why: str


KINDS: dict[str, type[Any]] = {}
"""The messages, by the name of their class."""

_ELSEWHERE = {
    **dict.fromkeys(("JudgeRecorded", "RecordAnswers", "JudgeReference"), "conformance.engine.recordings"),
    **dict.fromkeys(("TimeTrees", "Time", "Timed"), "conformance.engine.timing.requests"),
}
"""Those of commands that a run does without: which module adds them. A process imports it for the first of them."""


def add_kinds(*kinds: type[Any]) -> None:
    """Let messages of these ``kinds`` travel: the module that has them calls it."""
    KINDS.update({kind.__name__: kind for kind in kinds})


add_kinds(JudgeGenerated, Setup, Compile, Compiled, RunCases, Outcome, Ready, Refused)


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(KINDS[kind])


def to_map(data: Any) -> dict[str, Any]:
    """``data``, one of ``KINDS``, as a map that names its kind."""
    kind = type(data).__name__
    return {"kind": kind, "data": _adapter(kind).dump_python(data, mode="json")}


def from_map(content: Mapping[str, Any]) -> Any:
    """What ``to_map`` made a map of; raises ``ValueError`` for anything else."""
    kind = str(content.get("kind"))
    if kind not in KINDS and kind in _ELSEWHERE:
        import_module(_ELSEWHERE[kind])
    if kind not in KINDS:
        raise ValueError(f"{content.get('kind')!r} is not a kind of message")
    return _adapter(kind).validate_python(content.get("data"))


SECONDS_TO_SET_UP = 60.0


class Member(Protocol):
    """A process that answers requests."""

    @property
    def ready(self) -> Ready | None:
        """What it runs on, where it owns a device."""

    def answer(self, request: Any) -> Answer:
        """The answer to a request; raises ``ValueError`` for bad input."""


MemberFactory = Callable[[Channel, Progress, Setup, Any, Supervisor], Member]
"""Makes the member of a setup and a mode; the channel is for what it asks of the process that started it."""


def run_member(make: MemberFactory, channel: int, progress: int, parent: int) -> None:
    """Serve on the descriptor ``channel`` until the other side closes, with the page behind ``progress``; ``parent`` is
    as for ``die_with_parent``."""
    gc.freeze()
    gc.enable()  # see own_module
    die_with_parent(parent)
    faulthandler.enable()
    with Supervisor() as supervisor, suppress(Closed):
        _serve(make, Channel.adopt(channel), Progress(progress), supervisor)


def _serve(make: MemberFactory, channel: Channel, progress: Progress, supervisor: Supervisor) -> None:
    """Take a ``Setup`` with a mode, answer ``Ready``, nothing or ``Refused``, then answer requests."""
    message, _ = channel.receive(SECONDS_TO_SET_UP)
    setup: Setup = from_map(message)
    mode: Mode = from_map(message["mode"])
    try:
        member = make(channel, progress, setup, mode, supervisor)
    except (SourceError, HipError, RuntimeError, OSError, ValueError) as error:
        channel.send({"say": "answer", "id": 0, **to_map(Refused(str(error)))})
        return
    channel.send({"say": "answer", "id": 0, **({"kind": None} if member.ready is None else to_map(member.ready))})
    while True:
        message, _ = channel.receive()
        answer = _answer(member, from_map(message))
        progress.begin("")
        channel.send({"say": "answer", "id": message["id"], **to_map(answer)})


def _answer(member: Member, request: Request) -> Answer | Refused:
    try:
        return member.answer(request)
    except ValueError as error:
        return Refused(str(error))
    except Exception as error:  # a defect of the harness must cost one kernel or case, not the record
        where = traceback.extract_tb(error.__traceback__)[-1]
        return request.unanswered(f"the harness failed: {error!r} at {Path(where.filename).name}:{where.lineno}")
