"""Products of many rows, computed some rows at a time: the same answer as all at once."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from conformance.cases import Case, launch_for
from conformance.spec.load import load_specs
from reference.expected import Expected
from reference.quantized import products, sums, vector


def _answer(text: str) -> Expected:
    case = Case.parse(text)
    kernel = load_specs().kernels[case.kernel]
    given = launch_for(kernel, case).reference_arguments()
    return reference.evaluate(kernel.module, kernel.family, kernel.variant, 0, given)["dst"]


@pytest.mark.parametrize(
    "text",
    [
        "mul_mat_vec_q8_0_q8_1_cuda1(ncols=32,nrows=23,values=random)",
        "mul_mat_vec_q4_K_q8_1_cuda1(ncols=512,nrows=17,values=random)",
        "dequantize_mul_mat_vec_q8_0_cuda(ncols=64,nrows=23,values=random)",
        "dequantize_mul_mat_vec_q5_k(ncols=512,nrows=17,values=random)",
    ],
)
def test_rows_in_parts_are_the_rows(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _answer(text)
    for module in (sums, products, vector):
        monkeypatch.setattr(module, "MOST_ROWS", 8)
    parts = _answer(text)
    for name in ("value", "low", "high"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
