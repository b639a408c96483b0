"""Every planted mistake is called by its name, and nothing is called by a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.cli.main import main
from conformance.record import Record, read_record
from conformance.report import render_html, render_markdown, render_terminal
from conformance.report.causes import Finding, find_causes
from conformance.report.tally import results
from conformance.spec.load import load_specs

PLANTED = Path(__file__).with_name("planted.hip")

NAMES = {
    "uneg_f32": "strides-ignored",
    "uneg_f64": "contiguity",
    "ucopy_u32": "only a broadcast operand",
    "uabs_f32": "tail",
    "uneg_bf16": "sign-of-zero",
    "usqr_f64": "factor",
    "uabs_f64": "neighbour",
    "ufloor_f32": "subnormal-operands",
    "ucopy_f32": "subnormals",
    "ucopy_i64": "overrun",
    "uceil_f32": "narrow-info",
    "uround_f32": "narrow-info",
    "utanh_f32": "not recognised",
    "ugelu_erf_f64": "cancellation",
    "badd_f32": "one-stride-set",
    "badd_f64": "one-stride-set",
    "bmaximum_f32": "nan-and-zero",
    "bminimum_f64": "nan-rule",
    "ge_f32": "comparison-nan",
    "cast_f32_bf16": "truncates",
    "cast_f64_f16": "double-rounding",
    "cast_f32_u8": "float-to-integer",
    "affine_bf16": "not-fused",
    "affine_f32": "swapped",
    "fast_max_f32": "start-value",
    "fast_min_f64": "start-value",
    "fast_max_f64": "nan-and-zero",
    "fast_min_f32": "race",
    "gather_u32_f32": "sentinel-address",
    "conv1d_f64": "dilation",
    "fill_f32": "divergence",
    "softmax_f64": "not recognised",
}

ASKED = {
    "usqr_f32(shape=[2500],values=unit,grid=1)": "no-grid-stride",
    "ucopy_u8(shape=[105],values=unit,inp=null)": "null-input",
    "gather_i64_f32(shape=[3,11,5],count=7,ids=beyond,values=wide)": "no-assert",
}
"""Cases that Candle never launches: they have a part in a verdict only where they are asked for."""

SPECS = load_specs()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Record]:
    folder = tmp_path_factory.mktemp("planted")
    (folder / PLANTED.name).write_text(PLANTED.read_text())

    def judge(*patterns: str) -> Record:
        file = folder / "record.json"
        options = ("--runtime", "cpu", "-j", "1", "--kernels", str(folder), "--json", str(file))
        assert main(["run", *patterns, *options]) == 1
        return read_record(file)

    return judge


@pytest.fixture(scope="module")
def record(run: Callable[..., Record]) -> Record:
    return run(*NAMES)


@pytest.fixture(scope="module")
def findings(record: Record) -> list[Finding]:
    return find_causes(results(record, SPECS), SPECS)


def test_what_candle_never_launches_has_causes_where_it_is_asked_for(run: Callable[..., Record]) -> None:
    found = find_causes(results(run(*ASKED), SPECS), SPECS)
    named = {share.kernel.name: finding.cause.id for finding in found for share in finding.shares}
    assert named == {case.partition("(")[0]: cause for case, cause in ASKED.items()}


@pytest.mark.parametrize("kernel", NAMES)
def test_a_planted_mistake_is_named(findings: list[Finding], kernel: str) -> None:
    named = [finding.cause.id for finding in findings for share in finding.shares if share.kernel.name == kernel]
    assert named == [NAMES[kernel]]


def test_every_mistake_has_its_line_here(record: Record) -> None:
    assert {row.name for row in record.kernels if row.status in ("fail", "crash", "timeout")} == set(NAMES)


def test_every_failing_case_is_under_a_cause(record: Record, findings: list[Finding]) -> None:
    assert sum(finding.failed for finding in findings) == record.summary.cases_failed


@pytest.mark.parametrize("render", [render_terminal, render_markdown, render_html])
def test_reports_tell_the_causes(record: Record, render) -> None:
    text = render(record, SPECS)
    assert "Strides are ignored" in text
    assert "N15" in text
