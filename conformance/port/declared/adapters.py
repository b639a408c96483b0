"""Parameter lists that a port declares: checked against the specs, and against the parameters that its kernels have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from conformance.adapter import AdapterRow, OwnParameter, OwnValue
from conformance.cases import cases_for, has_cases, launch_for
from conformance.cases.adapted import POINTER, adapted, candle_size, layout_of
from conformance.port.declared.known import matches, with_kernels
from conformance.port.definitions.source_text import SourceError
from conformance.port.signature import Given
from conformance.spec.kernel import Kernel

_WAVE = 64


def adapter_of(rows: Sequence[AdapterRow], kernel: str) -> AdapterRow | None:
    """The row for ``kernel``, if any."""
    return next((row for row in rows if matches(row.kernels, kernel)), None)


def adapted_kernels(rows: Sequence[AdapterRow], names: Iterable[str]) -> frozenset[str]:
    """Those of the kernels ``names`` that have a row: their parameters are not those of the specs."""
    return frozenset(name for name in names if adapter_of(rows, name) is not None)


def check_adapters(rows: Sequence[AdapterRow], kernels: Mapping[str, Kernel], where: str) -> None:
    """Raises ``SourceError`` for a row that matches no kernel, two that match the same, and one of which no arguments
    can be made."""
    for place, row, named in with_kernels("adapter", rows, kernels, where):
        for kernel in named:
            try:
                for number, parameter in enumerate(row.params, 1):
                    _check_layout(number, parameter, kernel)
                if has_cases(kernel):
                    case = next(iter(cases_for(kernel)))
                    adapted(row, kernel, case, launch_for(kernel, case), _WAVE)
            except ValueError as error:
                raise SourceError(f"{place}: {kernel.name}: {error}") from None


def _check_layout(number: int, parameter: OwnParameter, kernel: Kernel) -> None:
    try:
        layout_of(parameter, kernel)
    except ValueError as error:
        raise ValueError(f"parameter {number}: {error}") from None


def adapter_difference(row: AdapterRow, kernel: Kernel, given: Sequence[Given]) -> str | None:
    """How the parameters ``given`` of the port's kernel differ from those that ``row`` declares; ``None``: in nothing
    that is known. Of a value and of a struct the size is compared, of a pointer that it is one."""
    if len(given) != len(row.params):
        return f"has {len(given)} parameters, candle-parity.toml declares {len(row.params)} for it"
    end = 0
    for number, (have, want) in enumerate(zip(given, row.params, strict=True), 1):
        pointer, size, alignment = _form(want, kernel)
        end = -(-end // alignment) * alignment
        is_pointer = have.passed == "pointer" if have.passed is not None else have.type and have.type.pointers > 0
        wrong = (have.type is not None or have.passed is not None) and bool(is_pointer) != pointer
        if wrong or have.size not in (None, size) or have.offset not in (None, end):
            declared = "a pointer" if pointer else f"{size} bytes at offset {end}"
            return f"parameter {number} is {have.shown}, candle-parity.toml declares {declared}"
        end += size
    return None


def described(row: AdapterRow) -> str:
    """``numel, {num_dims, info}, inp, out``: the parameters in order, a struct in braces."""
    return ", ".join(_shown(parameter) for parameter in row.params)


def _form(one: OwnParameter, kernel: Kernel) -> tuple[bool, int, int]:
    """Whether a parameter is a pointer, its bytes and its alignment."""
    if one.candle is not None:
        size = candle_size(one.candle, kernel)
        return kernel.param(one.candle).pointer, size, size
    if one.value is not None and one.value.is_pointer:
        return True, POINTER, POINTER
    layout = layout_of(one, kernel)
    return False, layout.size, layout.alignment


def _named(one: OwnValue) -> str:
    """``info``, ``info[num_dims]``, ``mul as f64``, ``bits of mul``, ``numel``."""
    if one.scalar is not None:
        return f"{one.scalar} as {one.type}"
    if one.bits is not None:
        return f"bits of {one.bits}"
    if one.array is not None:
        return one.array if one.at is None else f"{one.array}[{one.at}]"
    return one.candle or one.value or ""


def _shown(one: OwnParameter) -> str:
    fields = [one.value] if one.value is not None else one.struct
    values = [_named(field) for field in fields]
    return one.candle or ("{" + ", ".join(values) + "}" if one.struct else values[0])
