"""A program with ten kernels, and the same kernels with a mistake each, for an emulated gfx1100."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.files import kernels_folder
from conformance.port.compiling.target import NoHipcc, require_hipcc
from conformance.toolchains.host import find_toolchain

ARCH = "gfx1100"
PROGRAMS = Path(__file__).with_name("programs")


@dataclass(frozen=True)
class Network:
    """The program of ``network.cpp`` and the code objects that it takes."""

    program: Path
    right: Path
    planted: Path

    def words(self, mistake: str | None = None) -> tuple[Path | str, ...]:
        """The command line, with the kernel that has a mistake."""
        return (self.program, self.right) if mistake is None else (self.program, self.right, self.planted, mistake)


def stand_in(name: str, library: Path) -> None:
    """Compile ``programs/NAME.cpp``, a GPU's library without a GPU, as ``library``."""
    compiler = find_toolchain(links_standard_library=True).compiler
    words = [*compiler, "-std=c++20", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*words, str(PROGRAMS / f"{name}.cpp"), "-o", str(library)], check=True)


def candle_parity(*words: object) -> subprocess.CompletedProcess[str]:
    """Run ``candle-parity`` with ``words``."""
    command = [sys.executable, "-m", "conformance", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def capture(out: Path, *words: object, options: tuple[object, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run ``candle-parity capture`` of the program ``words`` on the emulated GPU."""
    return candle_parity("capture", "--arch", ARCH, "-o", out, *options, "--", *words)


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """The program, compiled once by the emulated installation's own hipcc."""
    try:
        require_hipcc(ARCH)
    except NoHipcc as error:
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {error}")
    folder = tmp_path_factory.mktemp("network")
    made = Network(folder / "network", folder / "right.co", folder / "planted.co")
    include = f"-I {kernels_folder() / 'include'}"
    device = f"hipcc -O2 -std=c++17 --offload-device-only --no-gpu-bundle-output {include} {PROGRAMS / 'kernels.hip'}"
    lines = (
        f"{device} -o {made.right}",
        f"{device} -DPLANTED -o {made.planted}",
        f"hipcc -O1 {PROGRAMS / 'network.cpp'} -lhipblas -o {made.program}",
    )
    done = candle_parity("emulate", "--arch", ARCH, "--", "sh", "-c", " && ".join(lines))
    assert (done.returncode, done.stderr) == (0, "")
    return made
