"""Products that lose the sign of zero, found in code objects made by hand."""

from __future__ import annotations

from pathlib import Path

import elf
import pytest

from conformance.port.check.objects import ObjectFile, check_objects, object_under_candles_names
from conformance.port.check.zero_sign import lost_signs
from conformance.port.code_objects import parse
from conformance.port.declared.names import names_of
from conformance.spec.load import load_specs
from conformance.toolchains.amd import HIPCC_KINDS, find_toolchain
from conformance.toolchains.targets import AmdError
from conformance.toolchains.targets import target as target_of

MIX = {"gfx90a": 0xD3A10002, "gfx942": 0xD3A10002, "gfx1030": 0xCC210002, "gfx1100": 0xCC210002, "gfx1201": 0xCC210002}
"""The first word of v_fma_mixlo_f16 v2, ..."""
FIXUP = {
    "gfx90a": 0xD2070001,
    "gfx942": 0xD2070001,
    "gfx1030": 0xD75F0001,
    "gfx1100": 0xD6540001,
    "gfx1201": 0xD6540001,
}
"""The first word of v_div_fixup_f16 v1, ..."""
END = 0xBF810000

PLUS_ZERO = 0x02020701  # v1, v3, 0
MINUS_ZERO = 0x82020701  # v1, v3, -0
ADDEND = 0x04120701  # v1, v3, v4
SQUARE = 0x02020301  # v1, v1, 0
QUOTIENT = 0x04120302  # v2, v1, v4


def found(target: str, *words: int) -> list[tuple[str, str, int]]:
    file = elf.with_functions(elf.metadata(target, []), {"uexp_f16": (*words, END)})
    return [(lost.function, lost.mnemonic, lost.count) for lost in lost_signs(parse(file, "made by hand"))]


@pytest.mark.parametrize("target", MIX)
def test_a_product_plus_zero_is_found(target: str) -> None:
    first = MIX[target]
    assert found(target, first, PLUS_ZERO) == [("uexp_f16", "v_fma_mixlo_f16", 1)]
    assert found(target, first + 0x10000, PLUS_ZERO) == [("uexp_f16", "v_fma_mixhi_f16", 1)]
    assert found(target, first, PLUS_ZERO, first, PLUS_ZERO) == [("uexp_f16", "v_fma_mixlo_f16", 2)]


@pytest.mark.parametrize("target", MIX)
@pytest.mark.parametrize("second", [MINUS_ZERO, ADDEND, SQUARE])
def test_what_keeps_the_sign_is_not(target: str, second: int) -> None:
    assert found(target, MIX[target], second) == []


@pytest.mark.parametrize("target", MIX)
def test_a_quotient_of_halves_is_given_its_sign_back(target: str) -> None:
    assert found(target, MIX[target], PLUS_ZERO, FIXUP[target], QUOTIENT) == []
    other = QUOTIENT + 3  # of v5, not of v2
    assert found(target, MIX[target], PLUS_ZERO, FIXUP[target], other) == [("uexp_f16", "v_fma_mixlo_f16", 1)]


def test_a_constant_that_looks_like_the_instruction_is_none() -> None:
    move = 0x7E0002FF  # v_mov_b32 v0, constant
    assert found("gfx942", move, MIX["gfx942"], PLUS_ZERO) == []


def test_a_target_whose_encodings_are_not_known_tells_nothing() -> None:
    assert found("gfx803", MIX["gfx942"], PLUS_ZERO) == []


def test_check_warns_of_it() -> None:
    file = elf.with_functions(elf.metadata("gfx942", []), {"uexp_f16": (MIX["gfx942"], PLUS_ZERO, END)})
    (warning,) = check_objects([ObjectFile("port/unary.hsaco", parse(file, "unary"))], {}, [])
    assert (warning.kind, warning.kernel, warning.place, warning.is_warning) == (
        *("zero_sign", "uexp_f16", "port/unary.hsaco"),
        True,
    )
    assert "-0 + +0 is +0" in warning.message


def test_dequantize_may_lose_it() -> None:
    name = "dequantize_block_q6_K_f16"
    file = elf.with_functions(elf.metadata("gfx942", []), {name: (MIX["gfx942"], PLUS_ZERO, END)})
    assert check_objects([ObjectFile("port/q.hsaco", parse(file, "q"))], load_specs().kernels, [], names=False) == []


@pytest.mark.parametrize(("candle", "told"), [("usin_f16", "usin_f16"), (None, "the port's own uexp_f16")])
def test_the_warning_has_candles_name(candle: str | None, told: str) -> None:
    file = elf.with_functions(elf.metadata("gfx942", []), {"uexp_f16": (MIX["gfx942"], PLUS_ZERO, END)})
    lines = [("usin_f16", "uexp_f16"), ("uexp_f16", "other_f16")] if candle else [("uexp_f16", "other_f16")]
    names = names_of(lines, ("uexp_f16", "usin_f16"), "F")
    named = object_under_candles_names(ObjectFile("port/unary.hsaco", parse(file, "unary")), names)
    assert [warning.kernel for warning in check_objects([named], {}, [])] == [told]


@pytest.mark.slow("compiles for an AMD target")
def test_the_place_is_a_line_of_the_port_and_not_of_hips_header(tmp_path: Path) -> None:
    try:
        toolchain = find_toolchain([target_of("gfx942")], HIPCC_KINDS)
    except AmdError as missing:
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {missing}")
    source, code = tmp_path / "k.hip", tmp_path / "code"
    source.write_text(
        "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n"
        'extern "C" __global__ void k(__half *p, const float *a) {\n  p[0] = __float2half(a[0] * a[1]);\n}\n'
    )
    toolchain.compile(source, target_of("gfx942"), code, ["-gline-tables-only"])
    (lost,) = lost_signs(parse(code.read_bytes(), "k"))
    assert lost.place == f"{source}:4"
