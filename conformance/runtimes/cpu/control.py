"""The cpu runtime as the harness handles it: loaded before hip-python, set up through its own few exports."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.files import cache_folder
from conformance.runtimes.cpu.build import INCLUDE, build, content_hash
from conformance.runtimes.hip.binding import bind
from conformance.runtimes.hip.errors import RESERVE, HipError
from conformance.toolchains.host import find_toolchain

FORBIDDEN_EXIT = 159
"""Exit code of a confined process whose static constructor, or stray thread, made a call that kernels must not make."""


class NoSandbox(RuntimeError):
    """The process cannot be confined; the message says why. Some of the limits may hold."""


@dataclass(frozen=True)
class Limits:
    """What a confined process may take, in bytes; 0 for no limit of ours.

    ``memory`` is all private writable memory of the process (RLIMIT_DATA); a thread that runs blocks of 1,024 threads
    takes 80 MiB of it, of which little is ever used. ``file`` is the size of a file that is written, be it what the
    kernels print or a module on its way into the loader. Where the system has Landlock, no file of the folder
    ``unread`` is read either: verdicts and expected answers that are kept lie in the cache.
    """

    memory: int = 8 << 30
    file: int = 64 << 20
    unread: Path | None = field(default_factory=cache_folder)


def confine_process(library: ctypes.CDLL, message: Callable[[], str], limits: Limits) -> str:
    """Confine this process for good, by the runtime's ``library``, whose last ``message`` says why it cannot; what
    guards. Raises ``NoSandbox``."""
    library.hipcpuConfine.restype = ctypes.c_char_p
    library.hipcpuConfine.argtypes = [ctypes.c_ulong, ctypes.c_ulong, ctypes.c_char_p]
    sys.dont_write_bytecode = True  # an import would be taken for a kernel that writes files
    os.environ["LIBC_FATAL_STDERR_"] = "1"  # likewise the C library, which reports a damaged heap to /dev/tty
    unread = None if limits.unread is None else os.fsencode(limits.unread)
    guards = library.hipcpuConfine(limits.memory, limits.file, unread)
    if guards is None:
        raise NoSandbox(message())
    return str(guards.decode())


_LIVE = 6
"""The numbers that ``hipcpuLive`` gives."""


class WatchedCalls:
    """Calls of launchers that a runtime on the host watches, a part of ``LauncherRuntime``: the cpu and the isa runtime
    export the same functions from their ``library``."""

    def __init__(self, library: ctypes.CDLL) -> None:
        library.hipcpuBeginCall.restype = None
        library.hipcpuBeginCall.argtypes = [ctypes.c_void_p]
        library.hipcpuKeepFromHost.restype = None
        library.hipcpuEndCall.restype = ctypes.c_char_p
        library.hipcpuEndCall.argtypes = [ctypes.POINTER(ctypes.c_int)]
        library.hipcpuLive.restype = None
        a = ctypes.c_void_p
        library.hipcpuLaunchOnce.argtypes = [a, a, a, ctypes.c_uint, a, a, a, ctypes.c_size_t, a]
        self._watching = library

    def order_matters(self) -> bool:
        """See ``Runtime``."""
        return True

    def misaligned(self) -> str:
        """See ``Runtime``."""
        return ""

    def launch_once(
        self, function: int, shape: Sequence[int], params: Any, device: Sequence[int], host: Sequence[int], sizes: Any
    ) -> Callable[[int], tuple[int, int]]:
        """What copies buffers of ``sizes`` from addresses of the ``host`` to those of the ``device``, launches, waits,
        and copies them to so many bytes behind where they came from: the HIP result, and how many of the four steps
        were done."""
        count, done, launch = len(sizes), ctypes.c_uint(), self._watching.hipcpuLaunchOnce
        addresses = ctypes.c_void_p * count
        given = (function, (ctypes.c_uint * len(shape))(*shape), params, count)
        buffers = addresses(*device), addresses(*host), (ctypes.c_size_t * count)(*sizes)
        return lambda after: (launch(*given, *buffers, after, ctypes.byref(done)), done.value)

    def begin_call(self, stream: int, pointers: Sequence[int | None] = ()) -> None:
        """See ``LauncherRuntime``."""
        self._watching.hipcpuBeginCall(stream)
        given = (ctypes.c_void_p * len(pointers))(*pointers)
        self._watching.hipcpuKeepFromHost(given, len(pointers))

    def end_call(self) -> tuple[int, str]:
        """See ``LauncherRuntime``."""
        code = ctypes.c_int()
        message = self._watching.hipcpuEndCall(ctypes.byref(code))
        return code.value, (message or b"").decode(errors="replace")

    def live(self) -> tuple[int, ...]:
        """See ``LauncherRuntime``."""
        values = (ctypes.c_ulong * _LIVE)()
        self._watching.hipcpuLive(values)
        return tuple(values)


class CpuRuntime(WatchedCalls):
    """The runtime library of this process; see ``conformance.runtimes.Runtime`` for what the attributes mean."""

    guards_memory = True
    compile_options: tuple[str, ...] = ()

    def __init__(self, folder: Path, identity: str, wave: int, threads: int | None) -> None:
        self.identity = identity
        self.library = folder / "libamdhip64.so"
        self._library = ctypes.CDLL(str(self.library), mode=ctypes.RTLD_GLOBAL)
        super().__init__(self._library)
        ctypes.CDLL(str(folder / "libhiprtc.so"), mode=ctypes.RTLD_GLOBAL)
        bind(self.library, folder / "libhiprtc.so")
        self._library.hipcpuLastMessage.restype = ctypes.c_char_p
        self._library.hipcpuMisaligned.restype = ctypes.c_char_p
        self._library.hipGetErrorName.restype = ctypes.c_char_p
        self._library.hipcpuOptions.restype = ctypes.c_char_p
        self._library.hipcpuModuleKernels.restype = ctypes.c_char_p
        self._library.hipcpuModuleKernels.argtypes = [ctypes.c_void_p]
        self._library.hipcpuModuleSymbol.restype = ctypes.c_void_p
        self._library.hipcpuModuleSymbol.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self._order = ""
        self.set_option("wave", wave)
        if threads is not None:
            self.set_option("threads", threads)
        self.set_order("forward")

    @property
    def description(self) -> str:
        return f"cpu runtime on {processor()}"

    def set_option(self, key: str, value: object) -> None:
        """Set a runtime option (``hipcpu.h`` lists them); raises ``ValueError`` with the runtime's message."""
        if self._library.hipcpuSetOption(key.encode(), str(value).encode()):
            raise ValueError(f"the cpu runtime takes no {key}={value}: {self.message()}")
        if key == "order":
            self._order = str(value)

    def set_order(self, order: str) -> None:
        """Thread order of the next launches: ``forward``, ``reverse`` or ``shuffle:SEED``."""
        if order != self._order:
            self.set_option("order", order)

    def order_matters(self) -> bool:
        """See ``Runtime``."""
        return bool(self._library.hipcpuOrderMatters())

    def misaligned(self) -> str:
        """See ``Runtime``."""
        return (self._library.hipcpuMisaligned() or b"").decode()

    def confine(self, limits: Limits | None = None) -> str:
        """Confine this process for good, before it loads a stranger's kernels; what guards: ``seccomp and Landlock 7``.

        From then on it starts no process, writes to no file that is not open, has no new socket and signals nobody
        else. Call it when the device is taken and all that writes files or opens sockets is done. A kernel that makes
        such a call ends its launch with a fault; other code ends the process with ``FORBIDDEN_EXIT``. Raises
        ``NoSandbox``.
        """
        return confine_process(self._library, self.message, limits or Limits())

    def weakened(self) -> tuple[str, ...]:
        """What the environment has changed so that less is checked: ``HIPCPU_GUARD=0``."""
        options = json.loads(self._library.hipcpuOptions().decode())
        found = [
            f"HIPCPU_{key.upper()}={row['value']}"
            for key, row in options.items()
            if row["weakens"] and row["from"] == "environment"
        ]
        flags = os.environ.get("HIPCPU_CXXFLAGS")
        return (*found, *((f"HIPCPU_CXXFLAGS={flags}",) if flags else ()))

    def message(self) -> str:
        """What the last failed call has to say: kernel, block, thread and cause."""
        return (self._library.hipcpuLastMessage() or b"").decode(errors="replace")

    def load_launchers(self, code: bytes, what: str) -> int:
        """See ``LauncherRuntime``."""
        module = ctypes.c_void_p()
        result = self._library.hipModuleLoadData(ctypes.byref(module), code)
        self._check("hipModuleLoadData", result, what)
        return module.value or 0

    def reserve(self, size: int, pieces: Sequence[tuple[int, int]]) -> int:
        """See ``ReservingRuntime``."""
        address, numbers = ctypes.c_void_p(), [number for piece in pieces for number in piece]
        given = (ctypes.c_ulong * len(numbers))(*numbers)
        result = self._library.hipcpuReserve(ctypes.byref(address), ctypes.c_ulong(size), given, len(pieces))
        self._check(RESERVE, result, f"{size} bytes")
        return address.value or 0

    def _check(self, call: str, result: int, what: str) -> None:
        if result:
            raise HipError(call, result, self._library.hipGetErrorName(result).decode(), what, self.message())

    def symbol(self, loaded: int, name: str) -> int | None:
        """See ``LauncherRuntime``."""
        address = self._library.hipcpuModuleSymbol(loaded, name.encode())
        return None if address is None else int(address)

    def module_kernels(self, handle: int) -> list[dict[str, Any]] | None:
        """The kernels of a loaded module: name, source line, parameters with type, size and alignment."""
        text = self._library.hipcpuModuleKernels(handle)
        return None if text is None else json.loads(text.decode())


