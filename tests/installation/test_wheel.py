"""What the wheel holds."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from conformance.release import VERSION
from conformance.runtimes.cpu.build import MANIFEST, host_plan
from tests.installation.environment import ROOT

FOLDERS = {
    "conformance": "conformance",
    "candle_wiring": "candle_wiring",
    "reference": "reference",
    "kernels": "conformance/_data/kernels",
    "specs": "conformance/_data/specs",
}


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_of_the_tree_is_in_it(names: list[str], folder: str) -> None:
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    files = [path for path in found if ROOT / "reference" / "traces" not in path.parents]
    wanted = {f"{FOLDERS[folder]}/{path.relative_to(ROOT / folder).as_posix()}" for path in files}
    assert len(wanted) > 10
    assert wanted - set(names) == set()


def test_every_kind_of_data_is_in_it(names: list[str]) -> None:
    assert {".yaml", ".json", ".hip", ".h", ".inc", ".cpp", ".typed", ".j2", ".css", ".js"} <= {
        Path(name).suffix for name in names
    }
    for name in (
        "conformance/toolchains/include/hip/hip_runtime.h",
        "conformance/cli/doctor_kernels/right.hip",
        "conformance/runtimes/cpu/include/nvidia/cuda/std/limits",
        "conformance/_data/specs/schema.json",
    ):
        assert name in names


def test_nothing_else_is_in_it(names: list[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    (about,) = (name for name in tops if name.endswith(".dist-info"))
    data = about.replace(".dist-info", ".data")
    assert tops == {"conformance", "candle_wiring", "reference", about, data}
    assert [name for name in names if name.startswith(data)] == [f"{data}/data/share/man/man1/candle-parity.1"]
    assert {f"{about}/licenses/LICENSE-{name}" for name in ("MIT", "APACHE")} <= set(names)
    assert [name for name in names if {"tests", "__pycache__"} & set(Path(name).parts)] == []
    assert [name for name in names if Path(name).name.startswith(("test_", "conftest"))] == []


def test_it_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 2_000_000


@pytest.mark.slow("builds a wheel")
def test_one_for_x86_64_has_the_cpu_runtime_too(wheel_with_runtime: Path, names: list[str]) -> None:
    assert wheel_with_runtime.name.endswith("-py3-none-linux_x86_64.whl")
    with zipfile.ZipFile(wheel_with_runtime) as archive:
        more = set(archive.namelist()) - set(names)
    folder = f"conformance/_data/runtime/{host_plan().digest}"
    assert more == {f"{folder}/{name}" for name in (MANIFEST, "libamdhip64.so", "libhiprtc.so")}


@pytest.mark.slow("builds a wheel")
def test_the_recorded_answers_are_a_wheel_of_their_own(traces: Path) -> None:
    with zipfile.ZipFile(traces) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    recorded = {path.name for path in (ROOT / "reference" / "traces").glob("*.traces.xz")}
    assert len(recorded) == 15
    assert names == {f"candle_parity_traces/{name}" for name in (*recorded, "README.md")}


@pytest.mark.slow("reads every file of a distribution")
def test_the_sdist_holds_what_git_has(sdist: Path) -> None:
    """So that the tests run from it."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout")
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert set(done.stdout.splitlines()) - held == set()


@pytest.mark.slow("builds and installs the wheel")
def test_an_index_takes_them(wheel: Path, sdist: Path, traces: Path) -> None:
    words = [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist), str(traces)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "No module named twine" in done.stderr:
        pytest.skip("twine is not installed: pip install -e '.[dev]'")
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 3), done.stdout


@pytest.mark.slow("reads every file of a distribution")
def test_the_version_is_the_same_everywhere(wheel: Path, sdist: Path) -> None:
    assert wheel.name.startswith((f"candle_parity-{VERSION}-", f"candle_parity-{VERSION}+g"))
    assert sdist.name.startswith((f"candle_parity-{VERSION}.tar", f"candle_parity-{VERSION}+g"))
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {VERSION}, 20" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_an_archive_of_the_tree_has_the_version_of_the_tag(tmp_path: Path) -> None:
    (tmp_path / "conformance").mkdir()
    shutil.copy(ROOT / "conformance" / "release.py", tmp_path / "conformance")
    code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['built']())"

    def built() -> str:
        file = str(tmp_path / "conformance" / "release.py")
        return subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=True).stdout

    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], capture_output=True, check=True)

    assert built() == f"{VERSION}\n"
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    assert re.fullmatch(rf"{re.escape(VERSION)}\+g[0-9a-f]{{9}}\n", built())
    git("tag", f"v{VERSION}")
    assert built() == f"{VERSION}\n"


def test_its_metadata(wheel: Path, names: list[str]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata, entries = (
            archive.read(next(name for name in names if name.endswith(f".dist-info/{file}"))).decode()
            for file in ("METADATA", "entry_points.txt")
        )
    assert metadata.startswith("Metadata-Version: 2.4\n")  # whatever hatchling made it
    assert "License-Expression: MIT OR Apache-2.0\n" in metadata
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: ") and "extra ==" not in line]
    assert len(required) > 5
    assert not any("ziglang" in line for line in required)
    assert "candle-parity = conformance.cli.main:main" in entries
    assert "[pytest11]\nconformance.pytest_plugin = conformance.pytest_plugin\n" in entries
