"""A new report is one file."""

from __future__ import annotations

import pytest

from tests.growing.tree import Tree

MOST_FILES = 1

NAMES = '''"""``--names F``: write the names of the kernels that pass."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.record import Record
from conformance.spec.load import Specs


def render(records: Sequence[Record], specs: Specs, asked: object) -> str:
    assert asked is not None
    passing = (row.name for record in records for row in record.kernels if row.status == "pass")
    return "".join(f"{name}\\n" for name in passing)
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = Tree.copied(tmp_path_factory.mktemp("names"))
    (tree.path / "conformance/report/files/names.py").write_text(NAMES)
    return tree


@pytest.mark.slow("adds a report to a copy of the tree")
def test_it_is_one_file(copy: Tree) -> None:
    assert len(copy.changes()) <= MOST_FILES


@pytest.mark.nightly("runs a changed copy of the packages in processes of their own")
def test_every_command_that_reports_writes_it(copy: Tree) -> None:
    done, _ = copy.run("fill_u8", "--names", "run.txt")
    assert done.returncode == 0, done.stderr
    assert (copy.path / "run.txt").read_text() == "fill_u8\n"
    done = copy.parity("report", "record.json", "--names", "report.txt")
    assert done.returncode == 0, done.stderr
    assert (copy.path / "report.txt").read_text() == "fill_u8\n"
    refused = copy.parity("report", "record.json", "--names", "record.json")
    assert refused.returncode == 2, "a file that is read is not written to"


@pytest.mark.slow("runs a changed copy of the packages in processes of their own")
def test_help_lists_it_and_other_commands_do_not_have_it(copy: Tree) -> None:
    assert "write the names of the kernels that pass" in copy.parity("report", "--help").stdout
    refused = copy.parity("list", "--names", "f")
    assert (refused.returncode, "unrecognized arguments: --names" in refused.stderr) == (2, True)
