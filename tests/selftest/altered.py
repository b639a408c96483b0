"""Recorded answers with elements changed: what the unmutated reference says of each, and what a mutant says.

A recorded answer is right, so that it cannot show a bound that is too wide. What lies one step beyond the bound of the
unmutated reference can, and what lies on it shows one that is too narrow.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import reference
from conformance.cases.launch import Buffer, Launch
from conformance.dtypes import DType, dtype
from conformance.spec.kernel import Kernel
from conformance.verdict.compare import is_nan, is_poison, ordinals, right_range, wrong_elements
from conformance.verdict.trials import with_equivalents
from reference.expected import Expected, Truth

Array = NDArray[Any]
Wanted = dict[str, Expected]

MOST = 192
"""Elements that are changed of a buffer: the first and the last among them."""

ALONE = 8
"""Elements that are also changed one by one where the rest of a buffer has a say."""


@dataclass(frozen=True)
class Altered:
    """``elements`` in place of those of argument ``argument`` at ``at``, and which of them the reference rejects."""

    what: str
    argument: int
    at: NDArray[np.int64]
    elements: Array
    rejected: NDArray[np.bool_]


def wanted(kernel: Kernel, launch: Launch) -> Wanted:
    """What the reference expects, with its exact values computed once; raises what that raises."""
    found = reference.evaluate(
        kernel.module, kernel.family, kernel.variant, kernel.tolerance.library_ulp, launch.reference_arguments()
    )
    return {name: _once(one) for name, one in found.items()}


def _once(one: Expected) -> Expected:
    exact = one.exact
    return one if exact is None else replace(one, exact=cache(exact))


def altered(kernel: Kernel, launch: Launch, answer: Mapping[str, Array], expected: Wanted) -> list[Altered]:
    """Every alteration of a recorded answer."""
    found = []
    for number, argument in enumerate(launch.args):
        if not isinstance(argument, Buffer) or argument.name not in answer or argument.name not in expected:
            continue
        for what, at, elements in _alterations(kernel, argument, answer[argument.name], expected[argument.name]):
            one = Altered(what, number, at, elements, np.zeros(at.size, bool))
            found.append(Altered(what, number, at, elements, rejected(kernel, launch, answer, expected, one)))
    return found


def rejected(
    kernel: Kernel, launch: Launch, answer: Mapping[str, Array], expected: Wanted, one: Altered
) -> NDArray[np.bool_]:
    """Which of the altered elements are wrong, each as if it stood alone."""
    argument = launch.args[one.argument]
    assert isinstance(argument, Buffer)
    kind, ulp, start = dtype(argument.dtype), kernel.tolerance.ulp, argument.start
    content = answer[argument.name].copy()
    content[start + one.at] = one.elements
    allowed, before = expected.get(argument.name), argument.data[start:][one.at]
    if allowed is None:
        return np.asarray(one.elements.view(kind.bits) != before.view(kind.bits))
    buffers = {arg.name: arg.data for arg in launch.args if isinstance(arg, Buffer)}
    buffers |= {**answer, argument.name: content}
    if reference.flaw(kernel.module, kernel.variant, launch.reference_arguments, buffers) is not None:
        return np.ones(one.at.size, np.bool_)
    wrong = _wrong(one.elements, _at(allowed, one.at), before, kind, ulp)
    if _has_equivalents(kernel) and not wrong.all():  # the others have to be right by the same rule
        unchanged = _wrong(answer[argument.name][start:], allowed, argument.data[start:], kind, ulp)
        wrong |= bool(unchanged.any())
    if wrong.any():
        others = with_equivalents(kernel, launch, argument.name, allowed, buffers)
        if others is not allowed:
            wrong &= _wrong(one.elements, _at(others, one.at), before, kind, ulp)
    return wrong


def _wrong(got: Array, expected: Expected, before: Array, kind: DType, ulp: int) -> NDArray[np.bool_]:
    found = np.zeros(got.size, np.bool_)
    wrong = wrong_elements(got, expected, before, kind, ulp)
    if wrong is not None:
        found[wrong.at] = True
    return found


def _at(one: Expected, at: NDArray[np.int64]) -> Expected:
    """``one``, of the elements ``at`` alone."""
    low, high, free, written = (
        None if part is None else part[at] for part in (one.low, one.high, one.free, one.written)
    )
    exact = one.exact
    if exact is None:
        return Expected(one.value[at], low, high, free, written)
    true = exact
    return Expected(one.value[at], low, high, free, written, lambda: _truth_at(true(), at))


def _truth_at(truth: Truth, at: NDArray[np.int64]) -> Truth:
    return Truth(truth.least[at], truth.most[at], truth.value[at])


def _has_equivalents(kernel: Kernel) -> bool:
    """Whether the reference has more than one right answer to a launch of ``kernel``."""
    return kernel.module in ("sort", "reduce", "quantized", "mmq", "mmvq", "moe")


def _alterations(
    kernel: Kernel, argument: Buffer, recorded: Array, expected: Expected
) -> Iterator[tuple[str, NDArray[np.int64], Array]]:
    chance = random.Random(argument.name)
    size, kind = expected.value.size, dtype(argument.dtype)
    if not size:
        return
    at = np.array(sorted({0, size - 1, *chance.sample(range(size), min(size, MOST))}))
    part, before = _at(expected, at), argument.data[argument.start :][at]
    got = recorded[argument.start :][at]
    flipped = (~got.view(kind.bits)).view(got.dtype)
    gap = (part.value.view(kind.bits) == before.view(kind.bits)) & is_poison(before.view(kind.bits), kind)
    every: dict[str, Array] = {
        "touched": np.where(gap.view(np.bool_), flipped.view(kind.bits), got.view(kind.bits)),
        "not written": before.view(kind.bits),
    }
    numbers = _of_floats(part, got, kind, kernel.tolerance.ulp) if kind.kind == "float" else _of_integers(got, flipped)
    every |= {what: elements.view(kind.bits) for what, elements in numbers.items()}
    for what, elements in every.items():
        changed = np.flatnonzero(elements != got.view(kind.bits))
        if changed.size:
            chosen = np.ascontiguousarray(elements[changed]).view(got.dtype)
            yield what, at[changed], chosen
            if _sees_the_whole(kernel, kind):
                for one in sorted(chance.sample(range(changed.size), min(changed.size, ALONE))):
                    yield f"{what}, alone", at[changed[one : one + 1]], chosen[one : one + 1]


def _sees_the_whole(kernel: Kernel, kind: DType) -> bool:
    """Whether an element of an answer has a say in what is right of another: indices, and the bytes of a number."""
    return kernel.family == "rand" or (_has_equivalents(kernel) and kind.kind != "float")


def _of_integers(got: Array, flipped: Array) -> dict[str, Array]:
    one = got.dtype.type(1)
    return {"one more": got + one, "one less": got - one, "all bits": flipped, "another's": np.roll(got, 1)}


def _of_floats(part: Expected, got: Array, kind: DType, ulp: int) -> dict[str, Array]:
    """Numbers next to the bounds on either side, a NaN, a number for a NaN, and zeros of the other sign."""
    assert kind.format is not None
    nan = is_nan(part.value, kind)
    low, high = right_range(part, kind)
    zero = np.asarray(part.value.astype(np.float64) == 0)

    def of(ordinal: NDArray[np.int64]) -> Array:
        return floats(np.where(nan, ordinals(got, kind), ordinal), got, kind)

    def some(number: float) -> Array:
        return np.full(got.size, number, np.float32).astype(got.dtype)

    return {
        "one step above the bound": of(high + ulp + 1),
        "one step below the bound": of(low - ulp - 1),
        "on the upper bound": of(high + ulp),
        "on the lower bound": of(low - ulp),
        "NaN": np.where(nan, got, some(np.nan)),
        "a number for NaN": np.where(nan, some(1.0), got),
        "the sign of zero": np.where(zero, -part.value, got),
    }


def floats(ordinal: NDArray[np.int64], got: Array, kind: DType) -> Array:
    """The floats of ``ordinal``, of ``got`` where that is beyond every number."""
    assert kind.format is not None
    magnitude = np.where(ordinal < 0, -1 - ordinal, ordinal)
    beyond = (magnitude < 0) | (magnitude >= kind.format.smallest_nan)
    sign = np.where(ordinal < 0, np.uint64(1) << np.uint64(8 * kind.size - 1), np.uint64(0))
    found = (np.where(beyond, 0, magnitude).astype(np.uint64) | sign).astype(kind.bits).view(got.dtype)
    return np.where(beyond, got, found)
