"""What judges, executors, their hosts and the command say to each other about executors: every message, as its type.

What the command asks of a judge or timer (``Compile``, ``RunCases``, ``Time``) is in ``conformance.engine.messages``;
how all of them travel, in ``conformance.engine.coding``.

**Command to host, ``conformance.engine.executor``.** One host per device, which never runs anything of a port.

    OpenDevice                         first; CannotOpen, with no number, where the device cannot be opened
    StartExecutor(n)                   with descriptors: a page of progress, and a link for each judge
                                       -> ExecutorReady(n), or CannotOpen(n)
    StopExecutor(n)                    no answer but the end of it
                                       <- ExecutorEnded(n) when a child has ended, for whatever reason

**Judge to command.** A judge asks for an executor before it loads or launches, and when it has lost one.

    WantExecutor                       -> HandedExecutor, with two descriptors: its link and its page of progress;
                                          or NoExecutor: the machine's fault, never the kernel's
    LostExecutor                       -> EndOfExecutor, once it has ended or was killed

**Judge to executor.** Each request has the next number on its link, and its answer has the same number. An executor
answers in order, one request at a time; a judge has at most two launches on their way.

    ShareArena                         with the arena's descriptor; no answer
    LoadCode                           -> CodeLoaded, or Failed
    FindFunction                       -> FunctionFound, or Failed
    FindCall                           -> CallFound, or Failed
    RunLaunch                          -> Launched, in which each order has its own end; its buffers lie in the arena

**An executor is lost** (``Loss``) for the judge that asked it when

- ``ended``: its link is closed before the answer. Its process has ended, or is about to: after a fault that a context
  does not survive it answers first, and then ends itself.
- ``silent``: no answer while its page of progress stands still for as long as a launch may take. The judge gives it up,
  and the command kills it.
- ``garbled``: what came is no answer to the request: not a message, of another type or shape, with another number, with
  descriptors, or incomplete. A kernel may own the process that writes to the link, so that nothing that comes from
  there is believed further; the command kills it.

A lost executor is never a verdict by itself: ``conformance.verdict.blame`` says what follows.

Without numpy and pydantic, as all of an executor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from conformance.engine.coding import Exactly, Expected, Least, Longest, add_kinds
from conformance.runtimes.hip.errors import HipError
from conformance.settings import ExecutorSettings
from conformance.spec.entry import Build

KEPT_TEXT = 2000
"""Characters of a text that an executor sends on; what it sends may be twice as long."""

Text = Annotated[str, Longest(4096)]
"""What an executor says in words."""

Count = Annotated[int, Least(0)]

Loss = Literal["ended", "silent", "garbled"]
"""How a judge finds out that an executor is of no use any more."""


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


# ---- command and host


@dataclass(frozen=True)
class OpenDevice:
    """Be the host of device ``device`` of a runtime, with ``threads`` of the host for the runtime's blocks.

    ``settings`` are those of the run that a process with a port's code may know.
    """

    device: int
    threads: int
    settings: ExecutorSettings


@dataclass(frozen=True)
class StartExecutor:
    number: int


@dataclass(frozen=True)
class StopExecutor:
    number: int


@dataclass(frozen=True)
class CannotOpen:
    """Why the device cannot be opened, by the host (``number`` is ``None``) or in an executor; for the user."""

    number: int | None
    why: str


@dataclass(frozen=True)
class ExecutorReady:
    number: int
    ready: Ready


@dataclass(frozen=True)
class ExecutorEnded:
    """``how`` is a signal or an exit code; ``stderr`` and ``stdout`` are what it has written there, decoded."""

    number: int
    how: str
    stderr: str
    stdout: str


ToHost = OpenDevice | StartExecutor | StopExecutor
FromHost = CannotOpen | ExecutorReady | ExecutorEnded

OPEN_DEVICE: Expected[OpenDevice] = Expected(OpenDevice)
"""What a host expects first; then ``TO_HOST``."""

TO_HOST: Expected[StartExecutor | StopExecutor] = Expected(StartExecutor, StopExecutor)
FROM_HOST: Expected[FromHost] = Expected(CannotOpen, ExecutorReady, ExecutorEnded)


# ---- judge and command


@dataclass(frozen=True)
class WantExecutor:
    """Hand over an executor; ``alone``: a fresh one that no other judge uses."""

    alone: bool


@dataclass(frozen=True)
class HandedExecutor:
    """``shared``: other judges use it too, so that what has run there is not known."""

    ready: Ready
    shared: bool


@dataclass(frozen=True)
class NoExecutor:
    why: str


@dataclass(frozen=True)
class LostExecutor:
    """The executor that was handed over last is of no use to this judge any more."""

    loss: Loss


@dataclass(frozen=True)
class EndOfExecutor:
    """How a lost executor ended, and whether what this judge asked of it may have been the cause."""

    how: str
    suspect: bool


ToCommand = WantExecutor | LostExecutor
FromCommand = HandedExecutor | NoExecutor | EndOfExecutor

AN_EXECUTOR: Expected[HandedExecutor | NoExecutor] = Expected(HandedExecutor, NoExecutor)
"""What a judge expects for ``WantExecutor``."""

AN_END: Expected[EndOfExecutor] = Expected(EndOfExecutor)
"""What a judge expects for ``LostExecutor``."""


# ---- judge and executor


@dataclass(frozen=True)
class ShareArena:
    """The memory behind the descriptor is arena ``arena`` of this link from now on."""

    arena: int


@dataclass(frozen=True)
class LoadCode:
    """Load the code object that is the first ``size`` bytes of an arena, of which ``mapped`` bytes are there.

    ``label`` is the source's, for errors; ``build`` is what that was compiled to.
    """

    arena: int
    mapped: int
    size: int
    label: str
    build: Build


@dataclass(frozen=True)
class FindFunction:
    """The function ``name`` of module ``module``: a kernel, or a host function where launchers were built."""

    module: int
    name: str


@dataclass(frozen=True)
class FindCall:
    """The call ``name`` of the vendor's library."""

    name: str


