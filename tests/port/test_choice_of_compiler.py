"""hiprtc first, hipcc for what it refuses: who is asked, what is kept, what is said. The compilers are stand-ins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.port.compiling import cache, target
from conformance.port.compiling.cache import Made, Text, made, made_of
from conformance.port.compiling.in_child import CompilerStopped, CompilerUnsupported
from conformance.port.compiling.target import CompileTarget, NoHipcc, require_hipcc
from conformance.port.sources import KernelSource
from conformance.processes import InfrastructureError, Supervisor
from conformance.runtimes import runtime_kind
from conformance.settings import CompilerChoice
from conformance.toolchains.amd import AmdToolchain
from conformance.toolchains.compile_error import CompileError, first_error

TARGET = CompileTarget(runtime_kind("rocm"), None, "gfx942", "hiprtc of 6.4")
HIPCC = AmdToolchain("rocm", ("amdclang++",), (), "ROCm's amdclang++, AMD clang version 19.0.0", "amdclang++ 19.0.0")
WRONG = "k.hip:1:1: error: redefinition of 'tanhf'"


class Compilers:
    """What each compiler answers (code, or what it raises), and which was asked with what words."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes | Exception] = {"hiprtc": b"of hiprtc", "hipcc": b"of hipcc"}
        self.toolchain: AmdToolchain | None = HIPCC
        self.searches = 0
        self.asked: list[str] = []
        self.words: list[tuple[str, ...]] = []

    def compile_in_child(
        self, text: str, label: str, words: Sequence[str], target: CompileTarget, *rest: object, **_: object
    ) -> bytes:
        who = "hiprtc" if rest[-1] is None else "hipcc"
        self.asked.append(who)
        self.words.append(tuple(words))
        answer = self.answers[who]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def toolchain_for(self, arch: str, alone: bool = False) -> AmdToolchain | None:
        self.searches += 1
        return self.toolchain


@pytest.fixture
def compilers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Compilers:
    stand_in = Compilers()
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "compile_in_child", stand_in.compile_in_child)
    monkeypatch.setattr(cache, "toolchain_for", stand_in.toolchain_for)
    return stand_in


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Made]:
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "k.hip").write_text('extern "C" __global__ void k() {}\n')

    def run(compiler: CompilerChoice = "auto", target: CompileTarget = TARGET) -> Made:
        return made(KernelSource(folder / "k.hip", folder), target, Supervisor(), compiler=compiler)

    return run


def test_hiprtc_is_asked_first_and_nobody_else_where_it_compiles(compilers: Compilers, make: Callable[..., Made]):
    assert make() == make() == Made(b"of hiprtc", "hiprtc")
    assert compilers.asked == ["hiprtc"]
    assert compilers.words[0][-2:] == ("-std=c++17", "--offload-arch=gfx942")


def test_hipcc_compiles_what_hiprtc_refuses_and_its_object_is_kept(compilers: Compilers, make: Callable[..., Made]):
    compilers.answers["hiprtc"] = CompileError("k.hip", WRONG)
    assert make() == make() == Made(b"of hipcc", "hipcc", HIPCC.name)
    assert compilers.asked == ["hiprtc", "hipcc"]
    assert not any("--offload-arch" in word or "-std" in word for word in compilers.words[1])  # its driver's own


def test_the_object_of_hipcc_is_of_no_use_once_either_compiler_is_another(
    compilers: Compilers, make: Callable[..., Made]
):
    compilers.answers["hiprtc"] = CompileError("k.hip", WRONG)
    make()
    newer = replace(TARGET, identity="hiprtc of 7.2")
    assert make(target=newer).compiler == "hipcc"
    assert compilers.asked == ["hiprtc", "hipcc"] * 2
    compilers.toolchain = replace(HIPCC, identity="amdclang++ 20.0.0")
    make(target=newer)
    assert compilers.asked == ["hiprtc", "hipcc"] * 3
    compilers.answers["hiprtc"] = b"of the next hiprtc"
    assert make(target=replace(TARGET, identity="hiprtc of 7.3")).code == b"of the next hiprtc"


@pytest.mark.parametrize(("compiler", "other"), [("hiprtc", "hipcc"), ("hipcc", "hiprtc")])
def test_a_compiler_that_is_named_is_the_only_one(
    compilers: Compilers, make: Callable[..., Made], compiler: CompilerChoice, other: str
):
    assert make(compiler).compiler == compiler
    compilers.answers[compiler] = CompileError("k.hip", WRONG)
    with pytest.raises(CompileError) as caught:
        make(compiler, replace(TARGET, identity="another", arch="gfx90a"))
    assert caught.value.log == WRONG
    assert other not in compilers.asked
    assert compilers.searches == 0 or compiler == "hipcc"


def test_what_both_refuse_has_the_first_error_of_each_in_one_line(compilers: Compilers, make: Callable[..., Made]):
    compilers.answers["hiprtc"] = CompileError("k.hip", f"In file included from k.hip\n{WRONG}\n1 error generated.")
    compilers.answers["hipcc"] = CompileError("k.hip", "k.hip:7:1: error: unknown type name 'half'\n")
    with pytest.raises(CompileError) as caught:
        make()
    log = caught.value.log
    assert first_error(log) == f"hiprtc: {WRONG}; {HIPCC.name}: k.hip:7:1: error: unknown type name 'half'"
    assert log.index("In file included") < log.rindex("unknown type name")


