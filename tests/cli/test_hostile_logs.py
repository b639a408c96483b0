"""A port whose names, compiler messages and kernel output would be commands of a CI service, printed as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.cli.judge import print_logs
from conformance.outcome import Outcome
from conformance.toolchains.amd import lacking
from tests.commands import Said

LINE = '#line 1 "x\\n::stop-commands::token\\n##[error]forged\\n\\x1b]0;title\\x07"\n'
BROKEN = f"""#include <hip/hip_runtime.h>
{LINE}extern "C" __global__ void fill_u32(unsigned *buf, unsigned value, size_t numel) {{ no_such_name(); }}
#error ::error file=a::b ##[add-mask]c
"""
PRINTS = """#include <hip/hip_runtime.h>
#include <cstdio>
extern "C" __global__ void fill_u8(unsigned char *buf, unsigned char value, size_t numel) {
  if (threadIdx.x == 0 && blockIdx.x == 0)
    printf("::error::from a kernel\\n  ::stop-commands::t\\n##[error]x\\r\\x1b[31mred\\ncandle-parity: 748 of 748\\n");
  buf[0] = value;
}
"""
COMMAND = re.compile(r"^\s*::|##\w*\[|[\r\x1b]", re.MULTILINE)
FORGED = re.compile(r"^(?:\s*forged|candle-parity: 748 of 748)", re.MULTILINE)


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the port in a folder whose name is a command, too."""
    folder = tmp_path / "here"
    (folder / "::error::port").mkdir(parents=True)
    (folder / "::error::port" / "##[error]\x1b[1mbroken.hip").write_text(BROKEN)
    (folder / "::error::port" / "fill.hip").write_text(PRINTS)
    monkeypatch.chdir(folder)
    return folder


def clean(said: Said) -> None:
    for text in (said.out, said.err):
        assert [match[0] for match in COMMAND.finditer(text)] == []
        assert FORGED.search(text) is None


@pytest.mark.slow("whole runs by the command")
def test_what_a_run_prints_and_writes_has_no_command_in_it(cli, hostile: Path) -> None:
    files = [hostile / name for name in ("md", "html", "summary", "junit")]
    options = [word for file in files for word in (f"--{file.name}", file)]
    port = ("--kernels", "::error::port", "--runtime", "cpu")
    said = cli("run", "-v", "fill_u8", "fill_u32", *port, *options, "--json", "r.json")
    assert said.code == 1
    assert "printed by a kernel: \\x3a:error::from a kernel" in said.err
    clean(said)
    for file in files:
        assert [match[0] for match in COMMAND.finditer(file.read_text())] == [], file.name
    said = cli("report", "r.json", "--annotations")
    assert len(said.out.splitlines()) == 3  # what was judged, and two causes
    for line in said.out.splitlines():
        assert re.match("::(error|notice) (file=[^,]*,line=[^,]*,)?title=candle-parity", line), line
        assert "##[" not in line


def test_each_line_of_a_compilers_log_has_a_mark_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    log = "x\n::stop-commands::t:1: error: a\n##[error]forged\ncandle-parity: 748 of 748"
    outcome = Outcome(name="fill_u8", status="compile_error", source="::error::x.hip", message="a")
    print_logs({"fill_u8": outcome}, {"::error::x.hip": log, "other.hip": log})
    said = Said(0, *capsys.readouterr())
    clean(said)
    assert said.err.splitlines()[:4] == [
        "",
        "candle-parity: \\x3a:error::x.hip does not compile:",
        "  | x",
        "  | \\x3a:stop-commands::t:1: error: a",
    ]


def test_what_check_prints_has_no_command_in_it(cli, hostile: Path) -> None:
    clean(cli("check", "--kernels", "::error::port"))


@pytest.mark.skipif(bool(lacking()), reason=f"NOT COMPILED FOR AMD TARGETS: {lacking()}")
@pytest.mark.slow("compiles for an AMD GPU")
def test_what_build_prints_has_no_command_in_it(cli, hostile: Path) -> None:
    said = cli("build", "--kernels", "::error::port", "--arch", "gfx942", "--json", "b.json")
    assert said.code == 1
    clean(said)
    clean(cli("report", "b.json"))


def test_an_error_of_ours_names_a_file_as_it_can_be_shown(cli, hostile: Path) -> None:
    said = cli("run", "--kernels", "\x1b[31m\n::error::no port")
    assert said.code == 2
    clean(said)
