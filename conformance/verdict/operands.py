"""What an elementwise kernel has read for an element, in words."""

from __future__ import annotations

from math import prod

from conformance.cases.launch import Buffer, Launch, Null, Scalar
from conformance.dtypes import dtype
from conformance.verdict.compare import show

_LAYOUTS = ("info", "dims_and_strides")
_COUNTS = ("numel", "num_dims")


def operands(launch: Launch, index: int) -> str:
    """``inp[3] is 0.5 (0x3f000000), mul is 2.0 (0x40000000)``: the operands of output element ``index``.

    Empty where the launch is not elementwise (its layouts are not dimensions and one set of strides per input), and for
    an element behind those that are computed.
    """
    scalars = {arg.name: arg for arg in launch.args if isinstance(arg, Scalar)}
    layout = next((arg for arg in launch.args if arg.name in _LAYOUTS), None)
    inputs = [arg for arg in launch.args if isinstance(arg, Buffer) and arg.role == "in" and arg is not layout]
    adds_up = any(isinstance(arg, Buffer) and arg.role == "inout" for arg in launch.args)
    if layout is None or not inputs or adds_up or any(name not in scalars for name in _COUNTS):
        return ""
    if index >= int(scalars["numel"].value):
        return ""
    places = _places(layout, int(scalars["num_dims"].value), len(inputs), index)
    if not places:
        return ""
    parts = []
    for buffer, place in zip(inputs, places, strict=True):
        at = buffer.start + place
        if at >= buffer.data.size:
            return ""
        parts.append(f"{buffer.name}[{place}] is {show(buffer.data[at], dtype(buffer.dtype))}")
    parts += [f"{name} is {show(arg.value, dtype(arg.dtype))}" for name, arg in scalars.items() if name not in _COUNTS]
    return ", ".join(parts)


def _places(layout: Buffer | Null | Scalar, rank: int, count: int, index: int) -> list[int]:
    """Where each of ``count`` inputs has the operand of element ``index``; none where the layout is of another form."""
    if isinstance(layout, Null):
        return [index] * count
    if not isinstance(layout, Buffer):
        return []
    if not rank:
        return [0] * count
    numbers = [int(number) for number in layout.data[layout.start :]]
    dims = numbers[:rank]
    if len(numbers) != rank * (1 + count) or index >= prod(dims):
        return []
    places = [0] * count
    for d in reversed(range(rank)):
        index, coordinate = divmod(index, dims[d])
        for k in range(count):
            places[k] += coordinate * numbers[rank * (1 + k) + d]
    return places
