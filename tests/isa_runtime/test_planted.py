"""Every planted mistake of AMD's machine code is caught, and named where its evidence names it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import main
from conformance.record import read_record
from conformance.report.causes import find_causes
from conformance.report.tally import results
from conformance.runtimes.isa.kind import ARCH, PERTURB, TARGETS
from conformance.spec.load import load_specs
from conformance.toolchains.amd import HIPCC_KINDS, find_toolchain
from conformance.toolchains.targets import AmdError, targets_of
from tests.isa_runtime.planted import CDNA, OPTIONS, PLANTED, RDNA, Planted, plant, rows

Judged = dict[str, tuple[dict[str, Any], str | None]]
"""By kernel: its row of the record, and the cause under which it is."""


def judge(folder: Path, arch: str, *options: str) -> Judged:
    specs, file = load_specs(), folder / "record.json"
    words = ("--runtime", "isa", "--arch", arch, *OPTIONS[arch], "--kernels", str(plant(folder / "tree", arch)))
    main(["run", *words, *options, "--json", str(file), *(row.case for row in rows(arch, bool(options)))])
    found = find_causes(results(read_record(file), specs), specs)
    causes = {share.kernel.name: finding.cause.id for finding in found for share in finding.shares}
    return {row["name"]: (row, causes.get(row["name"])) for row in json.loads(file.read_text())["kernels"]}


@pytest.fixture(scope="module")
def judging() -> Iterator[None]:
    try:
        find_toolchain(targets_of(f"{CDNA},{RDNA}"), HIPCC_KINDS)
    except AmdError as missing:
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {missing}")
    with pytest.MonkeyPatch.context() as patch:  # a run sets them for its processes
        patch.setenv(ARCH, TARGETS[0])
        patch.setenv(PERTURB, "0")
        yield


@pytest.fixture(scope="module")
def judged(judging: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Judged]:
    return {arch: judge(tmp_path_factory.mktemp(arch), arch) for arch in (CDNA, RDNA)}


@pytest.fixture(scope="module")
def mended(judging: None, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    return judge(tmp_path_factory.mktemp("mended"), CDNA, "-D", "MENDED")


@pytest.mark.nightly("compiles for AMD targets and interprets the code, for each mistake")
@pytest.mark.parametrize("row", PLANTED, ids=lambda row: f"{row.arch} {row.what}")
def test_a_planted_mistake_is_caught(judged: dict[str, Judged], row: Planted) -> None:
    kernel, cause = judged[row.arch][row.kernel]
    assert kernel["status"] == row.status
    said = [kernel["message"] or "", *(str(failure) for failure in kernel["failures"])]
    assert any(row.said in text for text in said), said
    assert cause == row.cause


@pytest.mark.nightly("compiles for AMD targets and interprets the code, for each mistake")
@pytest.mark.parametrize("row", rows(CDNA, mended=True), ids=lambda row: f"{row.cause} {row.what}")
def test_a_kernel_that_follows_the_advice_of_its_cause_passes(mended: Judged, row: Planted) -> None:
    assert mended[row.kernel][0]["status"] == "pass"


def test_every_mistake_is_of_a_kernel_of_its_own() -> None:
    assert len({(row.arch, row.kernel) for row in PLANTED}) == len(PLANTED)
    assert len({row.what for row in PLANTED}) > 20
