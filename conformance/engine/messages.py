"""What the command asks of its judges and timers and what they answer; and how such a process takes requests.

Every message is a dataclass or a model of pydantic, and travels as ``conformance.engine.coding`` says. A member of the
pool (``conformance.engine.pool``) gets its ``Setup``, then the run's mode. It says ``Ready`` where it owns a device,
else ``Started``, or ``Refused``. Then it answers requests, one at a time, each with its number:

    Compile   -> Compiled    one source
    RunCases  -> Outcome     one kernel

or ``Refused``, for bad input. ``bench`` adds a request of its own (``conformance.engine.timing.requests``). What a
judge says meanwhile about executors is in ``conformance.engine.protocol``. A member that ends, is silent or says
anything else is replaced, and its request asked again, up to ``Request.tries`` times in all.
"""

from __future__ import annotations

import faulthandler
import gc
import shlex
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import TypeAdapter

from conformance.cases.case import Case
from conformance.dtypes import DeclaredDType, declare
from conformance.engine.coding import KINDS, Expected, Kind, add_kinds, add_kinds_of, receive, send
from conformance.engine.ipc import Channel, Closed, Progress, ready
from conformance.engine.modes import JudgeGenerated
from conformance.engine.protocol import Ready
from conformance.outcome import Outcome
from conformance.port.sources import SourceError
from conformance.processes import Supervisor, die_with_parent
from conformance.runtimes.hip.errors import HipError
from conformance.runtimes.kind import NOTHING_RUNS, Choice
from conformance.settings import ExecutorSettings, Settings
from conformance.spec.entry import Build
from conformance.spec.kernel import Kernel

ORDERS = ("forward", "reverse", "shuffle:1", "shuffle:2")


@dataclass(frozen=True)
class Setup(Settings):
    """What every process of a run is given; what the run does with kernels is its mode (``conformance.engine.modes``).

    These are the settings after everything is decided: ``runtime`` is not ``auto``, and ``wave`` and ``orders`` have
    values. ``arch`` is the AMD GPU whose macros the sources see where kernels run on the host.
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
    dtypes: tuple[DeclaredDType, ...] = ()
    """Those that own kernels have besides Candle's."""
    member: tuple[int, int] = (0, 1)
    """The number of the judge that has this setup, and how many there are."""
    declared_settings: tuple[str, ...] = ()
    """The names of the settings, such as ``wave``, that have the value of the port's file: the command line leaves them
    open."""

    def command_for(self, kernel: Kernel) -> str:
        """The command that reproduces a case of ``kernel``, up to the case. ``--own`` is left out for a kernel of
        Candle's, as nothing of the port has to be trusted for it."""
        if kernel.own is not None or not self.own:
            return self.command
        return shlex.join(word for word in shlex.split(self.command) if word != "--own")

    def for_kernels(self, kernels: Iterable[Kernel]) -> Setup:
        """The same setup, for a run that judges ``kernels``."""
        return replace(
            self, asked=tuple((kernel.module, kernel.name) for kernel in kernels if kernel.build == "kernels")
        )

    def of_executors(self) -> ExecutorSettings:
        """The settings that an executor is given."""
        return ExecutorSettings(**{one.name: getattr(self, one.name) for one in fields(ExecutorSettings)})

    def for_member(self, number: int, count: int = 1) -> Setup:
        """The same setup for judge ``number`` of ``count``, on the device that this judge uses."""
        devices = self.choice.devices
        return replace(self, device=devices[number % len(devices)], member=(number % count, count))


class Answer(Protocol):
    """What a member answers to a request."""

    @property
    def is_open(self) -> bool:
        """Whether it says nothing about what was asked, for a reason that is not the port's doing."""
        ...

    @property
    def ends_member(self) -> bool:
        """Whether the member can answer no more, because a fault has cost it the context of its device."""
        ...


class Request(ABC):
    """What a member is asked to do."""

    answered_by: ClassVar[type[Answer]]
    """The type of an answer that is not ``Refused``."""

    tries: ClassVar[int] = 2
    """How many members it may cost before it stays without an answer."""

    @abstractmethod
    def unanswered(self, why: str) -> Answer:
        """The answer to give when nothing was found out because of ``why``, which is not the port's doing."""

    @abstractmethod
    def lost(self, doing: str, why: str) -> str:
        """The sentence that there is no answer: the last member ended, as ``why`` says, while it was ``doing``
        something."""


@dataclass(frozen=True)
class Compiled:
    """What became of a source.

    ``error`` is ``None`` where it compiled and loaded, else the compiler's text, or why the code object cannot be
    loaded. ``infrastructure`` says what else went wrong: then nothing is known of the source. ``kernels`` are those
    that it defines, where that is known. ``build`` and ``first`` are those of the request.
    """

    source: str
    error: str | None
    tree: int = 0
    infrastructure: str | None = None
    warnings: tuple[str, ...] = ()
    build: Build = "kernels"
    kernels: tuple[str, ...] = ()
    first: int = 0
    ends_member: ClassVar[bool] = False

    @property
    def is_open(self) -> bool:
        return self.infrastructure is not None


@dataclass(frozen=True)
class Compile(Request):
    """Compile one source of one of the mode's trees, by its label, to ``build``. Answered by ``Compiled``.

    A code object with kernels is loaded too; a library with launchers is not. If the source is compiled in parts
    (``conformance.port.compiling.shards``), these are every ``step``-th part from number ``first`` on.
    """

    answered_by: ClassVar[type[Answer]] = Compiled

    source: str
    tree: int = 0
    build: Build = "kernels"
    first: int = 0
    step: int = 1

    def unanswered(self, why: str) -> Compiled:
        return Compiled(self.source, None, self.tree, why, build=self.build, first=self.first)

    def lost(self, doing: str, why: str) -> str:
        return f"the process that compiled it died twice ({why})"


