"""The library in front of a program: what it must not change for one that launches nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from conformance.capture.build import front_library
from conformance.toolchains.host import find_toolchain

WRAPPER = """
#include <dlfcn.h>
#include <unistd.h>
static int calls;
extern "C" unsigned sleep(unsigned seconds) {  // as a profiler wraps a function of another library
  if (++calls > 1) _exit(9);  // the next one is this one again
  return reinterpret_cast<unsigned (*)(unsigned)>(dlsym(RTLD_NEXT, "sleep"))(seconds);
}
"""
PROGRAM = "#include <unistd.h>\nint main() { return int(sleep(0)); }\n"


@pytest.mark.slow("builds a library and a program")
def test_a_library_that_wraps_a_function_finds_the_next_one_of_that_name(tmp_path: Path) -> None:
    compiler = find_toolchain(links_standard_library=True).compiler
    (tmp_path / "wrapper.cpp").write_text(WRAPPER)
    (tmp_path / "program.cpp").write_text(PROGRAM)
    wrapper, program = tmp_path / "libwrapper.so", tmp_path / "program"
    subprocess.run([*compiler, "-shared", "-fPIC", str(tmp_path / "wrapper.cpp"), "-o", str(wrapper)], check=True)
    subprocess.run([*compiler, str(tmp_path / "program.cpp"), str(wrapper), "-o", str(program)], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(front_library())}
    assert subprocess.run([str(program)], env=environment, check=False).returncode == 0


@pytest.mark.slow("builds a library")
def test_programs_get_nothing_from_it_but_what_it_stands_in_front_of() -> None:
    """It has a C++ library of its own, which the program's must not be mistaken for."""
    with front_library().open("rb") as file:
        symbols = list(ELFFile(file).get_section_by_name(".dynsym").iter_symbols())
    defined = {symbol.name for symbol in symbols if symbol.entry.st_shndx != "SHN_UNDEF"}
    assert {name for name in defined if not name.startswith(("hip", "__hip", "cu"))} == {"dlsym"}
    assert {"hipLaunchKernel", "__hipRegisterFunction", "cuLaunchKernel"} <= defined
