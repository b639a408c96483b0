"""The cpu runtime (libamdhip64.so), through hip-python in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.toolchains.host import NoCompiler, find_toolchain
from tests.cpu_runtime.machine import CODE, SOURCE, Machine, Remote

_COMPILE = """
import sys
from conformance.runtimes.cpu.control import open_cpu_runtime
open_cpu_runtime(32, 2)
from hip import hiprtc
source, target = sys.argv[1:]
program = hiprtc.hiprtcCreateProgram(open(source, "rb").read(), b"kernels.hip", 0, None, None)[1]
failed = int(hiprtc.hiprtcCompileProgram(program, 0, [])[0])
if failed:
    log = bytearray(hiprtc.hiprtcGetProgramLogSize(program)[1])
    hiprtc.hiprtcGetProgramLog(program, log)
    sys.exit(log.decode())
code = bytearray(hiprtc.hiprtcGetCodeSize(program)[1])
hiprtc.hiprtcGetCode(program, code)
open(target, "wb").write(code)
"""


@pytest.fixture(scope="session")
def module_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``kernels.hip`` as a module of the cpu runtime."""
    try:
        find_toolchain(links_standard_library=True)
    except NoCompiler as error:
        pytest.skip(str(error))
    target = tmp_path_factory.mktemp("runtime") / "kernels.so"
    words = [sys.executable, "-c", _COMPILE, str(SOURCE), str(target)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="session")
def _process(module_file: Path) -> Iterator[Remote]:
    os.environ[CODE] = str(module_file)
    remote = Remote()
    yield remote
    remote.close()


@pytest.fixture
def machine(_process: Remote) -> Remote:
    """The runtime with default options, wave 32, two OS threads."""
    _process.do(Machine.reset)
    return _process
