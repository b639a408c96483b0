"""``fixes``: which kernels are judged by the right result."""

from __future__ import annotations

import pytest

from conformance.port.declared.declared import fixed_kernels
from conformance.port.sources import SourceError
from conformance.spec.load import load_specs

SPECS = load_specs()
KERNELS = {**SPECS.kernels, **SPECS.launchers}


def test_a_defect_or_a_pattern_of_kernels_is_named() -> None:
    assert fixed_kernels(["expert-stride"], KERNELS, "F") == ("indexed_moe_forward_q8_0_q8_1",)
    assert fixed_kernels(["indexed_moe_*", "cast_f64_u8"], KERNELS, "F") == (
        "indexed_moe_forward_q8_0_q8_1",
        "cast_f64_u8",
    )
    assert len(fixed_kernels(["strided-ids", "is_u32_*"], KERNELS, "F")) == 26
    assert fixed_kernels(["half-bits"], KERNELS, "F") == ("moe_gemm_wmma",)


@pytest.mark.parametrize("named", ["uneg_f32", "nothing", "expert_stride"])
def test_what_has_no_right_result_is_one_sentence(named: str) -> None:
    with pytest.raises(SourceError) as raised:
        fixed_kernels(["expert-stride", named], KERNELS, "F")
    assert f"F: fixes: {named!r} names neither a defect of Candle's whose right result is known" in str(raised.value)
    assert "the defects are byte-saturation, dilation, pool-scale" in str(raised.value)
