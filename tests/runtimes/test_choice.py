"""Which runtime is taken, and that unmodified hip-python then finds it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.messages import Setup
from conformance.runtimes import NoRuntime, choose
from conformance.runtimes.cpu.build import build
from conformance.runtimes.hip import binding
from conformance.runtimes.hip.binding import WrongLibrary, check_bound
from conformance.runtimes.kind import Choice
from conformance.runtimes.rocm import kind
from conformance.runtimes.rocm.devices import AmdDevice, Probe
from conformance.runtimes.rocm.search import Installation

ROOT = Path(__file__).resolve().parents[2]


LIBRARY = Installation("ROCM_PATH", Path("/some/rocm/lib/libamdhip64.so"), Path("/some/rocm/lib/libhiprtc.so"), None)
CARD = AmdDevice(0, "Radeon RX 7900 XTX", "gfx1100", 32, 48, integrated=False)
APU = AmdDevice(1, "Radeon Graphics", "gfx1036", 32, 1, integrated=True)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[[Probe, list[Installation]], None]:
    """Makes this a machine with such installations and such an answer of HIP's."""

    def make(probed: Probe, found: list[Installation]) -> None:
        monkeypatch.setattr(kind, "probed", lambda: probed)
        monkeypatch.setattr(kind, "installations", lambda: found)
        monkeypatch.setattr(kind, "nodes", list)

    return make


def test_auto_is_the_host_without_a_word_where_there_is_no_sign_of_an_amd_gpu(machine: Any) -> None:
    machine(Probe((), "no libamdhip64.so was found"), [])
    assert choose("auto") == Choice("cpu")


def test_the_package_that_headers_come_with_is_no_sign_of_an_amd_gpu(machine: Any) -> None:
    """Debian's libamdhip64-dev brings a library without a libhiprtc."""
    machine(Probe((), "there is no libhiprtc.so"), [replace(LIBRARY, rtc=None)])
    assert choose("auto") == Choice("cpu")


def test_auto_is_the_host_and_says_why_where_rocm_shows_no_gpu(machine: Any) -> None:
    machine(Probe((), "hipGetDeviceCount returned hipErrorNoDevice (100); there is no /dev/kfd"), [LIBRARY])
    assert choose("auto").name == "cpu"
    assert choose("auto").fallback == (
        "there is /some/rocm/lib/libamdhip64.so, but hipGetDeviceCount returned hipErrorNoDevice (100); there is no "
        "/dev/kfd"
    )


def test_rocm_without_a_gpu_is_refused_with_the_cause_and_what_to_do(machine: Any) -> None:
    machine(Probe((), "there is no /dev/kfd"), [LIBRARY])
    with pytest.raises(
        NoRuntime, match=r"no AMD GPU can be used: there is no /dev/kfd; --runtime cpu runs the kernels on the host"
    ):
        choose("rocm")


def test_the_devices_of_one_architecture_are_used_and_the_others_named(machine: Any) -> None:
    """An integrated GPU next to a card: a code object for one does not run on the other."""
    machine(Probe((APU, CARD), hip="7.2.53211", driver="amdgpu 6.16.6"), [LIBRARY])
    chosen = choose("auto")
    assert (chosen.name, chosen.devices, chosen.hip, chosen.driver) == ("rocm", (0,), "7.2.53211", "amdgpu 6.16.6")
    assert chosen.left_out == ("1: Radeon Graphics (gfx1036, wave 32, 1 compute units, integrated)",)
    assert chosen.library == "/some/rocm/lib/libamdhip64.so (ROCM_PATH)"


def test_a_judge_gets_a_device_in_turn() -> None:
    setup = Setup(runtime="rocm", device=2, choice=Choice("rocm", (2, 5)))
    assert [setup.for_member(number).device for number in range(4)] == [2, 5, 2, 5]


def test_cuda_without_a_gpu_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.runtimes.cuda.control.nvidia_devices", lambda: (0, "there is no driver"))
    with pytest.raises(NoRuntime, match=r"cuda .* no GPU: there is no driver; --runtime cpu runs the kernels"):
        choose("cuda")


FOUND = """
from conformance.runtimes import open_runtime
runtime = open_runtime("cpu", wave=64)
from conformance.runtimes.hip.device import Device
from importlib import metadata
device = Device(runtime)
mapped = {line.split()[-1] for line in open("/proc/self/maps") if "libamdhip64" in line or "libhiprtc" in line}
print(device.wave, device.name, metadata.version("hip-python"), len(mapped), sep="|")
print(*mapped)
"""


@pytest.mark.parametrize("variable", ["ROCM_PATH", "LD_LIBRARY_PATH"])
@pytest.mark.slow("starts a process that imports hip-python")
def test_hip_python_opens_our_libraries_where_there_are_others(variable: str, tmp_path: Path) -> None:
    """hip-python looks for libraries itself: left alone, it takes those of an installed ROCm."""
    lib = tmp_path / "lib"
    lib.mkdir()
    for name in ("libamdhip64.so", "libhiprtc.so"):
        shutil.copy(build() / "libhiprtc.so", lib / name)  # has none of HIP's functions
    foreign = str(lib if variable == "LD_LIBRARY_PATH" else tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", FOUND],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), variable: foreign},
    )
    assert done.returncode == 0, done.stderr
    facts, paths = done.stdout.splitlines()
    wave, name, version, libraries = facts.split("|")
    assert (wave, name, libraries) == ("64", "candle-parity cpu runtime", "2"), version
    assert all("/runtime/" in path for path in paths.split())


@pytest.mark.parametrize(
    ("mapped", "said"),
    [
        ([], "has no libamdhip64"),
        (["/opt/rocm/lib/libamdhip64.so.7"], "has /opt/rocm/lib/libamdhip64.so.7;"),
        (["/ours/libamdhip64.so", "/opt/rocm/lib/libamdhip64.so.7"], "has /opt/rocm/.* and /ours/libamdhip64.so;"),
    ],
)
def test_another_hip_library_in_the_process_is_an_error(
    mapped: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"7f00-7f01 r-xp 00000000 fe:00 42                 {path}\n" for path in mapped for _ in range(3)]
    (tmp_path / "maps").write_text("".join(rows))
    monkeypatch.setattr(binding, "_MAPS", tmp_path / "maps")
    with pytest.raises(WrongLibrary, match=said):
        check_bound(Path("/ours/libamdhip64.so"))
