"""Atomic operations, as numpy has them: what becomes of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.isa_runtime.instructions.floats import maximum, minimum
from tests.isa_runtime.instructions.memory import Atomic
from tests.isa_runtime.instructions.vector import Array

U, S, L, I64, F16, F32, F64 = np.uint32, np.int32, np.uint64, np.int64, np.float16, np.float32, np.float64


def of_two(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array, Array], Array]:
    return lambda m, d, e: function(m, d)


def compared(m: Array, d: Array, e: Array) -> Array:
    return np.where(m == e, d, m)


def added_halves(m: Array, d: Array) -> Array:
    return (m.view(F16) + d.view(F16)).view(U)


def rows() -> list[Atomic]:
    same: list[tuple[str, Callable[[Array, Array], Array]]] = [
        ("and", np.bitwise_and),
        ("or", np.bitwise_or),
        ("xor", np.bitwise_xor),
    ]
    found = []
    for name, f in same:
        found.append(Atomic(f"{name} {name}_b32", f"{name}_b32", U, of_two(f)))
        found.append(Atomic(f"{name}_x2", "", L, of_two(f)))
    sums: list[tuple[str, str, Any, Callable[[Array, Array], Array]]] = [
        ("add add_u32", "add_u32", U, np.add),
        ("add_x2 add_u64", "add_u64", L, np.add),
        ("sub sub_u32", "sub_u32", U, np.subtract),
        ("sub_x2", "", L, np.subtract),
        ("smin min_i32", "min_i32", S, np.minimum),
        ("umin min_u32", "min_u32", U, np.minimum),
        ("smax max_i32", "max_i32", S, np.maximum),
        ("umax max_u32", "max_u32", U, np.maximum),
        ("smin_x2", "", I64, np.minimum),
        ("umin_x2", "", L, np.minimum),
        ("smax_x2", "", I64, np.maximum),
        ("umax_x2", "", L, np.maximum),
        ("swap swap_b32", "wrxchg_b32", U, lambda m, d: d),
        ("swap_x2 swap_b64", "wrxchg_b64", L, lambda m, d: d),
        ("inc", "", U, lambda m, d: np.where(m >= d, 0, m + 1)),
        ("dec", "", U, lambda m, d: np.where((m == 0) | (m > d), d, m - 1)),
        ("add_f32", "add_f32", F32, np.add),
        ("add_f64", "add_f64", F64, np.add),
        ("min_f64", "", F64, minimum),
        ("max_f64", "", F64, maximum),
        ("pk_add_f16", "", U, added_halves),
    ]
    return [
        *found,
        *(Atomic(names, lds, kind, of_two(f)) for names, lds, kind, f in sums),
        Atomic("cmpswap cmpswap_b32", "cmpst_b32", U, compared),
        Atomic("cmpswap_x2 cmpswap_b64", "cmpst_b64", L, compared),
    ]
