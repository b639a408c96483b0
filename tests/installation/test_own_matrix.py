"""Own kernels from a port's repository, with an installed wheel: elementwise, over rows and by indices; on the host, as
machine code and by pytest; right, and with a mistake, whose cause is named. Nothing of the installation is changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from tests.installation.environment import Installation
from tests.own.described import with_described
from tests.own.ports import OwnPort, changed


@dataclass(frozen=True)
class Kernel:
    """An own kernel, a mistake in its source, and the cause that is to be named for it."""

    name: str
    module: str
    right: str
    mistake: str
    cause: str


KERNELS = {
    "elementwise": Kernel(
        "fadd_relu_f32",
        "fused",
        "lhs[l] + rhs[r]",
        "lhs[l] + rhs[i]",
        "The strides of one operand are ignored [S02]",
    ),
    "row": Kernel(
        "row_total_f32",
        "rowwise",
        "for (unsigned col = threadIdx.x; col < cols; col += blockDim.x) {",
        "if (unsigned col = threadIdx.x; col < cols) {",
        "Only as many elements as there are threads are written: no grid-stride loop [L10]",
    ),
    "indexing": Kernel(
        "pick_rows_f32",
        "rowwise",
        "ids[i / cols]",
        "ids[i]",
        "The kernel reads outside of a buffer [S11]",
    ),
}
RUN = ("candle-parity", "run", "-j", "1", "--own", *(kernel.name for kernel in KERNELS.values()))
PYTEST = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--parity-runtime", "cpu", "--parity-own")
ITEMS = tuple(f"candle-parity.toml::{kernel.module}::{kernel.name}" for kernel in KERNELS.values())
WAYS: dict[str, tuple[str, ...]] = {
    "cpu": (*RUN, "--runtime", "cpu", "--json", "record.json"),
    "isa": (*RUN, "--runtime", "isa", "--arch", "gfx942", "--json", "record.json"),
    "pytest": (*PYTEST, "--parity-json", "record.json", *ITEMS),
}


@dataclass(frozen=True)
class Judged:
    """What a way says of all three kernels."""

    code: int
    text: str
    rows: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def judged(
    shared_installation: Installation, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, bool], Judged]:
    """All kernels by one way, right or with their mistakes; each is judged once, and objects are compiled once."""

    @cache
    def judge(way: str, planted: bool) -> Judged:
        port = with_described(OwnPort.written(tmp_path_factory.mktemp("port")))
        for kernel in KERNELS.values() if planted else ():
            changed(port.kernels.with_name(f"{kernel.module}.hip"), kernel.right, kernel.mistake)
        before = shared_installation.files()
        done = shared_installation.says(port.folder, *WAYS[way])
        assert shared_installation.files() == before
        if way == "isa" and done.returncode == 2 and "clang" in done.stderr:
            pytest.skip("needs a compiler for AMD targets")
        record = json.loads((port.folder / "record.json").read_text())
        return Judged(done.returncode, done.stdout, {row["name"]: row for row in record["own"]})

    return judge


@pytest.mark.nightly("installs a wheel, and judges three kernels three ways, right and wrong")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sort", KERNELS)
def test_an_own_kernel_passes(judged: Callable[[str, bool], Judged], sort: str, way: str) -> None:
    answer = judged(way, False)
    assert answer.code == 0, answer.text
    row = answer.rows[KERNELS[sort].name]
    assert (row["status"], row["failed"]) == ("pass", 0)
    assert row["cases"] > 0


@pytest.mark.nightly("installs a wheel, and judges three kernels three ways, right and wrong")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sort", KERNELS)
def test_a_mistake_fails_with_its_cause(judged: Callable[[str, bool], Judged], sort: str, way: str) -> None:
    answer = judged(way, True)
    assert answer.code == 1, answer.text
    assert answer.rows[KERNELS[sort].name]["status"] in ("fail", "crash")
    assert f"1 own kernel: {KERNELS[sort].cause}" in answer.text
