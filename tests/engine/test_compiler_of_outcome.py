"""Which compiler a kernel went through, from the judge to the record."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from conformance.engine import compiler
from conformance.engine.coding import from_map, to_map
from conformance.engine.compiler import Compiler
from conformance.engine.messages import Ready, Setup
from conformance.engine.modes import JudgeGenerated, Tree
from conformance.engine.result import Result
from conformance.outcome import Outcome
from conformance.port.compiling.cache import Made
from conformance.port.compiling.in_child import CompilerStopped, CompilerUnsupported
from conformance.port.options import NO_OPTIONS
from conformance.port.sources import KernelSource
from conformance.processes import Supervisor
from conformance.record.assemble import assemble
from conformance.spec.load import load_specs
from conformance.toolchains.compile_error import CompileError

NAME = "ROCm's amdclang++, AMD clang version 19.0.0"
READY = Ready("AMD Instinct MI300X", "gfx942", 64, "ROCm", "10.0", "an identity")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Compilations, by what was asked for; hiprtc refuses b.hip."""
    made: list[Any] = []

    def stand_in(source: KernelSource, *rest: Any) -> Made:
        made.append(rest[5])
        return Made(b"code", "hipcc", NAME) if source.path.name == "b.hip" else Made(b"code", "hiprtc")

    monkeypatch.setattr(compiler, "made", stand_in)
    return made


def setup_of(runtime: str, **changes: Any) -> Setup:
    return Setup(runtime=runtime, wave=64, orders=("forward",), **changes)


def test_an_outcome_says_which_compiler_its_file_went_through(tmp_path: Path, asked: list[Any]) -> None:
    made = Compiler(setup_of("rocm"), NO_OPTIONS, Supervisor(), lambda _: None, lambda: READY)
    for name in ("a.hip", "b.hip"):
        made.compiled(KernelSource(tmp_path / name, tmp_path))
    root = tmp_path.name
    sources = (f"{root}/a.hip", f"{root}/b.hip", f"{root}/b.hip:12", f"{root}/c.hip", None)
    outcomes = [Outcome(name="fill_u8", status="pass", cases=1, **made.used(source)) for source in sources]
    assert [outcome.compiler for outcome in outcomes] == ["hiprtc", "hipcc", "hipcc", None, None]
    assert [outcome.compiler_name for outcome in outcomes] == [None, NAME, NAME, None, None]
    assert from_map(to_map(outcomes[1])) == outcomes[1]
    assert asked == ["auto", "auto"]


@pytest.mark.parametrize(
    "refusal",
    [CompileError("a.hip", "error: no"), CompilerUnsupported("no hip_bf16.h"), CompilerStopped("error: no time")],
)
def test_a_source_that_is_refused_is_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    """A file of which nobody knows the kernels is asked for each kernel that no other file defines."""
    asked = []

    def refuse(*_: Any) -> Made:
        asked.append(1)
        raise refusal

    monkeypatch.setattr(compiler, "made", refuse)
    made = Compiler(setup_of("cpu"), NO_OPTIONS, Supervisor(), lambda _: None, lambda: READY)
    for _ in range(3):
        with pytest.raises(type(refusal), match=r"hip_bf16|error: no"):
            made.compiled(KernelSource(tmp_path / "a.hip", tmp_path))
    assert len(asked) == 1


def test_a_cuda_suffix_does_not_make_hip_cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words: list[tuple[str, ...]] = []

    def stand_in(*asked: Any) -> Made:
        words.append(tuple(asked[4]))
        return Made(b"code")

    monkeypatch.setattr(compiler, "made", stand_in)
    (tmp_path / "shim.h").write_text("#include <hip/hip_runtime.h>\n")
    (tmp_path / "a.cu").write_text('#include "shim.h"\n')
    (tmp_path / "b.cu").write_text("#include <cuda_fp16.h>\n")
    made = Compiler(setup_of("cuda"), NO_OPTIONS, Supervisor(), lambda _: None, lambda: READY)
    for name in ("a.cu", "b.cu"):
        made.compiled(KernelSource(tmp_path / name, tmp_path))
    assert words == [("-x", "hip"), ()]


@pytest.mark.parametrize(
    ("runtime", "compiler", "wanted"),
    [("rocm", "hipcc", "hipcc"), ("rocm", "hiprtc", "hiprtc"), ("cpu", "auto", "hiprtc")],
)
def test_the_choice_reaches_the_compiler(tmp_path: Path, asked: list[Any], runtime: str, compiler: Any, wanted: str):
    chosen = setup_of(runtime, compiler=compiler)
    made = Compiler(chosen, NO_OPTIONS, Supervisor(), lambda _: None, lambda: READY)
    made.compiled(KernelSource(tmp_path / "a.hip", tmp_path))
    assert asked == [wanted]
    used = made.used(f"{tmp_path.name}/a.hip")
    assert used.get("compiler") == (None if runtime == "cpu" else "hiprtc")  # elsewhere there is only one


def test_the_record_has_it_by_kernel_and_what_was_asked_for(tmp_path: Path) -> None:
    outcomes = [
        Outcome(name="fill_u8", status="pass", cases=1, compiler="hiprtc"),
        Outcome(name="fill_u32", status="pass", cases=1, compiler="hipcc", compiler_name=NAME),
    ]
    by_name = {outcome.name: outcome for outcome in outcomes}
    for runtime, asked_for in (("rocm", "auto"), ("cpu", None)):
        result = Result(setup_of(runtime), JudgeGenerated(Tree(tmp_path)), READY, by_name, datetime.now(UTC), 1.0)
        record = assemble(load_specs(), result)
        rows = {row.name: (row.compiler, row.compiler_name) for row in record.kernels}
        assert rows["fill_u8"] == ("hiprtc", None)
        assert rows["fill_u32"] == ("hipcc", NAME)
        assert rows["fill_f32"] == (None, None)
        assert record.run.compiler == asked_for
