"""The ground truth: one module per Candle module, one function per kernel family, numpy on whole arrays.

A function takes the kernel's own arguments by name, and answers what it must leave in every buffer that it writes::

    inp, out = np.float32([0, 1]), np.zeros(2, np.float32)
    arguments = {"numel": np.uint64(2), "num_dims": np.uint64(1), "info": None, "inp": inp, "out": out}
    exp = reference.evaluate("unary", "unary", {"op": "exp", "dtype": "f32"}, 1, arguments)["out"]
    exp.value, exp.low, exp.high  # [1, 2.7182817], and as arrays too the least and the greatest result that is right

The 1 says that exp itself may be 1 ulp off, so that ``low`` and ``high`` differ from ``value``. ``variant`` and
``library_ulp`` are the first two parameters of every function; see ``evaluate``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from reference.expected import Expected, Faults, Flaw

__all__ = ["Expected", "Faults", "Flaw", "NoReference", "equivalent", "evaluate", "flaw", "has_module"]


class NoReference(NotImplementedError):
    """The kernel family has no reference function yet."""


def evaluate(
    module: str, family: str, variant: Mapping[str, str], library_ulp: int, arguments: Mapping[str, Any]
) -> dict[str, Expected]:
    """What a kernel must leave in every buffer that it writes, by parameter name.

    ``arguments`` holds the kernel's own arguments by name: scalars as numpy or ml_dtypes scalars, null pointers as
    ``None``, buffers as 1-D arrays (their content before the launch, from the address that the kernel is given).
    ``variant`` and ``library_ulp`` are those of the spec (``Kernel.variant``, ``Tolerance.library_ulp``). Where
    upstream is wrong the answer is upstream's; that of a variant whose ``fixed`` names the defect is the right one.

    Raises ``NoReference`` where ``reference/MODULE.py`` or its function ``FAMILY`` is missing, and ``Faults`` for a
    launch that upstream stops with an assert.
    """
    # No typing.cast here: the submodule reference.cast takes that name in this namespace.
    function: Callable[..., dict[str, Expected]] | None = getattr(_loaded(module), family, None)
    if function is None:
        raise NoReference(f"family {family!r} has no reference: expected a function {family} in reference/{module}.py")
    return function(variant, library_ulp, **arguments)


def equivalent(
    module: str, variant: Mapping[str, str], arguments: Mapping[str, Any], got: Mapping[str, Any]
) -> dict[str, Any]:
    """Which elements of ``got`` are as right as the expected ones though they differ: a boolean mask for each buffer.

    ``got`` are the written buffers after the launch, laid out as in ``arguments``. Most modules have no such elements,
    and the answer is empty. In sort any order of equal values is right, and in argmin and argmax any index of the
    extreme value. Raises ``NoReference`` where ``reference/MODULE.py`` is missing.
    """
    function: Callable[..., dict[str, Any]] | None = getattr(_loaded(module), "equivalent", None)
    return {} if function is None else function(variant, arguments, got)


def flaw(
    module: str, variant: Mapping[str, str], arguments: Callable[[], Mapping[str, Any]], got: Mapping[str, Any]
) -> Flaw | None:
    """What is wrong with the written buffers ``got`` as a whole, where no single element has an expected value: random
    numbers. ``None`` where nothing is wrong.

    ``arguments`` gives the kernel's own by name, as ``evaluate`` takes them, and ``got`` is laid out alike. Raises
    ``NoReference`` where ``reference/MODULE.py`` is missing.
    """
    function: Callable[..., Flaw | None] | None = getattr(_loaded(module), "flaw", None)
    return None if function is None else function(variant, arguments(), got)


def has_module(module: str) -> bool:
    """Whether there is a ``reference/MODULE.py``."""
    return importlib.util.find_spec(f"reference.{module}") is not None


def _loaded(module: str) -> ModuleType:
    name = f"reference.{module}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise NoReference(f"module {module!r} has no reference: expected the file reference/{module}.py") from None
