"""A parameter list as written against that of the specs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from conformance.dtypes import dtype
from conformance.sources import CType, Param, c_type, is_other_float8
from conformance.spec.kernel import Kernel, Parameter

# Names that ports give to their own narrow floats; searched for in the last part of a type's name, in this order.
_OWN_FLOATS = (
    ("bf16", re.compile(r"bf16|bfloat16", re.IGNORECASE)),
    ("f8e4m3", re.compile(r"f8|fp8|float8|e4m3", re.IGNORECASE)),
    ("f16", re.compile(r"f16|fp16|float16|half", re.IGNORECASE)),
)
_NARROW = ("f16", "bf16", "f8e4m3")
# The integers that hold the bits of a narrow float.
_STORAGE = {2: ("unsigned short", "uint16_t", "short unsigned int"), 1: ("unsigned char", "uint8_t")}
_WORD_ORDER = {"long unsigned int": "unsigned long", "long long unsigned int": "unsigned long long"}


class Difference(NamedTuple):
    """A kind of finding and what differs, in words."""

    kind: str
    message: str


def differences(kernel: Kernel, params: Sequence[Param]) -> list[Difference]:
    """Every difference between ``params`` and the spec's parameters; one only where count or order differ.

    Names alone are free. Parameters whose names are all the spec's, in another order, are told as swapped, which is
    the only trace of two swapped parameters of one type.
    """
    wanted = kernel.params
    if len(params) != len(wanted):
        have = ", ".join(_written(param) for param in params) or "none"
        return [
            Difference("parameter_count", f"has {len(params)} ({have}), Candle's has {len(wanted)} ({_all(wanted)})")
        ]
    swapped = _swapped(params, wanted)
    if swapped:
        return [Difference("parameter_order", swapped)]
    return [
        difference
        for position, (have, want) in enumerate(zip(params, wanted, strict=True), 1)
        for difference in _differs(position, have, want)
    ]


def _swapped(params: Sequence[Param], wanted: Sequence[Parameter]) -> str | None:
    names = [param.name for param in params]
    right = [parameter.name for parameter in wanted]
    if names == right or Counter(names) != Counter(right):
        return None
    moved = [
        f"parameter {n} is {have}, Candle's is {want}"
        for n, (have, want) in enumerate(zip(names, right, strict=True), 1)
        if have != want
    ]
    return "; ".join(moved)


def _differs(position: int, have: Param, want: Parameter) -> Iterator[Difference]:
    kind = c_type(have.type)
    said = f"parameter {position} is {_written(have)}, Candle's is {spelled(want)}"
    if kind.pointers != int(want.pointer):
        yield Difference("parameter_type", said)
        return
    if want.dtype == "void*":
        return
    fits = _fits(kind, want.dtype)
    if fits is None:
        yield Difference("unknown_type", f"{said}; the source does not tell what {kind.base} is")
    elif not fits:
        yield Difference("pointee_type" if want.pointer else "parameter_type", said)


def _fits(kind: CType, wanted: str) -> bool | None:
    """Whether the type is the spec's ``wanted``; ``None`` where that cannot be told."""
    base = _WORD_ORDER.get(kind.base, kind.base)
    dtypes = kind.dtypes or c_type(base).dtypes
    if wanted in dtypes:
        return True
    if wanted in _NARROW and base in _STORAGE[dtype(wanted).size]:
        return True
    if dtypes or is_other_float8(base) or base in ("unsigned short", "short unsigned int", "char", "signed char"):
        return False
    own = next((name for name, pattern in _OWN_FLOATS if pattern.search(base.rpartition("::")[2])), None)
    return None if own is None else own == wanted


def spelled(parameter: Parameter) -> str:
    """A spec's parameter as C would have it: ``f32* out``."""
    star = "" if parameter.dtype.endswith("*") or not parameter.pointer else "*"
    return f"{parameter.dtype}{star} {parameter.name}"


def _written(param: Param) -> str:
    return f"{param.type} {param.name}".replace("* ", "*").strip()


def _all(parameters: Sequence[Parameter]) -> str:
    return ", ".join(map(spelled, parameters))
