"""Lines of faults in AMD machine code, from the line tables that clang writes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from conformance.port.line_tables import LineTable, read_line_table, with_places
from conformance.port.sources import KernelSource
from conformance.toolchains.amd import HIPCC_KINDS, AmdToolchain, find_toolchain
from conformance.toolchains.targets import AmdError, target
from tests.isa_runtime.code import code_object

GFX942 = target("gfx942")
HEADER = "__device__ inline void put(float *p, float v) {\n  *p = v;\n}\n"
SOURCE = """#include <hip/hip_runtime.h>
#include "put.h"
extern "C" __global__ void k(float *buf, float value) {
  put(buf + threadIdx.x, value);
  atomicAdd(buf + 100, value);
}
"""


@pytest.fixture(scope="module")
def toolchain() -> AmdToolchain:
    try:
        return find_toolchain([GFX942], HIPCC_KINDS)
    except AmdError as missing:
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {missing}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("port")
    (made / "put.h").write_text(HEADER)
    (made / "k.hip").write_text(SOURCE)
    return made


@pytest.fixture(scope="module")
def compiled(toolchain: AmdToolchain, folder: Path) -> Callable[..., bytes]:
    """The code object of the source with further options, compiled once for each of them."""

    @cache
    def run(*words: str) -> bytes:
        toolchain.compile(folder / "k.hip", GFX942, folder / "code", [f"-I{folder}", "-cuid=1", *words])
        return (folder / "code").read_bytes()

    return run


@pytest.mark.slow("compiles for AMD targets with line tables")
@pytest.mark.parametrize("version", ["-gdwarf-4", "-gdwarf-5"])
def test_the_innermost_line_of_the_port_is_named(compiled: Callable[..., bytes], folder: Path, version: str) -> None:
    """Not that of AMD's header in which atomicAdd is, and of the port's own the one that was inlined."""
    table = read_line_table(compiled("-gline-tables-only", version))
    own = {place for address in table.addresses if (place := table.own(address, folder))}
    assert {(Path(file).name, line) for file, line in own} <= {("put.h", 2), *(("k.hip", n) for n in range(3, 7))}
    deepest = [table.stack(address) for address in table.addresses]
    assert {Path(stack[0][0]).name for stack in deepest if stack} >= {"put.h", "amd_hip_atomic.h"}
    assert {("put.h", 2), ("k.hip", 5)} <= {(Path(file).name, line) for file, line in own}


@pytest.mark.slow("compiles for AMD targets with line tables")
def test_line_tables_leave_the_machine_code_as_it_is(compiled: Callable[..., bytes]) -> None:
    loaded = []
    for words in ((), ("-gline-tables-only", "-gdwarf-5")):
        code = compiled(*words)
        loaded.append(code[code.index(b"amdhsa.kernels") : code.index(b".debug" if words else b".shstrtab")])
    length = min(map(len, loaded)) // 2
    assert loaded[0][:length] == loaded[1][:length]


def test_what_has_no_line_keeps_its_address() -> None:
    source = KernelSource(Path("/port/k.hip"), Path("/port"))
    table = LineTable([0x1000, 0x1010, 0x1020], [("k.hip", 7), ("/opt/rocm/include/hip/x.h", 3), None])
    said = with_places("a at 0x1004, b at 0x1010, c at 0x1020, d at 0x10", lambda: table, source)
    assert said == "a at port/k.hip:7 (0x1004), b at 0x1010, c at 0x1020, d at 0x10"


def test_an_object_without_line_tables_or_with_damaged_ones_has_no_lines() -> None:
    for elf in (code_object([0xBF810000]), b"\x7fELF" + bytes(99), b""):
        assert read_line_table(elf) == LineTable()
