"""Which cases Candle's Rust side launches: every row of the table is about cases that there are, and a kernel's verdict
is never about the others alone."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance.cases import cases_for
from conformance.cases.case import Case
from conformance.cases.never_launched import ROWS, never_launched
from conformance.files import traces_folder
from conformance.replay.traces import Traces
from conformance.spec.load import load_specs
from conformance.verdict.trials import generated_parts

SPECS = load_specs()

OWN_GRID = "Rust launches blocks of 1,024 threads, as many as there are elements to go round"
BAD_IDS = "an id out of range is the caller's error, which Rust does not look for; Candle's kernel stops at an assert"


def why(kernel: str, fields: str) -> str | None:
    case = Case.parse(f"{kernel}({fields})")
    entry = SPECS.kernels.get(kernel) or SPECS.launchers[kernel]
    found = never_launched(entry.launch, case)
    return None if found is None else found.why.partition(":")[0]


@pytest.mark.parametrize(
    ("kernel", "fields", "reason"),
    [
        ("uexp_f32", "shape=[3,5,7],inp=null,layout=transposed,values=unit", "the input is never null"),
        ("uexp_f32", "trace=inplace", "the input is never null"),
        ("uexp_f32", "shape=[0],values=unit", "there is nothing to compute"),
        ("uexp_f32", "shape=[1025],values=unit,grid=1", OWN_GRID),
        ("uexp_f32", "shape=[3,5,7],values=unit,info=given", "Rust passes null where the layout is contiguous"),
        ("uexp_f32", "shape=[3,5,7],layout=transposed,values=unit,start=1", None),
        ("layernorm_f32", "shape=[3,40],beta=null", "neither alpha nor beta is ever null"),
        ("is_u32_f32", "shape=[3,11,5],count=70,ids=beyond,values=wide", BAD_IDS),
        ("gather_i64_f32", "shape=[3,11,5],count=70,ids=cut,values=wide", BAD_IDS),
        ("is_u32_f32", "shape=[3,11,5],count=7,ids=mixed,values=wide", None),
        ("is_u32_f32", "shape=[3,6,4],count=0,ids=plain,values=wide", "there is nothing to compute"),
        ("ia_u32_f32", "shape=[3,6,4],count=0,ids=plain,values=wide", None),
        ("fast_sum_f32", "shape=[3,0],values=unit", None),
        (
            "quantize_q8_1",
            "kx=33,rows=2,values=unit",
            "rows of a quantized tensor are whole blocks, of 32 values or more",
        ),
        ("quantize_q8_1", "kx=256,rows=2,values=unit", None),
        (
            "launch_mmq_gguf_q4_0",
            "ncols=256,nrows=20,columns=10,cc=800,values=random",
            "Rust passes the compute capability of the device itself; Candle's kernels of another one fault",
        ),
        (
            "launch_mmq_gguf_q4_0",
            "ncols=512,nrows=20,columns=10,row_gap=1,values=random",
            "Rust passes the stride of tightly packed rows of weights",
        ),
        ("launch_mmq_gguf_q4_0", "ncols=256,nrows=20,columns=10,nsm=132,values=random", None),
        # No Rust calls these two, so that no launch of theirs is Candle's.
        ("sum_f32", "shape=[9,100],sum=[1],values=ties,block=96,grid=2", None),
        ("fill_f32", "shape=[77],value=pattern,block=64", None),
    ],
)
def test_a_case_is_told_apart_by_what_rust_passes(kernel: str, fields: str, reason: str | None) -> None:
    assert why(kernel, fields) == reason


def test_the_fields_of_a_recorded_case_count() -> None:
    recorded = Case("uexp_f32", (("trace", "generated,shape=[3,5,7],inp=null"),))
    assert never_launched("unary", recorded) is not None
    assert never_launched("unary", Case("uexp_f32", (("trace", "generated,("),))) is None


def test_what_candles_own_kernel_gets_wrong_counts_only_where_a_port_mends_it() -> None:
    kernel = SPECS.kernels["mul_mat_vec_q4_0_q8_1_cuda2"]
    odd = {case for case in cases_for(kernel) if int(case.get("nrows")) % 2}
    assert odd <= set(generated_parts(kernel).others)
    assert odd <= set(generated_parts(kernel.fixed()).judged)


@pytest.mark.slow("makes the launches of every kernel")
def test_every_row_is_met_by_a_case_of_each_of_its_families_and_every_kernel_keeps_cases() -> None:
    """A generated case, or one of the recordings that ship."""
    unmet = {(row, family) for row in ROWS for family in row.lines}
    recorded = Traces(traces_folder())
    for kernel in (*SPECS.kernels.values(), *SPECS.launchers.values()):
        cases = cases_for(kernel)
        assert None in (never_launched(kernel.launch, case) for case in cases), kernel.name
        unmet -= {
            (row, kernel.launch) for row in ROWS for case in (*cases, *recorded.cases(kernel.name)) if row.holds(case)
        }
    assert unmet == set()


def test_how_many_cases_there_are_for_each_reason() -> None:
    found = [never_launched(k.launch, case) for k in SPECS.kernels.values() for case in cases_for(k)]
    counts = Counter(" ".join(reason.why.split()[:4]).rstrip(":,") for reason in found if reason is not None)
    assert counts == {
        "Rust launches blocks of": 3272,
        "there is nothing to": 944 + 16,
        "Rust passes null where": 1172,
        "the input is never": 399,
        "an id out of": 423,
        "Rust allocates the output": 266,
        "Rust passes the layout": 78,
        "neither alpha nor beta": 64,
        "rows of a quantized": 5,
        "Rust launches for as": 313,
        "Rust passes the sizes": 182,
        "Rust fills the output": 80 + 10 + 6 + 1,
    }
