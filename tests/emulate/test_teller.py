"""What the teller makes of a fault's message: lines of kernels, and the program's calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.emulate.teller import launched_at, with_lines
from conformance.port.line_tables import LineTable

TABLE = LineTable([0x100, 0x200], [("/src/a.hip", 7), None])


def test_an_instruction_is_told_with_its_line() -> None:
    assert with_lines("kernel k: block (0,0,0), at 0x110: odd", TABLE) == (
        "kernel k: block (0,0,0), at /src/a.hip:7 (0x110): odd"
    )


@pytest.mark.parametrize("address", ["0x210", "0x10"])
def test_an_instruction_without_a_line_is_told_by_its_address(address: str) -> None:
    assert with_lines(f"kernel k: at {address}: odd", TABLE) == f"kernel k: at {address}: odd"


def test_a_file_below_the_program_s_folder_is_told_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = LineTable([0x100], [(f"{tmp_path}/src/a.hip", 7)])
    assert with_lines("at 0x100", table) == "at src/a.hip:7 (0x100)"


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("main\n/src/a.cpp:30\n", "at /src/a.cpp:30 in main"),
        ("__device_stub__add\n/src/a.cpp:3\nmain\n/src/a.cpp:30\n", "at /src/a.cpp:30 in main"),
        ("rocm_rs::launch\n/home/.cargo/registry/src/x/l.rs:9\nmine\n/src/a.rs:4\n", "at /src/a.rs:4 in mine"),
        ("hipLaunch<int>\n/include/hip/a.h:9\nmain\n/src/a.cpp:4 (discriminator 2)\n", "at /src/a.cpp:4 in main"),
        ("main\n??:?\n", "in main"),
        ("??\n??:0\n", ""),
        ("", ""),
    ],
)
def test_the_launch_is_told_by_the_program_s_own_call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, printed: str, told: str
) -> None:
    script = tmp_path / "addr2line"
    script.write_text(f"#!/bin/sh\ncat <<'END'\n{printed}END\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert launched_at(["/src/program+0x12"]) == told
