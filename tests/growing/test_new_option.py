"""A new option of ``run`` is a row and its use: given in any way it reaches judge, executor and record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import without_progress
from tests.growing.tree import Tree

MOST_FILES = 3
"""The row, the judge, and the executor, which gets it where the row is one of ``ExecutorSettings``.

An option that no executor needs is a row of ``Settings`` and its use: two files.
"""
CASE = "fill_u8(shape=[31],value=pattern)"

ROW = """
    depth: int = judging(
        0,
        "--depth",
        read=seed,
        metavar="N",
        help="how deep to look",
        in_file=True,
        pytest=True,
        repeated=True,
        recorded=True,
    )
"""

FIRST_OF_OTHERS = "\n\n@dataclass(frozen=True)\nclass Settings(ExecutorSettings):"
"""Where the settings of executors end."""


def used(process: str, value: str) -> str:
    """A line that notes the value in the file that the environment names."""
    return f'        open(__import__("os").environ["SEEN"], "a").write(f"{process} {{{value}}}\\n")\n'


def with_line(tree: Tree, before: str, line: str) -> None:
    """Write ``line`` before the one of the engine that begins with ``before``."""
    (file,) = (path for path in (tree.path / "conformance/engine").rglob("*.py") if f"\n{before}" in path.read_text())
    tree.replace(file.relative_to(tree.path).as_posix(), f"\n{before}", f"\n{line}{before}")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A copy of the repository with one more option, which the judge and the executor use."""
    tree = Tree.copied(tmp_path_factory.mktemp("deep"))
    tree.replace("conformance/settings.py", FIRST_OF_OTHERS, f"{ROW}{FIRST_OF_OTHERS}")
    with_line(tree, "        self._losses: set", used("judge", "setup.depth"))
    with_line(tree, "        # A GPU's context does not survive a fork", used("executor", "opening.settings.depth"))
    return tree


@pytest.fixture
def port(tmp_path: Path) -> Path:
    """A port whose only kernel is wrong, with a file next to it."""
    (tmp_path / "port").mkdir()
    kernel = 'extern "C" __global__ void fill_u8(unsigned char *buf, unsigned char value, size_t numel) {}\n'
    (tmp_path / "port" / "fill.hip").write_text(f"#include <hip/hip_runtime.h>\n{kernel}")
    return tmp_path / "port"


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    return tmp_path / "seen"


@pytest.mark.slow("adds an option to a copy of the tree")
def test_it_is_in_few_files(copy: Tree) -> None:
    changed = [name for name in copy.changes() if name.startswith("conformance/")]
    assert len(changed) <= MOST_FILES, changed


@pytest.mark.nightly("runs a changed copy of the packages in processes of their own")
def test_the_command_line_brings_it_to_judge_executor_and_record(copy: Tree, port: Path, seen: Path) -> None:
    words = ("--runtime", "cpu", "--kernels", str(port), CASE, "--json", str(port / "r.json"))
    done = copy.parity("run", *words, "--depth", "7")
    assert done.returncode == 1, done.stderr
    assert set(seen.read_text().splitlines()) == {"judge 7", "executor 7"}
    record = json.loads((port / "r.json").read_text())
    assert record["run"]["options"] == ["--depth 7"]
    (row,) = (row for row in record["kernels"] if row["failures"])
    assert " --depth 7 " in row["failures"][0]["reproduce"]
    assert "Judged with | --depth 7" in copy.parity("report", str(port / "r.json"), "--md", "/dev/stdout").stdout
    assert copy.parity("run", *words).returncode == 1
    assert json.loads((port / "r.json").read_text())["run"]["options"] == []


@pytest.mark.nightly("runs a changed copy of the packages in processes of their own")
def test_the_file_of_the_port_brings_it_there(copy: Tree, port: Path, seen: Path) -> None:
    (port / "candle-parity.toml").write_text("depth = 5\n")
    copy.parity("run", "--runtime", "cpu", "--kernels", str(port), "fill_u8")
    assert set(seen.read_text().splitlines()) == {"judge 5", "executor 5"}
    seen.unlink()
    copy.parity("run", "--runtime", "cpu", "--kernels", str(port), "fill_u8", "--depth", "6")
    assert set(seen.read_text().splitlines()) == {"judge 6", "executor 6"}
    (port / "candle-parity.toml").write_text("depth = 'deep'\n")
    refused = copy.parity("run", "--kernels", str(port), "fill_u8")
    assert (refused.returncode, without_progress(refused.stderr)) == (
        2,
        f"candle-parity: {port}/candle-parity.toml: depth: deep is not a seed (0 to 4294967295)\n",
    )


@pytest.mark.nightly("runs a changed copy of the packages in processes of their own")
def test_pytest_brings_it_there(copy: Tree, port: Path, seen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    options = ("--parity-kernels", str(port), "--parity-runtime", "cpu", "--parity-depth", "9")
    done = copy.says(
        "pytest", "-p", "conformance.pytest_plugin", "-q", *options, "-k", "fill_u8", "--rootdir", str(port)
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert set(seen.read_text().splitlines()) == {"judge 9", "executor 9"}


@pytest.mark.slow("runs a changed copy of the packages in processes of their own")
def test_only_the_commands_that_have_it_take_it(copy: Tree) -> None:
    assert "--depth N" in copy.parity("replay", "--help").stdout
    refused = copy.parity("bench", "--depth", "1")
    assert (refused.returncode, "unrecognized arguments: --depth" in refused.stderr) == (2, True)
