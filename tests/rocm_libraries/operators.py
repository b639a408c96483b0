"""The operators and functions of HIP's 16- and 8-bit types as rows, and the C++ that applies each to arrays.

The same rows are compiled with AMD's headers and with the cpu runtime's, for the host. A row that a header does not
have is left out there: ``NAME`` returns whether it is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Row(NamedTuple):
    """``expression`` of operands ``a``, ``b`` of the C++ types ``operands``, which gives a ``result``."""

    name: str
    operands: tuple[str, ...]
    result: str
    expression: str


INTEGERS = {
    "schar": "signed char",
    "uchar": "unsigned char",
    "short": "short",
    "ushort": "unsigned short",
    "int": "int",
    "uint": "unsigned",
    "long": "long",
    "ulong": "unsigned long",
    "ll": "long long",
    "ull": "unsigned long long",
}
"""By the names that functions have for them."""

SIXTEEN = {"f16": "__half", "bf16": "__hip_bfloat16", "old_bf16": "hip_bfloat16"}
EIGHT = {
    "e4m3": ("__hip_fp8_e4m3", "__HIP_E4M3"),
    "e5m2": ("__hip_fp8_e5m2", "__HIP_E5M2"),
    "e4m3_fnuz": ("__hip_fp8_e4m3_fnuz", "__HIP_E4M3_FNUZ"),
    "e5m2_fnuz": ("__hip_fp8_e5m2_fnuz", "__HIP_E5M2_FNUZ"),
}
_PAIRS = {"__half": "__half2", "__hip_bfloat16": "__hip_bfloat162"}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def rows() -> Iterator[Row]:
    """All rows; names are unique."""
    for prefix, kind in SIXTEEN.items():
        yield from _conversions(prefix, kind)
        yield from _operators(prefix, kind)
        if kind in _PAIRS:
            yield from _functions(prefix, kind)
            yield from _pairs(prefix, _PAIRS[kind])
    yield from _of_half()
    yield from _of_bfloat16()
    for prefix, (kind, interpretation) in EIGHT.items():
        yield from _conversions(prefix, kind)
        yield from _of_float8(prefix, kind, interpretation)


def _conversions(prefix: str, kind: str) -> Iterator[Row]:
    for name, other in {"bool": "bool", "float": "float", "double": "double", **INTEGERS}.items():
        yield Row(f"{prefix}_to_{name}", (kind,), other, f"static_cast<{other}>(a)")
        if name != "bool":
            yield Row(f"{prefix}_from_{name}", (other,), kind, f"static_cast<{kind}>(a)")
            yield Row(f"{prefix}_assigned_{name}", (other,), kind, f"assigned<{kind}>(a)")


def _operators(prefix: str, kind: str) -> Iterator[Row]:
    for name, sign in _COMPARISONS.items():
        yield Row(f"{prefix}_{name}", (kind, kind), "bool", f"a {sign} b")
    for name, sign in _ARITHMETIC.items():
        yield Row(f"{prefix}_{name}", (kind, kind), kind, f"a {sign} b")
        yield Row(f"{prefix}_{name}_assign", (kind, kind), kind, f"a {sign}= b")
    for name, expression in {"plus": "+a", "minus": "-a", "up": "++a", "down": "--a"}.items():
        yield Row(f"{prefix}_{name}", (kind,), kind, expression)
    for name, expression in {"up": "a++", "down": "a--"}.items():
        yield Row(f"{prefix}_before_{name}", (kind,), kind, expression)
        yield Row(f"{prefix}_after_{name}", (kind,), kind, f"({expression}, a)")


def _functions(prefix: str, kind: str) -> Iterator[Row]:
    for name in (*_ORDERED, *(f"{name}u" for name in _ORDERED)):
        yield Row(f"{prefix}_h{name}", (kind, kind), "bool", f"__h{name}(a, b)")
    for name in ("add", "sub", "mul", "div", "add_rn", "sub_rn", "mul_rn", "add_sat", "sub_sat", "mul_sat"):
        yield Row(f"{prefix}_h{name}", (kind, kind), kind, f"__h{name}(a, b)")
    for name in ("max", "min", "max_nan", "min_nan"):
        yield Row(f"{prefix}_h{name}", (kind, kind), kind, f"__h{name}(a, b)")
    for name in ("neg", "abs"):
        yield Row(f"{prefix}_h{name}", (kind,), kind, f"__h{name}(a)")
    for name in ("floor", "ceil", "trunc", "rint", "sqrt", "rcp"):
        yield Row(f"{prefix}_h{name}", (kind,), kind, f"h{name}(a)")
    yield Row(f"{prefix}_hisnan", (kind,), "bool", "__hisnan(a)")
    yield Row(f"{prefix}_hisinf", (kind,), "bool", "__hisinf(a)")


def _pairs(prefix: str, pair: str) -> Iterator[Row]:
    """Of pairs, made of both operands in both orders."""
    one = pair[:-1]
    made, turned = "Pair<Ta>(a, b)", "Pair<Ta>(b, a)"
    both = f"{made}, {turned}"
    for name in (*_ORDERED, *(f"{name}u" for name in _ORDERED)):
        yield Row(f"{prefix}2_h{name}", (one, one), pair, f"__h{name}2({both})")
        yield Row(f"{prefix}2_hb{name}", (one, one), "bool", f"__hb{name}2({both})")
    for name, sign in _COMPARISONS.items():
        yield Row(f"{prefix}2_{name}", (one, one), "bool", f"{made} {sign} {turned}")
    for name, sign in _ARITHMETIC.items():
        function = "__h2div" if name == "div" else f"__h{name}2"
        yield Row(f"{prefix}2_h{name}", (one, one), pair, f"{function}({both})")
        yield Row(f"{prefix}2_{name}", (one, one), pair, f"{made} {sign} {turned}")
    for name in ("max", "min"):
        yield Row(f"{prefix}2_h{name}", (one, one), pair, f"__h{name}2({both})")
    for name in ("neg", "abs", "isnan"):
        yield Row(f"{prefix}2_h{name}", (one, one), pair, f"__h{name}2({made})")
    yield Row(f"{prefix}2_minus", (one, one), pair, f"-{made}")
    for name in ("floor", "ceil", "trunc", "rint", "sqrt", "rcp"):
        yield Row(f"{prefix}2_h{name}", (one, one), pair, f"h2{name}({made})")


def _of_half() -> Iterator[Row]:
    for mode in ("rn", "rz", "rd", "ru"):
        yield Row(f"f16_float2half_{mode}", ("float",), "__half", f"__float2half_{mode}(a)")
        for name in ("short", "ushort", "int", "uint", "ll", "ull"):
            kind = INTEGERS[name]
            yield Row(f"f16_half2{name}_{mode}", ("__half",), kind, f"__half2{name}_{mode}(a)")
            yield Row(f"f16_{name}2half_{mode}", (kind,), "__half", f"__{name}2half_{mode}(a)")
    yield Row("f16_half2float", ("__half",), "float", "__half2float(a)")
    yield Row("f16_float2half", ("float",), "__half", "__float2half(a)")


def _of_bfloat16() -> Iterator[Row]:
    yield Row("bf16_bfloat162float", ("__hip_bfloat16",), "float", "__bfloat162float(a)")
    yield Row("bf16_float2bfloat16", ("float",), "__hip_bfloat16", "__float2bfloat16(a)")
    yield Row("bf16_double2bfloat16", ("double",), "__hip_bfloat16", "__double2bfloat16(a)")
    yield Row("old_bf16_truncated", ("float",), "hip_bfloat16", "decltype(hip_bfloat16(a))(a, hip_bfloat16::truncate)")
    yield Row("old_bf16_rounded", ("float",), "hip_bfloat16", "hip_bfloat16::round_to_bfloat16(a)")


def _of_float8(prefix: str, kind: str, interpretation: str) -> Iterator[Row]:
    for name, sixteen in (("f16", "__half"), ("bf16", "__hip_bfloat16")):
        yield Row(f"{prefix}_to_{name}", (kind,), sixteen, f"static_cast<{sixteen}>(a)")
        yield Row(f"{prefix}_from_{name}", (sixteen,), kind, f"static_cast<{kind}>(a)")
    yield Row(f"{prefix}_cvt_to_halfraw", (kind,), "__half_raw", f"__hip_cvt_fp8_to_halfraw(a.__x, {interpretation})")
    sources = {"float": ("float", "a"), "double": ("double", "a"), "halfraw": ("__half", "__half_raw(a)")}
    sources["bfloat16raw"] = ("__hip_bfloat16", "__hip_bfloat16_raw(a)")
    for name, (source, given) in sources.items():
        for saturation in ("SATFINITE", "NOSAT"):
            call = f"__hip_cvt_{name}_to_fp8({given}, __HIP_{saturation}, {interpretation})"
            yield Row(f"{prefix}_cvt_{name}_{saturation.lower()}", (source,), "unsigned char", call)
    for name, sign in _COMPARISONS.items():
        yield Row(f"{prefix}_{name}", (kind, kind), "bool", f"a {sign} b")
    for name, sign in _ARITHMETIC.items():
        yield Row(f"{prefix}_{name}", (kind, kind), "float", f"a {sign} b")
    yield Row(f"{prefix}_minus", (kind,), "float", "-a")


HEAD = """
template <class T>
struct PairOf;
template <>
struct PairOf<__half> {
  using type = __half2;
};
#if defined(HAS_FLOAT8)
template <>
struct PairOf<__hip_bfloat16> {
  using type = __hip_bfloat162;
};
#endif
template <class T>
using Pair = typename PairOf<T>::type;
template <class T, class From>
T assigned(From value) requires requires(T to) { to = value; } { T to; to = value; return to; }
"""


def source(wanted: Iterator[Row], absent: re.Pattern[str]) -> str:
    """C++ with a function per row, ``bool NAME(long n, void **arrays)``, of which the last array is the result; one
    that mentions what is ``absent`` returns false."""
    lines = [HEAD]
    for row in wanted:
        name, letters = row.name, "ab"[: len(row.operands)]
        lines.append(f'extern "C" __attribute__((visibility("default"))) bool {name}(long n, void **given) {{')
        if absent.search(" ".join((*row.operands, row.result, row.expression))):
            lines += ["  return false;", "}"]
            continue
        lines.append(
            "  return [&]<"
            + ", ".join(f"class T{one}" for one in letters)
            + ">("
            + ", ".join(f"const T{one} *in_{one}" for one in letters)
            + ") {"
        )
        operands = ", ".join(f"T{one} {one}" for one in letters)
        lines.append(f"    if constexpr (requires({operands}) {{ static_cast<{row.result}>({row.expression}); }}) {{")
        lines.append("      for (long i = 0; i < n; ++i) {")
        lines += [f"        T{one} {one} = in_{one}[i];" for one in letters]
        lines.append(
            f"        static_cast<{row.result} *>(given[{len(letters)}])[i] = "
            f"static_cast<{row.result}>({row.expression});"
        )
        lines += ["      }", "      return true;", "    } else {", "      return false;", "    }"]
        calls = ", ".join(f"static_cast<const {kind} *>(given[{at}])" for at, kind in enumerate(row.operands))
        lines += [f"  }}({calls});", "}"]
    return "\n".join(lines) + "\n"
