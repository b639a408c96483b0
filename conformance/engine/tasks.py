"""What goes to a worker and what comes back: plain data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from conformance.bench.measure import Measurement
from conformance.build import BuildOptions

Status = Literal[
    "pass", "fail", "signature", "missing", "compile_error", "crash", "timeout", "known_failure", "not_run"
]

ORDERS = ("forward", "reverse", "shuffle:1", "shuffle:2")


@dataclass(frozen=True)
class Setup:
    """How a worker is set up. ``kernels`` is ``None`` where nothing is compiled (a reference on trial)."""

    runtime: str
    wave: int | None
    kernels: Path | None
    orders: tuple[str, ...]
    threads: int
    device: int
    salt: str
    traces: Path | None
    specs: Path | None
    command: str
    """The command, up to the case, that reproduces a failure."""
    options: BuildOptions = field(default_factory=BuildOptions)
    """What the kernels are compiled with."""

    against: Path | None = None
    """A second tree of kernels, which ``bench`` times in turn with the first."""
    against_options: BuildOptions = field(default_factory=BuildOptions)
    parts: Path | None = None
    """The folder for what kernels answer, where ``record`` keeps it and nothing is judged."""

    def on_device(self, ordinal: int) -> Setup:
        """The same setup on another device."""
        return replace(self, device=ordinal)

    def compared_with(self, against: Path, options: BuildOptions) -> Setup:
        """The same setup with a second tree of kernels."""
        return replace(self, against=against, against_options=options)


@dataclass(frozen=True)
class Compile:
    """Compile one source, of the second tree where ``against``; answered by ``Compiled``."""

    source: int
    against: bool = False


@dataclass(frozen=True)
class Compiled:
    """``error`` is ``None`` on success, else the compiler's text."""

    source: int
    seconds: float
    error: str | None
    against: bool = False


@dataclass(frozen=True)
class Trial:
    """Put one kernel on trial over ``cases`` (ids; ``None`` for all that there are), or record it, as the setup says.
    ``broken`` holds the sources that did not compile, by index, with the compiler's first error."""

    kernel: str
    cases: tuple[str, ...] | None
    broken: dict[int, str]


@dataclass(frozen=True)
class Time:
    """Time one case of a kernel for every tree; answered by ``Timed``.

    ``size`` is what its spec calls the case's size; ``broken`` holds, per tree, the sources that did not compile.
    """

    kernel: str
    size: str
    case: str
    broken: tuple[dict[int, str], ...]


@dataclass(frozen=True)
class Timed:
    """What was measured of a case, or why nothing was."""

    kernel: str
    case: str
    measurement: Measurement | None = None
    error: str | None = None
    poisoned: bool = False
    """A fault took the device's context with it: the worker must be replaced."""


@dataclass(frozen=True)
class CaseFailure:
    """One case that failed, with its worst element."""

    case: str
    why: str
    index: int | None = None
    got: str | None = None
    expected: str | None = None
    ulp: float | None = None
    reproduce: str = ""


@dataclass
class Outcome:
    """What became of one kernel."""

    kernel: str
    status: Status
    cases: int = 0
    failed: int = 0
    launches: int = 0
    max_ulp: float = 0.0
    seconds: float = 0.0
    source: str | None = None
    message: str | None = None
    failures: list[CaseFailure] = field(default_factory=list)
    poisoned: bool = False
    """The fault took the device's context with it: the worker must be replaced."""
    left_out: int = 0
    """Cases that were not recorded because their right answer is a fault."""


@dataclass(frozen=True)
class Ready:
    """A worker that is set up: what it runs on."""

    device: str
    arch: str
    wave: int
    description: str
    hip_python: str


@dataclass(frozen=True)
class Refused:
    """A worker that could not be set up, or a request that could not be met: bad input or a missing piece, in words."""

    why: str
