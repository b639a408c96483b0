"""What the families share: reading a case's fields, operands and outputs as buffers, and the launch geometry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from conformance.cases.case import Case
from conformance.cases.launch import Argument, Buffer, Launch, Null, Scalar, Spread
from conformance.cases.layouts import MAX_ELEMENTS, Layout, info_array, layout
from conformance.cases.spread import FAR, MOST_SPAN, NEAREST_FAR, rows_apart
from conformance.cases.values import RandomStream, scalar, values
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel

BLOCK = 1024
"""Threads of a block, as Candle launches elementwise kernels."""

MAX_BLOCK = 1024

MAX_SIZE = 2**40
"""The largest size that a kernel is given for a dimension that is smaller."""

TAIL = 9
"""Poisoned elements after the last one that a kernel may write."""

Row = tuple[tuple[str, str], ...]

T = TypeVar("T")


@dataclass(frozen=True)
class Family:
    """One launch family: the rows that its kernels are tried with, and how a case becomes an argument list."""

    rows: Callable[[Kernel], Sequence[Row]]
    build: Callable[[Kernel, Case, RandomStream], Launch]


class Fields:
    """A case's fields by name; raises ``ValueError`` naming the case for a field that the family does not have."""

    def __init__(self, case: Case, known: Sequence[str]) -> None:
        self.case = case
        self._values = dict(case.fields)
        if len(self._values) != len(case.fields):
            raise ValueError(f"case {case.id}: a field is given twice")
        unknown = self._values.keys() - set(known)
        if unknown:
            raise ValueError(f"case {case.id}: unknown field {min(unknown)!r}; its family has: {', '.join(known)}")

    def has(self, name: str) -> bool:
        """Whether the case id has field ``name``."""
        return name in self._values

    def text(self, name: str, default: str) -> str:
        """The text of field ``name``, or ``default`` where the case id has none."""
        return self._values.get(name, default)

    def choice(self, name: str, default: str, known: Sequence[str]) -> str:
        """Field ``name``, one of ``known``; raises ``ValueError`` otherwise."""
        value = self._values.get(name, default)
        if value not in known:
            raise ValueError(f"case {self.case.id}: {name} must be one of {', '.join(known)}, not {value!r}")
        return value

    def number(self, name: str, default: int, least: int = 0, most: int = 2**31 - 1) -> int:
        """Field ``name`` as an integer in ``least..most``; raises ``ValueError`` otherwise."""
        text = self._values.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdecimal() and len(text) <= 18 and least <= int(text) <= most):
            raise ValueError(f"case {self.case.id}: {name} must be an integer from {least} to {most}, not {text!r}")
        return int(text)

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        """Field ``shape``, sizes of 0 or more; raises ``ValueError`` otherwise, or where its rank is not ``rank``."""
        sizes = self.case.integers("shape")
        if any(size < 0 for size in sizes) or (rank is not None and len(sizes) != rank):
            wanted = "sizes of 0 or more" if rank is None else f"{rank} sizes of 0 or more"
            raise ValueError(f"case {self.case.id}: shape must have {wanted}, not {list(sizes)}")
        return sizes

    def layout(self, name: str, shape: tuple[int, ...], start: str, default: str = "contiguous") -> Layout:
        """The layout that field ``name`` asks for, with its first element from field ``start`` if given."""
        first = self.number(start, 0) if self.has(start) else None
        return self.located(lambda: layout(self.text(name, default), shape, first))

    def scalar(self, kernel: Kernel, name: str, field: str, default: str) -> Scalar:
        """Parameter ``name`` of ``kernel`` by value: the number in ``field`` of the case, or ``default``, in the dtype
        of the parameter.

        Raises ``ValueError`` for a text that is no number of that dtype.
        """
        kind = kernel.param(name).dtype
        text = self.text(field, default)
        return Scalar(name, kind, self.located(lambda: scalar(kind, text)))

    def located(self, make: Callable[[], T]) -> T:
        """``make()``, with the case's id before the message of a ``ValueError``."""
        try:
            return make()
        except ValueError as error:
            raise ValueError(f"case {self.case.id}: {error}") from None


def size_t(name: str, value: int) -> Scalar:
    """``value`` as an argument of type ``size_t`` (64 bits) for parameter ``name``."""
    return Scalar(name, "size_t", np.uint64(value))


