"""AMD's libraries on a machine without an AMD GPU: every layout with both hip-pythons and each release.

No kernel runs on anything but the host here.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.rocm_libraries.box import ROOT, Box

COMMAND = ("-m", "conformance.cli.main", "run")
ON_THE_HOST = (*COMMAND, "--runtime", "cpu", "--wave", "64", "-j", "1", "uexp_f32")

SEEN = """
import json
said = {}
def look():
    paths = {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if line.count("/")}
    for name in ("libamdhip64", "libhiprtc.so"):
        said[name] = sorted(path for path in paths if name in path.rpartition("/")[2])
"""

HOST = f"""{SEEN}
from conformance.runtimes.hip.device import Device
from conformance.runtimes.hip.rtc import compile_source
from conformance.runtimes import open_runtime
runtime = open_runtime("cpu", wave=64, threads=1)
device = Device(runtime)
source = '#include <hip/hip_runtime.h>\\nextern "C" __global__ void k(int *p) {{ *p = 1; }}'
compile_source(source, "k.hip", runtime.compile_options)
said["device"] = device.name
look()
print(json.dumps(said))
"""

AMD = f"""{SEEN}
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.rtc import compile_source
options = runtime_kind("rocm").open_compiler(None)
source = 'extern "C" __attribute__((global)) void k(int *p) {{ *p = 1; }}'
code = compile_source(source, "k.hip", (*options, "--offload-arch=gfx1100"))
from hip import hip
said["elf machine"] = int.from_bytes(code[18:20], "little")
said["devices"] = [int(hip.hipGetDeviceCount()[0])]
failed, version = hip.hipRuntimeGetVersion()
said["version"] = [version // 10_000_000, version // 100_000 % 100]
look()
print(json.dumps(said))
"""


COMPILED = """
from conformance.runtimes import runtime_kind
from conformance.port.compiling.target import CompileLimits, CompileTarget
from conformance.port.compiling.in_child import compile_in_child
from conformance.processes import Supervisor
SOURCE = '''#include <hip/hip_runtime.h>
extern "C" __global__ void k(float *p) { p[blockIdx.x * blockDim.x + threadIdx.x] = expf(p[threadIdx.x]); }'''
target = CompileTarget(runtime_kind("rocm"), None, "gfx1100", "")
with Supervisor() as supervisor:
    code = compile_in_child(SOURCE, "k.hip", target.flags(), target, supervisor, CompileLimits())
print('{"elf machine":', int.from_bytes(code[18:20], "little"), "}")
"""

AMDGPU = 224


@cache
def prepared(python: str) -> None:
    """Fill the cache outside of the boxes: what is linked there needs a newer libc than the machine has."""
    subprocess.run([python, *ON_THE_HOST], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)


def answer(box: Box, python: str, code: str) -> dict[str, Any]:
    done = box.run([python, "-c", code])
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


@pytest.mark.nightly("every layout of AMD's libraries, with each release and hip-python")
def test_rocm_is_refused_in_one_sentence(box: Box, python: str) -> None:
    done = box.run([python, *COMMAND, "--runtime", "rocm", "uexp_f32"])
    assert done.returncode == 2, done.stdout + done.stderr
    (sentence,) = done.stderr.strip().splitlines()
    assert "GPU" in sentence
    assert "--runtime cpu" in sentence


@pytest.mark.nightly("every layout of AMD's libraries, with each release and hip-python")
def test_kernels_run_on_the_host_next_to_amds_library(box: Box, python: str, tmp_path: Path) -> None:
    prepared(python)
    done = box.run([python, *ON_THE_HOST, "--json", str(tmp_path / "record.json")])
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["run"]["runtime"] == "cpu"
    assert {row["name"]: row["status"] for row in record["kernels"] if row["status"] != "not_run"} == {
        "uexp_f32": "pass"
    }


@pytest.mark.nightly("every layout of AMD's libraries, with each release and hip-python")
def test_the_cpu_runtime_opens_only_its_own_libraries(box: Box, python: str) -> None:
    prepared(python)
    said = answer(box, python, HOST)
    assert said["device"] == "candle-parity cpu runtime"
    for name in ("libamdhip64", "libhiprtc.so"):
        (path,) = said[name]
        assert "/runtime/" in path, path


@pytest.mark.nightly("every layout of AMD's libraries, with each release and hip-python")
def test_the_rocm_runtime_opens_only_amds_libraries(box: Box, python: str) -> None:
    said = answer(box, python, AMD)
    release = [int(part) for part in box.libraries.release.name.split(".")]
    assert said["elf machine"] == AMDGPU
    assert said["devices"] == [100]  # hipErrorNoDevice
    assert said["version"] == release
    for name in ("libamdhip64", "libhiprtc.so"):
        (path,) = said[name]
        assert os.path.dirname(path) == box.layout.libraries, path


@pytest.mark.nightly("every layout of AMD's libraries, with each release and hip-python")
def test_a_kernel_compiles_for_an_amd_target(box: Box, python: str) -> None:
    """With HIP's own headers, or without any: hiprtc has built in what they declare."""
    assert answer(box, python, COMPILED) == {"elf machine": AMDGPU}


@pytest.mark.slow("unpacks a layout of AMD's libraries")
def test_the_box_shows_what_its_layout_says(box: Box) -> None:
    """Headers, link names and linker's cache; and nothing of the machine's own HIP."""
    layout = box.layout
    words = "ls -d /usr/include/hip /opt/rocm/include/hip; ls /usr/lib/x86_64-linux-gnu /opt/rocm/lib; ldconfig -p"
    seen = box.run(["sh", "-c", f"({words}) 2>/dev/null"]).stdout.splitlines()
    assert ("/opt/rocm/include/hip" in seen) == (layout.in_opt and layout.headers)
    assert ("/usr/include/hip" in seen) == (not layout.in_opt)
    assert {name for name in seen if name.startswith("libamdhip64")} == {
        file.name for file in box.libraries.lib.glob("libamdhip64*")
    }
    linked = [line.split()[-1] for line in seen if "=>" in line and "libamdhip64" in line]
    assert {str(Path(path).parent.resolve()) for path in linked} == ({layout.libraries} if layout.linked else set())
