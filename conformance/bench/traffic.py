"""What a launch moves and computes at least: bytes from its buffers, operations from its family's formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from conformance.cases.arguments import TAIL
from conformance.cases.launch import Buffer, Launch, Scalar


def bytes_moved(launch: Launch) -> int:
    """Every buffer once: read (in), written (out), or both (inout).

    A broadcast operand counts as what is allocated of it.
    """
    weight = {"in": 1, "out": 1, "inout": 2}
    return sum(weight[arg.role] * arg.data.nbytes for arg in launch.args if isinstance(arg, Buffer))


def operations(family: str, launch: Launch) -> int | None:
    """Multiplications and additions of the products and convolutions; ``None`` where memory is the limit."""
    formula = _FORMULAS.get(family)
    if formula is None:
        return None
    numbers = {arg.name: int(arg.value) for arg in launch.args if isinstance(arg, Scalar) and _is_integer(arg.value)}
    buffers = {arg.name: arg for arg in launch.args if isinstance(arg, Buffer)}
    return formula(numbers, buffers)


def _is_integer(value: np.generic) -> bool:
    return bool(np.issubdtype(value.dtype, np.integer))


Numbers = Mapping[str, int]
Buffers = Mapping[str, Buffer]


def _conv(rank: int, out: int) -> Callable[[Numbers, Buffers], int]:
    """2 x batch x channels in and out x taps x positions; ``out`` is the kernel's axis of output channels."""

    def formula(_: Numbers, buffers: Buffers) -> int:
        info = [int(word) for word in buffers["info"].data]
        source, kernel = info[:rank], info[2 * rank : 3 * rank]
        # Each product takes part in an output of a convolution, and in a source element of its transpose.
        written = len(buffers["dst"].data) - TAIL
        places = prod(source[2:]) if out else written // (source[0] * kernel[0])
        return 2 * source[0] * source[1] * kernel[out] * prod(kernel[2:]) * places

    return formula


_FORMULAS: dict[str, Callable[[Numbers, Buffers], int]] = {
    "conv1d": _conv(3, 0),
    "conv2d": _conv(4, 0),
    "conv_transpose1d": _conv(3, 1),
    "conv_transpose2d": _conv(4, 1),
    "mmq": lambda n, _: 2 * n["ncols_x"] * n["nrows_x"] * n["ncols_y"],
}
