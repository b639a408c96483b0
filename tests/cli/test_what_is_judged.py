"""A verdict says of what: no port is no verdict, and every output names the tree that was judged."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from small_port import PORT, declare
from test_pytest_items import pytest_says

from conformance.record import read_record
from conformance.report.runs import judged_tree
from tests.commands import refused

NO_PORT = 'no port is named: give --kernels PATH, or kernels = "PATH" in '
JUDGED = "port (1 file, in no commit)"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a repository of somebody else, with a port in ``port`` and no declaration."""
    folder = tmp_path / "repository"
    (folder / "port").mkdir(parents=True)
    (folder / "port" / "fill.hip").write_text(PORT)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("command", ["run", "build", "bench", "check", "replay", "record out"])
@pytest.mark.slow("runs the command for each row")
def test_outside_of_our_checkout_a_command_needs_a_port(cli, elsewhere: Path, command: str) -> None:
    said = cli(*command.split(), "--module", "fill") if command != "build" else cli("build")
    refused(said, NO_PORT, "--kernels shipped stands for the kernels that come with candle-parity")
    assert [path.name for path in elsewhere.iterdir()] == ["port"]


def test_a_declaration_that_names_no_kernels_is_no_port(cli, elsewhere: Path) -> None:
    (elsewhere / "candle-parity.toml").write_text("defines = []\n")
    refused(cli("run", "fill_u8"), NO_PORT)
    refused(cli("run", "fill_u8", "--config", "candle-parity.toml"), NO_PORT, "candle-parity.toml;")


@pytest.mark.slow("whole runs by the command")
def test_our_own_kernels_are_asked_for_by_name(cli, elsewhere: Path) -> None:
    said = cli("run", "fill_u8", "--kernels", "shipped", "--runtime", "cpu")
    assert said.code == 0
    assert said.kernel("fill_u8")["source"].startswith("kernels/fill.hip:")
    refused(cli("run", "fill_u8", "--kernels", "./shipped"), "kernels path shipped does not exist")


@pytest.mark.slow("whole runs by the command")
def test_pytest_needs_a_port_as_well(elsewhere: Path) -> None:
    for option in ("--parity-fail-under=3", "--parity-runtime=cpu"):
        code, out = pytest_says(option, folder=elsewhere)
        assert (code, "no port is named that could be judged" in out) == (2, True)


MISNAMED = [
    "candle_parity.toml",
    "candle-parity.yml",
    "candle-parity.yaml",
    ".candle-parity.toml",
    "Candle-Parity.toml",
    "CANDLE_PARITY.TOML",
    "candleparity.toml",
    "candle-parity.toml.txt",
]


@pytest.mark.slow("whole runs by the command")
@pytest.mark.parametrize("name", MISNAMED)
def test_what_looks_like_a_declaration_and_is_none_is_named(cli, elsewhere: Path, name: str) -> None:
    (elsewhere / name).write_text('kernels = "port"\n[gate]\nfail_under = 90\n')
    for words in (("run",), ("run", "--kernels", "port")):
        refused(cli(*words), f"{name} is not read", "a file called candle-parity.toml", "rename it")
    (elsewhere / name).rename(elsewhere / "port" / name)
    refused(cli("check", "--kernels", "port/fill.hip"), f"{name} is not read")


@pytest.mark.slow("runs the command several times")
def test_next_to_a_declaration_it_is_a_warning(cli, elsewhere: Path) -> None:
    (elsewhere / "candle_parity.toml").write_text("")
    declare(elsewhere)
    said = cli("run", "fill_u8", "--runtime", "cpu")
    assert said.code == 1
    assert "candle-parity: warning: candle_parity.toml is not read" in said.err


def test_other_files_are_nobodys_declaration(cli, elsewhere: Path) -> None:
    for name in ("candle-parity.json", "candle-parity.toml~", "my-candle-parity.toml", "candle-parity-old.toml"):
        (elsewhere / name).write_text("")
    refused(cli("run"), NO_PORT)


def test_a_bare_pytest_names_it_too(elsewhere: Path) -> None:
    (elsewhere / "candle_parity.toml").write_text('kernels = "port"\n')
    (elsewhere / "test_own.py").write_text("def test_own():\n    pass\n")
    code, out = pytest_says(folder=elsewhere)
    assert (code, "candle_parity.toml is not read" in out) == (2, True)


@pytest.mark.parametrize(
    ("commit", "said"),
    [
        (None, "../port (12 files, in no commit)"),
        ("8a17ca0a4c3d", "../port (12 files, commit 8a17ca0a4c3d)"),
        ("8a17ca0a4c3d-dirty", "../port (12 files, commit 8a17ca0a4c3d with changes)"),
    ],
)
def test_the_words_for_a_tree(commit: str | None, said: str) -> None:
    assert judged_tree("../port", 12, commit) == said


@pytest.mark.slow("whole runs by the command")
def test_every_output_says_what_was_judged(cli, elsewhere: Path) -> None:
    files = {name: elsewhere / name for name in ("md", "html", "summary", "junit")}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    said = cli("run", "fill_u8", "fill_u32", "--kernels", "port", "--runtime", "cpu", *options, "--json", "r.json")
    assert said.out.splitlines()[0] == f"candle-parity judges {JUDGED}"
    assert f"  judged: {JUDGED}\n" in said.out
    run = read_record(Path("r.json")).run
    assert (run.kernels, run.files, run.git) == ("port", 1, None)
    for name in ("md", "html", "summary"):
        assert JUDGED in files[name].read_text(), name
    (judged,) = {one.get("value") for one in ElementTree.parse(files["junit"]).iterfind(".//property[@name='judged']")}
    assert judged == JUDGED
    said = cli("report", "r.json", "--annotations")
    assert said.out.splitlines()[0] == f"::notice title=candle-parity::judged: {JUDGED}"
    said = cli("run", "-q", "fill_u8", "--kernels", "port", "--runtime", "cpu")
    assert said.out.count("\n") == 1
    assert f"; judged: {JUDGED}; " in said.out


@pytest.mark.slow("whole runs by the command")
def test_the_commit_of_the_port_is_said_and_whether_files_differ(cli, elsewhere: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "port"], ["commit", "-q", "-m", "port"]):
        subprocess.run([*git, *words], check=True)
    words = ("run", "-q", "fill_u8", "--kernels", "port", "--runtime", "cpu")
    assert re.search(r"; judged: port \(1 file, commit [0-9a-f]{12}\); ", cli(*words).out)
    (elsewhere / "port" / "fill.hip").write_text(PORT + "// another\n")
    assert re.search(r"; judged: port \(1 file, commit [0-9a-f]{12} with changes\); ", cli(*words).out)


@pytest.mark.slow("whole runs by the command")
def test_pytest_says_what_it_judges(elsewhere: Path) -> None:
    code, out = pytest_says("--parity-kernels", "port", "-k", "fill_u32", "--parity-runtime", "cpu", folder=elsewhere)
    assert code == 0, out
    assert f"candle-parity judges {JUDGED}, named by --parity-kernels" in out
    assert f"judged: {JUDGED}" in out
