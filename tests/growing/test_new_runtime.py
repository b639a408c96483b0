"""A new runtime is a file and a line: added in a copy of the packages, it runs a kernel under its own name."""

from __future__ import annotations

import json

import pytest

from tests.commands import without_progress
from tests.growing.tree import Tree

FILE = '''"""The cpu runtime's library under another name."""

from dataclasses import replace

from conformance.runtimes.kind import Choice
from conformance.runtimes.cpu.kind import KIND as CPU

KIND = replace(
    CPU, name="fourth", executed="run on a fourth thing", find=lambda: Choice("fourth"), chooses_orders=False
)
'''
LINE = '    "fourth": "conformance.runtimes.fourth",\n'

PLUGIN = """
import sys
import conformance.pytest_plugin
from conformance.settings import RUNTIMES
print(*RUNTIMES, *sorted(name for name in sys.modules if name.startswith("conformance.")))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A copy of the repository with a fourth runtime."""
    tree = Tree.copied(tmp_path_factory.mktemp("fourth"))
    (tree.path / "conformance/runtimes/fourth.py").write_text(FILE)
    last = '    "cuda": "conformance.runtimes.cuda.kind",\n'
    tree.replace("conformance/runtimes/__init__.py", last, last + LINE)
    return tree


@pytest.mark.nightly("runs a changed copy of the packages in processes of their own")
def test_it_runs_a_kernel_and_is_named_in_the_record_and_the_report(copy: Tree) -> None:
    words = ("--runtime", "fourth", "--kernels", "kernels", "uexp_f32", "--json", "r.json", "--md", "r.md")
    done = copy.parity("run", *words)
    assert (done.returncode, without_progress(done.stderr)) == (0, "")
    record = json.loads((copy.path / "r.json").read_text())
    assert record["summary"]["pass"] == 1
    assert (record["run"]["runtime"], record["run"]["orders"]) == ("fourth", [])
    assert record["run"]["sandbox"] is not None
    assert "run on a fourth thing" in done.stdout
    assert "run on a fourth thing" in (copy.path / "r.md").read_text()


@pytest.mark.slow("runs a changed copy of the packages in processes of their own")
def test_it_is_a_choice_of_every_command(copy: Tree) -> None:
    for command in ("run", "bench", "doctor", "record"):
        assert "{auto,rocm,cpu,cuda,fourth,isa}" in copy.parity(command, "--help").stdout
    words = ("--runtime", "fourth", "--kernels", "kernels", "--order", "reverse", "uexp_f32")
    refused = copy.parity("run", *words)
    assert (refused.returncode, refused.stderr) == (
        2,
        "candle-parity: --order is for the cpu runtime; fourth schedules threads itself\n",
    )


def test_the_pytest_options_know_it_and_load_no_runtime(copy: Tree) -> None:
    """An installed plugin is a part of everybody's pytest runs."""
    done = copy.python("-c", PLUGIN)
    assert done.stdout.split() == [
        *("auto", "rocm", "cpu", "cuda", "fourth", "isa"),
        *("conformance.files", "conformance.option", "conformance.pytest_plugin", "conformance.reading"),
        *("conformance.runtimes", "conformance.runtimes.kind", "conformance.settings"),
    ]
