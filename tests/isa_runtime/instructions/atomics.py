"""Atomic operations, as numpy has them: what becomes of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.dtypes import dtype
from tests.isa_runtime.instructions.floats import maximum, maximum_number, minimum, minimum_number
from tests.isa_runtime.instructions.memory import Atomic
from tests.isa_runtime.instructions.vector import Array

U, S, L, I64, F16, F32, F64 = np.uint32, np.int32, np.uint64, np.int64, np.float16, np.float32, np.float64


def of_two(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array, Array], Array]:
    return lambda m, d, e: function(m, d)


def compared(m: Array, d: Array, e: Array) -> Array:
    return np.where(m == e, d, m)


def added_halves(m: Array, d: Array) -> Array:
    return (m.view(F16) + d.view(F16)).view(U)


def added_brain_floats(m: Array, d: Array) -> Array:
    kind = dtype("bf16").numpy
    return (m.view(kind) + d.view(kind)).view(U)


def incremented(m: Array, d: Array) -> Array:
    return np.where(m >= d, 0, m + 1).astype(m.dtype)


def decremented(m: Array, d: Array) -> Array:
    return np.where((m == 0) | (m > d), d, m - 1).astype(m.dtype)


def rows() -> list[Atomic]:
    same: list[tuple[str, Callable[[Array, Array], Array]]] = [
        ("and", np.bitwise_and),
        ("or", np.bitwise_or),
        ("xor", np.bitwise_xor),
    ]
    found = []
    for name, f in same:
        found.append(Atomic(f"{name} {name}_b32", f"{name}_b32", U, of_two(f)))
        found.append(Atomic(f"{name}_x2 {name}_b64", f"{name}_b64", L, of_two(f)))
    sums: list[tuple[str, str, Any, Callable[[Array, Array], Array]]] = [
        ("add add_u32", "add_u32", U, np.add),
        ("add_x2 add_u64", "add_u64", L, np.add),
        ("sub sub_u32", "sub_u32", U, np.subtract),
        ("sub_x2 sub_u64", "sub_u64", L, np.subtract),
        ("", "rsub_u32", U, lambda m, d: d - m),
        ("", "rsub_u64", L, lambda m, d: d - m),
        ("csub csub_u32 sub_clamp_u32", "sub_clamp_u32", U, lambda m, d: np.where(m >= d, m - d, 0)),
        ("cond_sub_u32", "cond_sub_u32", U, lambda m, d: np.where(m >= d, m - d, m)),
        ("smin min_i32", "min_i32", S, np.minimum),
        ("umin min_u32", "min_u32", U, np.minimum),
        ("smax max_i32", "max_i32", S, np.maximum),
        ("umax max_u32", "max_u32", U, np.maximum),
        ("smin_x2 min_i64", "min_i64", I64, np.minimum),
        ("umin_x2 min_u64", "min_u64", L, np.minimum),
        ("smax_x2 max_i64", "max_i64", I64, np.maximum),
        ("umax_x2 max_u64", "max_u64", L, np.maximum),
        ("swap swap_b32", "wrxchg_b32 storexchg_b32", U, lambda m, d: d),
        ("swap_x2 swap_b64", "wrxchg_b64 storexchg_b64", L, lambda m, d: d),
        ("inc inc_u32", "inc_u32", U, incremented),
        ("dec dec_u32", "dec_u32", U, decremented),
        ("inc_x2 inc_u64", "inc_u64", L, incremented),
        ("dec_x2 dec_u64", "dec_u64", L, decremented),
        ("add_f32", "add_f32", F32, np.add),
        ("add_f64", "add_f64", F64, np.add),
        ("min_f32 fmin", "min_f32", F32, minimum),
        ("max_f32 fmax", "max_f32", F32, maximum),
        ("min_f64 fmin_x2", "min_f64", F64, minimum),
        ("max_f64 fmax_x2", "max_f64", F64, maximum),
        ("min_num_f32", "min_num_f32", F32, minimum_number),
        ("max_num_f32", "max_num_f32", F32, maximum_number),
        ("", "min_num_f64", F64, minimum_number),
        ("", "max_num_f64", F64, maximum_number),
        ("pk_add_f16", "pk_add_f16", U, added_halves),
        ("pk_add_bf16", "pk_add_bf16", U, added_brain_floats),
    ]
    return [
        *found,
        *(Atomic(names, lds, kind, of_two(f)) for names, lds, kind, f in sums),
        Atomic("cmpswap cmpswap_b32", "cmpst_b32 cmpstore_b32", U, compared),
        Atomic("cmpswap_x2 cmpswap_b64", "cmpst_b64 cmpstore_b64", L, compared),
        Atomic("", "cmpst_f32 cmpstore_f32", F32, compared),
        Atomic("", "cmpst_f64 cmpstore_f64", F64, compared),
        Atomic("", "mskor_b32", U, lambda m, d, e: m & ~d | e),
        Atomic("", "mskor_b64", L, lambda m, d, e: m & ~d | e),
    ]
