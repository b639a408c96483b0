"""The argument segment of a kernel: what the spec asks for against what a code object has."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.dtypes import dtype
from conformance.port.code_objects import Argument, KernelObject
from conformance.spec.kernel import Kernel, Parameter


def expected_arguments(kernel: Kernel) -> tuple[Argument, ...]:
    """The arguments in order, each at the next multiple of its own size: the packing of the AMDGPU calling convention
    for scalars and pointers, whose alignment is their size."""
    arguments: list[Argument] = []
    end = 0
    for parameter in kernel.params:
        size = 8 if parameter.pointer else dtype(parameter.dtype).size
        offset = -(-end // size) * size
        arguments.append(Argument(offset, size, "global_buffer" if parameter.pointer else "by_value"))
        end = offset + size
    return tuple(arguments)


def layout_difference(kernel: Kernel, compiled: KernelObject) -> str | None:
    """The first difference between the arguments of ``compiled`` and those of the spec, in words, or ``None``."""
    wanted = expected_arguments(kernel)
    if len(compiled.arguments) != len(wanted):
        names = ", ".join(_words(parameter) for parameter in kernel.params)
        return f"has {len(compiled.arguments)} arguments, Candle's has {len(wanted)} ({names})"
    rows: Sequence[tuple[Argument, Argument, Parameter]] = list(
        zip(compiled.arguments, wanted, kernel.params, strict=True)
    )
    for position, (have, want, parameter) in enumerate(rows, 1):
        if have != want:
            return f"argument {position} is {_told(have)}, Candle's {_words(parameter)} is {_told(want)}"
    return None


def _told(argument: Argument) -> str:
    what = "a pointer" if argument.is_pointer else "a value" if argument.kind == "by_value" else argument.kind
    return f"{what} of {argument.size} byte{'s' if argument.size != 1 else ''} at offset {argument.offset}"


def _words(parameter: Parameter) -> str:
    star = "" if parameter.dtype.endswith("*") or not parameter.pointer else "*"
    return f"{parameter.dtype}{star} {parameter.name}"
