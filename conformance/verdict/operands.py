"""What an elementwise kernel has read for an element, and what a reducing one has in its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Argument, Buffer, Launch, Null, Scalar
from conformance.dtypes import DType, dtype
from conformance.verdict.compare import show

Indices = NDArray[np.int64]

_COUNTS = ("numel", "num_dims")
_LAYOUTS = ("info", "dims_and_strides")

# The parameter that has a row's length, of kernels whose rows are contiguous: a row of the output is one of the input.
_ROWS: dict[str, tuple[str, str]] = {
    "softmax": ("src", "n_cols"),
    "rmsnorm": ("src", "n_cols"),
    "layernorm": ("src", "n_cols"),
    "argsort": ("x", "ncols"),
}


@dataclass(frozen=True)
class Operand:
    """What input ``name`` gives to some output elements: ``values`` has one for each, or the rows behind them.

    ``places`` says where in the input each element's value stands, or which of the rows is its own: many elements may
    share a long one.
    """

    name: str
    dtype: DType
    values: NDArray[Any]
    places: Indices


def operand_values(launch: Launch, at: Indices) -> list[Operand]:
    """The operands of the output elements ``at`` of an elementwise launch; empty where it is none.

    So it is where an element lies behind those that are computed.
    """
    scalars = {arg.name: arg for arg in launch.args if isinstance(arg, Scalar)}
    layout = next((arg for arg in launch.args if arg.name in _LAYOUTS), None)
    inputs = [arg for arg in launch.args if isinstance(arg, Buffer) and arg.role == "in" and arg is not layout]
    outputs = [arg for arg in launch.args if isinstance(arg, Buffer) and arg.role == "inout"]
    if layout is None or any(name not in scalars for name in _COUNTS) or not at.size:
        return []
    if any(isinstance(arg, Null) and arg.name == "inp" for arg in launch.args):  # in place
        inputs, layout, outputs = outputs, Null(layout.name), []
    if outputs or not inputs or int(at.max()) >= int(scalars["numel"].value):
        return []
    places = _places(layout, int(scalars["num_dims"].value), len(inputs), at)
    found = []
    for buffer, place in zip(inputs, places, strict=False):
        if int(place.max()) + buffer.start >= buffer.data.size:
            return []
        found.append(Operand(buffer.name, dtype(buffer.dtype), buffer.data[buffer.start + place], place))
    return found if len(found) == len(inputs) else []


def _places(layout: Argument, rank: int, count: int, at: Indices) -> list[Indices]:
    if isinstance(layout, Null):
        return [at] * count
    if not isinstance(layout, Buffer):
        return []
    if not rank:
        return [np.zeros_like(at)] * count
    numbers = layout.data[layout.start :].astype(np.int64)
    dims = numbers[:rank]
    if len(numbers) != rank * (1 + count) or int(at.max()) >= int(np.prod(dims)):
        return []
    coordinates = np.unravel_index(at, tuple(int(size) for size in dims))
    return [
        np.asarray(sum(c * numbers[rank * (1 + k) + d] for d, c in enumerate(coordinates)), np.int64)
        for k in range(count)
    ]


def rows_of(launch: Launch, family: str, at: Indices) -> Operand | None:
    """The rows of the input behind the output elements ``at``, ascending, of a kernel that goes by rows."""
    buffers = {arg.name: arg for arg in launch.args if isinstance(arg, Buffer)}
    scalars = {
        arg.name: int(arg.value) for arg in launch.args if isinstance(arg, Scalar) and arg.value.dtype.kind in "iu"
    }
    if family in _ROWS:
        name, length = _ROWS[family]
        source, columns = buffers[name], scalars[length]
        whole = source.data[source.start :]
        rows = whole[: whole.size // max(columns, 1) * columns].reshape(-1, columns)
        which = at // columns
    elif family == "fast_reduce" and scalars["el_to_sum_per_block"]:
        source, rank = buffers["src"], scalars["num_dims"]
        numbers = buffers["info"].data.astype(np.int64)[: 2 * rank]
        everything = np.arange(scalars["src_numel"])
        coordinates = np.unravel_index(everything, tuple(int(size) for size in numbers[:rank])) if rank else ()
        places = sum((c * numbers[rank + d] for d, c in enumerate(coordinates)), np.zeros_like(everything))
        rows = source.data[source.start + places].reshape(-1, scalars["el_to_sum_per_block"])
        which = at
    else:
        return None
    if not at.size or int(which.max()) >= len(rows):
        return None
    used, each = np.unique(which, return_inverse=True)
    return Operand(source.name, dtype(source.dtype), rows[used], each)


def operands(launch: Launch, index: int) -> str:
    """``inp[3] is 0.5 (0x3f000000), mul is 2.0 (0x40000000)``: the operands of output element ``index``.

    Empty where the launch is not elementwise (its layouts are not dimensions and one set of strides per input), and for
    an element behind those that are computed.
    """
    read = operand_values(launch, np.array([index]))
    parts = [f"{one.name}[{one.places[0]}] is {show(one.values[0], one.dtype)}" for one in read]
    scalars = [arg for arg in launch.args if isinstance(arg, Scalar) and arg.name not in _COUNTS]
    parts += [f"{arg.name} is {show(arg.value, dtype(arg.dtype))}" for arg in scalars] if read else []
    return ", ".join(parts)
