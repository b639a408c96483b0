"""Building our libraries: once, whole or not at all, with the compiler that is there, or one clear message."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from conformance.emulate.installation import RUNTIMES, program_plan
from conformance.notices import take_warnings
from conformance.processes import InfrastructureError, Supervisor
from conformance.runtimes import NoRuntime, open_runtime
from conformance.runtimes.cpu import build as building
from conformance.runtimes.cuda.build import cuda_plan
from conformance.runtimes.isa.build import isa_plan
from conformance.toolchains import host as toolchain
from conformance.toolchains.host import NoCompiler, find_toolchain

FAKE = """#!{python}
import os, sys, pathlib, time
words = sys.argv[1:]
if "--version" in words:
    print("clang version 18.1.0")
    sys.exit()
with open({log!r}, "a") as log:
    log.write(os.environ.get("WHO", "") + "\\n")
if os.environ.get("SPEND"):
    pathlib.Path(os.environ["SPEND"]).write_text(str(os.getpid()))
    time.sleep(600)
if os.environ.get("FULL"):
    print("ld: final link failed: No space left on device", file=sys.stderr)
    sys.exit(1)
if os.environ.get("BREAK"):
    print("k.cpp:3:1: error: the compiler has had enough", file=sys.stderr)
    sys.exit(1)
pathlib.Path(words[words.index("-o") + 1]).write_text("built")
"""


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that answers as clang and only writes its outputs; returns the file that counts its runs."""
    log = tmp_path / "log"
    log.touch()
    fake = tmp_path / "clang++"
    fake.write_text(FAKE.format(python=sys.executable, log=str(log)))
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv(toolchain.ENVIRONMENT, str(fake))
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))
    return log


def test_a_build_happens_once(compiler: Path) -> None:
    folder = building.build()
    assert {file.name for file in folder.iterdir()} >= {"libamdhip64.so", "libhiprtc.so"}
    runs = compiler.read_text()
    assert runs
    assert building.build() == folder
    assert compiler.read_text() == runs