def share_standard_library() -> None:
    """Let launchers find what throwing takes, where our libraries hold a C++ library of their own, as by zig."""
    with suppress(OSError):
        ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)


def open_cpu_runtime(wave: int, threads: int | None = None) -> CpuRuntime:
    """Build where needed, load, set up. Raises ``NoCompiler`` and ``BuildError``.

    The compiler for kernels is handed to libhiprtc through the environment.
    """
    folder = build()
    share_standard_library()
    kernels = find_toolchain(links_standard_library=False)
    os.environ["HIPCPU_CXX"] = "\n".join(kernels.compiler)
    os.environ["HIPCPU_INCLUDE"] = str(INCLUDE)
    if kernels.linker:
        os.environ["HIPCPU_LD"] = "\n".join(kernels.linker)
    flags = os.environ.get("HIPCPU_CXXFLAGS", "")
    parts = (folder.name, kernels.identity, content_hash(INCLUDE)[:16], _instructions(), flags)
    return CpuRuntime(folder, " ".join(("cpu", *parts)).strip(), wave, threads)


def _instructions() -> str:
    """A hash over the instructions this processor has: kernels are compiled for it and must not run on another."""
    return hashlib.sha256(_cpu_info("flags").encode()).hexdigest()[:16]


def processor() -> str:
    """The processor's name as Linux reports it."""
    return _cpu_info("model name") or platform.machine()


def _cpu_info(key: str) -> str:
    """What /proc/cpuinfo says of the first processor, "" if it does not."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    return next((line.split(":", 1)[1].strip() for line in lines if line.split(":")[0].strip() == key), "")
