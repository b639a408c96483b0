"""What the wheel holds."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

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
    files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    wanted = {f"{FOLDERS[folder]}/{path.relative_to(ROOT / folder).as_posix()}" for path in files}
    assert len(wanted) > 10
    assert wanted - set(names) == set()


def test_every_kind_of_data_is_in_it(names: list[str]) -> None:
    assert {".yaml", ".json", ".hip", ".h", ".inc", ".cpp", ".xz", ".j2", ".css", ".js"} <= {
        Path(name).suffix for name in names
    }
    for name in (
        "conformance/toolchains/include/hip/hip_runtime.h",
        "conformance/cli/doctor_kernels/right.hip",
        "conformance/runtimes/cpu/include/nvidia/cuda/std/limits",
        "conformance/_data/specs/schema.json",
        "reference/traces/unary.traces.xz",
    ):
        assert name in names


def test_nothing_else_is_in_it(names: list[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    (about,) = (name for name in tops if name.endswith(".dist-info"))
    assert tops == {"conformance", "candle_wiring", "reference", about}
    assert {f"{about}/licenses/LICENSE-{name}" for name in ("MIT", "APACHE")} <= set(names)
    assert [name for name in names if {"tests", "__pycache__"} & set(Path(name).parts)] == []
    assert [name for name in names if Path(name).name.startswith(("test_", "conftest"))] == []


def test_it_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 17_000_000


def test_its_metadata(wheel: Path, names: list[str]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata, entries = (
            archive.read(next(name for name in names if name.endswith(f".dist-info/{file}"))).decode()
            for file in ("METADATA", "entry_points.txt")
        )
    assert "License-Expression: MIT OR Apache-2.0\n" in metadata
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: ") and "extra ==" not in line]
    assert len(required) > 5
    assert not any("ziglang" in line for line in required)
    assert "candle-parity = conformance.cli.main:main" in entries
    assert "[pytest11]\nconformance.pytest_plugin = conformance.pytest_plugin\n" in entries
