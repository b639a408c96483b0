"""A new command is one file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.growing.tree import Tree

MOST_FILES = 1

COUNT = '''"""``candle-parity count``: how many kernels of a module the specs have."""

from __future__ import annotations

import argparse

from conformance.cli.usage import CommandParser
from conformance.errors import UsageError
from conformance.spec.load import load_specs


def options(parser: CommandParser) -> None:
    parser.add_argument("of", metavar="MODULE", help="a module of the specs")


def command(arguments: argparse.Namespace) -> int:
    specs = load_specs()
    if arguments.of not in specs.modules:
        raise UsageError(f"{arguments.of}: there is no such module")
    print(sum(kernel.module == arguments.of for kernel in specs.kernels.values()))
    return 0
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = Tree.copied(tmp_path_factory.mktemp("counts"))
    (tree.path / "conformance/cli/commands/count.py").write_text(COUNT)
    return tree


def test_it_is_one_file(copy: Tree) -> None:
    assert len(copy.changes()) <= MOST_FILES


@pytest.mark.slow("runs a changed copy of the packages in processes of their own")
def test_it_is_listed_and_answers(copy: Tree) -> None:
    listed = copy.parity("--help").stdout
    assert re.search(r"^    count +how many kernels of a module the specs have$", listed, re.MULTILINE)
    done = copy.parity("count", "unary")
    assert (done.returncode, done.stdout) == (0, "123\n"), done.stderr
    refused = copy.parity("count", "nothing")
    assert (refused.returncode, refused.stderr) == (2, "candle-parity: nothing: there is no such module\n")
    assert "MODULE" in copy.parity("count", "--help").stdout


@pytest.mark.slow("runs a changed copy of the packages in processes of their own")
def test_without_it_there_is_no_such_command(tmp_path: Path) -> None:
    refused = Tree.copied(tmp_path / "tree").parity("count", "unary")
    assert (refused.returncode, "invalid choice: 'count'" in refused.stderr) == (2, True)
