"""Random numbers of the vendor's library: which are right, and what is wrong with them.

Candle documents numbers between ``lo`` and ``up``; its CUDA backend gives those of cuRAND, which documents (0, 1], as
they are, or scaled and shifted by the kernel affine. Its CPU backend has [0, 1).

Bounds hold with a probability of 1 - 1e-9 for each moment of n independent numbers, of any n. With x = ln(2 / 1e-9)
the mean of numbers in an interval of width w is within w sqrt(x / 2n): Hoeffding, "Probability inequalities for sums of
bounded random variables" (1963), theorem 2. Of normal ones it is within sqrt(2x / n) deviations, and the sum of squares
within 2 sqrt(nx) + 2x of n: Laurent and Massart, "Adaptive estimation of a quadratic functional" (2000), lemma 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.expected import Expected, Flaw

Array = NDArray[Any]

FALSE_ALARM = 1e-9
_X = math.log(2 / FALSE_ALARM)


def rand(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    out: Array,
    count: int,
    stride: int,
    mean: float,
    std: float,
    seed: int,
    other: int,
) -> dict[str, Expected]:
    """Four parts of ``count`` numbers, ``stride`` apart, are free: ``flaw`` judges them. What is between them stays."""
    at, value, free = _places(count, stride), out.copy(), np.zeros(out.size, np.bool_)
    value[at], free[at] = 0.5, True
    return {"out": Expected(value, free=free)}


def flaw(variant: Mapping[str, str], arguments: Mapping[str, Any], got: Mapping[str, Array]) -> Flaw | None:
    """The first thing that is wrong with random numbers as a whole."""
    if "out" not in arguments:
        return None
    count = int(arguments["count"])
    numbers = got["out"][_places(count, arguments["stride"])].astype(np.float64)
    first, following, again, other = numbers
    least, most = float(numbers.min()), float(numbers.max())
    if not np.isfinite(numbers).all():
        return Flaw("random numbers not finite", f"{np.count_nonzero(~np.isfinite(numbers))} NaN or infinite", "none")
    if variant["op"] == "uniform" and (least < 0 or most > 1):
        return Flaw("random numbers out of range", f"{least} to {most}", "(0, 1]")
    if variant["op"] == "uniform" and least == 0:
        return Flaw("an exact 0", f"{np.count_nonzero(numbers == 0)} zeros", "(0, 1]")
    if count > 1 and (numbers == numbers[:, :1]).all(axis=1).any():
        return Flaw("one number only", f"{count} times {numbers[0, 0]}", "another each time")
    if not np.array_equal(first, again):
        return Flaw("other numbers with the same seed", f"{again[0]} first", f"{first[0]} as before")
    for what, part in (("the stream repeated", following), ("the seed ignored", other)):
        if np.array_equal(first, part):
            return Flaw(what, f"{first[0]} first, and so on", "other numbers than before")
    if variant["op"] == "uniform":
        centred, variance, root = numbers - 0.5, 1 / 12, math.sqrt(_X / (2 * count))
        allowed = {"mean": root, "variance": root / 4}
    else:
        centred, variance = (numbers - float(arguments["mean"])) / float(arguments["std"]), 1.0
        allowed = {"mean": math.sqrt(2 * _X / count), "variance": 2 * math.sqrt(_X / count) + 2 * _X / count}
    for name, power, wanted in (("mean", 1, 0.0), ("variance", 2, variance)):
        off = (centred**power).mean(axis=1) - wanted
        worst = float(off[np.abs(off).argmax()])
        if abs(worst) > allowed[name]:
            return Flaw(f"another {name}", f"{worst:+.4g} off", f"within {allowed[name]:.4g} for {count} numbers")
    return None


def _places(count: int, stride: int) -> NDArray[np.int64]:
    return np.asarray(np.arange(4)[:, None] * int(stride) + np.arange(int(count)))
