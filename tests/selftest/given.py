"""Wrong launches and wrong outputs: what a harness that hands over, or compares, something else would have to notice.

Kernels and reference are right here. A launch is changed on its way to the kernel, and judged by the answer to the one
that was meant; an output is the reference's own, but for one place.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.cases.launch import Buffer, Launch, Scalar
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from conformance.verdict.compare import is_nan, is_poison, right_range
from conformance.verdict.judge import Judging
from conformance.verdict.trials import TrialCase, generated, generated_parts
from tests.selftest.altered import floats

Arguments = tuple[Any, ...]


def _with(launch: Launch, at: int, argument: Any) -> Launch:
    return replace(launch, args=(*launch.args[:at], argument, *launch.args[at + 1 :]))


def _neighbours(launch: Launch) -> Iterator[Launch]:
    """Two arguments of one type in each other's place."""
    kinds = [(type(one), getattr(one, "dtype", "")) for one in launch.args]
    for at, kind in enumerate(kinds):
        for other in range(at + 1, len(kinds)):
            if kinds[other] == kind and kind[0] in (Buffer, Scalar):
                first, second = launch.args[at], launch.args[other]
                if kind[0] is Scalar and first.value == second.value:
                    continue
                yield _with(_with(launch, at, second), other, first)
                break


def _scalars(launch: Launch, change: Callable[[Scalar], Any]) -> Iterator[Launch]:
    for at, one in enumerate(launch.args):
        if isinstance(one, Scalar):
            value = one.value.dtype.type(change(one))
            if value != one.value and not np.isnan(value):
                yield _with(launch, at, replace(one, value=value))


def _buffers(launch: Launch, change: Callable[[Buffer], int]) -> Iterator[Launch]:
    for at, one in enumerate(launch.args):
        if isinstance(one, Buffer) and change(one) != one.start and 0 <= change(one) < one.data.size:
            yield _with(launch, at, replace(one, start=change(one)))


def _shaped(launch: Launch, **shape: Any) -> Iterator[Launch]:
    """Another geometry, where it is one: blocks are turned only where y is the longer side."""
    other = replace(launch, **shape)
    turned = other.block == launch.block or launch.block[0] < launch.block[1]
    same = all(getattr(launch, name) == value for name, value in shape.items())
    if turned and other.grid[0] > 0 and not same:
        yield other


def _whole(one: Scalar) -> bool:
    return one.value.dtype.kind in "iu"


LAUNCHES: dict[str, Callable[[Launch], Iterator[Launch]]] = {
    "arguments": _neighbours,
    "width": lambda launch: _scalars(launch, lambda one: int(one.value) & 0xFF if _whole(one) else one.value),
    "one more": lambda launch: _scalars(launch, lambda one: one.value + one.value.dtype.type(1)),
    "start": lambda launch: _buffers(launch, lambda one: 0),
    "offset": lambda launch: _buffers(launch, lambda one: one.start * one.data.itemsize if one.start else 1),
    "block": lambda launch: _shaped(launch, block=(launch.block[1], launch.block[0], launch.block[2])),
    "grid": lambda launch: _shaped(launch, grid=(launch.grid[0] - 1, *launch.grid[1:])),
    "shared memory": lambda launch: _shaped(launch, shared=0),
}
"""What becomes of a launch, by operator: each of several."""


@dataclass(frozen=True)
class Given:
    """A mutant of what is given to ``kernel``, or taken from it: the operator, and which of its places, in turn."""

    kernel: Kernel
    operator: str
    place: int

    @property
    def id(self) -> str:
        return f"{self.kernel.name}: {self.operator} {self.place}"


def changed(given: Given, launch: Launch) -> Launch | None:
    """``launch`` as the mutant makes it, ``None`` where it has no such place."""
    return next((one for at, one in enumerate(LAUNCHES[given.operator](launch)) if at == given.place), None)


def launches_of(kernel: Kernel, case: TrialCase) -> list[Given]:
    """The mutants that there are of a launch."""
    return [
        Given(kernel, operator, place)
        for operator, make in LAUNCHES.items()
        for place, _ in enumerate(make(case.launch))
        if not (case.launch.types and operator in ("block", "grid", "shared memory"))
    ]


