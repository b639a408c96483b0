"""Cases that tell a kernel sizes beyond 32 bits: another answer where a kernel keeps these in 32."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from listed import cases, kernel

import reference
from conformance.cases import Case, launch_for
from conformance.spec.kernel import Kernel
from reference.expected import Faults
from reference.strided import leading

SIZES = ("outermost", "dim_size", "ids_size", "right_size")
FAMILIES = ("unary", "binary", "where", "index_select", "gather")


def answer(k: Kernel, arguments: dict[str, Any]) -> bytes:
    try:
        (expected,) = reference.evaluate(k.module, k.family, k.variant, 0, arguments).values()
    except (Faults, ValueError):
        return b"fault"
    return expected.value.tobytes()


def low(value: Any) -> Any:
    """``value`` with its integers of 64 bits cut to 32."""
    return value & np.uint64(2**32 - 1) if getattr(value, "dtype", None) == np.uint64 else value


@pytest.mark.parametrize("family", FAMILIES)
def test_a_size_kept_in_32_bits_changes_the_answer(family: str) -> None:
    told = [(k, case) for k, case in cases(family)[:2000] if any(case.get(name, "0") >= "4294967301" for name in SIZES)]
    assert told
    for k, case in told:
        if case.get("layout", "") == "scalar" or "right_size" in dict(case.fields):
            continue  # every element is the same one, or there is one row
        given = launch_for(k, case).reference_arguments()
        cut = {name: low(value) for name, value in given.items()}
        plain = Case(case.kernel, tuple(field for field in case.fields if field[0] not in SIZES))
        assert answer(k, given) != answer(k, cut), case.id
        assert answer(k, given) != b"fault", case.id
        assert len(answer(k, given)) == len(answer(k, launch_for(k, plain).reference_arguments())), case.id


@pytest.mark.parametrize(
    "text",
    [
        "is_u32_f32(shape=[2,9,5],count=7,dim_size=4294967301)",
        "gather_u32_f32(shape=[1,9,5],count=7,right_size=4294967301)",
        "is_u32_f32(shape=[1,9,5],count=7,dim_size=8)",
        "uneg_f32(shape=[1,1],layout=transposed,outermost=4294967301)",
        "uneg_f32(shape=[4,3],layout=transposed,outermost=3)",
    ],
)
def test_sizes_that_would_move_elements_are_refused(text: str) -> None:
    case = Case.parse(text)
    with pytest.raises(ValueError, match=re.escape(text)):
        launch_for(kernel(case.kernel), case)


def test_the_first_elements_reach_no_further_than_they_have_to() -> None:
    assert leading([4, 2**32 + 5, 3], 7) == [1, 3, 3]
    assert leading([2, 3], 6) == [2, 3]
    assert leading([2, 3], 9) == [2, 3]
    assert leading([], 1) == []
