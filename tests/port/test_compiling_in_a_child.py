"""What a compiling process comes to: code, the source's own fault, or the machine's.

Stand-ins for the child show each way in which it can end; a few sources go through the real one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.notices import take_warnings
from conformance.port.compiling import in_child as compiling
from conformance.port.compiling import target
from conformance.port.compiling.cache import made
from conformance.port.compiling.in_child import CompilerStopped, compile_in_child
from conformance.port.compiling.reads import Reads
from conformance.port.compiling.target import CompileLimits, CompileTarget
from conformance.port.sources import KernelSource
from conformance.processes import InfrastructureError, Supervisor
from conformance.runtimes import runtime_kind
from conformance.runtimes.cpu.build import build
from conformance.toolchains.compile_error import CompileError
from conformance.toolchains.host import NoCompiler

ROOT = Path(__file__).resolve().parents[2]
TARGET = CompileTarget(runtime_kind("cpu"), 64, "host", "tests")
START = """
import msgpack, os, signal, subprocess, sys, time
from pathlib import Path
request = msgpack.unpackb(sys.stdin.buffer.read())
def answer(**content):
    reads = {{"files": [b"k.h"], "listed": True, "hidden": False}}
    os.write(int(sys.argv[2]), msgpack.packb({{"reads": reads, **content}}))
def die(number):
    os.kill(os.getpid(), number)
