"""The arguments that a port's kernel gets, where it declares other parameters than Candle's (``[[adapter]]``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from conformance.adapter import AdapterRow, OwnParameter, OwnValue
from conformance.cases import launch_for
from conformance.cases.case import Case
from conformance.cases.geometry import names_of_launch, parsed
from conformance.cases.launch import Argument, Buffer, Bytes, Launch, Null, Scalar
from conformance.dtypes import dtype
from conformance.reading import shortened
from conformance.spec.kernel import Kernel

POINTER = 8
"""Bytes of a pointer."""

_LARGEST = 4096
"""Bytes of a struct."""


def adapted(
    row: AdapterRow,
    kernel: Kernel,
    case: Case,
    launch: Launch,
    wave: int,
    launch_of: Callable[[Kernel, Case], Launch] = launch_for,
) -> Launch:
    """``launch`` with the arguments that the port's kernel gets; raises ``ValueError``.

    Where Candle passes a null info, dims and strides are those of the same launch with info given, which ``launch_of``
    makes.
    """
    real = {} if launch.spread is None else launch.spread.given
    candles = {argument.name: real.get(argument.name, argument) for argument in launch.args}
    told = dict(candles)
    nulls = [name for name, argument in candles.items() if isinstance(argument, Null)]
    arrays = {one.array for parameter in row.params for one in _values(parameter)}
    untold = [name for name in nulls if kernel.param(name).dtype == "size_t"]
    if untold and arrays != {None}:
        twin = launch_of(kernel, replace(case, fields=tuple({**dict(case.fields), "info": "given"}.items())))
        told |= {argument.name: argument for argument in twin.args if argument.name in untold}
    whole = replace(launch, args=tuple(candles.values()))
    names = names_of_launch(case, whole, wave)
    passed = tuple(_argument(kernel, number, one, candles, told, names) for number, one in enumerate(row.params, 1))
    return replace(launch, passed=passed)


def _values(parameter: OwnParameter) -> tuple[OwnValue, ...]:
    return (*([] if parameter.value is None else [parameter.value]), *parameter.struct)


def _argument(
    kernel: Kernel,
    number: int,
    one: OwnParameter,
    candles: Mapping[str, Argument],
    told: Mapping[str, Argument],
    names: Mapping[str, int],
) -> Argument | Bytes:
    if one.candle is not None:
        if one.candle not in candles:
            raise ValueError(
                f"parameter {number}: Candle's kernel has no argument {one.candle!r}; expected one of "
                f"{', '.join(candles)}"
            )
        return candles[one.candle]
    try:
        if one.value is not None and not one.value.is_pointer:
            return Bytes(f"parameter {number}", _content(one.value, told, names).tobytes())
        if one.value is not None:
            return Buffer(f"parameter {number}", one.value.type, "in", _content(one.value, told, names))
        return _packed(f"parameter {number}", kernel, one, candles, told, names)
    except ValueError as error:
        raise ValueError(f"parameter {number}: {error}") from None


def _packed(
    name: str,
    kernel: Kernel,
    one: OwnParameter,
    candles: Mapping[str, Argument],
    told: Mapping[str, Argument],
    names: Mapping[str, int],
) -> Bytes:
    """A struct in memory, what its fields do not fill with 0."""
    layout = layout_of(one, kernel)
    content, pointers = bytearray(layout.size), list[tuple[int, str, int]]()
    for field, at in zip(one.struct, layout.offsets, strict=True):
        if field.candle is None:
            given = _content(field, told, names)
            if given.size > field.room:
                raise ValueError(f"a field with room for {field.room} elements would get {given.size}; raise its room")
            content[at : at + given.nbytes] = given.tobytes()
            continue
        argument = candles[field.candle]
        if isinstance(argument, Buffer):
            pointers.append((at, argument.name, argument.start * argument.data.itemsize))
        elif isinstance(argument, Scalar):
            content[at : at + argument.value.nbytes] = argument.value.tobytes()
    return Bytes(name, bytes(content), tuple(pointers))


@dataclass(frozen=True)
class ParameterLayout:
    """A parameter by value in memory: its bytes, its alignment, and where its values are, in bytes."""

    size: int
    alignment: int
    offsets: tuple[int, ...]


def layout_of(one: OwnParameter, kernel: Kernel) -> ParameterLayout:
    """As C lays out a parameter by value of ``kernel``: each field at a multiple of its element's size, all of the
    largest one's.

    Raises ``ValueError`` for a struct that is too large, and for an argument that Candle has not.
    """
    offsets, end, largest = list[int](), 0, 1
    for field in _values(one):
        size = dtype(field.type).size if field.candle is None else candle_size(field.candle, kernel)
        largest = max(largest, size)
        offsets.append(-(-end // size) * size)
        end = offsets[-1] + field.room * size
    size = -(-end // largest) * largest
    if size > _LARGEST:
        raise ValueError(f"a struct of {size} bytes; {_LARGEST} are the most")
    return ParameterLayout(size, largest, tuple(offsets))


def candle_size(name: str, kernel: Kernel) -> int:
    """The bytes of Candle's argument ``name``; raises ``ValueError`` where ``kernel`` has none."""
    known = {parameter.name: parameter for parameter in kernel.params}
    if name not in known:
        raise ValueError(f"Candle's kernel has no argument {name!r}; expected one of {', '.join(known)}")
    return POINTER if known[name].pointer else dtype(known[name].dtype).size