def numbers(kernel: Kernel, **given: int) -> list[Argument]:
    """Arguments by value, of the types that the kernel's parameters have."""
    kinds = {name: kernel.param(name).dtype for name in given}
    return [Scalar(name, kinds[name], dtype(kinds[name]).numpy.type(value)) for name, value in given.items()]


def multiple(fields: Fields, name: str, default: int, unit: int) -> int:
    """Field ``name``, a positive multiple of ``unit``; raises ``ValueError`` otherwise."""
    value = fields.number(name, default, 1)
    if value % unit:
        raise ValueError(f"case {fields.case.id}: {name} must be a multiple of {unit} for this kernel, not {value}")
    return value


def operand(kernel: Kernel, name: str, placed: Layout, data: NDArray[Any]) -> Buffer:
    """Input ``name`` with ``data`` (1-D, ``placed.length`` elements) as its allocation. The kernel gets the address of
    element ``placed.start``."""
    return Buffer(name, kernel.param(name).dtype, "in", data, placed.start)


def drawn(fields: Fields, kernel: Kernel, name: str, placed: Layout, stream: RandomStream) -> Buffer:
    """Input ``name`` over the whole allocation of ``placed``, also between its elements: 1-D, in the parameter's dtype,
    drawn from ``stream`` by the distribution that field ``values`` names (without the field: ``unit``).

    Raises ``ValueError`` for a distribution that the dtype does not have.
    """
    kind = dtype(kernel.param(name).dtype)
    distribution = fields.text("values", "unit")
    return operand(kernel, name, placed, fields.located(lambda: values(distribution, kind, placed.length, stream)))


def poisoned(fields: Fields, kernel: Kernel, name: str, length: int, start: int = 0) -> Buffer:
    """Output ``name``: ``length`` elements from ``start`` on and a tail, every byte the case's poison.

    Raises ``ValueError`` above ``MAX_ELEMENTS``.
    """
    parameter = kernel.param(name)
    if start + length > MAX_ELEMENTS:
        raise ValueError(f"{name} would have {start + length} elements, more than {MAX_ELEMENTS}")
    kind = dtype(parameter.dtype)
    data = np.full((start + length + TAIL) * kind.size, fields.case.poison_byte, dtype=np.uint8).view(kind.numpy)
    return Buffer(name, parameter.dtype, "out" if parameter.role == "in" else parameter.role, data, start)


def in_place(fields: Fields, kernel: Kernel, name: str, content: NDArray[Any]) -> Buffer:
    """Output ``name`` that the kernel also reads: ``content`` (1-D), then a tail that it must not touch, every byte of
    which is the case's poison byte."""
    buffer = poisoned(fields, kernel, name, len(content))
    buffer.data[: len(content)] = content
    return Buffer(name, buffer.dtype, "inout", buffer.data)


def info(fields: Fields, name: str, layouts: Sequence[Layout], nullable: bool = True) -> Argument:
    """The info argument ``name``: null when every layout is contiguous, unless field ``info`` says otherwise.

    Raises ``ValueError`` when ``info=null`` is asked for with a layout that null cannot describe, or of a kernel that
    reads it always.
    """
    contiguous = all(placed.contiguous for placed in layouts)
    asked = fields.choice("info", "null" if contiguous and nullable else "given", ("null", "given"))
    told = told_shape(fields, layouts[0].shape)
    if asked == "null":
        if fields.has("outermost"):
            raise ValueError(
                f"case {fields.case.id}: outermost is written into {name}, so info=null does not go with it"
            )
        if not nullable:
            raise ValueError(f"case {fields.case.id}: this kernel always reads {name}, so info=null is not allowed")
        if not contiguous:
            raise ValueError(
                f"case {fields.case.id}: info=null means contiguous operands; leave out the layout that is not"
            )
        return Null(name)
    array = info_array(told, *(placed.strides for placed in layouts))
    return Buffer(name, "size_t", "in", array)


def told_shape(fields: Fields, shape: tuple[int, ...]) -> tuple[int, ...]:
    """``shape`` as info tells it: field ``outermost`` is the size of the first dimension of more than 1 there, at least
    what it is. The elements that the launch is for, the first of that shape, stay where they are."""
    if not fields.has("outermost"):
        return shape
    axis = next((axis for axis, size in enumerate(shape) if size > 1), None)
    if axis is None or 0 in shape:
        raise ValueError(f"case {fields.case.id}: outermost needs a shape with a dimension above 1 and none of 0")
    told = fields.number("outermost", shape[axis], shape[axis], MAX_SIZE)
    return (*shape[:axis], told, *shape[axis + 1 :])


