"""What the conv, pooling and upsampling families share: tensors with a layout of their own, and their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.arguments import Fields, launch, operand, poisoned
from conformance.cases.launch import Argument, Buffer, Launch
from conformance.cases.layouts import Layout
from conformance.cases.values import RandomStream, scalar, values
from conformance.dtypes import DType, dtype, kept_by_dtype
from conformance.spec.kernel import Kernel

# Against numbers of ordinary size: one of these in four elements.
_POLES = ("inf", "-inf", "nan", "max", "min", "-0.0", "0", "0x1")


@dataclass(frozen=True)
class Tensor:
    """An operand of 3 or 4 dimensions: its buffer, and the layout (shape, strides, start, in elements) in which the
    elements lie there."""

    buffer: Buffer
    placed: Layout


def poled(kind: DType, n: int, stream: RandomStream) -> NDArray[Any]:
    """Numbers of ordinary size, an infinity, NaN, limit or zero in every fourth place on average."""
    if kind.kind != "float":
        raise ValueError(f"values=poles needs a float type, not {kind.name}")
    content = values("unit", kind, n, stream).copy()
    word = stream.take(n)
    chosen = (word & np.uint64(3)) == 0
    content[chosen] = _pole_table(kind.name)[word[chosen] >> np.uint64(61)]
    return content


@kept_by_dtype
def _pole_table(name: str) -> NDArray[Any]:
    return np.array([scalar(name, text) for text in _POLES], dtype=dtype(name).numpy)


def negative(kind: DType, n: int, stream: RandomStream) -> NDArray[Any]:
    """Numbers of ordinary size, all below zero; integers have the upper half of their range."""
    content = values("unit" if kind.kind == "float" else "wide", kind, n, stream)
    bits = content.view(kind.bits) | kind.bits.type(1 << (8 * kind.size - 1))
    found: NDArray[Any] = bits.view(kind.numpy)
    return found


_DISTRIBUTIONS = {"poles": poled, "negative": negative}


def content(fields: Fields, kind: DType, n: int, stream: RandomStream) -> NDArray[Any]:
    """``n`` elements as field ``values`` says: ``poles``, ``negative`` or a distribution that every family has."""
    distribution = fields.text("values", "unit")
    if distribution in _DISTRIBUTIONS:
        return fields.located(lambda: _DISTRIBUTIONS[distribution](kind, n, stream))
    return fields.located(lambda: values(distribution, kind, n, stream))


def tensor(
    fields: Fields, kernel: Kernel, name: str, shape: tuple[int, ...], stream: RandomStream, field: str = "layout"
) -> Tensor:
    """Input ``name`` of ``shape`` in the layout that ``field`` names, from element ``NAME_start`` on."""
    placed = fields.layout(field, shape, f"{name}_start")
    data = content(fields, dtype(kernel.param(name).dtype), placed.length, stream)
    return Tensor(operand(kernel, name, placed, data), placed)


def info_of(*tensors: Tensor) -> Buffer:
    """The info argument: dims and strides of each tensor in turn."""
    numbers = [number for one in tensors for number in (*one.placed.shape, *one.placed.strides)]
    return Buffer("info", "size_t", "in", np.array(numbers, dtype=np.uint64))


def image_launch(
    kernel: Kernel,
    fields: Fields,
    numel: int,
    sources: Sequence[Tensor],
    named: Mapping[str, Argument],
    threads: int | None = None,
) -> Launch:
    """A launch of ``threads`` (one per element unless given) that write ``numel`` elements of ``dst``.

    Its arguments are ``sources`` with their info, ``dst`` from field ``dst_start`` on, and ``named``.
    """
    given: dict[str, Argument] = {
        **named,
        "info": info_of(*sources),
        **{one.buffer.name: one.buffer for one in sources},
        "dst": poisoned(fields, kernel, "dst", numel, fields.number("dst_start", 0)),
    }
    return launch(kernel, fields, numel if threads is None else threads, given, strides=False)


def sizes(fields: Fields, name: str, count: int, default: Sequence[int] | None = None) -> tuple[int, ...]:
    """Field ``name`` as ``count`` sizes of 1 or more; raises ``ValueError`` otherwise."""
    text = None if default is None else f"[{','.join(map(str, default))}]"
    found = fields.case.integers(name, text)
    if len(found) != count or min(found) < 1:
        raise ValueError(f"case {fields.case.id}: {name} has {count} sizes of 1 or more, not {list(found)}")
    return found
