"""Rotary embedding in three layouts: every pair of elements turned by the angle of its place in the tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic import Arithmetic, arithmetic
from reference.exact import Wide, rounded_once
from reference.expected import Expected
from reference.result import placed
from reference.softmax import bounds

Array = NDArray[Any]


@np.errstate(all="ignore")
def rope_i(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    src: Array,
    cos: Array,
    sin: Array,
    dst: Array,
    bh: int,
    td: int,
    stride_b: int,
) -> dict[str, Expected]:
    """Layout (bh, t, d) with td = t * d; the elements of a pair lie side by side. Tables as in ``_rotated``."""
    half = int(td) // 2
    pair = np.arange(int(bh) * half)
    return _rotated(variant, src, cos, sin, dst, 2 * pair, 2 * pair + 1, pair % half, half, int(stride_b))


@np.errstate(all="ignore")
def rope(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    src: Array,
    cos: Array,
    sin: Array,
    dst: Array,
    bh: int,
    td: int,
    d: int,
    stride_b: int,
) -> dict[str, Expected]:
    """Layout (bh, t, d) with td = t * d; the elements of a pair lie d / 2 apart. Tables as in ``_rotated``."""
    half = int(d) // 2
    sheet = int(td) // 2
    pair = np.arange(int(bh) * sheet)
    head, within = np.divmod(pair, sheet)
    first = head * int(td) + within // half * int(d) + within % half
    return _rotated(variant, src, cos, sin, dst, first, first + half, within, sheet, int(stride_b))


@np.errstate(all="ignore")
def rope_thd(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    src: Array,
    cos: Array,
    sin: Array,
    dst: Array,
    b: int,
    t: int,
    h: int,
    d: int,
    stride_b: int,
) -> dict[str, Expected]:
    """Layout (b, t, h, d); the elements of a pair lie d / 2 apart. Tables as in ``_rotated``."""
    half = int(d) // 2
    head, column = np.divmod(np.arange(int(b) * int(t) * int(h) * half), half)
    first = head * int(d) + column
    place = head // int(h) % int(t) * half + column
    return _rotated(variant, src, cos, sin, dst, first, first + half, place, int(t) * half, int(stride_b))


def _rotated(
    variant: Mapping[str, str],
    src: Array,
    cos: Array,
    sin: Array,
    dst: Array,
    first: Array,
    second: Array,
    place: Array,
    sheet: int,
    stride_b: int,
) -> dict[str, Expected]:
    """Pair k is elements ``first[k]`` and ``second[k]``; its cosine and sine are at ``place[k]`` of the tables.

    With ``stride_b`` (the elements of a batch) the tables of batch n are taken to begin at n * ``sheet``, the number
    of pairs that share a head, whatever the length of the tables: Candle's rule, wrong for longer tables.

    Which of the two products is rounded before the addition is the compiler's choice, and whether one is fused at all;
    the value has the product with the second element rounded, as recorded on an H100, the interval covers all three,
    and of the 16-bit types float32 arithmetic that is rounded once at the end. What is nearer to the turn of the reals,
    rounded once, is right as well.
    """
    a = arithmetic(variant["dtype"])
    if stride_b:
        place = place + 2 * np.arange(place.size) // stride_b * sheet
    x, y, c, s = (a.load(part) for part in (src[first], src[second], cos[place], sin[place]))
    ends = np.concatenate([first, second])

    def formula(wide: Wide) -> list[Array]:
        x, y, c, s = (wide.load(part) for part in (src[first], src[second], cos[place], sin[place]))
        return [np.concatenate([x * c - y * s, x * s + y * c])]

    forms = zip(_forms(a, x, c, -y, s), _forms(a, x, s, y, c), strict=True)
    parts = bounds([np.concatenate([a.store(one), a.store(two)]) for one, two in forms])
    return {"dst": placed(dst, Expected(*parts, exact=rounded_once(variant["dtype"], formula)), ends)}


def _forms(a: Arithmetic, x: Array, c: Array, y: Array, s: Array) -> list[Array]:
    """``x * c + y * s``: the second product rounded, the first one rounded, both rounded; of 16 bits also none of them,
    for products of two such numbers are exact in float32."""
    left, right = a.mul(x, c), a.mul(y, s)
    forms = [a.fma(x, c, right), a.fma(y, s, left), a.add(left, right)]
    if a.storage.itemsize == 2:
        forms.append(a.settle(((x * c).astype(np.float32) + (y * s).astype(np.float32)).astype(a.carrier)))
    return forms
