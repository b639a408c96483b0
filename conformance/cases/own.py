"""What the launch family of a port's own kernel asks of its spec."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from conformance.cases import FAMILIES
from conformance.cases.described import check_parameters, error_at, families_in
from conformance.spec import SpecError
from conformance.spec.entry import ROWS
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from conformance.text import did_you_mean


def check_own(kernels: Iterable[Kernel]) -> None:
    """Raises ``SpecError``, at the line of one of the own ``kernels``, for a launch family that there is not, and for
    parameters or axes with which it cannot make cases."""
    for kernel in kernels:
        assert kernel.own is not None
        folder = kernel.own.families
        described = families_in(folder)
        for name in described:
            if name in FAMILIES:
                problem = f"{name!r} is a launch family of candle-parity's"
                raise SpecError(Path(folder) / f"{name}.yaml", 1, problem, "give the port's another name")
        if kernel.launch in FAMILIES:
            _check_shipped(kernel)
        elif kernel.launch in described:
            check_parameters(kernel, kernel.own)
        else:
            raise _unknown_family(kernel, described)


def _check_shipped(kernel: Kernel) -> None:
    """The families that come with candle-parity are told what they need by Candle's own kernels of them."""
    like = _example(kernel.launch)
    if like.is_host_function != kernel.is_host_function:
        of = ROWS[like.entry].plural
        remedy = f"name a family of {'launchers' if kernel.is_host_function else 'kernels'}, or one of your own"
        raise error_at(kernel, f"launch family {kernel.launch!r} is one of {of}, {kernel.name} is none", remedy)
    wanted = [(one.name, one.role, one.pointer) for one in like.params]
    if [(one.name, one.role, one.pointer) for one in kernel.params] != wanted:
        takes = ", ".join(f"{one.name}: {one.role} {one.dtype}{'*' * one.pointer}" for one in like.params)
        raise error_at(
            kernel,
            f"kernel {kernel.name} has other parameters than launch family {kernel.launch!r}",
            f"expected {{{takes}}} with any dtypes, or `launch:` with another family",
        )
    try:
        FAMILIES[kernel.launch].rows(kernel)
    except KeyError as missing:
        axis = str(missing.args[0])
        value = like.variant.get(axis, "...")
        raise error_at(
            kernel,
            f"launch family {kernel.launch!r} needs the axis {axis} of its kernels",
            f"add it to the stanza, such as `variant: {{{axis}: {value}}}`, as {like.name} has it",
        ) from None


def _unknown_family(kernel: Kernel, known: Iterable[str]) -> SpecError:
    """That there is no launch family of the kernel's name."""
    names = [*known, *FAMILIES]
    return error_at(
        kernel,
        f"there is no launch family {kernel.launch!r}",
        f"expected one of {', '.join(names)}{did_you_mean(kernel.launch, names)}",
    )


@cache
def _example(launch: str) -> Kernel:
    return next(kernel for kernel in load_specs().entries.values() if kernel.launch == launch)
