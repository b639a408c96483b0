"""hipcc, or the clang that stands for it, in the compiling process: same limits, same verdicts. Nothing is run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.port.code_objects import parse
from conformance.port.compiling import target as target_module
from conformance.port.compiling.in_child import CompilerStopped, compile_in_child
from conformance.port.compiling.target import CompileLimits, CompileTarget, NoHipcc, require_hipcc
from conformance.processes import InfrastructureError, Supervisor
from conformance.runtimes import runtime_kind
from conformance.toolchains.amd import AmdToolchain
from conformance.toolchains.compile_error import CompileError

TARGET = CompileTarget(runtime_kind("rocm"), None, "gfx942:sramecc+:xnack-", "tests")
KERNEL = '#include <hip/hip_runtime.h>\nextern "C" __global__ void k(int *p) { *p = VALUE; }\n'
Compile = Callable[..., bytes]


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))
    with Supervisor() as made:
        yield made


@pytest.fixture
def real() -> AmdToolchain:
    try:
        return require_hipcc(TARGET.arch)
    except NoHipcc as missing:
        pytest.skip(f"NOT COMPILED FOR AMD TARGETS: {missing}")


@pytest.fixture
def compile_text(supervisor: Supervisor) -> Compile:
    def run(toolchain: AmdToolchain, text: str = KERNEL, limits: CompileLimits = CompileLimits(), *words: str) -> bytes:  # noqa: B008
        return compile_in_child(text, "kernels/k.hip", ["-DVALUE=7", *words], TARGET, supervisor, limits, toolchain)

    return run


@pytest.fixture
def made_up(tmp_path: Path) -> Callable[[str], AmdToolchain]:
    """A compiler that is a shell script."""

    def script(body: str) -> AmdToolchain:
        path = tmp_path / "hipcc"
        path.write_text(
            '#!/bin/sh\nfor word; do\n  [ "$last" = -o ] && out="$word"\n'
            '  case "$word" in */k.d) echo k: > "$word";; esac\n'
            f'  last="$word"\ndone\n{body}\n'
        )
        path.chmod(0o755)
        return AmdToolchain("rocm", (str(path),), (), "ROCm's hipcc, made up", "made up")

    return script


@pytest.mark.slow("compiles a small port")
def test_it_takes_what_hiprtc_refuses(real: AmdToolchain, compile_text: Compile) -> None:
    """ROCm 6.4's hiprtc redefines the types of <stdint.h>; every hiprtc has a __half before the first line."""
    text = "typedef _Float16 __half;\n#include <stdint.h>\n#include <cmath>\n#include <type_traits>\n"
    code = compile_text(real, f"{text}{KERNEL}static_assert(sizeof(uint64_t) == 8);")
    assert "k" in parse(code, "k").kernels


@pytest.mark.slow("compiles a small port")
def test_a_ports_own_header_comes_before_rocms(real: AmdToolchain, compile_text: Compile, tmp_path: Path) -> None:
    shim = tmp_path / "shim/hip"
    shim.mkdir(parents=True)
    (shim / "hip_fp16.h").write_text("#define FROM_THE_PORT 1\n")
    text = f"#include <hip/hip_fp16.h>\n{KERNEL}static_assert(FROM_THE_PORT);"
    assert compile_text(real, text, CompileLimits(), f"-I{tmp_path / 'shim'}")


@pytest.mark.slow("compiles a small port")
def test_its_code_is_of_the_target_and_the_same_wherever_it_is_made(real: AmdToolchain, compile_text: Compile) -> None:
    text = f"{KERNEL}__device__ const char *file = __FILE__;\nstatic __device__ int counter;\n"
    text += 'extern "C" __global__ void l(const char **p) { *p = file; counter += *file; }\n'
    code = compile_text(real, text)
    assert parse(code, "k").target == TARGET.arch
    assert sorted(parse(code, "k").kernels) == ["k", "l"]
    assert code == compile_text(real, text)
    assert b"kernels/k.hip\0" in code


@pytest.mark.slow("compiles a small port")
def test_its_log_names_the_source_and_is_the_same_twice(real: AmdToolchain, compile_text: Compile) -> None:
    logs = []
    for _ in range(2):
        with pytest.raises(CompileError) as caught:
            compile_text(real, f"{KERNEL}wrong here;\n")
        logs.append(caught.value.log)
    assert logs[0] == logs[1]
    assert logs[0].startswith("kernels/k.hip:3:1: error: unknown type name 'wrong'")


@pytest.mark.slow("compiles a small port")
def test_what_takes_too_much_memory_is_stopped(real: AmdToolchain, compile_text: Compile) -> None:
    with pytest.raises(CompileError, match=r"the compiler (needed more than|died)"):
        compile_text(
            real, KERNEL.replace("*p =", 'asm volatile(".fill 100000000, 4, 1"); *p ='), CompileLimits(memory=1 << 28)
        )


def test_it_has_the_scratch_folder_and_leaves_nothing_there(
    made_up: Callable[[str], AmdToolchain], compile_text: Compile, supervisor: Supervisor
) -> None:
    said = compile_text(made_up('echo "$TMPDIR $*" > "$out"')).decode()
    assert said.startswith(str(supervisor.scratch))
    assert "--offload-arch=gfx942:sramecc+:xnack- " in said
    assert "-std=c++17" in said
    assert list(supervisor.scratch.iterdir()) == []


@pytest.mark.slow("waits for a limit of seconds")
def test_it_ends_at_the_limit_with_all_that_it_started(
    made_up: Callable[[str], AmdToolchain], compile_text: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = tmp_path / "process"
    monkeypatch.setattr(target_module, "WALL", 1)
    with pytest.raises(CompilerStopped, match=r"the compiler of .* was stopped after 3 s"):
        compile_text(made_up(f"echo $$ > {noted}; sleep 600"), KERNEL, CompileLimits(3.0))
    end = time.monotonic() + 60
    while Path(f"/proc/{noted.read_text().strip()}/exe").exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert not Path(f"/proc/{noted.read_text().strip()}/exe").exists()


@pytest.mark.slow("compiles a small port")
@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        ("kill -SEGV $$", CompileError, "the compiler died .signal SIGSEGV."),
        ("echo 'k.hip:1:1: error: no' >&2; exit 1", CompileError, "k.hip:1:1: error: no"),
        ("echo 'LLVM ERROR: out of memory' >&2; kill -ABRT $$", CompileError, "the compiler needed more than"),
        ("kill -KILL $$", InfrastructureError, "was killed twice from outside"),
        ("echo 'error: unable to execute command: Killed' >&2; exit 1", InfrastructureError, "killed twice"),
    ],
)
def test_how_it_ends_decides_whose_doing_it_is(
    made_up: Callable[[str], AmdToolchain], compile_text: Compile, body: str, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        compile_text(made_up(body))


def test_a_compiler_that_is_gone_is_the_machines_doing(compile_text: Compile, made_up: Callable[[str], AmdToolchain]):
    absent = replace(made_up(""), command=("/nowhere/hipcc",))
    with pytest.raises(InfrastructureError, match=r"k\.hip cannot be compiled: /nowhere/hipcc cannot be st"):
        compile_text(absent)