@pytest.mark.slow("builds a small runtime library")
def test_a_changed_source_is_built_again(compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = building.build()
    source = tmp_path / "runtime"
    source.mkdir()
    (source / "one.cpp").write_text("int one;")
    monkeypatch.setitem(building.LIBRARIES, "libamdhip64.so", source)
    second = building.build()
    (source / "one.cpp").write_text("int two;")
    assert len({first, second, building.build()}) == 3


def test_a_compiler_with_other_arguments_builds_again(compiler: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = building.build()
    monkeypatch.setenv(toolchain.ENVIRONMENT, f"{os.environ[toolchain.ENVIRONMENT]} -target x86_64-linux-gnu.2.28")
    assert building.build() != first


@pytest.mark.parametrize("damage", [None, "cut off"])
@pytest.mark.slow("builds a small runtime library")
def test_the_libraries_of_a_wheel_are_copied_where_they_are_whole(
    compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str | None
) -> None:
    monkeypatch.setattr(building, "SHIPPED", tmp_path)
    plan = building.host_plan()
    shipped = tmp_path / plan.digest
    shipped.mkdir()
    for name in plan.sources:
        (shipped / name).write_text("shipped")
    building.write_manifest(shipped, plan.sources, shipped / building.MANIFEST)
    if damage:
        (shipped / "libhiprtc.so").write_text(damage)
    folder = building.build()
    made = {name: (folder / name).read_text() for name in plan.sources}
    assert made == dict.fromkeys(plan.sources, "built" if damage else "shipped")
    assert bool(compiler.read_text()) == bool(damage)
    other = building.build(replace(plan, options=("-DOTHER",)))
    assert (other / "libhiprtc.so").read_text() == "built", "of other sources"


@pytest.mark.slow("builds the runtime's libraries again")
def test_processes_that_need_the_same_build_wait_for_one(compiler: Path) -> None:
    words = [sys.executable, "-c", "from conformance.runtimes.cpu.build import build; print(build())"]
    environments = [{**os.environ, "WHO": str(number)} for number in range(4)]
    running = [subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) for env in environments]
    folders = {process.communicate(timeout=60)[0] for process in running}
    assert [process.returncode for process in running] == [0] * 4
    assert len(folders) == 1
    assert len(set(compiler.read_text().split())) == 1, "one of them did the work"


def test_a_build_that_fails_says_why_and_leaves_nothing(
    compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BREAK", "1")
    with pytest.raises(building.BuildError, match=r"does not build with .*clang\+\+: .*k.cpp:3:1: error"):
        building.build()
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_dir() and path.name != "runtime"] == []
    monkeypatch.delenv("BREAK")
    assert (building.build() / "libamdhip64.so").exists()


def cut_in_half(folder: Path) -> None:
    library = folder / "libamdhip64.so"
    os.truncate(library, library.stat().st_size // 2)


def lose_a_library(folder: Path) -> None:
    (folder / "libhiprtc.so").unlink()


def lose_a_header(folder: Path) -> None:
    (folder / "include/hip/hip_fp16.h").unlink()


def lose_the_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def spoil_the_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("[]")


def become_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("not a folder")


def content(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


DAMAGES = (cut_in_half, lose_a_library, lose_a_header, lose_the_manifest, spoil_the_manifest, become_a_file)


@pytest.mark.slow("builds the runtime's libraries again")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_build_is_noticed_named_and_built_again(compiler: Path, damage: Callable[[Path], None]) -> None:
    folder = building.build()
    whole = content(folder)
    runs = len(compiler.read_text().splitlines())
    damage(folder)
    take_warnings()
    assert building.build() == folder
    assert content(folder) == whole
    assert len(compiler.read_text().splitlines()) == 2 * runs
    (said,) = take_warnings()
    assert str(folder) in said
    assert "is damaged" in said
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]


def test_a_cache_that_cannot_be_written_costs_a_warning(
    compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "file" / "cache"))
    take_warnings()
    with Supervisor() as supervisor:
        folder = building.build(supervisor=supervisor)
        assert folder.is_relative_to(supervisor.scratch)
        assert (folder / "libamdhip64.so").read_text() == "built"
        assert building.build(supervisor=supervisor) == folder
        # A child of the same run finds it.
        words = [sys.executable, "-c", "from conformance.runtimes.cpu.build import build; print(build())"]
        read, write = os.pipe()
        child = supervisor.start(words, stdout=write)
        os.close(write)
        with open(read) as answer:
            assert answer.read().strip() == str(folder)
        assert child.wait(60) == 0
    (said,) = take_warnings()
    assert "cannot be written (Not a directory)" in said
    assert "CANDLE_PARITY_CACHE" in said
    assert not folder.exists()


def test_a_full_disk_is_named_as_that(compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FULL", "1")
    with (
        Supervisor() as supervisor,
        pytest.raises(InfrastructureError, match=r"cannot be built: .*No space left on device.*make room"),
    ):
        building.build(supervisor=supervisor)
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_dir() and path.name != "runtime"] == []


def test_a_compiler_that_does_not_end_is_stopped(
    compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPEND", str(tmp_path / "spends"))
    monkeypatch.setattr(building, "_SECONDS", 0.5)
    with pytest.raises(InfrastructureError, match=r"the cpu runtime is not built: .*clang\+\+ was stopped after 0.5 s"):
        building.build()


@pytest.mark.slow("waits for processes to end")
def test_the_compiler_ends_with_the_process_that_started_it(compiler: Path, tmp_path: Path) -> None:
    noted = tmp_path / "spends"
    words = [sys.executable, "-c", "from conformance.runtimes.cpu.build import build; build()"]
    with subprocess.Popen(words, env={**os.environ, "SPEND": str(noted)}) as parent:
        end = time.monotonic() + 60
        while not (noted.exists() and noted.read_text()) and time.monotonic() < end:
            time.sleep(0.01)
        spends = Path(f"/proc/{noted.read_text()}")
        assert spends.exists()
        parent.kill()
        parent.wait(60)
    while spends.exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert not spends.exists()


def test_a_compiler_that_cannot_be_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(toolchain.ENVIRONMENT, "/nowhere/c++ --fast")
    with pytest.raises(NoCompiler, match=r"CANDLE_PARITY_CXX=/nowhere/c\+\+ --fast: this compiler cannot be run"):
        find_toolchain(links_standard_library=True)


def test_without_any_compiler_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(toolchain.ENVIRONMENT, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for links in (True, False):
        with pytest.raises(NoCompiler, match=r"pip install ziglang needs no root.*CANDLE_PARITY_CXX"):
            find_toolchain(links_standard_library=links)


def answers(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str]) -> None:
    """Makes these programs the only ones there are, with what they say to --version; ``c++`` is that of ziglang."""
    monkeypatch.delenv(toolchain.ENVIRONMENT, raising=False)
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: f"/bin/{name}" if name in versions else None)
    monkeypatch.setattr(toolchain, "zig", lambda tool: ("python", "-m", "ziglang", tool) if "c++" in versions else ())
    monkeypatch.setattr(toolchain, "_version", lambda words: versions.get(Path(words[-1]).name))


CLANG, GCC, OLD = "clang version 19.1.7", "g++ (Debian) 12.2.0", "clang version 14.0.6"


@pytest.mark.parametrize(
    ("versions", "for_kernels", "for_libraries"),
    [
        ({"clang++-19": CLANG, "g++": GCC, "c++": "zig"}, "clang", "clang"),
        ({"clang++": OLD, "g++": GCC, "c++": "zig"}, "zig", "gcc"),
        ({"clang++": OLD, "c++": "zig"}, "zig", "zig"),
    ],
)
def test_the_best_compiler_for_each_purpose_is_taken(
    monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], for_kernels: str, for_libraries: str
) -> None:
    answers(monkeypatch, versions)
    assert find_toolchain(links_standard_library=False).kind == for_kernels
    assert find_toolchain(links_standard_library=True).kind == for_libraries


