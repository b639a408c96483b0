"""The reference function of a kernel: ours for Candle's kernels, the port's for its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import reference
from conformance.own import UNTRUSTED
from conformance.spec.kernel import Kernel
from reference import NoReference
from reference import own as own_reference
from reference.expected import Expected, Flaw


def evaluate(
    kernel: Kernel, arguments: Mapping[str, Any], variant: Mapping[str, str] | None = None
) -> dict[str, Expected]:
    """What ``kernel``, or its family's formula of another ``variant``, must leave in every buffer that it writes, by
    parameter name; see ``reference.evaluate``.

    Raises ``NoReference``, also for whatever goes wrong in a port's function and for a port that is not trusted, and
    ``Faults``.
    """
    variant, library_ulp = kernel.variant if variant is None else variant, kernel.tolerance.library_ulp
    if kernel.own is None:
        return reference.evaluate(kernel.module, kernel.family, variant, library_ulp, arguments)
    written = {one.name for one in kernel.params if one.role in ("out", "inout")}
    return own_reference.evaluate(_trusted(kernel), kernel.family, variant, library_ulp, arguments, written)


def equivalent(kernel: Kernel, arguments: Mapping[str, Any], got: Mapping[str, Any]) -> dict[str, Any]:
    """Which elements of ``got`` are as good as the expected ones; see ``reference.equivalent``. Raises
    ``NoReference``."""
    if kernel.own is None:
        return reference.equivalent(kernel.module, kernel.variant, arguments, got)
    return own_reference.optional(_trusted(kernel), "equivalent", kernel.variant, arguments, got) or {}


def flaw(kernel: Kernel, arguments: Callable[[], Mapping[str, Any]], got: Mapping[str, Any]) -> Flaw | None:
    """What is wrong with ``got`` as a whole where its elements are free; see ``reference.flaw``. Own kernels have no
    such elements."""
    return None if kernel.own is not None else reference.flaw(kernel.module, kernel.variant, arguments, got)


def _trusted(kernel: Kernel) -> Path:
    assert kernel.own is not None
    if kernel.is_untrusted:
        raise NoReference(UNTRUSTED)
    return Path(kernel.own.reference)
