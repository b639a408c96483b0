"""v_cmp and v_cmpx: a bit for each lane, as numpy compares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.isa_runtime.instructions.floats import biased_exponent, signalling
from tests.isa_runtime.instructions.vector import Array, Row

Two = Callable[[Array, Array], Array]
ORDERED: dict[str, Two] = {
    "lt": np.less,
    "eq": np.equal,
    "le": np.less_equal,
    "gt": np.greater,
    "lg": lambda a, b: np.less(a, b) | np.greater(a, b),
    "ge": np.greater_equal,
    "o": lambda a, b: ~np.isnan(a) & ~np.isnan(b),
}
"""Of floats: false where one is NaN."""
NEGATED = {"u": "o", "nge": "ge", "nlg": "lg", "ngt": "gt", "nle": "le", "neq": "eq", "nlt": "lt"}
INTEGERS: dict[str, Two] = {name: ORDERED[name] for name in ("lt", "eq", "le", "gt", "ge")} | {"ne": np.not_equal}


def never(a: Array, b: Array) -> Array:
    return np.zeros(a.size, bool)


def always(a: Array, b: Array) -> Array:
    return np.ones(a.size, bool)


def negated(function: Two) -> Two:
    return lambda a, b: ~function(a, b)


FLOATS: dict[str, Two] = ORDERED | {name: negated(ORDERED[of]) for name, of in NEGATED.items()}


def in_class(a: Array, b: Array) -> Array:
    """v_cmp_class: a bit of ``b`` for each class, from signalling NaN on."""
    exponent, top = biased_exponent(a), 2 * np.finfo(a.dtype).maxexp - 1
    size = np.select([np.isnan(a), exponent == top, exponent > 0, a != 0], [0, 2, 3, 4], 5)
    place = np.where(np.signbit(a), size, 11 - size)
    place = np.where(np.isnan(a), np.where(signalling(a), 0, 1), place)
    return b.astype(np.int64) >> place & 1 == 1


def rows() -> list[Row]:
    functions: list[tuple[str, Any, Any, Two]] = []
    for suffix, kind in (("f16", np.float16), ("f32", np.float32), ("f64", np.float64)):
        both = FLOATS | {"f": never, "tru t": always}
        functions += [(f"{name}_{suffix}", kind, kind, f) for names, f in both.items() for name in names.split()]
        functions.append((f"class_{suffix}", kind, np.uint16 if kind is np.float16 else np.uint32, in_class))
    for prefix, sign in (("u", "u"), ("i", "i")):
        for size in (16, 32, 64):
            kind = np.dtype(f"{sign}{size // 8}").type
            both = INTEGERS | {"f": never, "t": always}
            functions += [(f"{name}_{prefix}{size}", kind, kind, f) for name, f in both.items()]
    return [
        Row(f"{prefix}_{name}", bool, (kind, other), function, form)
        for name, kind, other, function in functions
        for prefix, form in (("v_cmp", "mask"), ("v_cmpx", "exec"))
    ]