Place = tuple[str, Any, np.ndarray, np.ndarray]


def outputs_of(kernel: Kernel, chance: random.Random) -> Iterator[tuple[str, bool]]:
    """Each operator that an output of a case of ``kernel`` has a place for, and whether the harness rejects it."""
    cases = [one for one in generated_parts(kernel).judged]
    chance.shuffle(cases)
    seen: set[str] = set()
    for case in generated(kernel, cases[:4], ""):
        if case.must_fault:
            continue
        right = {one.name: one.data.copy() for one in case.launch.args if isinstance(one, Buffer)}
        for one in case.launch.args:
            if isinstance(one, Buffer) and one.name in case.expected:
                value = case.expected[one.name].value
                right[one.name][one.start : one.start + value.size] = value
        if Judging(kernel).take(case, right) is not None:
            continue  # the answer of a free order, or a flaw: not an answer that can stand alone
        for one in case.launch.args:
            if not isinstance(one, Buffer):
                continue
            for operator, at, wrong in _places(one, case, kernel, right[one.name], chance):
                content = right[one.name].copy()
                content[at] = wrong
                if operator in seen or content.tobytes() == right[one.name].tobytes():
                    continue
                seen.add(operator)
                yield operator, Judging(kernel).take(case, {**right, one.name: content}) is not None


def _places(
    one: Buffer, case: TrialCase, kernel: Kernel, content: np.ndarray, chance: random.Random
) -> Iterator[tuple[str, int, Any]]:
    kind = dtype(one.dtype)
    flip = lambda at: (~content[at : at + 1].view(kind.bits)).view(content.dtype)[0]  # noqa: E731
    expected = case.expected.get(one.name)
    if expected is None:
        if content.size and one.role == "in":
            at = chance.randrange(content.size)
            yield "an input", at, flip(at)
        return
    value = expected.value
    untouched = (value.view(kind.bits) == one.data[one.start :].view(kind.bits)) & is_poison(
        value.view(kind.bits), kind
    )
    free = np.zeros(value.size, bool) if expected.free is None else expected.free
    gaps, written = np.flatnonzero(untouched & ~free), np.flatnonzero(~untouched & ~free)
    if one.start:
        yield "before the start", one.start - 1, flip(one.start - 1)
    if gaps.size:
        at = int(chance.choice(gaps)) + one.start
        yield "a gap", at, flip(at)
    if not written.size:
        return
    last = int(written[-1]) + one.start
    yield "the last element", last, one.data[last]
    if kind.kind != "float":
        at = int(chance.choice(written)) + one.start
        yield "one more", at, content[at] + content.dtype.type(1)
        return
    nan = is_nan(value, kind)
    numbers = [at for at in written if not nan[at]]
    if not numbers:
        return
    at = int(chance.choice(numbers))
    yield "NaN for a number", at + one.start, np.array(np.nan, np.float32).astype(content.dtype)
    beyond = right_range(expected, kind)[1] + kernel.tolerance.ulp + 1
    if 0 <= beyond[at] < kind.format.smallest_nan:
        yield "one step beyond the bound", at + one.start, floats(beyond[at : at + 1], value[at : at + 1], kind)[0]
    if expected.low is not None or expected.high is not None or expected.exact is not None:
        return
    exact = [at for at in numbers if kernel.tolerance.ulp == 0 and value[at] != 0 and np.isfinite(float(value[at]))]
    if exact and kind.size > 2:
        yield "times 1.00001", exact[0] + one.start, value[exact[0]] * content.dtype.type(1.00001)
    zeros = [at for at in numbers if value[at] == 0]
    if zeros:
        yield "the sign of zero", zeros[0] + one.start, -value[zeros[0]]


def try_outputs() -> dict[str, str | None]:
    """A wrong place of each kind in an output of every kernel: ``None`` where it is not noticed."""
    specs = load_specs()
    kernels = (*specs.kernels.values(), *specs.launchers.values())
    return {
        f"{kernel.name}: {operator}": "rejected" if noticed else None
        for kernel in kernels
        for operator, noticed in outputs_of(kernel, random.Random(kernel.name))
    }
