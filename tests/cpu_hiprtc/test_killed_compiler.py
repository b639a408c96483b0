"""A compiler that is killed while it compiles: hiprtc's log says by which signal, for the compiler says nothing."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from conformance.port.compiling.diagnostics import ENDED_BY
from tests.cpu_hiprtc.conftest import COMPILATION, Hiprtc, compiler

# Answers what it is, and dies of what it should compile.
KILLED = """#!/bin/sh
case " $* " in *" -dM "*) exec {compiler} "$@";; esac
echo half a message
kill -{number} $$
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_the_last_line_of_the_log_names_the_signal(
    hiprtc: Hiprtc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    fake = tmp_path / "clang++"
    fake.write_text(KILLED.format(compiler=compiler(), number=int(number)))
    fake.chmod(0o755)
    monkeypatch.setenv("HIPCPU_CXX", str(fake))
    compiled = hiprtc.compile('extern "C" __global__ void k(int *p) {}')
    assert compiled.result == COMPILATION
    assert compiled.log == f"half a message\n{ENDED_BY}{int(number)}\n"