@dataclass(frozen=True)
class RunCases(Request):
    """Run one kernel over ``cases`` (case ids; ``None`` for all) as the mode says. Answered by ``Outcome``.

    ``broken`` has the sources that do not compile or load, by label, with the first error. ``unavailable`` has those
    that could not be compiled because of the machine.
    """

    answered_by: ClassVar[type[Answer]] = Outcome

    kernel: Kernel
    cases: tuple[str, ...] | None
    broken: dict[str, str] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)

    def parsed(self) -> tuple[Case, ...] | None:
        """The cases that were asked for; ``None`` for all. Raises ``ValueError`` for a text that is no case id."""
        return None if self.cases is None else tuple(map(Case.parse, self.cases))

    def unanswered(self, why: str) -> Outcome:
        return Outcome.infrastructure(self.kernel.name, why)

    def lost(self, doing: str, why: str) -> str:
        return f"the process that judged it died twice ({why})"


NO_DEVICE = Ready("none: recorded answers", "", 0, "reference on trial", "")
"""Where only the reference is judged."""


@dataclass(frozen=True)
class Refused:
    """A process cannot be set up, or a request cannot be met; the text says why, for the user."""

    why: str


@dataclass(frozen=True)
class Started:
    """The process is set up and owns no device."""


def add_checked_kinds(*kinds: type[Any]) -> None:
    """Allow these types, which pydantic checks, as messages. The module that defines them calls this."""

    def kind_of(type_: type[Any]) -> Kind:
        adapter = cache(lambda: TypeAdapter[Any](type_))  # made for the first such message: it takes a while
        return Kind(
            lambda message: adapter().dump_python(message, mode="json"),
            lambda data: adapter().validate_python(data),
            type_,
        )

    KINDS.update({kind.__name__: kind_of(kind) for kind in kinds})


add_checked_kinds(JudgeGenerated, Setup, Compile, Compiled, RunCases, Outcome)
add_kinds(Refused, Started)
add_kinds_of("conformance.engine.recordings", "JudgeRecorded", "JudgeWithPinned", "RecordAnswers", "JudgeReference")
add_kinds_of("conformance.engine.timing.requests", "TimeTrees", "Time", "Timed")


SECONDS_TO_SET_UP = 60.0


Asked = TypeVar("Asked", bound=Request)
Asked_contra = TypeVar("Asked_contra", bound=Request, contravariant=True)
ModeOf = TypeVar("ModeOf")


class Member(Protocol[Asked_contra]):
    """A process of the pool: a judge or a timer."""

    @property
    def ready(self) -> Ready | None:
        """What the process runs on, where it owns a device."""

    def ahead(self) -> Iterator[None]:
        """Do in steps what requests will need, while none has arrived."""

    def answer(self, request: Asked_contra) -> Answer:
        """The answer to ``request``. Raises ``ValueError`` for bad input."""


@dataclass(frozen=True)
class MemberKind(Generic[ModeOf, Asked]):
    """A kind of member. ``make`` makes one from a setup and a mode of ``modes``; it answers ``requests``.

    Its channel is for what it asks of the process that started it.
    """

    make: Callable[[Channel, Progress, Setup, ModeOf, Supervisor], Member[Asked]]
    modes: Expected[ModeOf]
    requests: Expected[Asked]


SETUP: Expected[Setup] = Expected(Setup)


def run_member(kind: MemberKind[ModeOf, Asked], channel: int, progress: int, parent: int) -> None:
    """Serve requests on the descriptor ``channel`` until the other side closes it.

    ``progress`` is the descriptor of the page of progress, ``parent`` is as for ``die_with_parent``.
    """
    gc.freeze()
    gc.enable()  # see own_module
    die_with_parent(parent)
    faulthandler.enable()
    with Supervisor() as supervisor, suppress(Closed):
        _serve(kind, Channel.adopt(channel), Progress(progress), supervisor)


def _serve(kind: MemberKind[ModeOf, Asked], channel: Channel, progress: Progress, supervisor: Supervisor) -> None:
    """Take a ``Setup`` and a mode, say ``Ready``, ``Started`` or ``Refused``, then answer requests."""
    setup = receive(channel, SETUP, SECONDS_TO_SET_UP).message
    declare(setup.dtypes)
    mode = receive(channel, kind.modes, SECONDS_TO_SET_UP).message
    try:
        member = kind.make(channel, progress, setup, mode, supervisor)
    except (SourceError, HipError, RuntimeError, OSError, ValueError) as error:
        send(channel, Refused(str(error)))
        return
    send(channel, member.ready or Started())
    with suppress(Exception):  # a request that needs what failed tells why
        for _ in member.ahead():
            if ready([channel], 0):
                break
    while True:
        request, number, _ = receive(channel, kind.requests)
        answer = _answer(member, request)
        progress.begin("")
        send(channel, answer, number)


def _answer(member: Member[Asked], request: Asked) -> Answer | Refused:
    try:
        return member.answer(request)
    except ValueError as error:
        return Refused(str(error))
    except Exception as error:  # a defect of the harness must cost one kernel or case, not the record
        where = traceback.extract_tb(error.__traceback__)[-1]
        return request.unanswered(f"the harness failed: {error!r} at {Path(where.filename).name}:{where.lineno}")
