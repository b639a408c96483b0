"""What a runtime is to the rest of the harness: one ``RuntimeKind`` for each, in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from conformance.toolchains.libraries import LibraryCompiler

CodeFormat = Literal["host", "amd", "opaque"]
"""Whose tables of kernels code objects have: the cpu runtime's, AMD's metadata, or none that can be read here."""


SHARED_MEMORY = "shared memory"
"""What ``RuntimeKind.unwritten`` calls it; a kernel that has none cannot depend on it."""


@dataclass(frozen=True)
class Choice:
    """What is to run the kernels.

    ``devices`` are the numbers of the devices to use, all of one architecture, and ``left_out`` names the others.
    ``fallback`` says why ``auto`` passed over a runtime of whose device there are signs. ``library`` is the
    libamdhip64 that is used and ``others`` are the others that were found, each with how it was found; ``hip`` and
    ``driver`` are versions, ``visible`` the variables that hide devices as they are set; ``emulator`` names the
    emulator whose devices HIP shows. All but ``devices`` are empty where the runtime is not ROCm's.
    """

    name: str
    devices: tuple[int, ...] = (0,)
    left_out: tuple[str, ...] = ()
    fallback: str | None = None
    library: str | None = None
    others: tuple[str, ...] = ()
    hip: str | None = None
    driver: str | None = None
    emulator: str | None = None
    visible: tuple[str, ...] = ()


NOTHING_RUNS = Choice("none")
"""Where no kernel is executed: a reference on trial. Records call its runtime so."""


class Runtime(Protocol):
    """A loaded runtime: what the harness needs of it in addition to the HIP API.

    ``library`` is the libamdhip64 that hip-python is to have opened. ``identity`` goes into the keys of the compile
    cache. ``compile_options`` go to every compilation. ``guards_memory`` says that the runtime itself catches accesses
    outside an allocation and survives them.
    """

    library: Path
    identity: str
    guards_memory: bool
    compile_options: tuple[str, ...]

    @property
    def description(self) -> str: ...

    def set_order(self, order: str) -> None:
        """The thread order of the next launches, where the kind ``chooses_orders``."""

    def order_matters(self) -> bool:
        """Whether another order of threads may show what the last launch, and one in the opposite order, did not."""

    def misaligned(self) -> str:
        """What kernels have accessed since the last call at an address that is not aligned as its type asks for, where
        their target allows that, and the runtime can tell; else empty."""

    def message(self) -> str: ...

    def confine(self) -> str:
        """Confine this process for good, where the kind runs kernels ``on_host``; what guards, in words.

        Raises ``RuntimeError`` where it cannot be confined.
        """

    def weakened(self) -> tuple[str, ...]: ...

    def module_kernels(self, handle: int) -> list[dict[str, Any]] | None:
        """The kernels of a loaded module as rows of name, line and parameters; ``None`` where they are unknown."""


class LauncherRuntime(Protocol):
    """What a loaded runtime can do in addition if its kind has ``launchers``."""

    def load_launchers(self, code: bytes, what: str) -> int:
        """Load what was compiled of the source ``what`` with its host code; a number for it.

        Raises ``HipError``, with code 801 for what the runtime, not the source, lacks.
        """

    def symbol(self, loaded: int, name: str) -> int | None:
        """The address of the host function ``name`` of what was loaded; ``None`` where it exports none."""

    def begin_call(self, stream: int, pointers: Sequence[int | None] = ()) -> None:
        """A launcher is called next that is to put its work on ``stream``; of its arguments, which are ``pointers`` and
        ``None`` for numbers, its own code cannot access the memory where the runtime can see to that."""

    def end_call(self) -> tuple[int, str]:
        """The HIP result of the first launch that faulted since, and its message; 0 with what the launcher did wrong
        otherwise, such as work on another stream, or with an empty text, also where the runtime cannot tell."""

    def live(self) -> tuple[int, ...] | None:
        """What is allocated or created and not yet freed or destroyed: allocations of the device and their bytes, of
        the host and their bytes, streams, events. ``None`` where the runtime cannot tell."""


class ReservingRuntime(Protocol):
    """What allocates address space without memory."""

    def reserve(self, size: int, pieces: Sequence[tuple[int, int]]) -> int:
        """The address of ``size`` bytes of which only ``pieces``, each an offset and a size in bytes, can be accessed,
        with the rest of their pages; the device frees it as what it allocates. Raises ``HipError``."""


@runtime_checkable
class HoldingRuntime(Protocol):
    """What shows that a launcher's work is not on the stream that it was given: some ``LauncherRuntime``, else
    ``HostFunctionHold``."""

    def hold(self, stream: int) -> bool:
        """Let nothing begin that is put on ``stream`` from now on, until ``release`` or for a while; whether it can."""

    def release(self) -> bool:
        """Let the stream go on; whether it was held until now."""


class OnDevice:
    """What loaded runtimes have in common that run kernels on a GPU, not in this process."""

    guards_memory = False

    def set_order(self, order: str) -> None:
        """A GPU schedules its threads itself."""

    def order_matters(self) -> bool:
        return True

    def misaligned(self) -> str:
        return ""

    def confine(self) -> str:
        raise RuntimeError("kernels run on the GPU")

    def weakened(self) -> tuple[str, ...]:
        """Which of the runtime's own checks are off: it has none."""
        return ()


