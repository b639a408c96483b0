"""Building the libraries: once per content, whole or not at all; and which compiler does it.

A shell script stands in for the compiler, so that every case takes milliseconds.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.runtimes.cpu import build as building
from conformance.runtimes.cpu.build import BuildError, Plan, build
from conformance.toolchains import host as toolchain
from conformance.toolchains.host import NoCompiler, find_toolchain

ROOT = Path(__file__).resolve().parents[2]

# Writes its output file and a line per call into a log next to itself; -o is always followed by the output.
COMPILER = """#!/bin/sh
[ "$1" = --version ] && { echo "clang version 99.1"; exit 0; }
echo "$@" >> "$0.log"
sleep 0.2
while [ "$1" != -o ]; do shift; done
echo library > "$2"
"""
FAILING = """#!/bin/sh
[ "$1" = --version ] && { echo "clang version 99.1"; exit 0; }
echo "worker.cpp:7:3: error: the reason" >&2
exit 1
"""


def stand_in(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "runtime"


def calls(compiler: Path) -> int:
    return len(compiler.with_name(compiler.name + ".log").read_text().splitlines())


def folders(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir() if path.is_dir())


def test_a_build_is_kept(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = stand_in(tmp_path / "cxx", COMPILER)
    monkeypatch.setenv(toolchain.ENVIRONMENT, str(compiler))
    folder = build()
    assert sorted(path.name for path in folder.iterdir()) == [
        "include",
        "libamdhip64.so",
        "libhiprtc.so",
        "manifest.json",
    ]
    assert build() == folder
    assert calls(compiler) == 4  # each library compiled and linked, once
    assert folders(home) == [folder.name]


def test_processes_that_need_the_same_build_share_it(home: Path, tmp_path: Path) -> None:
    compiler = stand_in(tmp_path / "cxx", COMPILER)
    script = "from conformance.runtimes.cpu.build import build; print(build())"
    environment = {"PATH": "/usr/bin:/bin", toolchain.ENVIRONMENT: str(compiler)}
    environment |= {"CANDLE_PARITY_CACHE": str(home.parent), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    answers = {process.communicate(timeout=60)[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert len(answers) == 1
    assert calls(compiler) == 4


def test_a_build_that_fails_says_why_and_leaves_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(toolchain.ENVIRONMENT, str(stand_in(tmp_path / "cxx", FAILING)))
    with pytest.raises(BuildError, match=r"does not build with .*cxx: worker\.cpp:7:3: error: the reason"):
        build()
    assert folders(home) == []


def test_what_a_cut_off_build_left_is_removed(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = home / "building-left"
    left.mkdir(parents=True)
    (left / "libamdhip64.so").write_text("half")
    monkeypatch.setenv(toolchain.ENVIRONMENT, str(stand_in(tmp_path / "cxx", COMPILER)))
    assert folders(home) == ["building-left"]
    folder = build()
    assert folders(home) == [folder.name]


@pytest.mark.parametrize("changed", ["runtime/worker.cpp", "hiprtc/api.cpp", "include/simt/abi.h"])
def test_a_changed_byte_is_another_build(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    monkeypatch.setenv(toolchain.ENVIRONMENT, str(stand_in(tmp_path / "cxx", COMPILER)))
    here = building.HERE
    copy = tmp_path / "cpu"
    for part in ("runtime", "hiprtc", "include"):
        shutil.copytree(here / part, copy / part)
    monkeypatch.setattr(building, "LIBRARIES", {name: copy / path.name for name, path in building.LIBRARIES.items()})
    monkeypatch.setattr(building, "INCLUDE", copy / "include")
    first = build()
    content = bytearray((copy / changed).read_bytes())
    content[0] ^= 1
    (copy / changed).write_bytes(bytes(content))
    assert build() != first


def test_another_compiler_is_another_build(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for version in ("99.1", "99.2"):
        compiler = stand_in(tmp_path / f"cxx{version}", COMPILER.replace("99.1", version))
        monkeypatch.setenv(toolchain.ENVIRONMENT, str(compiler))
        found.append(build())
    assert found[0] != found[1]


# ---- which compiler


@pytest.fixture
def no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty PATH and no ziglang; the folder that PATH names."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.delenv(toolchain.ENVIRONMENT, raising=False)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(toolchain, "zig", lambda tool: ())
    return folder


def test_no_compiler_at_all_is_one_sentence(no_compiler: Path) -> None:
    with pytest.raises(NoCompiler) as caught:
        find_toolchain(links_standard_library=True)
    assert "no C++ compiler was found" in str(caught.value)
    assert "pip install ziglang" in str(caught.value)
    assert toolchain.ENVIRONMENT in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("programs", "wanted"),
    [
        ({"clang++": "clang version 19.1.7", "ld": "GNU ld"}, False),
        ({"clang++-19": "clang version 19.1.7", "ld.lld": "LLD 19"}, False),
        ({"clang++": "clang version 19.1.7"}, True),
        ({"clang++": "clang version 14.0.0", "ld": "GNU ld"}, True),
        ({"g++": "g++ (Debian) 14.2.0", "ld": "GNU ld"}, True),
        ({}, True),
    ],
)
def test_zig_is_wanted_where_no_clang_can_be_used(
    no_compiler: Path, monkeypatch: pytest.MonkeyPatch, programs: dict[str, str], wanted: bool
) -> None:
    for name, version in programs.items():
        stand_in(no_compiler / name, f"#!/bin/sh\necho '{version}'\n")
    assert toolchain.wants_zig() == wanted
    monkeypatch.setenv(toolchain.ENVIRONMENT, "g++")
    assert not toolchain.wants_zig()


def test_a_named_compiler_that_does_not_run_is_named(no_compiler: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(toolchain.ENVIRONMENT, "/nowhere/c++ -v")
    with pytest.raises(NoCompiler, match=r"CANDLE_PARITY_CXX=/nowhere/c\+\+ -v: this compiler cannot be run"):
        find_toolchain(links_standard_library=False)


@pytest.mark.parametrize(
    ("name", "version", "taken"),
    [
        ("clang++", "Debian clang version 19.1.7", "clang"),
        ("clang++-16", "clang version 16.0.0", "clang"),
        ("clang++", "clang version 15.0.7", None),
        ("g++", "g++ (Debian 12.2.0-14) 12.2.0", "gcc"),
        ("g++-11", "g++-11 (Debian) 11.4.0", None),
    ],
)
def test_compilers_that_are_too_old_are_passed_over(
    no_compiler: Path, name: str, version: str, taken: str | None
) -> None:
    stand_in(no_compiler / name, f'#!/bin/sh\necho "{version}"\n')
    if taken is None:
        with pytest.raises(NoCompiler):
            find_toolchain(links_standard_library=True)
    else:
        found = find_toolchain(links_standard_library=True)
        assert (found.kind, found.compiler) == (taken, (str(no_compiler / name),))


def test_clang_goes_before_gcc(no_compiler: Path) -> None:
    stand_in(no_compiler / "g++", '#!/bin/sh\necho "g++ 13.1.0"\n')
    stand_in(no_compiler / "clang++-17", '#!/bin/sh\necho "clang version 17.0.1"\n')
    assert find_toolchain(links_standard_library=True).kind == "clang"


EDITING = COMPILER.replace("sleep 0.2", 'echo second > "SOURCE"')


@pytest.fixture
def edited(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A library whose only source a compiler changes while it reads it."""
    source = tmp_path / "a.cpp"
    source.write_text("first")
    compiler = stand_in(tmp_path / "cxx", EDITING.replace("SOURCE", str(source)))
    monkeypatch.setenv(toolchain.ENVIRONMENT, str(compiler))
    return Plan("edited", {"liba.so": (source,)}, (), ())


def test_sources_that_change_while_they_are_compiled_are_compiled_again(
    home: Path, tmp_path: Path, edited: Plan
) -> None:
    folder = build(edited)
    assert (tmp_path / "a.cpp").read_text() == "second\n"
    assert folders(home) == [folder.name]
    assert build(edited) == folder
    assert calls(tmp_path / "cxx") == 4  # compiled and linked twice, of which the first is thrown away


def test_sources_that_never_stand_still_are_told(home: Path, monkeypatch: pytest.MonkeyPatch, edited: Plan) -> None:
    numbers = iter(range(100))
    monkeypatch.setattr(building, "_key", lambda plan, toolchain: str(next(numbers)))
    with pytest.raises(BuildError, match="changed while they were compiled"):
        build(edited)
    assert folders(home) == []