Slot = bytes | tuple[int, int] | None
"""An argument: its eight bytes (a multiple of eight of a struct), a buffer's number with an offset, or the stream."""


@dataclass(frozen=True)
class RunLaunch:
    """Launch function ``function`` once for each of ``orders``, up to the first that faults unless it ``must_fault``.

    ``shape`` is grid, block and the bytes of shared memory. ``pointers`` are those inside of structs: the number of the
    slot, where in it, the buffer's number, and an offset in that. Of an arena, of which ``mapped`` bytes are there, the
    first ``total`` are the content of ``buffers`` (offset and size in bytes each) before a launch, and as many more for
    each order get what it leaves. ``scratch`` are the sizes of buffers that the executor makes, whose content is
    nobody's; ``names`` are those of ``buffers`` and scratch. ``pieces`` has for each buffer with gaps its parts (offset
    in its content, size, offset in its allocation, in bytes). ``types`` are those of a launcher's arguments, and empty
    for a kernel; ``what`` describes the launch, for errors.
    """

    arena: int
    mapped: int
    function: int
    shape: tuple[int, int, int, int, int, int, int]
    slots: tuple[Slot, ...]
    pointers: tuple[tuple[int, int, int, int], ...]
    types: tuple[str, ...]
    scratch: tuple[int, ...]
    names: tuple[str, ...]
    buffers: tuple[tuple[int, int], ...]
    pieces: tuple[tuple[tuple[int, int, int], ...], ...]
    total: int
    orders: tuple[str, ...]
    must_fault: bool
    what: str


@dataclass(frozen=True)
class CompiledParameterRow:
    type: Text | None
    size: int


@dataclass(frozen=True)
class KernelRow:
    """A kernel of a loaded code object, as the runtime reports."""

    name: Text
    line: int | None
    params: tuple[CompiledParameterRow, ...]

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> KernelRow:
        """From a row of ``Runtime.module_kernels``."""
        params = (CompiledParameterRow(one["type"], one["size"]) for one in row["params"])
        return cls(row["name"], row["line"], tuple(params))


@dataclass(frozen=True)
class CodeLoaded:
    """The code object has number ``module``; ``kernels``, where the runtime is asked for them and can tell."""

    module: int
    kernels: tuple[KernelRow, ...] | None


@dataclass(frozen=True)
class FunctionFound:
    """The function has number ``function``, and there is none where that is ``None``; ``shared`` are the bytes of its
    ``__shared__`` variables, where known."""

    function: int | None
    shared: Count | None


@dataclass(frozen=True)
class CallFound:
    """As ``FunctionFound``; ``about`` names the library, or says why there is none."""

    function: int | None
    about: Text


@dataclass(frozen=True)
class DeviceError:
    """A ``HipError``."""

    call: Text
    code: int
    name: Text
    what: Text
    detail: Text
    before_launch: bool

    @classmethod
    def of(cls, error: HipError, before_launch: bool = False) -> DeviceError:
        what, detail = error.what[:KEPT_TEXT], error.detail[:KEPT_TEXT]
        return cls(error.call, error.code, error.name, what, detail, before_launch)

    def error(self) -> HipError:
        return HipError(self.call, self.code, self.name, self.what, self.detail, self.before_launch)


@dataclass(frozen=True)
class Misused:
    """A launcher that ended and did what it must not do (``conformance.runtimes.hip.calling.Misuse``)."""

    misuse: Text


@dataclass(frozen=True)
class Failed:
    """The request ended with an error of the device."""

    error: DeviceError


@dataclass(frozen=True)
class Launched:
    """How the launch in each order ended, ``None`` where well, up to the last that was made.

    ``untold`` orders were left out, for they cannot differ from those before. ``leak`` says of a launcher how many
    calls of this case each left something behind, and how much (``executor_server.Leaks``); ``misaligned`` what was
    accessed that was not aligned.
    """

    ends: tuple[DeviceError | Misused | None, ...]
    untold: Count
    leak: Annotated[tuple[Count, ...], Exactly(7)] | None
    misaligned: Text


ToExecutor = RunLaunch | LoadCode | FindFunction | FindCall
"""What is answered."""

FromExecutor = Launched | CodeLoaded | FunctionFound | CallFound | Failed

TO_EXECUTOR: Expected[ShareArena | ToExecutor] = Expected(ShareArena, RunLaunch, LoadCode, FindFunction, FindCall)
LAUNCHED: Expected[Launched | Failed] = Expected(Launched, Failed)

add_kinds(
    *(OpenDevice, StartExecutor, StopExecutor, CannotOpen, ExecutorReady, ExecutorEnded),
    *(WantExecutor, HandedExecutor, NoExecutor, LostExecutor, EndOfExecutor),
    *(ShareArena, LoadCode, FindFunction, FindCall, RunLaunch),
    *(CodeLoaded, FunctionFound, CallFound, Launched, Failed),
    Ready,
)
