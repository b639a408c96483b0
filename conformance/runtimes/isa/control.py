"""The isa runtime as the harness handles it: loaded before hip-python, over an interpreter of AMD machine code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.runtimes.cpu.build import build
from conformance.runtimes.cpu.control import Limits, NoSandbox, WatchedCalls, confine_process, processor
from conformance.runtimes.hip.binding import bind
from conformance.runtimes.hip.errors import NOT_SUPPORTED, HipError
from conformance.runtimes.hip.host_libraries import HostLibraries
from conformance.runtimes.isa.build import isa_plan
from conformance.runtimes.kind import LaunchCounts


class IsaRuntime(WatchedCalls, HostLibraries):
    """The isa runtime in this process. ``conformance.runtimes.kind.Runtime`` says what the attributes mean."""

    guards_memory = True
    compile_options: tuple[str, ...] = ()

    def __init__(
        self, folder: Path, target: str, threads: int | None, perturb: int = 0, sites: str | None = None
    ) -> None:
        self.identity = f"isa {folder.name} {target}"
        self.library = folder / "libamdhip64.so"
        self.target = target
        self.perturb = perturb
        self._writes, self._confines = bool(sites), False
        self._library = ctypes.CDLL(str(self.library), mode=ctypes.RTLD_GLOBAL)
        WatchedCalls.__init__(self, self._library)
        HostLibraries.__init__(self)
        ctypes.CDLL(str(folder / "libhiprtc.so"), mode=ctypes.RTLD_GLOBAL)
        bind(self.library, folder / "libhiprtc.so")
        self._library.hipisaLastMessage.restype = ctypes.c_char_p
        self._library.hipisaExecuted.restype = ctypes.c_ulong
        self.set_option("target", target)
        self.set_option("perturb", perturb)
        if threads is not None:
            self.set_option("threads", threads)
        if sites:
            self.set_option("sites", sites)

    @property
    def description(self) -> str:
        """The interpreted target and this machine's processor, in words."""
        deviating = f"; approximate instructions deviate, seed {self.perturb}" if self.perturb else ""
        return f"AMD machine code for {self.target}, interpreted on {processor()}{deviating}"

    def set_option(self, key: str, value: object) -> None:
        """Set an option of the interpreter; ``hipisa.h`` lists them. Raises ``ValueError`` with the runtime's
        message."""
        if self._library.hipisaSetOption(key.encode(), str(value).encode()):
            raise ValueError(f"the isa runtime takes no {key}={value}: {self.message()}")

    def set_order(self, order: str) -> None:
        """Set the order of blocks, and of the waves in a block, for the next launches: ``forward``, ``reverse`` or
        ``shuffle:SEED``.

        A ``+`` and a value of the option ``otherwise`` of ``hipisa.h`` may follow.
        """
        name, _, what = order.partition("+")
        self.set_option("order", name)
        self.set_option("otherwise", what or "none")

    def confine(self) -> str:
        """What guards this process, in words. A kernel's code is data for the interpreter: every access is checked, and
        it can call nothing.

        The process is confined when the host code of launchers is loaded, unless it has to write sites.
        """
        self._confines = not self._writes
        unless = " (not confined with CANDLE_PARITY_ISA_SITES)" if self._writes else " as on the cpu runtime"
        return f"the interpreter; host code of launchers{unless}"

    def load_launchers(self, code: bytes, what: str) -> int:
        """See ``LauncherRuntime``."""
        if self._confines:
            try:
                confine_process(self._library, self.message, Limits())
            except NoSandbox as error:
                why = f"{error}; --no-sandbox calls launchers all the same"
                raise HipError("hipcpuConfine", NOT_SUPPORTED, "hipErrorNotSupported", what, why) from None
        return HostLibraries.load_launchers(self, code, what)

    def weakened(self) -> tuple[str, ...]:
        """Which checks are off: none can be."""
        return ()

    def message(self) -> str:
        """The interpreter's message about the last failed call: kernel, block, thread and cause."""
        return (self._library.hipisaLastMessage() or b"").decode(errors="replace")

    def executed(self) -> int:
        """The number of instructions that waves have executed in this process."""
        return int(self._library.hipisaExecuted())

    def counted(self, launches: Callable[[], object]) -> LaunchCounts:
        """The counts of the launches that ``launches`` makes; what it raises is raised."""
        self.set_option("counts", 1)
        try:
            launches()
            values = (ctypes.c_ulong * 64)()
            known = self._library.hipisaCounts(values, len(values))
        finally:
            self.set_option("counts", 0)
        # gfx950 has 64, in groups of lanes that are not documented.
        banks = 0 if self.target.startswith("gfx950") else 32
        return LaunchCounts.of(values[:known], int(self._library.hipisaLineBytes()), banks)

    def module_kernels(self, handle: int) -> list[dict[str, Any]] | None:
        """``None``: the kernels are read from the code object's bytes and not asked of the runtime."""
        return None


def open_isa_runtime(target: str, threads: int | None = None, perturb: int = 0, sites: str | None = None) -> IsaRuntime:
    """Build the libraries if needed, load them, and set the interpreter up for ``target``.

    ``threads`` is the number of host threads, ``perturb`` the seed by which approximate instructions deviate (0: they
    do not). ``sites`` is where the interpreter writes which instructions of each kernel it executed, for the harness's
    own tests. Raises ``NoCompiler`` and ``BuildError``.
    """
    return IsaRuntime(build(isa_plan()), target, threads, perturb, sites)
