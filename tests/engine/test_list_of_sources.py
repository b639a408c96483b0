"""The files of a port are listed once: one that comes later shifts no blame to another."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from conformance.engine import run as running
from conformance.engine.messages import Setup
from conformance.engine.modes import JudgeGenerated, Mode, Tree
from conformance.engine.pool import Pool
from conformance.engine.result import Result
from conformance.engine.run import run
from conformance.runtimes.kind import Choice
from conformance.spec.load import load_specs

HEAD = "#include <hip/hip_runtime.h>\n"
LOOP = "for (size_t i = threadIdx.x + blockIdx.x * (size_t)blockDim.x; i < n; i += (size_t)blockDim.x * gridDim.x)"
FILL = '{0}extern "C" __global__ void fill_{1}({2} *p, {2} v, size_t n) {{ {3} p[i] = v; }}\n'
U8, U32 = FILL.format(HEAD, "u8", "unsigned char", LOOP), FILL.format(HEAD, "u32", "unsigned", LOOP)
BROKEN = f"#error on purpose\n{U32}"
KERNELS = [load_specs().kernels[name] for name in ("fill_u8", "fill_u32")]
SETUP = Setup(runtime="cpu", wave=64, orders=("forward",), command="candle-parity run", choice=Choice("cpu"))


def ran(folder: Path, present: str, added: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    """A run of ``port/fill.hip``; before its judges start, ``port/a.hip`` is added, which comes first in a list."""
    port = folder / "port"
    port.mkdir()
    (port / "fill.hip").write_text(present)

    class LatePool(Pool):
        def __init__(self, setups: Iterable[Setup], mode: Mode) -> None:
            (port / "a.hip").write_text(added)
            super().__init__(setups, mode)

    monkeypatch.setattr(running, "Pool", LatePool)
    return run(SETUP, JudgeGenerated(Tree.at(port)), KERNELS)


@pytest.mark.slow("whole runs of small ports")
def test_a_broken_file_that_comes_later_breaks_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = ran(tmp_path, U8 + U32, BROKEN, monkeypatch)
    assert {name: outcome.status for name, outcome in result.outcomes.items()} == {
        "fill_u8": "pass",
        "fill_u32": "pass",
    }
    assert result.compile_logs == {}


@pytest.mark.slow("whole runs of small ports")
def test_a_broken_file_keeps_its_errors_when_another_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = ran(tmp_path, BROKEN, U8, monkeypatch)
    for outcome in result.outcomes.values():
        assert (outcome.status, outcome.source) == ("compile_error", "port/fill.hip")
        assert "on purpose" in (outcome.message or "")
    assert list(result.compile_logs) == ["port/fill.hip"]
    assert "on purpose" in result.compile_logs["port/fill.hip"]