class NoRuntime(RuntimeError):
    """A runtime that was asked for and is not available here; the message says why and what there is.

    ``sign`` is set where something of its device is there all the same: what ``auto`` says when it takes another one.
    """

    def __init__(self, message: str, sign: str | None = None) -> None:
        super().__init__(message)
        self.sign = sign


def own_first(of_source: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """A compiler's options: the runtime's ``own``, then those of a source."""
    return (*own, *of_source)


@dataclass(frozen=True)
class LauncherBuild:
    """How the host functions of a source are compiled with its kernels, for ``LauncherRuntime``.

    ``flags`` are further options. ``compiler`` finds who makes a shared library of a source for the architecture of a
    device, or says what to install; ``None`` where the runtime's hiprtc compiles host code too.
    """

    flags: tuple[str, ...] = ()
    compiler: Callable[[str], LibraryCompiler | str] | None = None


def _amd_compiler(arch: str) -> LibraryCompiler | str:
    # Imported when there is a need: it takes as long as the start of a process.
    from conformance.toolchains.libraries import amd_library_compiler

    return amd_library_compiler(arch)


BY_HIPCC = LauncherBuild(compiler=_amd_compiler)
"""By hipcc, ROCm's clang, or another with HIP's headers."""


@dataclass(frozen=True)
class LaunchCounts:
    """What launches did, as a runtime that sees each instruction counts it.

    Sums over ``launches`` and their ``waves``; ``line`` is the bytes of a cache line, ``banks`` are those of LDS that
    conflicts are counted for (0: they mean nothing).

    Instructions that waves executed, by class as AMD's profilers tell them apart: ``scalar``, ``vector``, ``matrix``,
    ``scalar_memory``, ``memory`` (vector memory, with scratch), ``lds`` and ``control`` (branches, waits, barriers).
    Over vector and matrix instructions ``lanes_active`` of ``lanes``. ``accesses`` are instructions that reach global
    memory with at least one lane, ``asked`` the bytes that their lanes ask for, each once per instruction, ``moved``
    those of the cache lines that hold them (no cache keeps a line from one instruction to the next here).
    ``bank_conflicts`` counts how often a group of lanes of an LDS access (``lds_accesses``) has to be answered once
    more, because a bank of 4 bytes has another word for it.
    """

    launches: int
    waves: int
    scalar: int
    vector: int
    matrix: int
    scalar_memory: int
    memory: int
    lds: int
    control: int
    lanes_active: int
    lanes: int
    accesses: int
    asked: int
    moved: int
    lds_accesses: int
    bank_conflicts: int
    line: int = 0
    banks: int = 32

    @classmethod
    def of(cls, values: Sequence[int], line: int = 0, banks: int = 32) -> LaunchCounts:
        """From the values of ``hipisaCounts``, in its order."""
        names = [field.name for field in fields(cls)][: len(values)]
        return cls(line=line, banks=banks, **dict(zip(names, values, strict=True)))

    @property
    def instructions(self) -> int:
        """Of all classes."""
        return self.scalar + self.vector + self.matrix + self.scalar_memory + self.memory + self.lds + self.control


@dataclass(frozen=True)
class RuntimeKind:
    """A runtime and what it can do; none of it needs the runtime to be loaded.

    ``executed`` is where reports say that kernels ran, with ``{arch}`` for the architecture. ``find`` is the choice of
    its devices on this machine; it raises ``NoRuntime``, and what a build of the runtime raises. ``open`` loads it into
    this process for a wave size and a number of host threads (``None`` for its own) and has hip-python use it; it
    raises ``NoRuntime``, ``NoCompiler`` and ``BuildError``. ``open_compiler`` loads as much of it as compiling takes,
    without asking for a device, for a wave size; it gives the runtime's own compiler options and raises
    ``RuntimeError`` and ``OSError``.
    """

    name: str
    executed: str
    find: Callable[[], Choice]
    open: Callable[[int | None, int | None], Runtime]
    open_compiler: Callable[[int | None], tuple[str, ...]]

    on_host: bool = False
    """Kernels are host code of the process that launches them: each judge has an executor of its own, which survives a
    fork and is confined, and there is no device that could hang or be shared."""

    chooses_wave: bool = False
    """The wave size is an option; a device has its own."""

    chooses_orders: bool = False
    """The order in which threads run is an option; a device schedules them itself."""

    asynchronous: bool = True
    """A launch returns before the kernel ends, so that only the device's clock can time it."""

    default_orders: tuple[str, ...] = ("forward", "reverse", "shuffle:1", "shuffle:2")
    """The orders of a run that names none, where the kind ``chooses_orders``."""

    unwritten: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What starts with other bytes in a launch whose order has this name behind a ``+``, and what it is in words."""

    gentler: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What spares a launch whose order has this name behind a ``+``, as what holds of an answer that is right then."""

    otherwise: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What is otherwise in a launch whose order has this name behind a ``+``, as what holds of an answer that is wrong
    in that order and right then."""

    launch_seconds: float = 0.0
    """Seconds of CPU time after which the runtime itself ends a launch; 0: it does not."""

    reserves: bool = False
    """Its memory can have gaps that take none (``ReservingRuntime``), for cases of several GiB."""

    arch_variable: str | None = None
    """The variable of the environment with the architecture to run as, which ``--arch`` sets; a device has its own."""

    perturb_variable: str | None = None
    """The variable of the environment with the seed by which approximate instructions deviate, which ``--perturb``
    sets; elsewhere they are the device's own."""

    count: Callable[[Runtime, Callable[[], object]], LaunchCounts] | None = None
    """Calls a function that launches and gives what the loaded runtime counted meanwhile, where it counts:
    ``bench`` prints that in place of times."""

    executor_cores: int = 2
    """Host cores that a device's executor keeps busy next to the judges; 0 where it waits for its judge."""

    code: CodeFormat = "opaque"
    """How the signatures of compiled kernels are read; ``amd`` also says that code objects for AMD GPUs can be loaded,
    for the device's own target, and ``opaque`` that the loaded runtime is asked."""

    chooses_compiler: bool = False
    """Kernels may be compiled by hiprtc or by hipcc; elsewhere hiprtc is the only compiler."""

    compiler: Literal["hiprtc", "hipcc"] = "hiprtc"
    """Who compiles where there is no choice: the runtime's own hiprtc, or AMD's clang as ``build`` finds it."""

    hipcc_flags: tuple[str, ...] = ()
    """Further options of AMD's clang where it compiles for this runtime."""

    takes_dialect: bool = True
    """hiprtc knows ``-x hip`` and ``-x cuda``; AMD's knows one dialect."""

    in_a_folder: bool = False
    """hiprtc finds what relative options name in the folder that its process works in, and makes the same of a source
    wherever its tree lies."""

    target_flags: Callable[[str], tuple[str, ...]] = lambda arch: ()
    """hiprtc's options for a device of this architecture, for which it would otherwise ask the device."""

    only_flags: Callable[[Sequence[str]], tuple[str, ...]] = lambda kernels: ()
    """Further options by which the runtime's hiprtc makes code for these kernels alone, where a source defines more;
    none where it makes code for all that is defined."""

    compile_flags: Callable[[Sequence[str], Sequence[str]], tuple[str, ...]] = own_first
    """All of hiprtc's options, of those that a source brings and the runtime's own."""

    launchers: LauncherBuild | None = None
    """How linked launchers are compiled; ``None`` where they cannot be called on this runtime."""

    environment: tuple[str, ...] = ()
    """The variables that its libraries and drivers read, which processes that run kernels get in addition to those of
    ``conformance.environment``; a ``*`` stands for any rest."""

    libraries: Callable[[str], Sequence[str]] = lambda what: ()
    """The vendor's libraries that may be there, paths or names, best first: of matrix products (``blas``), ``rand``."""

    hiprtc: str = "conformance.runtimes.loaded_hiprtc:open_hiprtc"
    """``MODULE:FUNCTION`` that a process which only compiles imports and calls with the runtime's name and a size of
    waves, for the runtime's hiprtc."""

    readable_log: Callable[[str], str] = str
    """hiprtc's log without the names of temporary files."""

    missing_header: Callable[[str, Sequence[str]], str | None] = lambda log, flags: None
    """What a log with these options says of a header that the machine, not the source, lacks, in words."""
