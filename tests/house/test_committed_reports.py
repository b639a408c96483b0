"""The reports of the last release: pages name their commits and render from their records, and ``make parity``
changes no committed file.

They are of a release. Nothing here asks whether ``kernels/`` or ``specs/`` have changed since.
"""

from __future__ import annotations

import json
import lzma
import re
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.commands.ports import _lines, _read
from conformance.files import ROOT
from conformance.port.config import OPTIONS_FILE, read_config
from conformance.record import read_record
from conformance.spec.load import load_specs
from tests.boards import OURS

REPORTS = ROOT / "reports"
RECORDS = REPORTS / "records"
RECORDED = [*RECORDS.iterdir(), *(REPORTS / "board").iterdir(), REPORTS / "wiring.json.xz"]
PAGES = ["BENCH-LAUNCHERS-NVIDIA.md", "BENCH-NVIDIA.md", "BOARD.md", "CANDLE-NVIDIA.md", "PARITY.md", "board.html"]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pages as ``make pages`` renders them now."""
    if shutil.which("make") is None or not (ROOT / ".venv" / ".installed").exists():
        pytest.skip("`make pages` needs make and the environment in .venv")
    if read_record(RECORDS / "parity.json.xz").run.specs_digest != load_specs().digest:
        pytest.skip("specs/ has changed since the release of these reports, and pages list every kernel of the specs")
    folder = tmp_path_factory.mktemp("pages")
    done = subprocess.run(["make", "pages", f"PAGES={folder}"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_rendered() -> None:
    assert (
        sorted(path.name for path in [*REPORTS.glob("*.md"), *REPORTS.glob("*.html")] if path.name != "parity.html")
        == PAGES
    )


@pytest.mark.slow("reads every file of the tree, or runs documented commands")
@pytest.mark.parametrize("page", PAGES)
def test_a_page_renders_from_its_records_byte_for_byte(page: str, rendered: Path) -> None:
    assert (rendered / page).read_bytes() == (REPORTS / page).read_bytes(), (
        f"run `make pages` and commit reports/{page}"
    )


MADE_FROM = {
    "BENCH-NVIDIA.md": ("bench-nvidia",),
    "BENCH-LAUNCHERS-NVIDIA.md": ("bench-launchers-nvidia",),
    "CANDLE-NVIDIA.md": ("nvidia-candle",),
    "PARITY.md": (*OURS, "replay-kernels", "replay-reference"),
}
"""By page, the records that it is rendered from."""


def about(file: Path) -> dict[str, Any]:
    """What a record says of its run, without a look at the rows of its kernels."""
    found = json.loads(lzma.decompress(file.read_bytes()))
    return found["run"] if "run" in found else found["bench"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(("page", "records"), MADE_FROM.items())
def test_a_page_names_the_commits_of_its_records(page: str, records: Sequence[str]) -> None:
    text = (REPORTS / page).read_text(encoding="utf-8")
    named = {about(RECORDS / f"{name}.json.xz")["harness"] for name in records}
    assert [commit for commit in named if not commit or commit not in text] == []


@pytest.mark.slow("reads every committed record")
def test_the_board_names_the_commit_of_every_port() -> None:
    named = {about(file)["git"] or "unknown" for file in (REPORTS / "board").iterdir()}
    for page in ("BOARD.md", "board.html"):
        text = (REPORTS / page).read_text(encoding="utf-8")
        assert [commit for commit in named if commit not in text] == []


@pytest.mark.slow("reads every committed record")
def test_the_board_has_a_record_of_every_port_of_the_list() -> None:
    listed = tomllib.loads((REPORTS / "ports.toml").read_text(encoding="utf-8"))["port"]
    names = {row["name"] for row in listed}
    recorded = {about(file)["port"]["name"] for file in (REPORTS / "board").iterdir()}
    assert recorded <= names
    if read_record(RECORDS / "parity.json.xz").run.specs_digest != load_specs().digest:
        pytest.skip("specs/ has changed since the release of these reports, and rows have come since, too")
    assert recorded == names


@pytest.mark.parametrize("name", ["ports.toml", "ports-unfetched.toml"])
def test_what_the_rows_of_a_list_declare_can_be_read(name: str, tmp_path: Path) -> None:
    for port in _read(REPORTS / name):
        lines = [line for key, value in port.declares.items() for line in _lines(key, value)]
        (tmp_path / OPTIONS_FILE).write_text("\n".join(lines))
        assert read_config(tmp_path / OPTIONS_FILE).settings.kernels is None


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


def test_make_reports_writes_the_records_of_a_release() -> None:
    files = written_by("reports")
    made = {"parity", "parity-wave32", "replay-kernels", "replay-reference", "build", "isa-$arch"}
    assert {f"reports/records/{name}.json.xz" for name in made} <= files
    assert {f"reports/{page}" for page in PAGES} <= files
