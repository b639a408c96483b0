"""Case ids of a kernel that no table has, within what its plan declares defined.

The plan are the generated cases of its verdict: fields that it has, words as it has them, and numbers from the least to
the greatest that it has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import reference
from conformance.cases import Case, launch_for
from conformance.cases.launch import Buffer
from conformance.cases.layouts import LAYOUT_NAMES
from conformance.cases.never_launched import never_launched
from conformance.spec.kernel import Kernel
from conformance.verdict.trials import generated_parts

MOST = 5000
"""Numbers above this in a plan have a row of their own, for what 32 bits do not hold."""

BYTES = 1 << 21
"""What the buffers of a case may take together: one takes milliseconds then."""

_LAYOUTS = ("layout", "lhs", "rhs", "t", "f", "kernel")
_COUPLED = (("values", "mark"), ("prefill", "experts"), ("mul", "add"), ("gguf", "k"), ("cc", "nsm", "smpbo"))
"""Fields that are drawn together, as a row of the plan has them."""

_SCALARS = ("param", "mul", "add", "value", "eps")
_ANY_RANK = ("unary", "unary1", "affine", "cast", "binary", "compare", "where", "const_set", "fast_reduce", "sum")
_EDGES = (2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 513, 1023, 1024, 1025, 2049)
_INTEGER = re.compile(r"[0-9]+")
_LIST = re.compile(r"\[([0-9]+(?:,[0-9]+)*)?\]")


@dataclass(frozen=True)
class Plan:
    """The fields of a kernel's cases, in order, each with the texts that it has; ``None`` where a case lacks it."""

    fields: dict[str, tuple[str | None, ...]]
    coupled: dict[tuple[str, ...], tuple[tuple[str | None, ...], ...]]


_PLANS: dict[str, Plan] = {}


def plan_of(kernel: Kernel) -> Plan:
    """The plan of ``kernel``, made once."""
    if kernel.name not in _PLANS:
        _PLANS[kernel.name] = _plan(kernel)
    return _PLANS[kernel.name]


def _plan(kernel: Kernel) -> Plan:
    rows = [dict(case.fields) for case in generated_parts(kernel).judged]
    names = list(dict.fromkeys(name for row in rows for name in row))
    coupled = {
        group: tuple(sorted({tuple(map(row.get, group)) for row in rows}, key=_simplest))
        for group in _COUPLED
        if any(name in names for name in group)
    }
    fields = {
        name: tuple(sorted({row.get(name) for row in rows}, key=lambda text: _simplest((text,)))) for name in names
    }
    return Plan(fields, coupled)


def _simplest(texts: Iterable[str | None]) -> list[tuple[bool, bool, int, str]]:
    return [(text is not None, text != "unit", len(text or ""), text or "") for text in texts]


def is_judged(kernel: Kernel, case: Case) -> bool:
    """Whether a verdict may rest on ``case``: a launch of Candle's, which Candle gets right, not too large."""
    if never_launched(kernel.launch, case) or (kernel.is_wrong_upstream(case.text) and not kernel.is_fixed):
        return False
    try:
        launch = launch_for(kernel, case)
        if sum(one.data.nbytes for one in launch.args if isinstance(one, Buffer) and one.role != "scratch") > BYTES:
            return False
        with np.errstate(all="ignore"):
            reference.evaluate(
                kernel.module, kernel.family, kernel.variant, kernel.tolerance.library_ulp, launch.reference_arguments()
            )
    except (ValueError, reference.Faults):
        return False
    except IndexError:  # what the spec calls undefined: a scale factor that leads beyond the source
        if not dict(case.fields).keys() & {"scale_h", "scale_w"}:
            raise
        return False
    return True


