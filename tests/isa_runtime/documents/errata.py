"""Where AMD's pseudocode says something else than the interpreter does, and why that stays so."""

from __future__ import annotations

_ALL = ("cdna", "rdna3", "rdna4")
_ROWS: list[tuple[tuple[str, ...], str, str]] = [
    (
        _ALL,
        "v_ldexp_f16 v_ldexp_f32 v_ldexp_f64",
        "2.0 ** exponent over- or underflows where the product with the mantissa does not",
    ),
    (
        _ALL,
        "v_rndne_f16 v_rndne_f32 v_rndne_f64",
        "floor(x + 0.5) makes +0 of -0, and rounds where x + 0.5 is no float",
    ),
    (("rdna3", "rdna4"), "s_rndne_f16 s_rndne_f32", "as v_rndne_f16 and v_rndne_f32"),
    (("rdna3", "rdna4"), "s_cvt_pk_rtz_f16_f32", "two halves are compared as bits, also those of a NaN"),
    (_ALL, "v_cvt_off_f32_i4", "it reads a table that it does not have: sixteenths, as the description says"),
    (
        _ALL,
        "v_dot2_f32_f16 v_dot2c_f32_f16 v_dot2acc_f32_f16",
        "it does not flush subnormal floats, as LLVM says that the instruction always does (performFMACombine)",
    ),
    (
        _ALL,
        "v_fract_f16 v_fract_f32 v_fract_f64",
        "x - floor(x) of a small negative x is 1; the result is below 1, as OpenCL's fract, which LLVM makes it of",
    ),
    (
        _ALL,
        "v_rcp_f32 v_rcp_iflag_f32 v_rsq_f32 v_sqrt_f32",
        "it does not flush subnormal numbers, as the description beside it says",
    ),
    (("rdna4",), "v_s_rcp_f32 v_s_rsq_f32 v_s_sqrt_f32", "as v_rcp_f32, v_rsq_f32 and v_sqrt_f32"),
    (_ALL, "v_rsq_f16", "it rounds the root and then its reciprocal; the error allowed is 0.51 of the last place"),
    (
        _ALL,
        "v_frexp_exp_i16_f16 v_frexp_exp_i32_f32 v_frexp_exp_i32_f64",
        "of 0 it gives the least exponent, and of subnormal numbers too; frexp wants 0, and the exponent",
    ),
    (
        _ALL,
        "v_div_fixup_f32 v_div_fixup_f64",
        "for overflow it asks for the exponent of the denominator, of which infinity was asked before; a quotient "
        "that is NaN for an overflow on the way must become infinity",
    ),
    (
        _ALL,
        "v_div_fmas_f32 v_div_fmas_f64",
        "it scales up by 2^32 or 2^64; what v_div_scale scaled is 2^64 or 2^128 away, in either direction",
    ),
    (
        ("cdna",),
        "v_max_f16 v_max_f32 v_max_f64 v_min_f16 v_min_f32 v_min_f64 v_max3_f16 v_max3_f32 v_min3_f16 v_min3_f32 "
        "v_pk_max_f16 v_pk_min_f16",
        "it asks for zeros by == +0.0 and == -0.0, which is the same; +0 is above -0, as RDNA's has it",
    ),
    (("cdna", "rdna3"), "v_med3_f16 v_med3_f32", "it asks by == which is the largest, of which -0 and +0 are the same"),
    (("rdna4",), "v_med3_num_f16 v_med3_num_f32", "as v_med3_f32"),
]

ERRATA: dict[str, dict[str, str]] = {
    family: {name: why for families, names, why in _ROWS if family in families for name in names.split()}
    for family in _ALL
}
"""By tinygrad's table and mnemonic: what is wrong in it."""
