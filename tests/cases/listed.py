"""The kernels of the specs that have cases, and their cases: listed once for the tests of this folder."""

from __future__ import annotations

from functools import lru_cache

from conformance.cases import Case, cases_for
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs

FAMILIES = ("unary", "unary1", "affine", "binary", "compare", "cast", "where", "fill", "copy2d", "const_set")


@lru_cache
def _specs() -> dict[str, Kernel]:
    return dict(load_specs().kernels)


@lru_cache
def of(*families: str) -> tuple[Kernel, ...]:
    """The kernels of ``families``, of all ten where none is named."""
    return tuple(kernel for kernel in _specs().values() if kernel.launch in (families or FAMILIES))


@lru_cache
def cases(*families: str) -> tuple[tuple[Kernel, Case], ...]:
    """Every case of the kernels of ``families``."""
    return tuple((kernel, case) for kernel in of(*families) for case in cases_for(kernel))


def kernel(name: str) -> Kernel:
    """The kernel called ``name``."""
    return _specs()[name]
