"""What a case has, by its id: strided operands, a null input, NaN among its values."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from conformance.cases.case import parse_fields
from conformance.cases.layouts import is_layout
from conformance.cases.spread import FAR

NOT_CONTIGUOUS = "operands that are not contiguous"
EMPTY = "no elements"
BEYOND_INT = "offsets above 2^31 elements"

_NUMBER = re.compile(r"-?[0-9]{1,19}")
_LAYOUT_FIELDS = ("layout", "lhs", "rhs", "ids", "t", "f", "source", "kernel")
_STRIDES = ("src_s", "dst_s")
_PLAIN = ("contiguous", "ones", "narrowed_first")
_WITH_NAN = ("wide", "special", "core", "exhaustive", "poles")
_NONE_IDS = ("none", "mixed", "limits")
_DUPLICATES = ("few", "one")


@dataclass(frozen=True)
class RecordedFields:
    """The fields of a case id, read leniently: a record may come from other cases than these."""

    texts: dict[str, str]

    def numbers(self, name: str) -> tuple[int, ...]:
        """Field ``name`` as integers: ``3`` or ``[3,5]``; empty where it is absent or something else."""
        parts = self.texts.get(name, "").strip("[]").split(",")
        return tuple(map(int, parts)) if all(map(_NUMBER.fullmatch, parts)) else ()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numbers("shape")

    def layouts(self) -> list[str]:
        """The layouts that are not plain; one of a single dimension without gaps is plain."""
        named = [self.texts.get(name, "") for name in _LAYOUT_FIELDS]
        flat = len(self.shape) == 1
        return [
            name
            for name in named
            if is_layout(name) and name not in _PLAIN and not (flat and name.startswith("narrowed"))
        ]

    def over(self, name: str, usual: int) -> bool:
        """Whether a number of field ``name`` is something else than usual."""
        return any(number != usual for number in self.numbers(name))

    def among(self, name: str, values: tuple[str, ...]) -> bool:
        return self.texts.get(name, "") in values


def _far(fields: RecordedFields) -> bool:
    """Whether rows lie so far apart that their offsets are beyond an int."""
    return "far" in fields.texts or any(number >= FAR for name in _STRIDES for number in fields.numbers(name))


def _square(fields: RecordedFields) -> bool:
    sizes = fields.shape[2:]
    taps, out, steps = (fields.numbers(name) for name in ("k", "out", "stride"))
    return all(len(set(numbers)) < 2 for numbers in (sizes, taps, out, steps))


def _is_image(fields: RecordedFields) -> bool:
    return len(fields.shape) == 4 and ("k" in fields.texts or "out" in fields.texts)


_TRAITS: tuple[tuple[str, Callable[[RecordedFields], bool]], ...] = (
    (EMPTY, lambda f: 0 in f.shape or f.numbers("count") == (0,)),
    ("a null input", lambda f: f.among("inp", ("null",))),
    ("a null alpha or beta", lambda f: f.among("alpha", ("null",)) or f.among("beta", ("null",))),
    ("a broadcast operand", lambda f: any(name.startswith("broadcast") or name == "scalar" for name in f.layouts())),
    (NOT_CONTIGUOUS, lambda f: bool(f.layouts())),
    (BEYOND_INT, _far),
    ("a null info", lambda f: not f.layouts() and not f.among("info", ("given",))),
    ("a start offset", lambda f: any(name == "start" or name.endswith("_start") for name in f.texts)),
    ("a grid smaller than the data", lambda f: "grid" in f.texts),
    ("another block size than Candle's", lambda f: "block" in f.texts),
    ("a dilation", lambda f: f.over("dilation", 1)),
    ("padding", lambda f: f.over("padding", 0)),
    ("output padding", lambda f: f.over("out_padding", 0)),
    ("a stride over 1", lambda f: f.over("stride", 1)),
    ("images or windows that are not square", lambda f: _is_image(f) and not _square(f)),
    ("a batch", lambda f: ("k" in f.texts or "out" in f.texts) and len(f.shape) > 2 and f.shape[0] > 1),
    ("aligned corners", lambda f: f.over("align", 0)),
    ("a scale factor", lambda f: "scale_h" in f.texts or "scale_w" in f.texts),
    ("ids that mean none", lambda f: f.among("ids", _NONE_IDS)),
    ("ids that occur twice", lambda f: f.among("ids", _DUPLICATES)),
    ("an id outside of the dimension", lambda f: f.among("ids", ("beyond", "foreign", "negative", "cut"))),
    ("NaN in rows", lambda f: f.texts.get("mark", "").startswith("nan")),
    ("rows of infinities", lambda f: f.among("mark", ("minus_inf", "plus_inf", "masked", "one_inf", "infinities"))),
    ("rows of values far from 0", lambda f: f.among("mark", ("high",))),
    ("equal values", lambda f: f.among("values", ("ties",)) or f.among("mark", ("equal", "zeros"))),
    ("NaN and infinities", lambda f: f.among("values", _WITH_NAN) or f.texts.get("mark", "").startswith("nan")),
    ("subnormal values", lambda f: f.among("values", ("subnormal", "special", "core", "exhaustive", "wide"))),
    ("large values", lambda f: f.among("values", ("large", "mid", "wide", "special", "core", "exhaustive"))),
    ("over 1,024 elements", lambda f: prod(f.shape) > 1024),
    ("over 65,536 elements", lambda f: prod(f.shape) > 65536),
    ("rows of over 1,024", lambda f: bool(f.shape) and f.shape[-1] > 1024),
    ("rows of over 32", lambda f: bool(f.shape) and f.shape[-1] > 32),
    ("a length that is not a power of two", lambda f: bool(f.shape) and f.shape[-1] & (f.shape[-1] - 1) != 0),
    ("several dimensions summed", lambda f: len(f.numbers("sum")) > 1 or f.over("reduced", 1)),
    ("rank 3 or more", lambda f: len(f.shape) > 2),
)

TRAITS: tuple[str, ...] = tuple(name for name, _ in _TRAITS)


@lru_cache(maxsize=1 << 14)
def traits_of(text: str) -> frozenset[str]:
    """The traits of a case, given as an id has it between its brackets, and its fields that hold a word."""
    try:
        fields = RecordedFields(dict(parse_fields(text)))
    except ValueError:
        return frozenset()
    found = {name for name, has in _TRAITS if has(fields)}
    return frozenset(found | {f"{name}={value}" for name, value in fields.texts.items() if value[:1].isalpha()})
