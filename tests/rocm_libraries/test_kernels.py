"""Every file of kernels/ through AMD's real hiprtc of each release; only code is made, nothing runs.

By default each file is compiled once per release, for a target that changes from row to row, so that every file and
every target occurs: five minutes of processor time. ``CANDLE_PARITY_ROCM_LIBRARIES=all`` (``make rocm-libraries``)
takes every file for every target, 24 minutes of processor time.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.port.code_objects import read_code_objects
from conformance.toolchains.targets import DEFAULT_TARGETS
from tests.kernels.test_amd_targets import MODULES, assert_complete
from tests.rocm_libraries.box import OPT_ROCM, ROOT
from tests.rocm_libraries.conftest import GetBox
from tests.rocm_libraries.libraries import SWITCH, Libraries, Unavailable
from tests.rocm_libraries.pythons import LINES, python_with
from tests.rocm_libraries.releases import RELEASES, Release

ALL = os.environ.get(SWITCH) == "all"
LDS = 65536
COMPILE = """
import sys
from pathlib import Path
from conformance.port.compiling.target import CompileLimits, CompileTarget
from conformance.port.compiling.cache import made
from conformance.port.sources import find_sources
from conformance.runtimes import runtime_kind
from conformance.processes import Supervisor
path, arch, version, out = sys.argv[1:]
(source,) = find_sources(Path(path))
rocm = runtime_kind("rocm")
target = CompileTarget(rocm, None, arch, f"{version} {rocm.open_compiler(None)}")
with Supervisor() as supervisor:
    Path(out).write_bytes(made(source, target, supervisor, limits=CompileLimits(seconds=900)).code)
"""


def rows() -> list[tuple[Release, str, str]]:
    """What is compiled: release, file and target."""
    if ALL:
        return [(release, module, arch) for release in RELEASES for module in MODULES for arch in DEFAULT_TARGETS]
    count = len(DEFAULT_TARGETS)
    return [
        (release, module, DEFAULT_TARGETS[(2 * first + second) % count])
        for first, release in enumerate(RELEASES)
        for second, module in enumerate(MODULES)
    ]


def any_python() -> str:
    for line in reversed(LINES):
        try:
            return python_with(line)
        except Unavailable:
            pass
    pytest.skip("no Python with hip-python")


@pytest.mark.nightly("every file of kernels/ through AMD's hiprtc of two releases, for five targets")
@pytest.mark.parametrize(
    ("libraries", "module", "arch"),
    rows(),
    indirect=["libraries"],
    ids=[f"{module}-{arch}-hip-{release.name}" for release, module, arch in rows()],
)
def test_compiles_for_the_target(libraries: Libraries, get_box: GetBox, module: str, arch: str, tmp_path: Path) -> None:
    """Complete, with Candle's arguments, nothing spilled or in scratch, and launchable with Candle's blocks."""
    box = get_box(libraries, OPT_ROCM)
    path, out = ROOT / "kernels" / f"{module}.hip", tmp_path / f"{module}-{arch}.hsaco"
    done = box.run([any_python(), "-c", COMPILE, str(path), arch, libraries.version, str(out)])
    assert done.returncode == 0, done.stderr
    (code,) = read_code_objects(out)
    assert code.target == arch
    assert_complete(code, module)
    assert {name: k.lds for name, k in code.kernels.items() if k.lds > LDS} == {}


def test_every_file_and_every_target_occurs() -> None:
    assert {module for _, module, _ in rows()} == set(MODULES)
    assert {(release, arch) for release, _, arch in rows()} == {
        (release, arch) for release in RELEASES for arch in DEFAULT_TARGETS
    }
