"""Which runtime is taken, and that unmodified hip-python then finds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import runtimes
from conformance.runtimes import NoRuntime, chosen_runtime, device_count
from conformance.runtimes.cpu.build import build
from conformance.runtimes.rocm import include_options

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=[0, 2])
def devices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """A machine with that many AMD GPUs."""
    count: int = request.param
    monkeypatch.setattr(runtimes, "amd_devices", lambda: count)
    return count


def test_auto_is_cpu_where_there_is_no_amd_gpu(devices: int) -> None:
    assert chosen_runtime("auto") == ("rocm" if devices else "cpu")
    assert device_count("cpu") == 1
    assert device_count("rocm") == devices


def test_rocm_without_a_gpu_is_refused_with_what_to_do(devices: int) -> None:
    if devices:
        assert chosen_runtime("rocm") == "rocm"
        return
    with pytest.raises(NoRuntime, match=r"no AMD GPU was found .*; --runtime cpu runs the kernels on the host"):
        chosen_runtime("rocm")


def test_cuda_without_a_gpu_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.runtimes.cuda.control.nvidia_devices", lambda: (0, "there is no driver"))
    with pytest.raises(NoRuntime, match=r"cuda .* no GPU: there is no driver; --runtime cpu runs the kernels"):
        chosen_runtime("cuda")


def library(folder: Path, body: str) -> None:
    (folder / "hip.c").write_text(f"#include <stdlib.h>\nint hipGetDeviceCount(int *n) {{ {body} }}")
    target = folder / "libamdhip64.so"
    compiler = [sys.executable, "-m", "ziglang", "cc"]
    done = subprocess.run([*compiler, "-shared", "-o", target, folder / "hip.c"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no ziglang to build a stand-in for ROCm's library")


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("*n = 3; return 0;", 3),
        ("*n = 7; return 100;", 0),
        ("__builtin_trap();", 0),
        ('*n = atoi(getenv("HIP_VISIBLE_DEVICES")) + 1; return 0;', 6),
    ],
    ids=["three devices", "no device", "a driver that crashes", "devices of the user's choice"],
)
def test_rocm_is_asked_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, count: int
) -> None:
    library(tmp_path, body)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "5")
    runtimes.amd_devices.cache_clear()
    try:
        assert runtimes.amd_devices() == count
    finally:
        runtimes.amd_devices.cache_clear()


FOUND = """
from conformance.runtimes import open_runtime
runtime = open_runtime("cpu", wave=64)
from conformance.device import Device
from importlib import metadata
device = Device(runtime)
mapped = {line.split()[-1] for line in open("/proc/self/maps") if "libamdhip64" in line or "libhiprtc" in line}
print(device.wave, device.name, metadata.version("hip-python"), len(mapped), sep="|")
print(*mapped)
"""


def test_hip_python_finds_our_libraries_and_no_others() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FOUND],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    facts, paths = done.stdout.splitlines()
    wave, name, version, libraries = facts.split("|")
    assert (wave, name, libraries) == ("64", "candle-parity cpu runtime", "2"), version
    assert all("/runtime/" in path for path in paths.split())


def test_rocm_tells_hiprtc_where_its_headers_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    assert include_options() == ()
    (tmp_path / "include" / "hip").mkdir(parents=True)
    (tmp_path / "include" / "hip" / "hip_runtime.h").touch()
    assert include_options() == (f"-I{tmp_path}/include",)


def test_our_own_library_on_the_path_is_no_amd_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(build()))
    runtimes.amd_devices.cache_clear()
    assert runtimes.amd_devices() == 0
    runtimes.amd_devices.cache_clear()
