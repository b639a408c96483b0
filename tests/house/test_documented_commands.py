"""Commands of README, CONTRIBUTING and docs/: all are read by the real parsers, and run in a small port where they can.

What cannot run here is listed with the reason. The shell blocks of docs/ci.md are run by tests/ci,
those of docs/tutorial.md by test_tutorial.py, those of docs/own-kernels.md by tests/own.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from documented import Written, in_blocks, in_output, inline

from conformance.cli.main import build_parser, parse
from conformance.errors import UsageError
from conformance.files import ROOT
from conformance.port.config import OPTIONS_FILE
from conformance.record.bench import bench_text
from conformance.spec.load import load_specs
from tests.bench.made import record as bench_record
from tests.cli.small_port import PORT
from tests.commands import answer

COMMANDS = in_blocks()
OURS = [one for one in COMMANDS if one.program == "candle-parity"]
NOTHING = """#define NOTHING(name, T)                                                                                \\
  extern "C" __global__ void name(size_t numel, size_t num_dims, const size_t *info, const T *inp, T *out) {}
NOTHING(uneg_f16, __half)
NOTHING(uexp_f32, float)
extern "C" __global__ void cast_bf16_u8(size_t numel, size_t num_dims, const size_t *info, const __hip_bfloat16 *inp,
                                        unsigned char *out) {}
"""
ELSEWHERE = {
    "--runtime isa": "needs a compiler for AMD targets; tests/isa_runtime",
    "--runtime rocm": "needs an AMD GPU; tests/rocm_runtime",
    "--compiler hipcc": "needs a ROCm; tests/rocm_runtime",
    "--runtime cuda": "needs an NVIDIA GPU; tests/cuda_runtime",
    "--candle path/to/candle": "needs a checkout of Candle; tests/upstream",
    "--subject reference": "needs Candle's recorded answers; tests/replay",
    "--kernels shipped": "judges the kernels of a module; make matrix",
    "--module mmvq": "compiles no launcher of the small port; tests/launchers",
    "emulate": "builds the runtime of programs; tests/emulate",
    "capture": "runs a program on a GPU, or an emulated one; tests/capture",
    "candle-parity compare": "needs a repository with two commits; tests/cli/test_compare_command.py",
    "candle-parity toolchain --": "downloads packages, or reads those that somebody has; tests/toolchains",
    "--write": "edits the specs; tests/growing",
    "--watch": "goes on until Ctrl-C; tests/cli/test_watch.py",
    "ports ports.toml": "judges for minutes; tests/cli/test_ports.py",
    "records/*": "has a pattern for a shell; tests/report/test_board.py",
}
"""What keeps a command from running here, by a part of it, and where it is tried."""


def runnable() -> list[tuple[str, ...]]:
    """The commands that are to run, each once, records before what reads them."""
    commands = [one for one in [*OURS, *in_output()] if one.page not in ("ci.md", "tutorial.md", "own-kernels.md")]
    words = dict.fromkeys(one.words for one in commands if not any(part in str(one) for part in ELSEWHERE))
    return sorted(words, key=lambda one: ("run", "bench").index(one[0]) if one[0] in ("run", "bench") else 2)


def test_the_pages_have_commands() -> None:
    assert len(COMMANDS) > 40
    assert {one.program for one in COMMANDS} == {"candle-parity", "pytest", "make"}


@pytest.mark.slow("parses every documented command line")
@pytest.mark.parametrize("command", [*OURS, *in_output()], ids=str)
def test_the_command_line_is_one(command: Written) -> None:
    arguments = parse(command.words)
    if command.page == "own-kernels.md":
        return  # its patterns are of a port's own kernels; tests/own/test_own_page.py
    for pattern in getattr(arguments, "patterns", []):
        assert load_specs().select([pattern.partition("(")[0]])


@pytest.mark.parametrize("command", [one for one in COMMANDS if one.program == "pytest"], ids=str)
def test_pytest_knows_the_options(command: Written, pytestconfig: pytest.Config) -> None:
    """What these commands do is tried in tests/cli/test_pytest_items.py and tests/ci."""
    _, unknown = pytestconfig._parser.parse_known_and_unknown_args(list(command.words))
    assert unknown == []


def test_make_has_the_targets() -> None:
    """What they do takes minutes; ``.ci/run`` runs them."""
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    words = [word for one in COMMANDS if one.program == "make" for word in one.words if "=" not in word]
    assert {"parity", "test"} <= set(words) <= set(phony.split())


@pytest.mark.parametrize(
    ("page", "command", "options"),
    inline(),
    ids=lambda value: shlex.join(value) or "none" if isinstance(value, list) else value,
)
@pytest.mark.slow("builds the parser of every command")
def test_options_in_texts_exist(page: str, command: str, options: list[str]) -> None:
    known = build_parser().of(command)._option_string_actions
    assert [option for option in options if option not in known] == []


def test_a_renamed_option_would_be_found() -> None:
    with pytest.raises(UsageError):
        parse(["run", "--kernels", "path/to/port", "--fail-over", "80"])


def test_each_reason_is_that_of_a_command() -> None:
    assert [part for part in ELSEWHERE if not any(part in str(one) for one in OURS)] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory in which the files that the pages name are there."""
    folder = tmp_path_factory.mktemp("documented")
    for name in ("path/to/port", "candle-kernels/src"):
        (folder / name).mkdir(parents=True)
        (folder / name / "fill.hip").write_text(PORT + NOTHING)
    (folder / OPTIONS_FILE).write_text('kernels = "path/to/port"\n')
    return folder


@pytest.mark.nightly("runs every documented command")
@pytest.mark.parametrize("words", runnable(), ids=shlex.join)
def test_the_command_runs(
    words: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    read = [word for word in words if word.endswith((".json", ".json.xz")) and word != "--json"]
    for name in read if words[0] in ("report", "diff") or "--baseline" in words else []:
        made(folder / name, capfd)
    if "--from" in words:
        (folder / words[-1]).write_text(bench_text(bench_record()))
    if words[0] == "export":
        pytest.importorskip("safetensors")
    on_host = ["--runtime", "cpu", "--jobs", "1"] if words[0] in ("run", "bench") and "--from" not in words else []
    said = answer(capfd, *words, *on_host)
    assert said.code in (0, 1), said.err


def made(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A record at ``path``, if there is none."""
    if not path.exists():
        run = ["run", "fill_u32", "--kernels", "path/to/port", "--runtime", "cpu", "--jobs", "1", "--json", str(path)]
        assert answer(capfd, *run).code == 0
