"""A new runtime is a file and a line: added in a copy of the packages, it runs a kernel under its own name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.files import cache_folder

ROOT = Path(__file__).resolve().parents[2]

FILE = '''"""The cpu runtime's library under another name."""

from dataclasses import replace

from conformance.runtimes.choice import Choice
from conformance.runtimes.cpu.kind import KIND as CPU

KIND = replace(
    CPU, name="fourth", executed="run on a fourth thing", find=lambda: Choice("fourth"), chooses_orders=False
)
'''
LINE = '    "fourth": "conformance.runtimes.fourth",\n'

PLUGIN = """
import sys
from conformance.pytest_plugin import RUNTIMES
print(*RUNTIMES, *sorted(name for name in sys.modules if name.startswith("conformance.")))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages and the specs with a fourth runtime."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("conformance", "reference", "specs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "traces"))
    (folder / "conformance/runtimes/fourth.py").write_text(FILE)
    listing = folder / "conformance/runtimes/__init__.py"
    text = listing.read_text()
    last = '    "cuda": "conformance.runtimes.cuda.kind",\n'
    assert last in text
    listing.write_text(text.replace(last, last + LINE))
    return folder


def says(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy), "CANDLE_PARITY_CACHE": str(cache_folder().resolve())}
    return subprocess.run(
        [sys.executable, *words], cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def test_it_runs_a_kernel_and_is_named_in_the_record_and_the_report(copy: Path) -> None:
    words = ("--runtime", "fourth", "--kernels", str(ROOT / "kernels"), "uexp_f32", "--json", "r.json", "--md", "r.md")
    done = says(copy, "-m", "conformance.cli.main", "run", *words)
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads((copy / "r.json").read_text())
    assert record["summary"]["pass"] == 1
    assert (record["run"]["runtime"], record["run"]["orders"]) == ("fourth", [])
    assert record["run"]["sandbox"] is not None
    assert "run on a fourth thing" in done.stdout
    assert "run on a fourth thing" in (copy / "r.md").read_text()


def test_it_is_a_choice_of_every_command(copy: Path) -> None:
    for command in ("run", "bench", "doctor", "record"):
        assert "{auto,rocm,cpu,cuda,fourth}" in says(copy, "-m", "conformance.cli.main", command, "--help").stdout
    words = ("--runtime", "fourth", "--kernels", str(ROOT / "kernels"), "--order", "reverse", "uexp_f32")
    refused = says(copy, "-m", "conformance.cli.main", "run", *words)
    assert (refused.returncode, refused.stderr) == (
        2,
        "candle-parity: --order is for the cpu runtime; fourth schedules threads itself\n",
    )


def test_the_pytest_options_know_it_and_load_no_runtime(copy: Path) -> None:
    """An installed plugin is a part of everybody's pytest runs."""
    done = says(copy, "-c", PLUGIN)
    assert done.stdout.split() == [
        *("auto", "rocm", "cpu", "cuda", "fourth"),
        *("conformance.files", "conformance.pytest_plugin", "conformance.runtimes", "conformance.runtimes.kind"),
    ]
