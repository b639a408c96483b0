"""``report`` on the command line: what it writes, that it always writes the same, and what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import main
from conformance.outcome import Evidence, Failure, Observation
from conformance.record import KernelResult, Record, every_kernel, write_record
from conformance.spec.load import load_specs
from tests.runs import run_info

SPECS = load_specs()
ROOT = Path(__file__).resolve().parents[2]
FORMATS = ("md", "html", "summary", "junit")


def result(name: str, status: str, **fields: Any) -> KernelResult:
    kernel = SPECS.kernels[name]
    about = {key: getattr(kernel, key) for key in ("name", "module", "family", "upstream")}
    return KernelResult(**{**about, "status": status, "cases": 4, "source": "unary.hip:3", **fields})


@pytest.fixture
def records(tmp_path: Path) -> tuple[Path, Path]:
    """A record with failures of several kinds, and an older one in which less fails."""
    rows = []
    for number, name in enumerate(name for name in SPECS.kernels if name.startswith(("u", "b"))):
        failure = Failure(f"{name}(shape=[{number}],values=unit)", "off", 0, "1", "2", 1.0, "candle-parity run")
        seen = Observation(Evidence(("few ulp", "other")), (f"shape=[{number}],values=unit",))
        rows.append(result(name, "fail", failed=1, failures=(failure,), observations=(seen,)))
    new = Record.of(run_info(specs_digest=SPECS.digest), every_kernel(SPECS, rows))
    old = Record.of(run_info(), every_kernel(SPECS, [result("uexp_f32", "pass"), *rows[5:9]]))
    write_record(new, tmp_path / "new.json")
    write_record(old, tmp_path / "old.json")
    return tmp_path / "new.json", tmp_path / "old.json"


@pytest.mark.slow("renders every format in processes of their own")
def test_the_same_record_gives_the_same_bytes_in_every_format(records: tuple[Path, Path], tmp_path: Path) -> None:
    """Also in a process whose sets and dictionaries have another order."""
    new, old = map(str, records)

    def words(folder: str) -> list[str]:
        (tmp_path / folder).mkdir()
        files = [word for name in FORMATS for word in (f"--{name}", str(tmp_path / folder / name))]
        return ["report", new, "--baseline", old, *files]

    assert main(words("here")) == 1
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    subprocess.run(
        [sys.executable, "-m", "conformance.cli.main", *words("there")],
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    for name in FORMATS:
        here, there = (tmp_path / folder / name for folder in ("here", "there"))
        assert here.read_bytes() == there.read_bytes() != b"", name


@pytest.mark.slow("renders every format in processes of their own")
def test_a_baseline_is_in_the_html_and_the_summary(records: tuple[Path, Path], tmp_path: Path) -> None:
    new, old = map(str, records)
    page, summary = tmp_path / "r.html", tmp_path / "s.md"
    assert main(["report", new, "--baseline", old, "--html", str(page), "--summary", str(summary)]) == 1
    assert "- `uexp_f32`: pass → fail, 1 of 4 cases failed; newly failing: " in summary.read_text()
    assert '<section id="changes">' in page.read_text()
    assert main(["report", new, "--html", str(page)]) == 0
    assert '<section id="changes">' not in page.read_text()


@pytest.mark.parametrize("address", ["javascript:alert(1)", "kernels", "file:///etc"])
def test_an_address_of_sources_begins_with_http(
    records: tuple[Path, Path], address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(records[0]), "--source-url", address]) == 2
    assert f"{address} is not an address (https://...)" in capsys.readouterr().err
