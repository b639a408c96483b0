"""What goes to a judge or a timer and what comes back: plain data, as maps in msgpack between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter

from conformance.cases.case import Case
from conformance.engine.modes import MODES
from conformance.engine.timing.counting import Counted
from conformance.engine.timing.measure import Measurement
from conformance.outcome import Outcome
from conformance.runtimes.choice import NOTHING_RUNS, Choice
from conformance.settings import Settings

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

    def for_member(self, number: int) -> Setup:
        """The same setup for judge ``number``, on the device that is its."""
        return replace(self, device=self.choice.devices[number % len(self.choice.devices)])


@dataclass(frozen=True)
class Compile:
    """Compile one source of one of the mode's trees and load it; answered by ``Compiled``.

    With ``launchers`` it is compiled as a library, with its host functions, and not loaded.
    """

    source: int
    tree: int = 0
    launchers: bool = False


@dataclass(frozen=True)
class Compiled:
    """``error`` is ``None`` on success, else the compiler's text or why the code object cannot be loaded.

    ``infrastructure`` says what else went wrong: then nothing is known of the source.
    """

    source: int
    seconds: float
    error: str | None
    tree: int = 0
    infrastructure: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunCases:
    """Run one kernel over ``cases`` (ids; ``None`` for all that there are) as the mode says; answered by ``Outcome``.

    ``broken`` holds the sources that do not compile or load, by index, with the first error, ``unavailable`` those
    that could not be compiled for a reason of the machine's.
    """

    kernel: str
    cases: tuple[str, ...] | None
    broken: dict[int, str]
    unavailable: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Time:
    """Time one case of a kernel for every tree; answered by ``Timed``.

    ``size`` is what its spec calls the case's size; ``broken`` holds, per tree, the sources that did not compile.
    """

    kernel: str
    size: str
    case: Case
    broken: tuple[dict[int, str], ...]


@dataclass(frozen=True)
class Timed:
    """What was measured or counted of a case, or why nothing was."""

    kernel: str
    case: str
    measurement: Measurement | None = None
    counted: Counted | None = None
    error: str | None = None
    poisoned: bool = False
    """A fault took the device's context with it: the process must be replaced."""


@dataclass(frozen=True)
class Ready:
    """What a run runs on.

    ``identity`` is what, besides source and options, decides a code object; ``pad`` the guard bytes that the harness
    puts around buffers, 0 where the runtime guards memory itself. ``sandbox`` says what confines the executors,
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
    """A process that could not be set up, or a request that could not be met, in words for the user."""

    why: str


_MESSAGES: tuple[type[Any], ...] = (Setup, Compile, Compiled, RunCases, Time, Timed, Outcome, Ready, Refused)

KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (*MODES, *_MESSAGES)}

_adapters: dict[type[Any], TypeAdapter[Any]] = {}


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def to_map(data: Any) -> dict[str, Any]:
    """``data``, one of ``KINDS``, as a map that names its kind."""
    return {"kind": type(data).__name__, "data": _adapter(type(data)).dump_python(data, mode="json")}


def from_map(content: Mapping[str, Any]) -> Any:
    """What ``to_map`` made a map of; raises ``ValueError`` for anything else."""
    kind = KINDS.get(str(content.get("kind")))
    if kind is None:
        raise ValueError(f"{content.get('kind')!r} is not a kind of message")
    return _adapter(kind).validate_python(content.get("data"))