@st.composite
def cases(draw: st.DrawFn, kernel: Kernel) -> Case:
    """A case of ``kernel``; not every one ``is_judged``."""
    plan = plan_of(kernel)
    chosen: dict[str, str | None] = {}
    for group, rows in plan.coupled.items():
        chosen |= dict(zip(group, draw(st.sampled_from(rows)), strict=True))
    shape = _shape(draw, kernel, plan.fields["shape"]) if "shape" in plan.fields else ()
    for name, texts in plan.fields.items():
        if name == "shape":
            chosen[name] = _listed(shape)
        elif name not in chosen or (name in _SCALARS and draw(st.booleans())):
            if None in texts and draw(st.integers(0, 2)) < 2:
                chosen[name] = None
            else:
                chosen[name] = _field(draw, kernel, name, [text for text in texts if text is not None], shape)
    return Case(kernel.name, tuple((name, text) for name in plan.fields if (text := chosen[name]) is not None))


def _field(draw: st.DrawFn, kernel: Kernel, name: str, texts: Sequence[str], shape: Sequence[int]) -> str:
    if name in _SCALARS:
        number = draw(st.floats(-100, 100, width=16) | st.integers(-9, 9))
        return draw(st.sampled_from([*texts, repr(number)]))
    if name in _LAYOUTS and kernel.launch != "index_select":  # whose ids may lead beyond the source
        return draw(st.sampled_from(LAYOUT_NAMES))
    if name == "dst_s":
        return str(shape[1] + draw(st.integers(0, 40)))
    if name == "sum":
        return _listed(sorted(draw(st.sets(st.sampled_from(range(len(shape)))))) if shape else [])
    if name.endswith("start"):
        return str(draw(st.integers(0, 40)))
    if all(map(_INTEGER.fullmatch, texts)):
        numbers = [int(text) for text in texts if int(text) <= MOST]
        if not numbers:  # distances that reach beyond what has memory
            return draw(st.sampled_from(texts))
        unit = math.gcd(*numbers) or 1
        if name == "reduced":
            return str(draw(st.integers(min(numbers), max(1, min(len(shape), max(numbers))))))
        return str(unit * _size(draw, min(numbers) // unit, max(numbers) // unit))
    if all(map(_LIST.fullmatch, texts)):
        lists = [[int(number) for number in text[1:-1].split(",") if number] for text in texts]
        most = max((number for numbers in lists for number in numbers if number <= MOST), default=1)
        counts = sorted({len(numbers) for numbers in lists})
        if name == "ids":
            return _listed(draw(st.lists(st.integers(0, most), min_size=1, max_size=2 * max(counts))))
        fits = most if name == "out" or not shape else min(most, max(shape))
        return _listed([draw(st.integers(1, max(fits, 1))) for _ in range(draw(st.sampled_from(counts)))])
    return draw(st.sampled_from(texts))


def _listed(numbers: Iterable[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"


def _size(draw: st.DrawFn, least: int, most: int) -> int:
    """A small number, one next to a power of two, or any, from ``least`` to ``most``: drawn alike whatever they are, so
    that it shrinks."""
    kind = draw(st.integers(0, 2))
    number = draw(st.integers(least, most)) if kind else draw(st.integers(least, max(least, min(most, 9))))
    near = min(_EDGES, key=lambda edge: abs(edge - number))
    return min(max(near, least), most) if kind == 2 else number


def _shape(draw: st.DrawFn, kernel: Kernel, texts: Sequence[str | None]) -> list[int]:
    """Sizes of a rank that the plan has, at most as large as its own in that place."""
    shapes = [[int(size) for size in text[1:-1].split(",") if size] for text in texts if text is not None]
    rank = draw(st.sampled_from(sorted({len(shape) for shape in shapes})))
    room = draw(st.sampled_from([64, 1024, 6000, 70000]))
    found: list[int] = []
    free = kernel.launch in _ANY_RANK
    for axis in range(rank):
        there = [
            size
            for shape in shapes
            for size in (shape if free else shape[axis : axis + 1] if len(shape) == rank else [])
        ]
        unit = 1 if free else math.gcd(*there) or 1
        most = max(1, min(max(there), room) // unit)
        found.append(unit * _size(draw, 0 if 0 in there and draw(st.integers(0, 9)) == 9 else 1, most))
        room = max(room // max(found[-1], 1), 1)
    return found