@pytest.mark.parametrize("name", ["rocm", "cuda"])
def test_a_runtime_that_is_not_there_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.runtimes.rocm.control.chosen", lambda: None)
    monkeypatch.setenv("CANDLE_PARITY_LIBCUDA", "/nowhere/libcuda.so.1")
    with pytest.raises(NoRuntime, match="--runtime cpu runs the kernels on the host"):
        open_runtime(name)


def test_what_throwing_takes_is_there_for_launchers_whatever_our_libraries_are_linked_with() -> None:
    code = (
        "import ctypes; from conformance.runtimes.cpu.control import share_standard_library as share;"
        "found = lambda: hasattr(ctypes.CDLL(None), '__gxx_personality_v0'); before = found(); share();"
        "print(before, found())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "False True\n", done.stderr


OF_PROGRAMS = {f"programs on {runtime}": partial(program_plan, runtime) for runtime in RUNTIMES}
PLANS = {"cpu": building.host_plan, "isa": isa_plan, "cuda": cuda_plan, **OF_PROGRAMS}


@pytest.mark.parametrize("runtime", PLANS)
@pytest.mark.parametrize("cores", [1, 2, 8, 64])
def test_every_file_is_in_one_translation_unit(runtime: str, cores: int) -> None:
    plan = PLANS[runtime]()
    for library in plan.sources:
        units = building.units_of(plan, library, cores)
        assert sorted(file for files in units for file in files) == plan.files(library)
        assert 1 <= len(units) <= building.MOST_UNITS
        assert all(units)


@pytest.mark.nightly("reads every source of the runtimes for each number of cores")
@pytest.mark.parametrize("runtime", PLANS)
def test_the_units_of_any_machine_compile(runtime: str, tmp_path: Path) -> None:
    """A file may use what another one before it has included, and two files may have one name for two things."""
    plan = PLANS[runtime]()
    found = find_toolchain(links_standard_library=True)
    building.write_headers(plan.forwards, tmp_path / "include")
    some = (1, 8, 64) if runtime in OF_PROGRAMS else range(1, 65)  # most of their files are those of the others
    groups = {
        tuple(files) for library in plan.sources for cores in some for files in building.units_of(plan, library, cores)
    }
    assert groups
    for number, files in enumerate(sorted(groups)):
        unit = tmp_path / f"{number}.cpp"
        unit.write_text(building.unit_text(files))
        words = [*found.compiler, *building.FLAGS, *plan.flags, *plan.options, "-fsyntax-only", str(unit)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
