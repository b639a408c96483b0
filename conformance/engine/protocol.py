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
    RunLaunch                          -> LaunchEnds, in which each order has its own end; its buffers lie in the arena

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

    ``identity`` is what a code object depends on besides source and options. ``pad`` is the number of guard bytes that
    the harness puts around buffers; 0 where the runtime guards memory itself. ``sandbox`` says what confines executors,
    and ``weakened`` which checks of the runtime the environment has switched off.
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
    """Own device ``device`` of a runtime, with ``threads`` threads of the host for the blocks of launches.

    ``settings`` are those that a process may know in which a port's code runs.
    """

    device: int
    threads: int
    settings: ExecutorSettings


@dataclass(frozen=True)
class StartExecutor:
    """Fork executor ``number``."""

    number: int


@dataclass(frozen=True)
class StopExecutor:
    """Kill executor ``number``."""

    number: int


@dataclass(frozen=True)
class CannotOpen:
    """Why the device cannot be opened by the host (``number`` is ``None``) or by an executor. The text is for the
    user."""

    number: int | None
    why: str


@dataclass(frozen=True)
class ExecutorReady:
    """Executor ``number`` has been forked and has opened the device."""

    number: int
    ready: Ready


@dataclass(frozen=True)
class ExecutorEnded:
    """An executor has ended: ``how`` is its exit code or signal, in words, ``stdout`` and ``stderr`` are what it
    wrote."""

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
    """A judge needs an executor; with ``alone`` a fresh one that no other judge uses."""

    alone: bool


@dataclass(frozen=True)
class HandedExecutor:
    """An executor for the judge. ``shared`` says that other judges use it too, so that it is not known what ran
    there."""

    ready: Ready
    shared: bool


@dataclass(frozen=True)
class NoExecutor:
    """There is no executor to be had, because of ``why``. That is the machine's fault and never a kernel's."""

    why: str


@dataclass(frozen=True)
class LostExecutor:
    """The executor that this judge was handed last is of no use to it any more."""

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
    """The memory behind the descriptor that comes with this message is arena ``arena`` of the link from now on."""

    arena: int


@dataclass(frozen=True)
class LoadCode:
    """Load a code object: the first ``size`` bytes of an arena, of which ``mapped`` bytes are to be mapped.

    ``label`` is that of its source, for errors; ``build`` is what the source was compiled to.
    """

    arena: int
    mapped: int
    size: int
    label: str
    build: Build


@dataclass(frozen=True)
class FindFunction:
    """Find the function ``name`` in module ``module``: a kernel, or a host function if launchers were built."""

    module: int
    name: str


@dataclass(frozen=True)
class FindCall:
    """Find the call ``name`` in the vendor's library."""

    name: str


Slot = bytes | tuple[int, int] | None
"""An argument: its eight bytes (a multiple of eight of a struct), a buffer's number with an offset, or the stream."""


@dataclass(frozen=True)
class RunLaunch:
    """Launch function ``function`` once in each of ``orders``, up to the first that faults, unless it ``must_fault``.

    ``shape`` is grid, block, and the bytes of dynamic shared memory. ``what`` describes the launch, for errors.
    ``types`` are the types of a launcher's arguments; it is empty for a kernel.

    Of the arena ``mapped`` bytes are mapped. Its first ``total`` bytes are the content of ``buffers`` before a launch,
    each with its offset and size in bytes. As many bytes more for each order receive the content afterwards. ``names``
    are the names of ``buffers`` and scratch.

    - ``scratch`` has the sizes of buffers that the executor makes. Their content is not looked at.
    - ``pointers`` has the pointers inside of structs: number of the argument, offset in it, number of the buffer,
      offset in that.
    - ``pieces`` has, for each buffer with gaps, its parts: offset in its content, size, and offset in its allocation,
      in bytes.
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
    """A parameter of a compiled kernel, as the runtime reports it: its type in words, where known, and its size in
    bytes."""

    type: Text | None
    size: int


@dataclass(frozen=True)
class KernelRow:
    """A kernel of a loaded code object, as the runtime reports it."""

    name: Text
    line: int | None
    params: tuple[CompiledParameterRow, ...]

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> KernelRow:
        """The kernel of a row of ``Runtime.module_kernels``."""
        params = (CompiledParameterRow(one["type"], one["size"]) for one in row["params"])
        return cls(row["name"], row["line"], tuple(params))


@dataclass(frozen=True)
class CodeLoaded:
    """The code object was loaded and has number ``module``. ``kernels`` are set if the runtime is asked and knows
    them."""

    module: int
    kernels: tuple[KernelRow, ...] | None


@dataclass(frozen=True)
class FunctionFound:
    """The function has number ``function``; ``None`` where the module has none of that name.

    ``shared`` is the size of its static ``__shared__`` variables in bytes, where known.
    """

    function: int | None
    shared: Count | None


@dataclass(frozen=True)
class CallFound:
    """As ``FunctionFound``, for a library call. ``about`` names the library, or says why there is none."""

    function: int | None
    about: Text


@dataclass(frozen=True)
class DeviceError:
    """An error of the device, which becomes a ``HipError`` in the judge."""

    call: Text
    code: int
    name: Text
    what: Text
    detail: Text
    before_launch: bool

    @classmethod
    def of(cls, error: HipError, before_launch: bool = False) -> DeviceError:
        """The message for ``error``. ``before_launch`` says that it came before the kernel was launched."""
        what, detail = error.what[:KEPT_TEXT], error.detail[:KEPT_TEXT]
        return cls(error.call, error.code, error.name, what, detail, before_launch)

    def error(self) -> HipError:
        """The ``HipError`` of this message."""
        return HipError(self.call, self.code, self.name, self.what, self.detail, self.before_launch)


@dataclass(frozen=True)
class Misused:
    """A launcher has ended and did what it must not do (``conformance.runtimes.hip.calling.Misuse``)."""

    misuse: Text


@dataclass(frozen=True)
class Failed:
    """The request has failed with an error of the device."""

    error: DeviceError


@dataclass(frozen=True)
class LaunchEnds:
    """How the launch ended in each order, ``None`` for one that ended well. Orders after the last launch are not there.

    ``untold`` orders were left out, because they could not differ from earlier ones. ``leak`` says of a launcher in how
    many calls of this case each left something behind, and what (``executor_server.Leaks``). ``misaligned`` names
    accesses at addresses that are not aligned for their type.
    """

    ends: tuple[DeviceError | Misused | None, ...]
    untold: Count
    leak: Annotated[tuple[Count, ...], Exactly(7)] | None
    misaligned: Text


ToExecutor = RunLaunch | LoadCode | FindFunction | FindCall
"""What is answered."""

FromExecutor = LaunchEnds | CodeLoaded | FunctionFound | CallFound | Failed

TO_EXECUTOR: Expected[ShareArena | ToExecutor] = Expected(ShareArena, RunLaunch, LoadCode, FindFunction, FindCall)
LAUNCHED: Expected[LaunchEnds | Failed] = Expected(LaunchEnds, Failed)

add_kinds(
    *(OpenDevice, StartExecutor, StopExecutor, CannotOpen, ExecutorReady, ExecutorEnded),
    *(WantExecutor, HandedExecutor, NoExecutor, LostExecutor, EndOfExecutor),
    *(ShareArena, LoadCode, FindFunction, FindCall, RunLaunch),
    *(CodeLoaded, FunctionFound, CallFound, LaunchEnds, Failed),
    Ready,
)
