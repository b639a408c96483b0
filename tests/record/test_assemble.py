"""From the outcomes of a run to its record."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.run import Result
from conformance.engine.tasks import CaseFailure, Outcome, Ready, Setup
from conformance.record import record_text
from conformance.record.assemble import assemble
from conformance.spec.load import Specs, load_specs


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def result(kernels: Path | None, *outcomes: Outcome, **changes: Any) -> Result:
    values: dict[str, Any] = {
        "runtime": "cpu",
        "wave": 32,
        "kernels": kernels,
        "orders": ("forward", "reverse"),
        "threads": 1,
        "device": 0,
        "salt": "",
        "traces": None,
        "specs": None,
        "command": "candle-parity run",
        **changes,
    }
    ready = Ready("host", "x86_64", 32, "the host", "10.0")
    started = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    return Result(Setup(**values), ready, {item.kernel: item for item in outcomes}, started, 1.25)


def test_every_kernel_is_recorded(specs: Specs, tmp_path: Path) -> None:
    folder = tmp_path / "port"
    folder.mkdir()
    (folder / "unary.hip").write_text("// one\n// two\n")
    failure = CaseFailure("uexp_f32(shape=[3])", "off", 1, "nan", "0", float("inf"), "again")
    made = assemble(
        specs,
        result(
            folder,
            Outcome("uexp_f32", "fail", 5, 1, 10, float("inf"), 0.5, "port/unary.hip:2", failures=[failure]),
            Outcome("ulog_f32", "pass", 5, 0, 10, 1.0, 0.5, "port/unary.hip:1"),
            Outcome("usin_f32", "missing"),
        ),
        ["u*"],
    )
    assert made.summary.total == len(specs.kernels)
    assert (made.summary.passed, made.summary.fail, made.summary.missing) == (1, 1, 1)
    assert made.summary.not_run == len(specs.kernels) - 3
    by_name = {kernel.name: kernel for kernel in made.kernels}
    assert by_name["uexp_f32"].failures[0].ulp is None
    assert by_name["uexp_f32"].upstream == "unary.cu:192"
    assert by_name["usin_f32"].max_ulp is None
    assert by_name["ulog_f32"].max_ulp == 1.0
    assert made.run.source_lines == {"port/unary.hip": 2}
    assert made.run.orders == ("forward", "reverse")
    assert made.run.started == "2026-01-02T03:04:05Z"
    assert made.run.patterns == ("u*",)
    assert made.run.git is None
    assert record_text(made).startswith('{\n "schema": 1,')


def test_a_device_chooses_its_own_order(specs: Specs, tmp_path: Path) -> None:
    made = assemble(specs, result(tmp_path, runtime="rocm", orders=("forward",)))
    assert made.run.orders == ()


def test_a_reference_on_trial_runs_no_kernel(specs: Specs) -> None:
    made = assemble(specs, result(None, Outcome("uexp_f32", "pass", 3), traces=Path("traces")))
    assert made.run.subject == "reference"
    assert (made.run.kernels, made.run.wave, made.run.traces) == (None, None, "traces")
