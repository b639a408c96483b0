"""The committed reports are of the kernels and specs next to them, and ``make parity`` changes no committed file."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conformance.files import KERNELS
from conformance.port.digest import tree_digest
from conformance.record import Record, read_record
from conformance.spec.load import load_specs
from tests.runs import run_info

ROOT = Path(__file__).resolve().parents[2]
FROM_A_GPU = ("h100", "bench")
"""Made where ``make reports`` is not; a report says which sources they are of."""

RECORDS = [path for path in sorted((ROOT / "reports").glob("*.json")) if not path.name.startswith(FROM_A_GPU)]
NAMES = {"parity", "parity-wave32", "replay-kernels", "replay-reference", "isa-gfx942", "isa-gfx1100"}


def stale(record: Record, kernels: str, specs: str) -> list[str]:
    """What has changed since the record was made."""
    run = record.run
    found = [] if run.specs_digest == specs else ["specs/"]
    return found if run.kernels != KERNELS or run.sources == kernels else [*found, "kernels/"]


def test_the_records_are_of_these_kernels_and_specs() -> None:
    kernels, specs = tree_digest(ROOT / "kernels"), load_specs().digest
    committed = [path for path in RECORDS if path.name != "build.json"]
    assert {path.stem for path in committed} >= NAMES
    old = {f"reports/{path.name}": stale(read_record(path), kernels, specs) for path in committed}
    assert not any(old.values()), f"changed since these were made: {old}; run `make reports` and commit reports/"


def test_a_record_of_other_kernels_or_specs_is_stale() -> None:
    record = Record.of(run_info(kernels="kernels", sources="k", specs_digest="s"), [])
    assert stale(record, "k", "s") == []
    assert stale(record, "k", "t") == ["specs/"]
    assert stale(record, "l", "s") == ["kernels/"]
    assert stale(Record.of(run_info(kernels=None, specs_digest="s"), []), "l", "s") == []


def written_by(target: str) -> set[str]:
    """The files that the commands of a target name as their outputs."""
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(re.findall(r"--(?:json|md|html) (\S+?)(?:;|\s|$)", done.stdout))


def test_make_parity_writes_only_what_git_ignores() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout")
    files = written_by("parity")
    assert len(files) == 7
    done = subprocess.run(["git", "check-ignore", *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) == files


def test_make_reports_writes_the_committed_ones() -> None:
    files = written_by("reports")
    assert {f"reports/{name}.json" for name in NAMES if "isa" not in name} <= files
    assert {"reports/PARITY.md", "reports/isa-$arch.json"} <= files
