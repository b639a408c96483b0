"""libhiprtc.so by itself, called through ctypes: what it compiles, what it reports."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conformance.runtimes.cpu.build import forwarding_headers, write_headers
from conformance.toolchains.host import OLDEST_CLANG
from conformance.toolchains.search import on_path

ROOT = Path(__file__).resolve().parents[2]
CPU = ROOT / "conformance" / "runtimes" / "cpu"

SUCCESS, INVALID_INPUT, INVALID_PROGRAM, INVALID_OPTION, COMPILATION = 0, 3, 4, 5, 6
NO_LOWERED_NAMES_BEFORE_COMPILATION, NAME_EXPRESSION_NOT_VALID = 9, 10


@dataclass
class Compiled:
    """What one program came to."""

    result: int
    log: str
    code: bytes
    lowered: dict[str, str | None]
    kernels: dict[str, Kernel] = field(default_factory=dict)


@dataclass(frozen=True)
class Kernel:
    """A row of the module's table, read back from the shared object."""

    file: str
    line: int
    sizes: tuple[int, ...]
    types: tuple[str, ...]


class Row(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("file", ctypes.c_char_p),
        ("line", ctypes.c_uint),
        ("nargs", ctypes.c_uint),
        ("run", ctypes.c_void_p),
        ("sizes", ctypes.POINTER(ctypes.c_uint)),
        ("aligns", ctypes.POINTER(ctypes.c_uint)),
        ("types", ctypes.POINTER(ctypes.c_char_p)),
        ("most_threads", ctypes.c_ulong),
    )


class Hiprtc:
    """A thin caller of the C functions."""

    def __init__(self, library: Path, folder: Path) -> None:
        self.library = ctypes.CDLL(os.fspath(library))
        self.library.hiprtcGetErrorString.restype = ctypes.c_char_p
        self.folder = folder
        self.modules = 0

    def create(
        self, source: str, name: str | None = "user.hip", headers: dict[str, str] | None = None
    ) -> ctypes.c_void_p:
        headers = headers or {}
        handle = ctypes.c_void_p()
        texts = (ctypes.c_char_p * len(headers))(*(text.encode() for text in headers.values()))
        names = (ctypes.c_char_p * len(headers))(*(n.encode() for n in headers))
        label = name.encode() if name is not None else None
        made = self.library.hiprtcCreateProgram(
            ctypes.byref(handle), source.encode(), label, len(headers), texts, names
        )
        assert made == SUCCESS
        return handle

    def log(self, handle: ctypes.c_void_p) -> str:
        size = ctypes.c_size_t()
        assert self.library.hiprtcGetProgramLogSize(handle, ctypes.byref(size)) == SUCCESS
        text = ctypes.create_string_buffer(size.value)
        assert self.library.hiprtcGetProgramLog(handle, text) == SUCCESS
        return text.value.decode()

    def compile(
        self,
        source: str,
        *options: str,
        name: str | None = "user.hip",
        headers: dict[str, str] | None = None,
        expressions: tuple[str, ...] = (),
    ) -> Compiled:
        handle = self.create(source, name, headers)
        for expression in expressions:
            assert self.library.hiprtcAddNameExpression(handle, expression.encode()) == SUCCESS
        words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        result = self.library.hiprtcCompileProgram(handle, len(options), words)
        lowered: dict[str, str | None] = {}
        for expression in expressions:
            text = ctypes.c_char_p()
            found = self.library.hiprtcGetLoweredName(handle, expression.encode(), ctypes.byref(text)) == SUCCESS
            lowered[expression] = text.value.decode() if found and text.value is not None else None
        code = b""
        if result == SUCCESS:
            size = ctypes.c_size_t()
            assert self.library.hiprtcGetCodeSize(handle, ctypes.byref(size)) == SUCCESS
            buffer = ctypes.create_string_buffer(size.value)
            assert self.library.hiprtcGetCode(handle, buffer) == SUCCESS
            code = buffer.raw
        compiled = Compiled(result, self.log(handle), code, lowered)
        assert self.library.hiprtcDestroyProgram(ctypes.byref(handle)) == SUCCESS
        if code:
            compiled.kernels = self.table(code)
        return compiled

    def table(self, code: bytes) -> dict[str, Kernel]:
        """The kernel table of a module, loaded together with a stub of the runtime."""
        self.modules += 1
        path = self.folder / f"module{self.modules}.so"
        path.write_bytes(code)
        module = ctypes.CDLL(os.fspath(path), mode=os.RTLD_LAZY)
        count = ctypes.c_uint.in_dll(module, "simt_kernel_count").value
        rows = (Row * count).in_dll(module, "simt_kernels")
        return {
            row.name.decode(): Kernel(
                row.file.decode(),
                row.line,
                tuple(row.sizes[: row.nargs]),
                tuple(text.decode() for text in row.types[: row.nargs]),
            )
            for row in rows
        }


def compiler() -> str:
    """The newest clang of this machine, under its versioned name too, as the harness takes it; else g++."""
    for path in (*on_path("clang++", OLDEST_CLANG), shutil.which("g++")):
        if path is not None:
            return path
    pytest.skip("no C++ compiler on this machine: libhiprtc is not tested")


def build(sources: list[Path], target: Path, *flags: str) -> None:
    command = [compiler(), "-std=c++20", "-O1", "-fPIC", "-shared", *flags, *map(str, sources), "-o", str(target)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


STAND_IN = """
extern "C" {
__thread void *simt_self;
void simt_barrier() {}
void simt_wave() {}
void simt_trap() {}
void simt_out_of_bounds() {}
void simt_print() {}
void simt_next() {}
}
"""


@pytest.fixture(scope="session")
def hiprtc(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Hiprtc:
    """The library, built from the tree with warnings as errors; kept between runs under a hash of its sources."""
    sources = sorted((CPU / "hiprtc").glob("*.cpp"))
    inputs = [
        *sources,
        *sorted((CPU / "hiprtc").glob("*.h")),
        *(CPU / "include" / "simt" / name for name in ("abi.h", "seal.h")),
    ]
    key = hashlib.sha256(b"\0".join(p.read_bytes() for p in inputs)).hexdigest()[:16]
    folder = tmp_path_factory.mktemp("hiprtc")
    cache = getattr(request.config, "cache", None)
    kept = Path(cache.mkdir("hiprtc")) if cache is not None else folder
    library = kept / f"libhiprtc-{key}.so"
    if not library.exists():
        partial = folder / "libhiprtc.so"
        build(sources, partial, "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden")
        shutil.copy(partial, library.with_suffix(f".{os.getpid()}"))
        library.with_suffix(f".{os.getpid()}").replace(library)
    stand_in = folder / "stand_in.cpp"
    stand_in.write_text(STAND_IN)
    build([stand_in], folder / "stand_in.so")
    ctypes.CDLL(os.fspath(folder / "stand_in.so"), mode=ctypes.RTLD_GLOBAL)
    os.environ.setdefault("HIPCPU_CXX", compiler())
    os.environ["HIPCPU_INCLUDE"] = os.fspath(CPU / "include")
    write_headers(forwarding_headers("cpu", CPU / "include"), library.parent / "include")
    return Hiprtc(library, folder)
