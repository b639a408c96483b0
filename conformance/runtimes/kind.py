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
    """The runtime and the devices that were chosen for a run.

    ``devices`` are the numbers of the devices to use, all of one architecture; ``left_out`` names the others.
    ``fallback`` says why ``auto`` did not take a runtime although there are signs of its device. The rest is only set
    for ROCm: ``library`` is the libamdhip64 that is used and ``others`` are those that were found besides, each with
    how it was found; ``hip`` and ``driver`` are versions; ``visible`` are the variables that hide devices, as they are
    set; ``emulator`` names the emulator whose devices HIP shows.
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
    """A loaded runtime: what the harness needs of it besides the HIP API.

    ``library`` is the libamdhip64 that hip-python has to have opened. ``identity`` is part of the compile cache's keys.
    ``compile_options`` are added to every compilation. ``guards_memory`` says that the runtime itself notices accesses
    outside of an allocation, and survives them.
    """

    library: Path
    identity: str
    guards_memory: bool
    compile_options: tuple[str, ...]

    @property
    def description(self) -> str: ...

    def set_order(self, order: str) -> None:
        """Set the order of threads for the next launches, if the kind ``chooses_orders``."""

    def order_matters(self) -> bool:
        """Whether another order of threads could show something that the last launch, and one in the opposite order,
        did not."""

    def misaligned(self) -> str:
        """What kernels have accessed since the last call at addresses that are not aligned for the type, in words.

        Empty where there is nothing, where the target forbids such accesses, or where the runtime cannot tell.
        """

    def message(self) -> str: ...

    def confine(self) -> str:
        """Confine this process for good, if the kind runs kernels ``on_host``; returns what guards it, in words.

        Raises ``RuntimeError`` where it cannot be confined.
        """

    def weakened(self) -> tuple[str, ...]: ...

    def module_kernels(self, handle: int) -> list[dict[str, Any]] | None:
        """The kernels of a loaded module, with name, line and parameters; ``None`` where the runtime does not know
        them."""


class LauncherRuntime(Protocol):
    """What a loaded runtime can do in addition if its kind has ``launchers``."""

    def load_launchers(self, code: bytes, what: str) -> int:
        """Load ``code``, to which the source ``what`` was compiled with its host functions; returns a number for it.

        Raises ``HipError``. Its code is 801 where the runtime lacks something and not the source.
        """

    def symbol(self, loaded: int, name: str) -> int | None:
        """The address of the host function ``name`` in what was loaded; ``None`` where it exports none of that name."""

    def begin_call(self, stream: int, pointers: Sequence[int | None] = ()) -> None:
        """Prepare for the call of a launcher that is to put its work on ``stream``.

        ``pointers`` are its arguments, ``None`` for each that is no pointer. If the runtime can see to it, the
        launcher's own host code cannot access the memory behind these pointers.
        """

    def end_call(self) -> tuple[int, str]:
        """The HIP result of the first launch since ``begin_call`` that faulted, and its message.

        Without a fault it is 0 and what the launcher did wrong, such as work on another stream. The text is empty if it
        did nothing wrong, or if the runtime cannot tell.
        """

    def live(self) -> tuple[int, ...] | None:
        """What was allocated or created and not freed or destroyed yet; ``None`` where the runtime cannot tell.

        In order: allocations of the device and their bytes, allocations of the host and their bytes, streams, events.
        """


class ReservingRuntime(Protocol):
    """A runtime that can reserve address space without memory."""

    def reserve(self, size: int, pieces: Sequence[tuple[int, int]]) -> int:
        """The address of ``size`` bytes, of which only ``pieces`` (offset and size in bytes) can be accessed, with the
        rest of their pages.

        The device frees it like an allocation. Raises ``HipError``.
        """


@runtime_checkable
class HoldingRuntime(Protocol):
    """What can hold a stream, to show that a launcher's work is on another one: some runtimes, else
    ``HostFunctionHold``."""

    def hold(self, stream: int) -> bool:
        """Let nothing begin that is put on ``stream`` from now on, until ``release`` or for a bounded time; returns
        whether it can."""

    def release(self) -> bool:
        """Let the stream go on; returns whether it was held until now."""


class OnDevice:
    """The base of runtimes that run kernels on a GPU and not in this process."""

    guards_memory = False

    def set_order(self, order: str) -> None:
        """Does nothing: a GPU schedules its threads itself."""

    def order_matters(self) -> bool:
        """False: there are no orders."""
        return True

    def misaligned(self) -> str:
        """Empty: a GPU does not tell."""
        return ""

    def confine(self) -> str:
        raise RuntimeError("kernels run on the GPU")

    def weakened(self) -> tuple[str, ...]:
        """Empty: the runtime has no checks of its own that could be switched off."""
        return ()


class NoRuntime(RuntimeError):
    """A runtime that was asked for is not available here. The message says why, and which ones there are.

    ``sign`` is set where there are signs of its device all the same. ``auto`` mentions it when it takes another
    runtime.
    """

    def __init__(self, message: str, sign: str | None = None) -> None:
        super().__init__(message)
        self.sign = sign


def own_first(of_source: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """A compiler's options in order: the runtime's ``own`` ones, then those of a source."""
    return (*own, *of_source)


@dataclass(frozen=True)
class LauncherBuild:
    """How the host functions of a source are compiled together with its kernels, for a ``LauncherRuntime``.

    ``flags`` are further options. ``compiler`` gives, for a device's architecture, the compiler of shared libraries, or
    a sentence that says what to install. It is ``None`` where the runtime's hiprtc compiles host code too.
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
    """What some launches did, counted by a runtime that sees each instruction.

    All fields are sums over ``launches`` and their ``waves``, but for two: ``line`` is the size of a cache line in
    bytes, and ``banks`` the number of LDS banks that conflicts are counted for (0: they are not counted).

    - Executed instructions by class, as AMD's profilers tell them apart: ``scalar``, ``vector``, ``matrix``,
      ``scalar_memory``, ``memory`` (vector memory, with scratch), ``lds`` and ``control`` (branches, waits, barriers).
    - ``lanes_active`` of ``lanes``: how many lanes were active in vector and matrix instructions.
    - ``accesses``: instructions that reach global memory with at least one lane. ``asked``: the bytes that their lanes
      ask for, each byte once per instruction. ``moved``: the bytes of the cache lines that hold them, as if no cache
      kept a line from one instruction to the next.
    - ``lds_accesses``, and ``bank_conflicts``: how often a group of lanes has to be served once more, because a bank of
      4 bytes has another word for it.
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
        """The counts of ``values``, which are in the order of ``hipisaCounts``."""
        names = [field.name for field in fields(cls)][: len(values)]
        return cls(line=line, banks=banks, **dict(zip(names, values, strict=True)))

    @property
    def instructions(self) -> int:
        """The executed instructions of all classes."""
        return self.scalar + self.vector + self.matrix + self.scalar_memory + self.memory + self.lds + self.control


@dataclass(frozen=True)
class RuntimeKind:
    """A runtime, and what it can do. Nothing here needs the runtime to be loaded.

    ``executed`` is what reports say of where kernels ran; ``{arch}`` stands for the architecture.

    ``find`` chooses the runtime's devices on this machine. It raises ``NoRuntime``, and what a build of the runtime
    raises. ``open`` loads the runtime into this process and has hip-python use it; its arguments are the wave size and
    the number of host threads, each ``None`` for the runtime's own. It raises ``NoRuntime``, ``NoCompiler`` and
    ``BuildError``. ``open_compiler`` loads as much as compiling needs, for a wave size, and asks for no device. It
    returns the runtime's own options for the compiler, and raises ``RuntimeError`` and ``OSError``.
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