def indexed(
    fields: Fields, layouts: Sequence[Layout], name: str = "info", nullable: bool = True
) -> dict[str, Argument]:
    """The arguments from which a thread finds its elements: ``numel``, ``num_dims`` and the info argument ``name``.

    Raises ``ValueError`` as ``info``.
    """
    return {
        "numel": size_t("numel", layouts[0].numel),
        "num_dims": size_t("num_dims", len(layouts[0].shape)),
        name: info(fields, name, layouts, nullable),
    }


def apart(fields: Fields, made: Launch, placed: Mapping[str, Layout], name: str = "info") -> Launch:
    """``made``, or, where field ``far`` gives a stride, the same with the outermost rows of operands that many elements
    apart: of those of ``placed``, in the order of the info argument ``name``, that are not contiguous.

    Raises ``ValueError`` where there is none, and for a span beyond Candle's 32-bit index.
    """
    if not fields.has("far"):
        return made
    stride = fields.number("far", FAR, NEAREST_FAR, MOST_SPAN - 1)
    buffers = {argument.name: argument for argument in made.args if isinstance(argument, Buffer)}
    pieces, strides = {}, []
    for operand_name, one in placed.items():
        # Rows of a stride of 0 are one row, which no stride puts apart.
        spread = not one.contiguous and one.shape[0] > 1 and 0 < one.strides[0] == max(one.strides)
        strides.append((stride, *one.strides[1:]) if spread else one.strides)
        if spread:
            buffer, rows = buffers[operand_name], one.shape[0]
            if (rows - 1) * stride + one.strides[0] > MOST_SPAN:
                raise ValueError(
                    f"case {fields.case.id}: {operand_name} spans more elements than Candle's index has numbers, 2^32"
                )
            pieces[operand_name] = rows_apart(rows, one.strides[0], stride, buffer.start, buffer.data.size)
    if not pieces or name not in buffers:
        raise ValueError(f"case {fields.case.id}: far needs an operand whose outermost rows have gaps between them")
    shape = next(iter(placed.values())).shape
    real = replace(buffers[name], data=info_array(shape, *strides))
    return replace(made, spread=Spread({name: real}, pieces))


def launch(kernel: Kernel, fields: Fields, threads: int, given: Mapping[str, Argument], strides: bool = True) -> Launch:
    """A launch of ``ceil(threads / block)`` blocks, at least one, with the arguments in the kernel's own order.

    ``strides`` says that threads go on with further elements, so that field ``grid`` may ask for fewer blocks. Raises
    ``ValueError`` where ``given`` are not the parameters of the kernel, or ``grid`` is too small.
    """
    block = fields.number("block", BLOCK, 1, MAX_BLOCK)
    needed = max(1, -(-threads // block))
    grid = fields.number("grid", needed, 1)
    if grid < needed and not strides:
        raise ValueError(
            f"case {fields.case.id}: each thread handles one element, so grid must be {needed} or more, not {grid}"
        )
    return Launch(kernel.name, (grid, 1, 1), (block, 1, 1), 0, in_order(kernel, given.values()))


def call(kernel: Kernel, given: Iterable[Argument]) -> Launch:
    """The call of a launcher with the arguments ``given``, its stream among them; raises ``ValueError`` where they are
    not its parameters."""
    types = tuple("*" if parameter.pointer else parameter.dtype for parameter in kernel.params)
    return Launch(kernel.name, (0, 0, 0), (0, 0, 0), 0, in_order(kernel, given), types)


def in_order(kernel: Kernel, given: Iterable[Argument]) -> tuple[Argument, ...]:
    """``given`` in the order of the kernel's parameters; raises ``ValueError`` where they are others."""
    named = {argument.name: argument for argument in given}
    wanted = [parameter.name for parameter in kernel.params]
    if named.keys() != set(wanted):
        takes, has = ", ".join(wanted), ", ".join(named)
        raise ValueError(f"{kernel.entry} {kernel.name} takes ({takes}); its family {kernel.launch} has ({has})")
    return tuple(named[name] for name in wanted)
