"""Every planted mistake is called by its name, and nothing is called by a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.cli.main import main
from conformance.port.config import OPTIONS_FILE
from conformance.record import KernelResult, Record, read_record
from conformance.report.causes import Finding, find_causes
from conformance.report.causes.cause import Cause
from conformance.report.causes.table import CAUSES
from conformance.report.html import render_html
from conformance.report.markdown import render_markdown
from conformance.report.tally import results
from conformance.report.terminal import render_terminal
from conformance.spec.load import load_specs
from tests.isa_runtime.planted import CAUSES as MACHINE_CODE
from tests.launchers.test_host_code import ADVISED as HOST_CODE
from tests.launchers.test_launchers import ADVISED as LAUNCHERS
from tests.libraries.test_gemm import CAUSES as PRODUCTS
from tests.libraries.test_rand import CAUSES as RANDOM

PLANTED = (Path(__file__).with_name("planted.hip"), Path(__file__).with_name("planted.cu"))

NAMES = {
    "uneg_f32": "strides-ignored",
    "uneg_f64": "contiguity",
    "ucopy_u32": "only a broadcast operand",
    "ucopy_f64": "broadcast",
    "unormcdf_f64": "only operands that are not contiguous",
    "const_set_u8": "only over 65,536 elements",
    "const_set_i64": "only over 1,024 elements",
    "fill_u32": "only a grid smaller than the data",
    "fill_i64": "only another block size than Candle's",
    "conv1d_u8": "only padding",
    "conv1d_u32": "only a stride over 1",
    "conv1d_f32": "only a batch",
    "im2col1d_u8": "only a dilation",
    "max_pool2d_u32": "only images or windows that are not square",
    "gather_u8_f32": "only ids that mean none",
    "sa_i64_f32": "only ids that mean none",
    "urelu_f32": "tail",
    "uabs_f32": "sign-of-zero-abs",
    "uexp_f32": "fast-function",
    "usqrt_bf16": "fast-function",
    "ugelu_erf_f32": "scaled",
    "uneg_f16": "other-geometry",
    "unormcdf_bf16": "cancellation",
    "bmaximum_f64": "cpu-backend-extremum",
    "cast_f64_i64": "cpu-backend-cast",
    "uelu_f32": "cpu-backend-elu",
    "fast_sum_i64": "geometry-fault",
    "uneg_bf16": "sign-of-zero",
    "usqr_f64": "factor",
    "copy2d_u8": "narrow-offset",
    "copy2d_u32": "only offsets above 2^31 elements",
    "uabs_f64": "neighbour",
    "ufloor_f32": "subnormal-operands",
    "ucopy_f32": "subnormals",
    "ucopy_i64": "overrun",
    "uceil_f32": "narrow-info",
    "uround_f32": "narrow-info",
    "utanh_f32": "not recognised",
    "ugelu_erf_f64": "cpu-backend-gelu-erf",
    "badd_f32": "one-stride-set",
    "badd_f64": "one-stride-set",
    "bmul_f32": "one-operand",
    "bmaximum_f32": "nan-and-zero",
    "bminimum_f64": "nan-rule",
    "ge_f32": "comparison-nan",
    "cast_f32_bf16": "truncates",
    "cast_f64_bf16": "not recognised",
    "cast_f64_f16": "double-rounding",
    "cast_f16_bf16": "ties",
    "cast_f32_u8": "float-to-integer",
    "cast_f64_u8": "fixes-upstream",
    "cast_f32_f8_e4m3": "fp8-ends",
    "cast_f8_e4m3_f32": "fp8-format",
    "affine_bf16": "rounds-twice",
    "affine_f16": "not-fused",
    "affine_f32": "swapped",
    "affine_f64": "unwritten-shared",
    "badd_bf16": "cut-results",
    "fast_max_f32": "start-value",
    "fast_min_f64": "start-value",
    "fast_max_f64": "nan-and-zero",
    "fast_max_f16": "nan-rows",
    "fast_max_u32": "part-of-row",
    "fast_argmin_u32": "flat-index",
    "fast_argmax_f32": "empty-maximum",
    "fast_min_f32": "race",
    "gather_u32_f32": "sentinel-address",
    "conv1d_f64": "dilation",
    "im2col1d_f32": "padding",
    "im2col1d_f64": "stride",
    "im2col1d_u32": "im2col1d-count",
    "im2col1d_f16": "narrow-index",
    "upsample_nearest2d_f32": "info-words",
    "upsample_nearest2d_f64": "height-width",
    "fill_f32": "divergence",
    "fill_f64": "lane-left-out",
    "softmax_f16": "lanes",
    "softmax_f32": "other-geometry",
    "softmax_f64": "not recognised",
    "fast_sum_u32": "only several dimensions summed",
    "asort_asc_f64": "only equal values",
    "asort_asc_f32": "only rows of infinities",
    "asort_asc_i64": "only rows of over 1,024",
    "uabs_bf16": "only subnormal values",
    "ia_u32_u32": "only ids that occur twice",
    "conv_transpose1d_u32": "only output padding",
    "upsample_bilinear2d_f32": "only aligned corners",
    "upsample_bilinear2d_f64": "only a scale factor",
    "rmsnorm_f32": "weights-ignored",
    "rmsnorm_f64": "eps",
    "ucopy_bf16": "permuted",
    "ucopy_f16": "other-lane",
    "uabs_f16": "upper-lanes",
    "urecip_f32": "one-rounding",
    "urecip_f64": "other-sign",
    "usqrt_f32": "few-ulp",
    "usqrt_f64": "misaligned",
    "unormcdf_f32": "approximation",
    "urelu_f16": "overflow",
    "urelu_f64": "single-precision",
    "ugelu_f32": "other-gelu",
    "ugelu_f64": "short-constant",
    "usilu_f32": "null",
    "usilu_f64": "write-outside",
    "usign_f32": "nan-operands",
    "usign_f64": "strided-fault",
    "uerf_f32": "null-info",
    "uerf_f64": "read-outside",
    "uexp_f64": "shared-memory",
    "ulog_f32": "nothing-written",
    "ulog_f64": "local-array",
    "usin_f32": "trap",
    "usin_f64": "assertion",
    "ucos_f32": "stack",
    "ucos_f64": "division",
    "utanh_f64": "input-written",
    "uceil_f64": "unwritten",
    "uceil_bf16": "impossible-geometry",
    "usigmoid_f64": "forbidden",
    "uabs_fp8_e4m3": "fp8-nan",
    "usqr_fp8_e4m3": "fp8-overflow",
}

ASKED = {
    "usqr_f32(shape=[2500],values=unit,grid=1)": "no-grid-stride",
    "ucopy_u8(shape=[105],values=unit,inp=null)": "null-input",
    "gather_i64_f32(shape=[3,11,5],count=70,ids=beyond,values=wide)": "no-assert",
    "layernorm_f32(shape=[3,31],values=unit,alpha=null)": "null-weights",
    "uround_f64(shape=[9,11],layout=transposed,values=wide,out_start=1)": "before-start",
    "usigmoid_f32(shape=[31],values=wide)": "endless",
}
"""Cases that Candle never launches: they have a part in a verdict only where they are asked for."""

ELSEWHERE = {
    **dict.fromkeys([*LAUNCHERS.values(), *HOST_CODE.values()], "tests/launchers follows the advice"),
    **dict.fromkeys(
        sorted({*MACHINE_CODE} - {*NAMES.values()}),
        "tests/isa_runtime/test_planted.py follows the advice, in AMD's machine code",
    ),
    **dict.fromkeys(
        [cause for cause, _ in (*PRODUCTS.values(), *RANDOM.values())],
        "tests/libraries has libraries with the mistake and without",
    ),
    "impossible-arguments": "tests/cli/test_adapters.py has a port with the mistake, and without",
    "outside-scratch": "tests/rocm_runtime/test_launchers.py follows the advice, on a device without guard pages",
}
"""Causes that no kernel of this file has, with the reason."""

TOML = """
fixes = ["dilation", "lowest-index"]
[[launch]]
kernels = "uceil_bf16"
block = ["0", "1", "1"]
"""
MENDED = """
fixes = ["dilation", "lowest-index", "cast_f64_u8"]
[[launch]]
kernels = "softmax_f32"
block = ["block_x", "64", "block_z"]
[[launch]]
kernels = "uneg_f16"
grid = ["ceildiv(numel, 256)"]
block = [256]
[[launch]]
kernels = "fast_sum_i64"
block = [256]
"""
"""What the advice of four causes puts in place of the rows before."""
SPECS = load_specs()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Record]:
    def judge(*patterns: str, mended: bool = False) -> Record:
        folder = tmp_path_factory.mktemp("planted")
        file = folder / "record.json"
        for source in PLANTED:
            (folder / source.name).write_text(source.read_text())
        (folder / OPTIONS_FILE).write_text(MENDED if mended else TOML)
        options = ("--runtime", "cpu", "-j", "2", "--kernels", str(folder), "--json", str(file))
        assert main(["run", *patterns, *options, *(("-D", "MENDED") if mended else ())]) == (not mended)
        return read_record(file)

    return judge


@pytest.fixture(scope="module")
def record(run: Callable[..., Record]) -> Record:
    return run(*NAMES)


@pytest.fixture(scope="module")
def mended(run: Callable[..., Record]) -> dict[str, KernelResult]:
    kernels = [kernel for kernel, cause in NAMES.items() if cause != "not recognised"]
    records = run(*kernels, mended=True), run(*ASKED, mended=True)
    return {row.name: row for record in records for row in record.kernels if row.status != "not_run"}


@pytest.fixture(scope="module")
def findings(record: Record) -> list[Finding]:
    return find_causes(results(record, SPECS), SPECS)


@pytest.mark.nightly("one large source, compiled and judged as it is and mended")
def test_what_candle_never_launches_has_causes_where_it_is_asked_for(run: Callable[..., Record]) -> None:
    found = find_causes(results(run(*ASKED), SPECS), SPECS)
    named = {share.kernel.name: finding.cause.id for finding in found for share in finding.shares}
    assert named == {case.partition("(")[0]: cause for case, cause in ASKED.items()}


@pytest.mark.nightly("one large source, compiled and judged as it is and mended")
@pytest.mark.parametrize("kernel", NAMES)
def test_a_planted_mistake_is_named(findings: list[Finding], kernel: str) -> None:
    named = [finding.cause.id for finding in findings for share in finding.shares if share.kernel.name == kernel]
    assert named == [NAMES[kernel]]


@pytest.mark.nightly("one large source, compiled and judged as it is and mended")
def test_every_mistake_has_its_line_here(record: Record) -> None:
    assert {row.name for row in record.kernels if row.status in ("fail", "crash", "timeout")} == set(NAMES)


@pytest.mark.nightly("one large source, compiled and judged as it is and mended")
def test_every_failing_case_is_under_a_cause(record: Record, findings: list[Finding]) -> None:
    assert sum(finding.failed for finding in findings) == record.summary.cases_failed


@pytest.mark.nightly("one large source, compiled and judged as it is and mended")
@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.id)
def test_a_kernel_that_follows_the_advice_passes(mended: dict[str, KernelResult], cause: Cause) -> None:
    planted = {**NAMES, **{case.partition("(")[0]: asked for case, asked in ASKED.items()}}
    kernels = [kernel for kernel, named in planted.items() if named == cause.id]
    assert bool(kernels) != (cause.id in ELSEWHERE)
    assert [mended[kernel].status for kernel in kernels] == ["pass"] * len(kernels)


@pytest.mark.nightly("one large source, compiled and judged as it is and mended")
def test_reports_tell_the_causes(run: Callable[..., Record]) -> None:
    record = run("uneg_f32", "cast_f32_u8")
    for text in (render(record, SPECS) for render in (render_terminal, render_markdown, render_html)):
        assert "Strides are ignored" in text
        assert "N15" in text
