"""Launch geometry that a port declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from conformance.cases import cases_for, has_cases, launch_for
from conformance.cases.geometry import is_launched, parse_condition, parsed, sizes_of
from conformance.cases.never_launched import never_launched
from conformance.geometry import GeometryRow
from conformance.port.declared.known import matches, with_kernels
from conformance.port.sources import SourceError
from conformance.spec.kernel import Kernel

_WAVE = 64


def check_geometry(rows: Sequence[GeometryRow], kernels: Mapping[str, Kernel], where: str) -> None:
    """Raises ``SourceError`` for an expression that is none or has a name that is not known, a row that matches no
    kernel, and two that match the same."""
    for place, row, named in with_kernels("launch", rows, kernels, where):
        for text in (*(row.grid or ()), *(row.block or ()), *([] if row.shared is None else [row.shared])):
            _checked(parsed, text, place)
        if row.when is not None:
            _checked(parse_condition, row.when, place)
        for kernel in named:
            if has_cases(kernel):
                case = next(iter(cases_for(kernel)))
                launch = launch_for(kernel, case)
                try:
                    sizes_of(row, case, launch, _WAVE)
                    is_launched(row, case, launch, _WAVE)
                except ValueError as error:
                    raise SourceError(f"{place}: {error}") from None


def geometry_of(rows: Sequence[GeometryRow], kernel: str) -> GeometryRow | None:
    """The row for ``kernel``, if any."""
    return next((row for row in rows if matches(row.kernels, kernel)), None)


def largest_block(kernel: Kernel, rows: Sequence[GeometryRow], wave: int) -> int:
    """The most threads of a block in the launches that decide over ``kernel``: Candle's, or those that ``rows`` of a
    port make of them in waves of ``wave``; 0 where it has no cases."""
    row, most = geometry_of(rows, kernel.name), 0
    for case in cases_for(kernel) if has_cases(kernel) else ():
        if never_launched(kernel.launch, case) is None:
            launch = launch_for(kernel, case)
            if row is not None and not is_launched(row, case, launch, wave):
                continue
            block = launch.block if row is None else sizes_of(row, case, launch, wave)[1]
            most = max(most, block[0] * block[1] * block[2])
    return most


def described(row: GeometryRow) -> str | None:
    """``grid (ceildiv(nrows_x, 128), 1, 1), block (32, 8, 1)``: what of a launch is the port's own; ``None``: nothing
    is."""
    parts = [f"{what} ({', '.join(size)})" for what, size in (("grid", row.grid), ("block", row.block)) if size]
    parts += [] if row.shared is None else [f"{row.shared} bytes of shared memory"]
    return ", ".join(parts) or None


def _checked(parse: Callable[[str], object], text: str, place: str) -> None:
    try:
        parse(text)
    except ValueError as error:
        raise SourceError(f"{place}: {error}") from None
