"""The committed reports are of the kernels and specs next to them, and ``make parity`` changes no committed file."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from conformance.files import KERNELS
from conformance.port.digest import tree_digest
from conformance.record import Record, read_record
from conformance.report.board import render_board, render_board_markdown
from conformance.report.board.columns import OURS
from conformance.spec.load import load_specs
from tests.boards import committed
from tests.runs import run_info

ROOT = Path(__file__).resolve().parents[2]
FROM_A_GPU = ("h100", "bench")
"""Made where ``make reports`` is not; a report says which sources they are of."""

REPORTS = ROOT / "reports"
RECORDS = [path for path in sorted((REPORTS / "records").iterdir()) if not path.name.startswith(FROM_A_GPU)]
RECORDED = [*(REPORTS / "records").iterdir(), *(REPORTS / "board").iterdir()]
NAMES = {"parity", "parity-wave32", "replay-kernels", "replay-reference", "isa-gfx942", "isa-gfx1100"}


def stale(record: Record, kernels: str, specs: str) -> list[str]:
    """What has changed since the record was made."""
    run = record.run
    found = [] if run.specs_digest == specs else ["specs/"]
    return found if run.kernels != KERNELS or run.sources == kernels else [*found, "kernels/"]


def test_the_records_are_of_these_kernels_and_specs() -> None:
    kernels, specs = tree_digest(ROOT / "kernels"), load_specs().digest
    assert {path.name for path in RECORDS} == {f"{name}.json.xz" for name in NAMES}
    old = {path.name: stale(read_record(path), kernels, specs) for path in RECORDS}
    assert not any(old.values()), f"changed since these were made: {old}; run `make reports` and commit reports/"


def test_a_record_of_other_kernels_or_specs_is_stale() -> None:
    record = Record.of(run_info(kernels="kernels", sources="k", specs_digest="s"), [])
    assert stale(record, "k", "s") == []
    assert stale(record, "k", "t") == ["specs/"]
    assert stale(record, "l", "s") == ["kernels/"]
    assert stale(Record.of(run_info(kernels=None, specs_digest="s"), []), "l", "s") == []


def test_the_pages_and_the_records_they_were_rendered_from_are_unchanged() -> None:
    """``sha256sum --check`` says the same in a shell."""
    lines = (REPORTS / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    listed = {name: digest for digest, name in (line.split("  ") for line in lines)}
    committed = [*REPORTS.glob("*.md"), REPORTS / "board.html", *RECORDED]
    assert listed == {
        str(path.relative_to(REPORTS)): hashlib.sha256(path.read_bytes()).hexdigest() for path in committed
    }


def test_the_board_is_rendered_from_the_committed_records() -> None:
    """Its every figure is a record's: it is what its records render to (``make board``)."""
    board = committed()
    assert (REPORTS / "BOARD.md").read_text(encoding="utf-8") == render_board_markdown(board)
    assert (REPORTS / "board.html").read_text(encoding="utf-8") == render_board(board)
    listed = tomllib.loads((REPORTS / "ports.toml").read_text(encoding="utf-8"))["port"]
    assert {row["name"] for row in listed} == {column.port for column in board.columns} - {OURS}


def test_a_diff_shows_no_lines_of_a_record() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout")
    files = [str(path.relative_to(ROOT)) for path in RECORDED]
    done = subprocess.run(["git", "check-attr", "diff", *files], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{file}: diff: unset" for file in files]


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
    assert {f"reports/records/{name}.json.xz" for name in NAMES if "isa" not in name} <= files
    assert {"reports/PARITY.md", "reports/records/isa-$arch.json.xz"} <= files
