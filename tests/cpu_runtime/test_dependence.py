"""What a compiled host object is seen to depend on besides its own bytes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conformance.runtimes.cpu.dependence import UNKNOWN, Dependence, dependence_of
from conformance.toolchains.host import find_toolchain

PLAIN = 'extern "C" double f(double x) { return __builtin_sin(x) + __builtin_pow(x, 3); }\n'


def compiled(folder: Path, text: str, *words: str) -> bytes:
    (folder / "a.cpp").write_text(text)
    compiler = find_toolchain(links_standard_library=False).compiler
    command = [
        *compiler,
        "-O1",
        "-shared",
        "-fPIC",
        "-nostartfiles",
        str(folder / "a.cpp"),
        "-o",
        str(folder / "a.so"),
        *words,
    ]
    subprocess.run(command, check=True, capture_output=True)
    return (folder / "a.so").read_bytes()


def test_mathematics_is_nothing_from_outside(tmp_path: Path) -> None:
    assert dependence_of(compiled(tmp_path, PLAIN, "-lm")) == Dependence()


@pytest.mark.slow("compiles kernels for the runtime")
@pytest.mark.parametrize(
    ("text", "outside"),
    [
        ('#include <cstdlib>\nextern "C" char *f() { return getenv("A"); }', "getenv"),
        ('#include <unistd.h>\nextern "C" char **f() { return environ; }', "environ"),
        ('#include <cstdio>\nextern "C" void *f() { return fopen("a", "r"); }', "fopen"),
        ('#include <fcntl.h>\nextern "C" int f() { return open("a", 0); }', "open"),
        ('#include <ctime>\nextern "C" long f() { return time(nullptr); }', "time"),
        ('#include <dlfcn.h>\nextern "C" void *f() { return dlsym(RTLD_DEFAULT, "a"); }', "dlsym"),
        ('#include <unistd.h>\nextern "C" long f() { return syscall(39); }', "syscall"),
        ('extern "C" int elsewhere(); extern "C" int f() { return elsewhere(); }', "elsewhere"),
    ],
)
def test_what_may_bring_something_in_is_named(tmp_path: Path, text: str, outside: str) -> None:
    found = dependence_of(compiled(tmp_path, text))
    assert outside in found.outside
    assert not found.constructors


def test_another_library_is_named(tmp_path: Path) -> None:
    (tmp_path / "b.cpp").write_text('extern "C" int of_another_library() { return 1; }')
    compiler = find_toolchain(links_standard_library=False).compiler
    library = tmp_path / "libanother.so"
    subprocess.run([*compiler, "-shared", "-fPIC", str(tmp_path / "b.cpp"), "-o", str(library)], check=True)
    code = compiled(tmp_path, PLAIN, "-Wl,--no-as-needed", str(library), "-lm")
    assert [Path(name).name for name in dependence_of(code).outside] == ["libanother.so"]


def test_a_constructor_is_seen(tmp_path: Path) -> None:
    deed = "volatile int deed; __attribute__((constructor)) void does() { deed = 1; }\n"
    assert dependence_of(compiled(tmp_path, deed + PLAIN, "-lm")) == Dependence((), True)


@pytest.mark.parametrize("code", [b"", b"\x7fELF", b"\x7fELF" + bytes(100)])
def test_what_cannot_be_read_may_depend_on_anything(code: bytes) -> None:
    assert dependence_of(code) == UNKNOWN
