"""What is to be recorded, as the library in front of the program reads it (``front/recorder.cpp``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from conformance.capture.inside import InnerKernel
from conformance.capture.launches import SAME
from conformance.dtypes import dtype
from conformance.port.declared.names import Names
from conformance.spec.kernel import Kernel, Parameter

FOLDER = "CANDLE_PARITY_CAPTURE"
"""The variable that tells the library its folder. Without it nothing is recorded."""

PLAN = "plan"
"""The name of the plan's file in that folder."""

_VERSION = "candle-parity capture plan 1"


@dataclass(frozen=True)
class Bounds:
    """How much is recorded: of equal launches (kernel, geometry and integers) the ``first``, and after these each
    ``every``-th, none for 0; of each process at most ``most_bytes`` of buffers."""

    first: int
    every: int
    most_bytes: int


def plan_text(
    kernels: Iterable[Kernel], bounds: Bounds, names: Names = SAME, inside: Iterable[InnerKernel] = ()
) -> str:
    """The plan by which launches of ``kernels``, which the port calls as ``names`` says, and of the kernels ``inside``
    of launchers are recorded within ``bounds``."""
    lines = [_VERSION, f"first {bounds.first}", f"every {bounds.every}", f"most_bytes {bounds.most_bytes}"]
    named = [(names.port(kernel.name), kernel.params) for kernel in kernels]
    named += [(inner.name, inner.params) for inner in inside]
    lines += [" ".join(("kernel", name, *map(_spelled, params))) for name, params in named]
    return "\n".join(lines) + "\n"


def write_plan(
    folder: Path, kernels: Iterable[Kernel], bounds: Bounds, names: Names = SAME, inside: Iterable[InnerKernel] = ()
) -> None:
    """Write the plan into ``folder``."""
    (folder / PLAN).write_text(plan_text(kernels, bounds, names, inside), encoding="utf-8")


def _spelled(parameter: Parameter) -> str:
    if parameter.pointer:
        return "r" if parameter.role == "in" else "w"
    row = dtype(parameter.dtype)
    return f"{'s' if row.kind == 'float' else 'i'}{row.size}"
