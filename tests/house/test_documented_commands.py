"""Commands of README, CONTRIBUTING and docs/: all are read by the real parsers, the fast ones run in a small port.

The shell blocks of docs/ci.md are run by tests/ci.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from documented import Written, in_blocks, inline

from conformance.cli.main import build_parser, parse
from conformance.cli.usage import UsageError
from conformance.files import ROOT
from conformance.spec.load import load_specs
from tests.cli.small_port import small_port
from tests.commands import answer

COMMANDS = in_blocks()
OURS = [one for one in COMMANDS if one.program == "candle-parity"]
SHORT = ("list", "check", "report", "diff", "export", "new")
KERNELS = """#include <hip/hip_runtime.h>
#define NOTHING(name, T)                                                                                        \\
  extern "C" __global__ void name(size_t numel, size_t num_dims, const size_t *info, const T *inp, T *out) {}
NOTHING(uneg_f16, __half)
NOTHING(uexp_f32, float)
"""


def test_the_pages_have_commands() -> None:
    assert len(COMMANDS) > 40
    assert {one.program for one in COMMANDS} == {"candle-parity", "pytest", "make"}


@pytest.mark.parametrize("command", OURS, ids=str)
def test_the_command_line_is_one(command: Written) -> None:
    arguments = parse(command.words)
    for pattern in getattr(arguments, "patterns", []):
        assert load_specs().select([pattern.partition("(")[0]])


@pytest.mark.parametrize("command", [one for one in COMMANDS if one.program == "pytest"], ids=str)
def test_pytest_knows_the_options(command: Written, pytestconfig: pytest.Config) -> None:
    _, unknown = pytestconfig._parser.parse_known_and_unknown_args(list(command.words))
    assert unknown == []


def test_make_has_the_targets() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    words = [word for one in COMMANDS if one.program == "make" for word in one.words if "=" not in word]
    assert {"parity", "test"} <= set(words) <= set(phony.split())


@pytest.mark.parametrize(
    ("page", "command", "options"),
    inline(),
    ids=lambda value: shlex.join(value) or "none" if isinstance(value, list) else value,
)
def test_options_in_texts_exist(page: str, command: str, options: list[str]) -> None:
    known = build_parser().of(command)._option_string_actions
    assert [option for option in options if option not in known] == []


def test_a_renamed_option_would_be_found() -> None:
    with pytest.raises(UsageError):
        parse(["run", "--kernels", "path/to/port", "--fail-over", "80"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory in which the files that the pages name are there."""
    folder = tmp_path_factory.mktemp("documented")
    (folder / "path" / "to").mkdir(parents=True)
    small_port(folder)
    (folder / "port").rename(folder / "path" / "to" / "port")
    (folder / "path" / "to" / "port" / "unary.hip").write_text(KERNELS)
    return folder


def test_the_commands_of_the_readme_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    runs = [one.words for one in OURS if one.page == "README.md" and one.words[0] == "run"]
    assert len(runs) == 5
    for words in runs:
        said = answer(capfd, *words, "--runtime", "cpu", "--jobs", "1")
        assert said.code in (0, 1), said.err
    assert (folder / "parity.json").exists()


def test_the_short_commands_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    record = folder / "record.json"
    run = ["run", "fill_u32", "--kernels", "path/to/port", "--runtime", "cpu", "--jobs", "1", "--json", str(record)]
    assert answer(capfd, *run).code == 0
    for name in ("other-machine", "old", "new"):
        (folder / f"{name}.json").write_text(record.read_text())
    short = {one.words for one in OURS if one.words[0] in SHORT and one.page != "ci.md" and "--write" not in one.words}
    assert {words[0] for words in short} >= {"check", "report", "diff", "export", "new"}
    for words in sorted(short):
        if words[0] == "export":
            pytest.importorskip("safetensors")
        said = answer(capfd, *words)
        assert said.code in (0, 1), said.err
    assert (folder / "PARITY.md").exists()
    assert (folder / "parity.html").exists()
