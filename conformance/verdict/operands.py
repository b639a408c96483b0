"""What an elementwise kernel has read for an element, in words."""

from __future__ import annotations

import numpy as np

from conformance.cases.launch import Launch, Scalar
from conformance.dtypes import dtype
from conformance.verdict.compare import show
from conformance.verdict.operand_values import COUNTS, operand_values


def operands(launch: Launch, index: int) -> str:
    """``inp[3] is 0.5 (0x3f000000), mul is 2.0 (0x40000000)``: the operands of output element ``index``.

    Empty where the launch is not elementwise (its layouts are not dimensions and one set of strides per input), and for
    an element behind those that are computed.
    """
    read = operand_values(launch, np.array([index]))
    parts = [f"{one.name}[{one.places[0]}] is {show(one.values[0], one.dtype)}" for one in read]
    scalars = [arg for arg in launch.args if isinstance(arg, Scalar) and arg.name not in COUNTS]
    parts += [f"{arg.name} is {show(arg.value, dtype(arg.dtype))}" for arg in scalars] if read else []
    return ", ".join(parts)