def _content(one: OwnValue, told: Mapping[str, Argument], names: Mapping[str, int]) -> NDArray[Any]:
    kind = dtype(one.type).numpy
    if one.scalar is not None:
        return _converted(one.scalar, one.type, told)
    if one.bits is not None:
        return _bits(one.bits, one.type, told)
    if one.array is None:
        assert one.value is not None
        numbers = [_number(one.value, names)]
    else:
        source = told.get(one.array)
        if isinstance(source, Null):  # of a launch without dimensions, where info has nothing to say
            source = Buffer(source.name, "size_t", "in", np.zeros(0, np.uint64))
        if not _is_array(source):
            raise ValueError(
                f"{one.array!r} is no array argument of Candle's kernel here; expected one of "
                f"{', '.join(_arrays(told))}"
            )
        every = [int(number) for number in source.data[source.start :]]
        first, count = (
            _number(one.at or one.first, names),
            1 if one.at is not None else _number(one.count or "0", names),
        )
        if not 0 <= first <= first + count <= len(every):
            wanted = f"none of number {first}" if one.at is not None else f"not {count} from {first} on"
            raise ValueError(f"{one.array} has {len(every)} elements, {wanted}")
        numbers = every[first : first + count]
    try:
        return np.array(numbers, dtype=kind)
    except OverflowError:
        raise ValueError(f"{max(numbers, key=abs)} does not fit into {one.type}") from None


def _scalar(name: str, told: Mapping[str, Argument]) -> NDArray[Any]:
    """The number that Candle passes by value as argument ``name``."""
    argument = told.get(name)
    if not isinstance(argument, Scalar):
        known = [other for other, each in told.items() if isinstance(each, Scalar)]
        raise ValueError(f"{name!r} is no argument that Candle passes by value; expected one of {', '.join(known)}")
    return np.asarray(argument.value)


def _converted(name: str, type_: str, told: Mapping[str, Argument]) -> NDArray[Any]:
    """A float that Candle passes by value, as a float of ``type_``: rounded to nearest where that is narrower."""
    given, kind = _scalar(name, told), dtype(type_)
    passed = next(one.dtype for one in told.values() if isinstance(one, Scalar) and one.name == name)
    if dtype(passed).kind != "float" or kind.kind != "float":
        raise ValueError(
            f"scalar is for floats, and {name} is {passed}, {type_} is {kind.kind}; give an integer "
            f"as value = {name!r}, the bits of a float as bits"
        )
    with np.errstate(all="ignore"):  # what is too large becomes an infinity, as in C
        return given.reshape(1).astype(kind.numpy)


def _bits(name: str, type_: str, told: Mapping[str, Argument]) -> NDArray[Any]:
    """The bits of that number as an integer of ``type_``, further bits 0."""
    given, kind = _scalar(name, told), dtype(type_)
    if kind.kind != "uint" or kind.size < given.itemsize:
        raise ValueError(
            f"{type_} does not hold the {8 * given.itemsize} bits of {name}; expected an unsigned integer of "
            f"{8 * given.itemsize} bits or more, such as {'u32' if given.itemsize <= 4 else 'size_t'}"
        )
    return np.asarray(given.reshape(1).view(f"u{given.itemsize}").astype(kind.numpy))


def _number(text: str, names: Mapping[str, int]) -> int:
    try:
        return parsed(text)(names)
    except ValueError as error:
        raise ValueError(f"{shortened(text)!r}: {error}") from None


def _arrays(told: Mapping[str, Argument]) -> list[str]:
    return [name for name, one in told.items() if _is_array(one)]


def _is_array(one: Argument | None) -> TypeGuard[Buffer]:
    """Whether an argument holds integers that describe the launch, as info does."""
    return isinstance(one, Buffer) and one.role == "in" and one.dtype == "size_t"
