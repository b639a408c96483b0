"""No output costs a file: what would is refused with a sentence before anything is read or judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_port import PORT
from test_pytest_items import pytest_says

from conformance.files import spec_folder
from conformance.toolchains.amd import lacking
from tests.commands import refused

HEADER = "#pragma once\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with two records, a port of a source, a header and an odd header, and its declaration."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "port").mkdir()
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "more.hip").write_text(PORT.replace("fill_", "own_"))
    (tmp_path / "port" / "more.hip").symlink_to("../real/more.hip")
    (tmp_path / "port" / "fill.hip").write_text('#include "table.txt"\n' + PORT)
    (tmp_path / "port" / "table.txt").write_text(HEADER)
    (tmp_path / "port" / "shim.h").write_text(HEADER)
    (tmp_path / "forced.md").write_text(HEADER)
    (tmp_path / "candle-parity.toml").write_text('kernels = "port"\n[gate]\nbaseline = "b.json"\n')
    (tmp_path / "link.json").symlink_to("x.json")
    (tmp_path / "folder").symlink_to("real", target_is_directory=True)
    return tmp_path


def contents(folder: Path) -> dict[str, str | None]:
    return {str(path): path.read_text() if path.is_file() else None for path in sorted(folder.rglob("*"))}


READS = [
    ("report a.json --summary a.json", "--summary a.json would overwrite a file of what RECORD names"),
    ("report a.json --json a.json", "--json a.json would overwrite a file of what RECORD names"),
    ("report b.json a.json --md ./a.json", "--md a.json would overwrite a file of what RECORD names"),
    ("report a.json --wiring b.json --badge b.json", "--badge b.json would overwrite a file of what --wiring names"),
    ("run --baseline a.json --html a.json", "--html a.json would overwrite a file of what --baseline names"),
    ("run --baseline a.json --json a.json", "--json a.json would overwrite a file of what --baseline names"),
    ("run --json b.json", "--json b.json would overwrite a file of what candle-parity.toml, the declaration, names"),
    ("run --md candle-parity.toml", "--md candle-parity.toml would overwrite a file of what candle-parity.toml"),
    ("check --config candle-parity.toml --json candle-parity.toml", "would overwrite a file of what --config names"),
    ("diff a.json b.json --json b.json", "--json b.json would overwrite a file of what NEW names"),
    ("bench --from a.json --md a.json", "--md a.json would overwrite a file of what --from names"),
    ("run --html port/fill.hip", "--html port/fill.hip would overwrite a file of what --kernels names"),
    ("run --kernels port/fill.hip --json port/fill.hip", "--json port/fill.hip would overwrite"),
    ("replay --summary port/shim.h", "--summary port/shim.h would overwrite a file of what --kernels names"),
    ("check --json port/table.txt", "--json port/table.txt would overwrite a file of what --kernels names"),
    ("build --json real/more.hip", "--json real/more.hip would overwrite a file of what --kernels names"),
    ("run --include forced.md --md forced.md", "--md forced.md would overwrite a file of what --"),
    ("bench --against real --json real/more.hip --kernels port/fill.hip", "what --against names"),
    (f"list --json {spec_folder() / 'fill.yaml'}", "fill.yaml would overwrite a file of what --specs names"),
]
PLACES = [
    ("report a.json --md new --html new", "--md and --html both name new"),
    ("report a.json --md new --html ./real/../new", "--md and --html both name real/../new"),
    ("run --json x.json --junit link.json", "--junit link.json: link.json is a symbolic link"),
    ("run --baseline link.json --update-baseline", "--baseline link.json: link.json is a symbolic link"),
    ("capture -o new --json - -- true", "--json -: no record is written to standard output here"),
    ("report a.json --junit -", "--junit -: standard output is for --json alone"),
    ("run --json nowhere/x.json", "--json nowhere/x.json: the folder nowhere does not exist; make it first"),
    ("run --json a.json/x.json", "--json a.json/x.json: the folder a.json is not a folder; make it first"),
    ("run --html port", "--html port: it is a folder; give the name of a file"),
    ("build --out a.json", "--out a.json: it is not a folder; give the name of one"),
    ("build --out folder", "--out folder: folder is a symbolic link"),
    ("record folder", "OUT folder: folder is a symbolic link"),
    ("export --safetensors nowhere/x", "--safetensors nowhere/x: the folder nowhere does not exist"),
    ("ports a.json --checkouts . --out folder", "--out folder: folder is a symbolic link"),
]


@pytest.mark.slow("runs the command several times")
@pytest.mark.parametrize(("words", "said"), [*READS, *PLACES])
def test_an_output_that_would_cost_a_file_is_refused(cli, here: Path, words: str, said: str) -> None:
    before = contents(here)
    refused(cli(*words.split(), *([] if "--json" in words or words[:3] != "run" else ["--json", "free"])), said)
    assert contents(here) == before


def test_devices_are_no_collision(cli, here: Path) -> None:
    refused(cli("report", "a.json", "--md", "/dev/null", "--html", "/dev/null"), "a.json: not a")


def test_the_declared_baseline_may_be_named_as_the_one_to_update(cli, here: Path) -> None:
    """It gets as far as reading the file, which is no record here."""
    refused(cli("run", "--baseline", "b.json", "--update-baseline"), "b.json: not a")


@pytest.mark.slow("whole runs by the command")
def test_what_a_run_wrote_is_written_again(cli, here: Path) -> None:
    """Also in the port's folder, whose other files are not read."""
    words = ("run", "fill_u32", "--runtime", "cpu", "--kernels", "port/fill.hip", "--config", "own.toml")
    (here / "own.toml").write_text("")
    for _ in range(2):
        assert cli(*words, "--md", "port/PARITY.md", "--json", ".parity/record.json").code == 0
    assert (here / "port" / "PARITY.md").exists()
    assert (here / ".parity" / "record.json").exists()


def test_the_folder_of_our_ci_files_is_not_made_through_a_link(cli, here: Path) -> None:
    (here / ".parity").symlink_to("real")
    refused(cli("run", "--json", ".parity/record.json"), ".parity is a symbolic link")


@pytest.mark.slow("whole runs by the command")
def test_the_record_of_pytest_is_an_output_too(here: Path) -> None:
    (here / "candle-parity.toml").write_text('kernels = "port"\n')
    before = contents(here)
    code, out = pytest_says("-k", "fill_u32", "--parity-json", "port/fill.hip", folder=here)
    assert (code, "--parity-json port/fill.hip would overwrite a file" in out) == (2, True)
    assert contents(here) == before


@pytest.mark.skipif(bool(lacking()), reason=f"NOT COMPILED FOR AMD TARGETS: {lacking()}")
def test_a_link_in_the_folder_of_code_objects_is_not_followed(cli, here: Path) -> None:
    """``build`` finds it when it comes to write there."""
    (here / "out").mkdir()
    (here / "out" / "gfx942").symlink_to("../real")
    said = cli(
        "build", "--kernels", "port/fill.hip", "--config", "candle-parity.toml", "--arch", "gfx942", "--out", "out"
    )
    assert (said.code, "out/gfx942: is a symbolic link" in said.err) == (2, True)
    assert [path.name for path in (here / "real").iterdir()] == ["more.hip"]
