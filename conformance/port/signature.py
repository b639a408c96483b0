"""The parameters of a port's kernel against the spec's: one comparison, wherever the parameters come from.

A source gives types and names, a compiler types and sizes, a code object sizes, kinds and offsets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from conformance.dtypes import dtype
from conformance.port.definitions.parameters import CType, c_type, is_other_float8, own_float
from conformance.port.definitions.scan import Param
from conformance.spec.kernel import Kernel, Parameter

if TYPE_CHECKING:  # it reads ELF files
    from conformance.port.code_objects import Argument, KernelObject

_NARROW = 2
"""Bytes of the largest floats for which ports have types of their own, or the integer that stores the bits."""

_STORAGE = {2: ("unsigned short", "uint16_t", "short unsigned int"), 1: ("unsigned char", "uint8_t")}
_NUMBERS = {"unsigned short", "short unsigned int", "char", "signed char"}
"""Number types that no dtype is, beyond those in the rows of the dtypes."""

_WIDTHS = {name: 2 for name in _STORAGE[2]} | {name: 1 for name in ("char", "signed char", "int8_t")}
"""Bytes of the number types that no dtype is."""

_VECTOR = re.compile(r"(?:half|bfloat16|x_?)[234](?!\d)", re.IGNORECASE)
"""What is in the names of types that hold several floats: half2, __hip_bfloat162, __hip_fp8x4_e4m3."""


@dataclass(frozen=True)
class Given:
    """A parameter of a port's kernel, as far as it is known.

    ``shown`` is for messages. ``type`` is its type; typedefs were followed if it is ``resolved``. ``size`` and
    ``offset`` in the argument segment are in bytes, and ``passed`` says how it is passed. ``None`` where unknown.
    """

    shown: str
    name: str | None = None
    type: CType | None = None
    resolved: bool = False
    size: int | None = None
    offset: int | None = None
    passed: Literal["pointer", "value", "otherwise"] | None = None


class SignatureDifference(NamedTuple):
    """The kind of a finding, and what differs, in words."""

    kind: str
    message: str


def written(params: Sequence[Param]) -> list[Given]:
    """The parameters ``params`` as a source declares them."""
    return [Given(f"{one.type} {one.name}".replace("* ", "*").strip(), one.name, c_type(one.type)) for one in params]


def compiled(type_: str | None, size: int) -> Given:
    """A parameter as a compiler saw it: its type (``None`` where only the size is known) and its size in bytes."""
    if type_ is None:
        return Given(f"{size} bytes long", size=size)
    return Given(type_, type=c_type(type_), resolved=True, size=size)


def arguments(kernel: KernelObject) -> list[Given]:
    """The parameters of a kernel in a code object."""
    return [_argument(one) for one in kernel.arguments]


def differences(kernel: Kernel, given: Sequence[Given]) -> list[SignatureDifference]:
    """Every difference between the parameters ``given`` and those of the spec; only one where their number or order
    differs.

    Names are free. But if all names are the spec's and in another order, the parameters are reported as swapped,
    because nothing else shows that two parameters of one type are. A type that is not known (``unknown_type``) is no
    difference.
    """
    wanted = kernel.params
    whose, has = ("Candle's", "Candle's has") if kernel.own is None else ("its spec's", "its spec has")
    if len(given) != len(wanted):
        have = f" ({', '.join(one.shown for one in given)})" if given and given[0].name is not None else ""
        message = f"has {len(given)} parameters{have}, {has} {len(wanted)} ({', '.join(map(spelled, wanted))})"
        return [SignatureDifference("parameter_count", message)]
    swapped = _swapped([one.name for one in given], [parameter.name for parameter in wanted], whose)
    if swapped:
        return [SignatureDifference("parameter_order", swapped)]
    rows = zip(given, wanted, expected_arguments(kernel), strict=True)
    return [found for n, row in enumerate(rows, 1) for found in _differs(n, *row, whose)]


def difference(kernel: Kernel, given: Sequence[Given] | None) -> str | None:
    """The first difference in words; ``None`` where there is none or nothing is known of the parameters."""
    messages = (one.message for one in differences(kernel, given or ()) if one.kind != "unknown_type")
    return None if given is None else next(messages, None)


def have_one_form(one: Kernel, other: Kernel) -> bool:
    """Whether one kernel of a port can serve as both: the family only moves elements, and the parameters are the same
    except for the type of the elements, whose width is the same."""

    def form(kernel: Kernel) -> list[tuple[str, bool, str, str | int]]:
        return [
            (one.name, one.pointer, one.role, dtype(one.dtype).size if one.moved else one.dtype)
            for one in kernel.params
        ]

    moves = any(parameter.moved for parameter in one.params)
    return moves and one.family == other.family and form(one) == form(other)


def expected_arguments(kernel: Kernel) -> tuple[Argument, ...]:
    """The arguments in order, each at the next multiple of its own size.

    So the AMDGPU calling convention packs scalars and pointers, whose alignment is their size.
    """
    from conformance.port.code_objects import Argument

    expected: list[Argument] = []
    end = 0
    for parameter in kernel.params:
        size = 8 if parameter.pointer else dtype(parameter.dtype).size
        offset = -(-end // size) * size
        expected.append(Argument(offset, size, "global_buffer" if parameter.pointer else "by_value"))
        end = offset + size
    return tuple(expected)


def spelled(parameter: Parameter) -> str:
    """A parameter of a spec as C would write it: ``f32* out``."""
    star = "" if parameter.dtype.endswith("*") or not parameter.pointer else "*"
    return f"{parameter.dtype}{star} {parameter.name}"


def _argument(argument: Argument) -> Given:
    passed: Literal["pointer", "value", "otherwise"]
    passed = "pointer" if argument.is_pointer else "value" if argument.kind == "by_value" else "otherwise"
    what = argument.kind if passed == "otherwise" else f"a {passed}"
    size = f"{argument.size} byte{'s' if argument.size != 1 else ''}"
    return Given(
        f"{what} of {size} at offset {argument.offset}", size=argument.size, offset=argument.offset, passed=passed
    )


def _swapped(names: Sequence[str | None], right: Sequence[str], whose: str) -> str | None:
    if names == right or Counter(names) != Counter(right):
        return None
    return "; ".join(
        f"parameter {n} is {have}, {whose} is {want}"
        for n, (have, want) in enumerate(zip(names, right, strict=True), 1)
        if have != want
    )


def _differs(position: int, have: Given, want: Parameter, place: Argument, whose: str) -> Iterator[SignatureDifference]:
    message = f"parameter {position} is {have.shown}, {whose} is {spelled(want)}"
    if have.passed is not None:
        expected = _argument(place)
        if (have.offset, have.size, have.passed) != (expected.offset, expected.size, expected.passed):
            yield SignatureDifference("parameter_type", f"{message}, {expected.shown}")
        return
    wrong = have.size is not None and have.size != place.size
    if wrong or (have.type is not None and have.type.pointers != int(want.pointer)):
        yield SignatureDifference("parameter_type", message)
    elif have.type is not None and want.dtype != "void*":
        fits = (want.moved and _is_as_wide(have.type, want.dtype)) or _fits(have.type, want.dtype, have.resolved)
        if fits is None:
            yield SignatureDifference("unknown_type", f"{message}; the source does not tell what {have.type.base} is")
        elif not fits:
            yield SignatureDifference("pointee_type" if want.pointer else "parameter_type", message)


def _is_as_wide(have: CType, wanted: str) -> bool:
    """Whether elements of ``wanted`` can be moved as ``have``: a type of the same width, or one that has none, as what
    ``void*`` points to. A type of the port's own is known by its name."""
    widths = {dtype(name).size for name in have.dtypes}
    own = own_float(have.base)
    if have.base in _WIDTHS:
        widths.add(_WIDTHS[have.base])
    elif own is not None and not _VECTOR.search(have.base):
        widths.add(dtype(own).size)
    elif is_other_float8(have.base) and not _VECTOR.search(have.base):
        widths.add(1)
    return have.base == "void" or dtype(wanted).size in widths


def _fits(have: CType, wanted: str, resolved: bool) -> bool | None:
    """Whether the type is the spec's ``wanted``; ``None`` where that cannot be determined."""
    row = dtype(wanted)
    narrow = row.format is not None and row.size <= _NARROW
    if wanted in have.dtypes or (narrow and have.base in _STORAGE[row.size]):
        return True
    if have.dtypes or have.base in _NUMBERS or is_other_float8(have.base):
        return False
    own = own_float(have.base)
    if own is not None:
        return own == wanted
    return narrow if resolved else None