def test_what_the_only_compiler_refuses_is_told_with_what_is_lacking(compilers: Compilers, make: Callable[..., Made]):
    compilers.toolchain = None
    compilers.answers["hiprtc"] = CompileError("k.hip", f"In file included from k.hip\n{WRONG}\n")
    with pytest.raises(CompileError) as caught:
        make()
    assert first_error(caught.value.log) == f"{WRONG} (hiprtc; there is no hipcc to try)"
    with pytest.raises(InfrastructureError, match="no hipcc"):
        make("hipcc")


def test_the_limit_of_time_is_for_a_file_not_for_each_compiler(compilers: Compilers, make: Callable[..., Made]):
    compilers.answers["hiprtc"] = CompilerStopped("the compiler of k.hip was stopped after 300 s of CPU time")
    with pytest.raises(CompilerStopped, match="was stopped after 300 s"):
        make()
    assert compilers.asked == ["hiprtc"]


def test_a_source_that_takes_both_compilers_down_is_known_as_such(compilers: Compilers, make: Callable[..., Made]):
    compilers.answers["hiprtc"] = CompileError("k.hip", "the compiler died (signal SIGSEGV)")
    compilers.answers["hipcc"] = CompileError("k.hip", "the compiler needed more than 8 GiB of memory")
    with pytest.raises(CompileError) as caught:
        make()
    assert caught.value.log.startswith("the compiler needed more than 8 GiB of memory (ROCm's amdclang++")
    assert "hiprtc: the compiler died" in caught.value.log


def test_headers_that_only_hipcc_has_are_no_reason_to_give_up(compilers: Compilers, make: Callable[..., Made]):
    missing = CompilerUnsupported("k.hip cannot be compiled: ROCm's headers are not installed")
    compilers.answers["hiprtc"] = missing
    assert make().compiler == "hipcc"
    other = replace(TARGET, arch="gfx90a")
    compilers.answers["hipcc"] = CompileError("k.hip", WRONG)
    with pytest.raises(CompileError) as caught:
        make(target=other)
    assert caught.value.log == WRONG
    compilers.toolchain = None
    with pytest.raises(CompilerUnsupported):
        make(target=other)


def test_a_code_object_was_compiled_by_nobody_here(compilers: Compilers, tmp_path: Path):
    (tmp_path / "k.hsaco").write_bytes(b"\x7fELF of somebody's")
    source = KernelSource(tmp_path / "k.hsaco", tmp_path)
    assert made(source, TARGET, Supervisor(), compiler="auto") == Made(b"\x7fELF of somebody's")
    assert compilers.asked == []


def test_a_clang_without_hips_headers_is_not_a_hipcc(monkeypatch: pytest.MonkeyPatch):
    bare = replace(HIPCC, kind="clang", name="clang 19", minimal_headers=True)
    monkeypatch.setattr("conformance.toolchains.amd.find_toolchain", lambda targets, kinds: bare)
    with pytest.raises(NoHipcc, match=r"clang 19 lacks HIP's headers; install .*libamdhip64-dev"):
        require_hipcc("gfx942")
    monkeypatch.setattr("conformance.toolchains.amd.find_toolchain", lambda targets, kinds: HIPCC)
    assert require_hipcc("gfx942:sramecc+:xnack-") is HIPCC
    with pytest.raises(NoHipcc, match="sm_90"):
        require_hipcc("sm_90")
    target.toolchain_for.cache_clear()
    assert target.toolchain_for("sm_90") is None


SHARD, ALONE = Text("the shard"), Text("one kernel", ("-DONE",))


@pytest.fixture
def make_of(tmp_path: Path) -> Callable[..., Made | None]:
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "k.hip").write_text('extern "C" __global__ void k() {}\n')

    def run(*texts: Text, compiler: CompilerChoice = "hiprtc") -> Made | None:
        return made_of(texts, KernelSource(folder / "k.hip", folder), TARGET, Supervisor(), compiler=compiler)

    return run


def test_of_several_texts_the_last_is_compiled_and_any_that_is_kept_will_do(
    compilers: Compilers, make_of: Callable[..., Made | None]
):
    assert make_of(SHARD, ALONE) == make_of(SHARD, ALONE) == Made(b"of hiprtc", "hiprtc")
    assert (compilers.asked, "-DONE" in compilers.words[0]) == (["hiprtc"], True)
    compilers.answers["hiprtc"] = b"of the shard"
    assert make_of(SHARD) == Made(b"of the shard", "hiprtc")
    assert make_of(SHARD, ALONE) == Made(b"of the shard", "hiprtc")
    assert compilers.asked == ["hiprtc"] * 2


def test_a_text_that_does_not_compile_is_not_tried_again(compilers: Compilers, make_of: Callable[..., Made | None]):
    compilers.answers["hiprtc"] = CompileError("k.hip", WRONG)
    assert make_of(SHARD, ALONE) is make_of(SHARD, ALONE) is None
    assert compilers.asked == ["hiprtc"]
    assert make_of(SHARD) is None  # another text
    assert compilers.asked == ["hiprtc"] * 2


def test_hipcc_gets_no_part_of_what_hiprtc_refuses(compilers: Compilers, make_of: Callable[..., Made | None]):
    compilers.answers["hiprtc"] = CompilerUnsupported("hip_fp8.h is not there")
    assert make_of(ALONE, compiler="auto") is None
    assert compilers.asked == ["hiprtc"]
    assert make_of(ALONE, compiler="hipcc") == Made(b"of hipcc", "hipcc", HIPCC.name)


def test_a_machine_that_cannot_compile_a_text_says_so(compilers: Compilers, make_of: Callable[..., Made | None]):
    for wrong in (CompilerStopped("it took too long"), InfrastructureError("no room")):
        compilers.answers["hiprtc"] = wrong
        with pytest.raises(InfrastructureError, match=str(wrong)):
            make_of(ALONE, compiler="auto")
