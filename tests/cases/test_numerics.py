"""Whether the values can tell wrong arithmetic: a formula that ports get wrong must differ from the reference."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from listed import kernel
from numpy.typing import NDArray

import reference
from conformance.cases import cases_for, launch_for
from conformance.cases.launch import Null
from conformance.dtypes import DTYPES
from conformance.spec.kernel import Kernel

Array = NDArray[Any]
Wrong = Callable[[dict[str, Any]], Array]


def _expected(k: Kernel, arguments: dict[str, Any]) -> Array:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        (answer,) = reference.evaluate(k.module, k.family, k.variant, 0, arguments).values()
    content: Array = answer.value[: int(arguments["numel"])]
    return content


def _differ(left: Array, right: Array) -> bool:
    """Whether two arrays differ: NaN equals NaN, -0 does not equal 0."""
    bits = np.dtype(f"u{left.itemsize}")
    unequal: Array = left.view(bits) != right.astype(left.dtype).view(bits)
    if left.dtype.kind in "iu":
        return bool(unequal.any())
    with np.errstate(invalid="ignore"):  # signalling NaN
        nan = np.isnan(left.astype(np.float64)) & np.isnan(right.astype(np.float64))
    return bool((unequal & ~nan).any())


def _far(left: Array, right: Array) -> bool:
    """Whether two arrays differ by more than a thousandth somewhere, or in what is NaN or infinite."""
    left, right = left.astype(np.float64), right.astype(np.float64)
    finite = np.isfinite(left) & np.isfinite(right)
    with np.errstate(all="ignore"):
        far = finite & (np.abs(left - right) > 1e-3 * np.maximum(np.abs(left), np.abs(right)))
    other = ~finite & ~((left == right) | (np.isnan(left) & np.isnan(right)))
    return bool((far | other).any())


def _told(name: str, wrong: Wrong, differ: Callable[[Array, Array], bool] = _differ) -> list[str]:
    """Ids of the contiguous cases of kernel ``name`` in which ``wrong`` answers differently."""
    k = kernel(name)
    told = []
    for case in cases_for(k):
        launch = launch_for(k, case)
        arguments = launch.reference_arguments()
        contiguous = any(isinstance(a, Null) and a.name in ("info", "dims_and_strides") for a in launch.args)
        n = int(arguments["numel"])
        if not contiguous or n == 0 or arguments.get("inp", 0) is None:
            continue
        cut = {key: value[:n] if np.ndim(value) == 1 else value for key, value in arguments.items()}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answer = wrong(cut)
            if differ(_expected(k, arguments), answer):
                told.append(case.id)
    return told


def _pick(left: Array, a: dict[str, Any]) -> Array:
    picked: Array = np.where(left, a["lhs"], a["rhs"])
    return picked


def _as_f32(a: Array) -> Array:
    return a.astype(np.float32)


MISTAKES: tuple[tuple[str, str, Wrong], ...] = (
    ("N01 NaN kept", "bmaximum_f32", lambda a: np.maximum(a["lhs"], a["rhs"])),
    ("N01 NaN lost", "bmaximum_f16", lambda a: np.fmax(a["lhs"], a["rhs"])),
    ("R03 a > b ? a : b", "bmaximum_f64", lambda a: _pick(a["lhs"] > a["rhs"], a)),
    ("R03 a < b ? a : b", "bminimum_f32", lambda a: _pick(a["lhs"] < a["rhs"], a)),
    ("N01 relu keeps NaN", "urelu_f32", lambda a: np.where(a["inp"] < 0, np.float32(0), a["inp"])),
    ("N01 relu drops NaN", "urelu_bf16", lambda a: np.where(a["inp"] > 0, a["inp"], a["inp"].dtype.type(0))),
    ("N07 sign of NaN", "usign_f32", lambda a: np.sign(a["inp"])),
    ("N07 sign of zero", "usign_f64", lambda a: np.copysign(1.0, a["inp"])),
    ("N08 -0 lost", "uneg_f32", lambda a: np.float32(0) - a["inp"]),
    ("N08 -0 lost", "uabs_f64", lambda a: np.where(a["inp"] < 0, -a["inp"], a["inp"])),
    ("N08 -0 lost", "uceil_f32", lambda a: np.ceil(a["inp"]) + np.float32(0)),
    ("round half to even", "uround_f32", lambda a: np.rint(a["inp"])),
    ("round by adding a half", "uround_f64", lambda a: np.copysign(np.floor(np.abs(a["inp"]) + 0.5), a["inp"])),
    ("N13 flush", "urecip_f32", lambda a: 1 / np.where(np.abs(a["inp"]) < 2.0**-126, np.float32(0), a["inp"])),
    ("N18 not less for ge", "ge_f32", lambda a: (~(a["lhs"] < a["rhs"])).astype(np.uint8)),
    ("N18 not greater or equal for lt", "lt_f64", lambda a: (~(a["lhs"] >= a["rhs"])).astype(np.uint8)),
    (
        "N18 less or greater for ne",
        "ne_f32",
        lambda a: ((a["lhs"] < a["rhs"]) | (a["lhs"] > a["rhs"])).astype(np.uint8),
    ),
    ("N18 bits compared", "eq_f32", lambda a: (a["lhs"].view("u4") == a["rhs"].view("u4")).astype(np.uint8)),
    ("N18 output not 0 or 1", "eq_i64", lambda a: (a["lhs"] == a["rhs"]).astype(np.uint8) * np.uint8(255)),
    ("unsigned compared signed", "lt_u32", lambda a: (a["lhs"].view("i4") < a["rhs"].view("i4")).astype(np.uint8)),
    ("signed compared unsigned", "gt_i64", lambda a: (a["lhs"].view("u8") > a["rhs"].view("u8")).astype(np.uint8)),
    ("F08 f8 compared as bytes", "lt_f8_e4m3", lambda a: (a["lhs"].view("u1") < a["rhs"].view("u1")).astype(np.uint8)),
    ("R10 f64 through f32", "badd_f64", lambda a: (_as_f32(a["lhs"]) + _as_f32(a["rhs"])).astype(np.float64)),
    ("N15 saturated to u8", "cast_f32_u8", lambda a: np.clip(np.nan_to_num(a["inp"]), 0, 255).astype(np.uint8)),
    (
        "N15 negatives wrap",
        "cast_f32_u8",
        lambda a: np.trunc(np.nan_to_num(a["inp"])).astype(np.int64).astype(np.uint8),
    ),
    ("N15 no saturation", "cast_f64_u32", lambda a: np.nan_to_num(a["inp"]).astype(np.int64).astype(np.uint32)),
    ("N15 NaN to 0", "cast_f32_i64", lambda a: np.where(np.isnan(a["inp"]), 0, a["inp"]).astype(np.int64)),
    ("F01 truncated", "cast_f32_bf16", lambda a: (a["inp"].view("u4") >> 16).astype("u2").view(_type("bf16"))),
    ("rounded twice", "cast_f64_bf16", lambda a: _as_f32(a["inp"]).astype(_type("bf16"))),
    ("rounded twice", "cast_f64_f16", lambda a: _as_f32(a["inp"]).astype(np.float16)),
    ("F05, F06 NaN for saturation", "cast_f32_f8_e4m3", lambda a: a["inp"].astype(_type("f8e4m3"))),
    ("F04 NaN read as 480", "cast_f8_e4m3_f32", lambda a: _nan_as_480(a["inp"])),
    ("through i32", "cast_i64_f64", lambda a: a["inp"].astype(np.int32).astype(np.float64)),
    ("u32 read signed", "cast_u32_f32", lambda a: a["inp"].view("i4").astype(np.float32)),
    ("N14 two roundings", "affine_f32", lambda a: a["inp"] * a["mul"] + a["add"]),
    ("N14 one rounding in f64 only", "affine_f64", lambda a: a["inp"] * a["mul"] + a["add"]),
    ("N17 saturated", "affine_u8", lambda a: np.clip(a["inp"].astype(int) * int(a["mul"]) + int(a["add"]), 0, 255)),
)

# Library functions: the last bits differ anyway, so these must be far off.
FAR_OFF: tuple[tuple[str, str, Wrong], ...] = (
    ("N05 tan for tanh", "utanh_f64", lambda a: np.tan(a["inp"])),
    ("N19 elu ignores alpha", "uelu_f64", lambda a: np.where(a["inp"] > 0, a["inp"], np.exp(a["inp"]) - 1)),
    ("N09 pow as exp of log", "upowf_f64", lambda a: np.exp(a["param"] * np.log(a["inp"]))),
    ("N20 silu as x times sigmoid", "usilu_f32", lambda a: a["inp"] * (np.exp(a["inp"]) / (1 + np.exp(a["inp"])))),
    ("N10 no range reduction", "usin_f32", lambda a: np.where(np.abs(a["inp"]) > 1e5, np.float32(0), np.sin(a["inp"]))),
)

EXCHANGED = (
    ("ugelu", "gelu_erf"),  # N02
    ("ugelu_erf", "gelu"),  # N02
    ("uceil", "round"),
    ("ufloor", "round"),
    ("usin", "cos"),
    ("usigmoid", "silu"),
    ("urelu", "abs"),
    ("unormcdf", "erf"),
)


def _type(name: str) -> np.dtype[Any]:
    return DTYPES[name].numpy


def _nan_as_480(inp: Array) -> Array:
    value = inp.astype(np.float32)
    return np.where(np.isnan(value), np.copysign(np.float32(480), value), value)


@pytest.mark.parametrize(("what", "name", "wrong"), MISTAKES, ids=[f"{row[1]} {row[0]}" for row in MISTAKES])
def test_the_values_tell(what: str, name: str, wrong: Wrong) -> None:
    assert _told(name, wrong) != [], what


@pytest.mark.parametrize(("what", "name", "wrong"), FAR_OFF, ids=[f"{row[1]} {row[0]}" for row in FAR_OFF])
def test_the_values_tell_by_far(what: str, name: str, wrong: Wrong) -> None:
    assert _told(name, wrong, _far) != [], what


FLOATS = ("bf16", "f16", "f32", "f64", "fp8_e4m3")

# Both forms of gelu agree for all 256 patterns of f8.
TOLD = [(n, op, t) for n, op in EXCHANGED for t in FLOATS if not (t == "fp8_e4m3" and "gelu" in n)]


@pytest.mark.slow("builds the cases of every kernel")
@pytest.mark.parametrize(("name", "op", "dtype"), TOLD)
def test_the_values_tell_one_operation_from_another(name: str, op: str, dtype: str) -> None:
    k = kernel(f"{name}_{dtype}")
    other = dataclasses.replace(k, variant={**k.variant, "op": op})
    found = [
        case.id
        for case in cases_for(k)
        if _differ(
            _expected(k, launch_for(k, case).reference_arguments()),
            _expected(other, launch_for(k, case).reference_arguments()),
        )
    ]
    assert len(found) > 5


def test_the_right_formula_is_not_told() -> None:
    assert _told("badd_f32", lambda a: a["lhs"] + a["rhs"]) == []
    assert _told("lt_f64", lambda a: (a["lhs"] < a["rhs"]).astype(np.uint8)) == []
    assert _told("cast_u8_f32", lambda a: a["inp"].astype(np.float32)) == []