tries = Path({tries!r})
tries.write_text((tries.read_text() if tries.exists() else "") + "x")
"""


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    with Supervisor() as made:
        yield made


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor) -> Callable[..., bytes]:
    """Compiles with a child that runs the given statements."""

    def run(statements: str, limits: CompileLimits = CompileLimits(60.0, 1 << 30)) -> bytes:  # noqa: B008 (frozen)
        program = START.format(tries=str(tmp_path / "tries")) + statements
        monkeypatch.setattr(compiling, "_PROGRAM", program)
        return compile_in_child("the text", "k.hip", ["-DA", "-DB"], TARGET, supervisor, limits)

    return run


def tries(tmp_path: Path) -> int:
    return len((tmp_path / "tries").read_text())


def test_the_child_is_told_all_and_its_code_comes_back(child: Callable[..., bytes]) -> None:
    said = "answer(code=repr([request[k] for k in ('text', 'label', 'flags', 'runtime', 'wave')]).encode())"
    assert child(said) == b"['the text', 'k.hip', ['-DA', '-DB'], 'cpu', 64]"
    assert child("answer(code=bytes(10_000_000))") == bytes(10_000_000)


def test_what_it_read_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor) -> None:
    monkeypatch.setattr(compiling, "_PROGRAM", START.format(tries=str(tmp_path / "tries")) + "answer(log='no')")
    reads = Reads()
    with pytest.raises(CompileError):
        compile_in_child("the text", "k.hip", [], TARGET, supervisor, CompileLimits(60.0), reads=reads)
    assert reads == Reads({"k.h": None})


def test_its_warnings_come_back(child: Callable[..., bytes], tmp_path: Path) -> None:
    take_warnings()
    assert child(f"answer(code=b'', warnings=[{str(tmp_path)!r}])") == b""
    assert take_warnings() == [str(tmp_path)]


@pytest.mark.parametrize(
    ("statements", "log"),
    [
        ("answer(log='k.hip:1:1: error: no')", "k.hip:1:1: error: no"),
        ("answer(memory=True)", "the compiler needed more than 0.5 GiB of memory"),
        ("answer(log='LLVM ERROR: out of memory\\nAllocation failed')", "the compiler needed more than 0.5 GiB"),
        ("answer(log='x\\nthe compiler was ended by signal 11\\n')", "the compiler died (signal SIGSEGV)"),
        ("die(signal.SIGSEGV)", "the compiler died (signal SIGSEGV)"),
        ("print('LLVM ERROR: out of memory', flush=True); die(signal.SIGABRT)", "the compiler needed more than 0.5 Gi"),
        ("answer(log='k.hip:1: #error No space left on device')", "k.hip:1: #error No space left on device"),
    ],
)
@pytest.mark.slow("starts compilers in processes of their own")
def test_what_is_the_sources_doing_is_a_compile_error(
    child: Callable[..., bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statements: str, log: str
) -> None:
    monkeypatch.setattr(compiling, "has_room", lambda folder, size: True)
    with pytest.raises(CompileError) as caught:
        child(statements, CompileLimits(60.0, 1 << 29))
    assert caught.value.name == "k.hip"
    assert caught.value.log.startswith(log)
    assert tries(tmp_path) == 1


@pytest.mark.parametrize(
    ("statements", "why", "times"),
    [
        ("answer(machine='no compiler')", "k.hip cannot be compiled: no compiler", 1),
        ("die(signal.SIGKILL)", r"was killed twice from outside \(signal SIGKILL\)", 2),
        ("answer(log='the compiler was ended by signal 9')", r"was killed twice from outside \(signal SIGKILL\)", 2),
        ("raise ValueError('a defect')", "compiling process of k.hip failed: ValueError: a defect", 1),
        ("sys.exit(3)", "compiling process of k.hip failed: exit code 3", 1),
        ("", "ended without an answer", 1),
        ("os.write(int(sys.argv[2]), b'rubbish')", "ended without an answer", 1),
        ("answer(code=5, log=None) if 0 else answer(other=1)", "ended without an answer", 1),
        ("answer(log='ld: No space left on device')", "no space is left .* set TMPDIR", 1),
        ("answer(log='hiprtcCompileProgram returned 6')", "no space is left .* set TMPDIR", 1),
    ],
)
@pytest.mark.slow("starts compilers in processes of their own")
def test_what_is_the_machines_doing_is_not(
    child: Callable[..., bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    statements: str,
    why: str,
    times: int,
) -> None:
    monkeypatch.setattr(compiling, "has_room", lambda folder, size: size < 1 << 30)
    with pytest.raises(InfrastructureError, match=why) as caught:
        child(statements)
    assert "\n" not in str(caught.value)
    assert tries(tmp_path) == times


def test_a_child_that_is_killed_once_is_tried_again(child: Callable[..., bytes], tmp_path: Path) -> None:
    assert child("answer(code=b'ok') if tries.read_text() == 'xx' else die(signal.SIGKILL)") == b"ok"
    assert tries(tmp_path) == 2


SPINS = "while True: pass"


@pytest.mark.slow("compiles a small port")
@pytest.mark.parametrize(
    "statements",
    [SPINS, f"subprocess.run([sys.executable, '-c', {SPINS!r}], start_new_session=True)"],
    ids=["itself", "what it started"],
)
def test_the_limit_of_time_counts_the_cpu_time_of_all(
    child: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch, statements: str
) -> None:
    monkeypatch.setattr(target, "WALL", 120)
    with pytest.raises(
        CompilerStopped, match=r"^the compiler of k.hip was stopped after 1\S* s of CPU time; raise --compile-tim"
    ):
        child(statements, CompileLimits(1.0))


@pytest.mark.slow("waits for a limit of seconds")
def test_a_compiler_that_waits_for_a_core_is_not_stopped(child: Callable[..., bytes]) -> None:
    assert child("time.sleep(3); answer(code=b'ok')", CompileLimits(1.0)) == b"ok"


@pytest.mark.slow("waits for a limit of seconds")
def test_one_that_waits_for_ever_is(child: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "WALL", 2)
    with pytest.raises(
        CompilerStopped, match=r"was stopped after 2 s, in which it got 0\S* s of CPU time; raise --compile-timeo"
    ):
        child("time.sleep(600)", CompileLimits(1.0))


@pytest.mark.slow("waits for a limit of seconds")
def test_what_the_child_started_ends_at_the_limit(
    child: Callable[..., bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "WALL", 1)
    noted = tmp_path / "grandchild"
    with pytest.raises(CompilerStopped, match="stopped after 2 s"):
        child(
            f"process = subprocess.Popen(['sleep', '600']); Path({str(noted)!r}).write_text(str(process.pid)); "
            "process.wait()",
            CompileLimits(2.0),
        )
    end = time.monotonic() + 60
    while Path(f"/proc/{noted.read_text()}/exe").exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert not Path(f"/proc/{noted.read_text()}/exe").exists()


def test_memory_is_bounded_by_what_the_machine_has() -> None:
    assert CompileLimits(memory=1 << 20).bytes_here() == 1 << 20
    here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert CompileLimits(memory=1 << 60).bytes_here() < here


@pytest.mark.parametrize(
    ("runtime", "arch", "words"),
    [
        ("rocm", "gfx90a:sramecc+:xnack-", ("-std=c++17", "--offload-arch=gfx90a:sramecc+:xnack-")),
        ("cuda", "sm_90", ("--gpu-architecture=sm_90",)),
        ("cuda", "an NVIDIA GPU", ()),
        ("cpu", "host", ()),
    ],
)
def test_the_architecture_is_named_where_a_device_would_be_asked(
    runtime: str, arch: str, words: tuple[str, ...]
) -> None:
    assert CompileTarget(runtime_kind(runtime), None, arch, "").flags() == words


# ---- the real child, on the cpu runtime

KERNEL = 'extern "C" __global__ void k(int *p) { *p = VALUE; }\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    try:
        build()  # before the clock of a limit runs
    except NoCompiler as error:
        pytest.skip(str(error))
    folder = tmp_path / "kernels"
    folder.mkdir()
    return folder


def compile_real(tree: Path, text: str, supervisor: Supervisor, limits: CompileLimits) -> bytes:
    (tree / "k.hip").write_text(text + KERNEL)
    # The identity makes it a key that no other test has.
    return made(KernelSource(tree / "k.hip", tree), TARGET, supervisor, extra=["-DVALUE=7"], limits=limits).code


def test_a_source_is_compiled_and_then_read_without_a_process(tree: Path, supervisor: Supervisor) -> None:
    code = compile_real(tree, "", supervisor, CompileLimits())
    assert code.startswith(b"\x7fELF")
    assert b"simt_kernels" in code
    never = Supervisor()
    never.close()
    assert compile_real(tree, "", never, CompileLimits()) == code


@pytest.mark.slow("compiles a small port")
def test_a_source_that_is_wrong_has_the_compilers_log(tree: Path, supervisor: Supervisor) -> None:
    with pytest.raises(CompileError, match=r"kernels/k\.hip does not compile: .*k\.hip:1:1: error"):
        compile_real(tree, "wrong here;\n", supervisor, CompileLimits())


COMPUTED = '#define HEADER "fifo.h"\n#include HEADER\n'
"""An include that only the preprocessor can follow; one that we can read is refused at once."""


@pytest.mark.slow("waits for a limit of seconds")
def test_an_include_of_a_fifo_is_stopped(tree: Path, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "WALL", 1)
    os.mkfifo(tree / "fifo.h")
    with pytest.raises(CompilerStopped, match=r"the compiler of kernels/k.hip was stopped after 3 s"):
        compile_real(tree, COMPUTED, supervisor, CompileLimits(3.0))


@pytest.mark.slow("waits for a limit of seconds")
def test_macros_that_double_for_ever_are_stopped(tree: Path, supervisor: Supervisor) -> None:
    doubled = "".join(f"#define M{at + 1} M{at} M{at}\n" for at in range(30))
    with pytest.raises(CompilerStopped, match=r"was stopped after [34]\S* s of CPU time"):
        compile_real(tree, f"#define M0 +1\n{doubled}int x = 0 M30;\n", supervisor, CompileLimits(3.0))


@pytest.mark.slow("compiles a small port")
def test_a_source_that_takes_too_much_memory_is_stopped(tree: Path, supervisor: Supervisor) -> None:
    with pytest.raises(CompileError, match=r"the compiler needed more than 0\.25 GiB of memory"):
        compile_real(tree, 'asm(".fill 100000000, 4, 1");\n', supervisor, CompileLimits(memory=1 << 28))


@pytest.mark.slow("starts compilers in processes of their own")
def test_compilers_end_with_a_run_that_is_killed(tree: Path, tmp_path: Path) -> None:
    """SIGKILL while clang waits for a FIFO: neither the child, nor clang, nor a file stays."""
    os.mkfifo(tree / "fifo.h")
    (tree / "k.hip").write_text(COMPUTED + KERNEL)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    program = (
        "from pathlib import Path; from conformance.port.compiling.cache import made\n"
        "from conformance.port.compiling.target import CompileTarget\n"
        "from conformance.port.sources import KernelSource\n"
        "from conformance.processes import Supervisor; from conformance.runtimes import runtime_kind\n"
        f"tree = Path({str(tree)!r})\n"
        "target = CompileTarget(runtime_kind('cpu'), 64, 'host', 'tests')\n"
        "made(KernelSource(tree / 'k.hip', tree), target, Supervisor())\n"
    )

    def compilers() -> list[bytes]:
        """The command lines and environments of what was started with this TMPDIR."""
        found = map(words_of, Path("/proc").glob("[0-9]*"))
        return [words for words in found if str(temporary).encode() in words]

    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    end = time.monotonic() + 60
    with subprocess.Popen([sys.executable, "-c", program], env=environment) as parent:
        while not any(b"\0-E\0" in words for words in compilers()):
            assert parent.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        parent.kill()
        parent.wait(60)
    while (compilers() or list(temporary.iterdir())) and time.monotonic() < end:
        time.sleep(0.02)
    assert compilers() == []
    assert list(temporary.iterdir()) == []


def words_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
    except OSError:
        return b""
