"""The short report for CI: it fits whatever fails, and says what it leaves out."""

from __future__ import annotations

import re
from typing import Any

import pytest

from conformance.outcome import Failure
from conformance.record import KernelResult, Record, every_kernel
from conformance.report.comparison import changes
from conformance.report.short_report import LIMIT, render_summary
from conformance.spec.load import load_specs
from tests.runs import run_info

SPECS = load_specs()


def result(name: str, status: str, **fields: Any) -> KernelResult:
    kernel = SPECS.kernels[name]
    about = {key: getattr(kernel, key) for key in ("name", "module", "family", "upstream")}
    return KernelResult(**{**about, "status": status, "cases": 4, **fields})


def record(*rows: KernelResult, **run: Any) -> Record:
    return Record.of(run_info(**run), every_kernel(SPECS, rows))


def failing(name: str, text: str = "9 ulp off", failed: int = 2) -> KernelResult:
    failure = Failure(f"{name}(shape=[3,5],values=unit)", text, 3, "-0", "1.5", 9.0, "candle-parity run")
    return result(name, "fail", failed=failed, failures=(failure,))


def test_the_summary_has_verdict_modules_and_failing_kernels() -> None:
    text = render_summary(record(result("uexp_f32", "pass"), failing("usilu_f16")), SPECS)
    assert "**1 of 748 kernels at parity (0.1%), 0 of 49 launchers**, run on the host" in text
    assert "not executed on an AMD GPU" in text
    assert "| unary | 123 | ⚠️ 1 (0.8%) |" in text
    assert "- `usilu_f16`: fail, 2 of 4 cases failed. `usilu_f16(shape=[3,5],values=unit)`: 9 ulp off" in text


@pytest.mark.slow("renders a summary for each number of failures")
@pytest.mark.parametrize(("text", "runs"), [("x" * 5000, 1), ("|" * 5000, 3), ("é" * 5000, 1), ("\u202e" * 5000, 1)])
def test_the_summary_fits_whatever_fails(text: str, runs: int) -> None:
    worst = record(*(failing(name, text) for name in SPECS.kernels), device=text, infrastructure=(text,))
    before = record(*(result(name, "pass") for name in SPECS.kernels), device=text)
    output = render_summary([worst] * runs, SPECS, baseline=before)
    assert len(output.encode()) < LIMIT
    assert output.count("<details>") == output.count("</details>")
    left = sum(int(count.replace(",", "")) for count in re.findall(r"… and ([\d,]+) ", output))
    assert left > 0
    assert "0 of 748 kernels at parity" in output


def test_what_is_left_out_is_counted() -> None:
    output = render_summary(record(*map(failing, SPECS.kernels)), SPECS, limit=20_000)
    shown = output.count(": fail, 2 of 4 cases failed.")
    assert 0 < shown < 748
    assert f"… and {748 - shown} kernels more in the full report" in output


def test_changes_are_against_the_run_of_the_same_kind() -> None:
    old = record(result("uexp_f32", "pass"), result("ulog_f32", "missing"), wave=32)
    new = record(failing("uexp_f32"), result("ulog_f32", "pass"), wave=32)
    other = record(failing("ulog_f32"))
    told = changes([other, new], old, SPECS)
    assert told is not None
    assert told.counts == "1 worse, 1 better"
    worse, better = told.kernels
    assert (worse.kernel, worse.label, worse.before) == ("uexp_f32", "cpu wave32", "pass")
    assert worse.after == "fail, 2 of 4 cases failed"
    assert worse.cases == "newly failing: uexp_f32(shape=[3,5],values=unit)"
    assert (better.kernel, better.before, better.after) == ("ulog_f32", "missing", "pass")
    text = render_summary([other, new], SPECS, baseline=old)
    assert "1 worse, 1 better" in text
    assert "- `uexp_f32`: pass → fail, 2 of 4 cases failed; newly failing" in text
    assert "nothing changed" in render_summary(old, SPECS, baseline=old)


def test_what_was_not_compared_is_said() -> None:
    old = record(result("uexp_f32", "pass"), result("ulog_f32", "pass"))
    told = changes([record(result("ulog_f32", "pass"), runtime="rocm")], old, SPECS)
    assert told is not None
    assert told.kernels == ()
    assert told.notes == ("the runs differ in runtime", "not compared: 1 kernels not selected in the new record")
