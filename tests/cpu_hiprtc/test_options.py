"""What the compiler is called with: some of it must hold whatever a port asks for."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from conformance.toolchains.host import OLDEST_CLANG
from tests.cpu_hiprtc.conftest import SUCCESS, Hiprtc, compiler

RECORDING = """#!/bin/sh
{compiler} -### "$@" 2>>{log}
exec {compiler} "$@"
"""


@pytest.mark.slow("compiles a source per row")
@pytest.mark.parametrize("options", [(), ("-O2",), ("-O3",)])
def test_statements_are_not_vectorised(
    hiprtc: Hiprtc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    """clang takes -fno-slp-vectorize back at an -O behind it: what counts is what its compiler proper gets."""
    if "clang" not in compiler():
        pytest.skip("g++ has no compiler proper that -### shows")
    fake, log = tmp_path / "clang++", tmp_path / "log"
    fake.write_text(RECORDING.format(compiler=compiler(), log=log))
    fake.chmod(0o755)
    monkeypatch.setenv("HIPCPU_CXX", str(fake))
    compiled = hiprtc.compile('extern "C" __global__ void k(int *p) { *p = 1; }', *options)
    assert compiled.result == SUCCESS, compiled.log
    calls = [line for line in log.read_text().splitlines() if '"-emit-llvm"' in line]
    assert calls
    assert not [line for line in calls if '"-vectorize-slp"' in line]


@pytest.mark.slow("compiles with the C library's headers by each compiler")
@pytest.mark.parametrize("name", ["clang++", f"clang++-{OLDEST_CLANG}", "g++"])
def test_a_compiler_that_fortifies_the_c_library_compiles_printf(
    hiprtc: Hiprtc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As Ubuntu's compilers do: a fortified stdio.h defines printf itself, and so does every kernel module of ours."""
    found = compiler() if name == "clang++" else shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name}")
    fortifying = tmp_path / os.path.basename(found)
    fortifying.write_text(f'#!/bin/sh\nexec {found} -D_FORTIFY_SOURCE=3 "$@"\n')
    fortifying.chmod(0o755)
    monkeypatch.setenv("HIPCPU_CXX", str(fortifying))
    compiled = hiprtc.compile('#include <cstdio>\nextern "C" __global__ void k(int *p) { printf("%d\\n", *p); }')
    assert compiled.result == SUCCESS, compiled.log
