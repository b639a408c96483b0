"""What outputs hold before a launch: nothing that a kernel could add to, or compare with, and still be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from listed import kernel

import reference
from conformance.cases import Case, cases_for, launch_for
from conformance.cases.launch import OUTPUT_POISON_BYTES, Buffer
from conformance.dtypes import dtype
from conformance.spec.load import load_specs
from conformance.verdict.compare import judge
from conformance.verdict.trials import generated_parts

SPECS = load_specs()


def test_every_kernel_of_many_cases_is_judged_with_each_poison() -> None:
    judged = [generated_parts(entry).judged for entry in (*SPECS.kernels.values(), *SPECS.launchers.values())]
    many = [cases for cases in judged if len(cases) >= 10]
    assert len(many) > 500
    for cases in many:
        assert {case.poison_byte for case in cases} == set(OUTPUT_POISON_BYTES), cases[0]


@pytest.mark.parametrize(
    ("name", "combine"),
    [
        *((f"layernorm_{kind}", np.add) for kind in ("bf16", "f32", "f64")),
        *((f"rmsnorm_{kind}", np.add) for kind in ("f32", "f64")),
        ("dequantize_mul_mat_vec_q4_k", np.add),
        *((f"fast_{op}_{kind}", getattr(np, f"{op}imum")) for op in ("min", "max") for kind in ("f32", "f64", "i64")),
    ],
)
def test_what_was_there_before_does_not_vanish(name: str, combine: Callable[[Any, Any], Any]) -> None:
    """``layernorm_f32`` that adds to its output passed when outputs held -3e-16."""
    k = kernel(name)
    assert any(_is_wrong(k, case, combine) for case in cases_for(k) if case in generated_parts(k).judged)


def _is_wrong(k: Any, case: Case, combine: Callable[[Any, Any], Any]) -> bool:
    launch = launch_for(k, case)
    (dst,) = (argument for argument in launch.args if argument.name == "dst")
    assert isinstance(dst, Buffer)
    bound = k.tolerance.library_ulp
    expected = reference.evaluate(k.module, k.family, k.variant, bound, launch.reference_arguments())["dst"]
    before = dst.data[dst.start :]
    with np.errstate(all="ignore"):
        got = combine(before, expected.value)
    written = expected.value.view(dtype(dst.dtype).bits) != before.view(dtype(dst.dtype).bits)
    got = np.where(written, got, before)
    return judge("dst", got, expected, before, dtype(dst.dtype), k.tolerance.ulp) is not None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("mul_mat_vec_q4_0_q8_1_cuda2(ncols=512,nrows=6,values=random", "dst"),
        ("mul_mat_q4_K(ncols=256,nrows=5,columns=3,values=random", "dst"),
        ("indexed_moe_forward_q8_0_q8_1(n=6,k=512,batch=3,topk=2,experts=4,values=random", "all_outputs"),
        ("quantize_q8_1(kx=33,rows=2,values=large", "vy"),
    ],
)
def test_outputs_that_candle_fills_with_zeros_hold_them(text: str, name: str) -> None:
    """A product that adds parts of its sums to the output by atomics is right in Candle's launches."""
    for ending, zeros in ((")", True), (",output=poison)", False)):
        case = Case.parse(text + ending)
        (out,) = (argument for argument in launch_for(kernel(case.kernel), case).args if argument.name == name)
        assert isinstance(out, Buffer)
        written, tail = out.data[:-9].view(np.uint8), out.data[-9:].view(np.uint8)
        assert set(written) == ({0} if zeros else {case.poison_byte})
        assert set(tail) == {case.poison_byte}
