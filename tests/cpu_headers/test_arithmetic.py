"""Arithmetic of the 16-bit types: every operation is rounded exactly once."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from .conftest import Probe
from .formats import BF16, F16, SIXTEEN, Array, Format, assert_same

BY_NAME: Any = {"ids": lambda f: f.name}
# Zeros, subnormals, powers of two and their neighbours, the largest, infinity, NaN, and a random sample.
SAMPLE = 420


def patterns(form: Format) -> Array:
    one = int(np.array(1.0, dtype=form.dtype).view(np.uint16))
    infinity = int(np.array(np.inf, dtype=form.dtype).view(np.uint16))
    special = [0, 1, 2, 3, one - 1, one, one + 1, 2 * one - infinity // 2, infinity - 1, infinity, infinity + 1]
    special += [(1 << form.fraction) - 1, 1 << form.fraction, (1 << form.fraction) + 1]
    rng = np.random.default_rng(20)
    chosen = np.concatenate([np.array(special) & 0x7FFF, rng.integers(0, 0x8000, SAMPLE // 2)])
    return np.concatenate([chosen, chosen | 0x8000]).astype(np.uint16)


def grid(form: Format) -> tuple[Array, Array]:
    p = patterns(form)
    a, b = np.meshgrid(p, p)
    return a.ravel(), b.ravel()


def decode(bits: Array, form: Format) -> Array:
    with np.errstate(invalid="ignore"):
        values: Array = bits.view(form.dtype).astype(np.float64)
    return values


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("form", SIXTEEN, **BY_NAME)
def test_one_rounding(probe: Probe, form: Format, operation: str) -> None:
    # float64's 53 bits are more than 2 * 11 + 2, so rounding its result again is one rounding of the exact one.
    a, b = grid(form)
    x, y = decode(a, form), decode(b, form)
    with np.errstate(all="ignore"):
        exact = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[operation](x, y)
    got = decode(probe(f"{form.name}_{operation}", np.uint16, a, b), form)
    assert_same(got, form.round(exact), x, y)


@pytest.mark.parametrize("form", SIXTEEN, **BY_NAME)
def test_square_root_of_every_value(probe: Probe, form: Format) -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        expected = form.round(np.sqrt(form.values()))
    assert_same(decode(probe(f"{form.name}_sqrt", np.uint16, every), form), expected, form.values())


@pytest.mark.parametrize("form", SIXTEEN, **BY_NAME)
def test_negation_and_magnitude_touch_the_sign_bit_only(probe: Probe, form: Format) -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    np.testing.assert_array_equal(probe(f"{form.name}_neg", np.uint16, every), every ^ 0x8000)
    np.testing.assert_array_equal(probe(f"{form.name}_abs", np.uint16, every), every & 0x7FFF)


def round_fraction(form: Format, exact: Fraction) -> float:
    """Nearest even of an exact value; the caller gives no zero."""
    magnitude = abs(exact)
    exponent = max(math.floor(math.log2(magnitude)) if magnitude > 2.0**-1000 else -1000, form.least)
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    while exponent > form.least and Fraction(2) ** exponent > magnitude:
        exponent -= 1
    units = round(magnitude / Fraction(2) ** (exponent - form.fraction))  # Python rounds halves to even
    value = float(units * Fraction(2) ** (exponent - form.fraction))
    return math.copysign(math.inf if value > form.largest else value, exact)


def hard_triples(form: Format) -> tuple[Array, Array, Array]:
    """Products that end on a midpoint of the format, with a third operand far too small for one float64."""
    rng = np.random.default_rng(7)
    n = 2000
    odd = (1 << form.fraction) + 2 * rng.integers(0, 1 << (form.fraction - 1), n) + 1
    a = odd * 2.0**-form.fraction
    b = np.full(n, 1.5)  # odd * 3 / 2 has one bit too many: a midpoint or a quarter
    sign = rng.choice([-1.0, 1.0], n)
    least = form.least - form.fraction + 1
    c = sign * np.ldexp(1.0, rng.integers(least, -form.fraction - 2, n))
    scale = np.ldexp(1.0, rng.integers(-3, 6, n))
    random = patterns(form)
    finite = random[np.isfinite(decode(random, form)) & (decode(random, form) != 0)]
    pick = [rng.choice(finite, n) for _ in range(3)]
    hard = [(v.astype(form.dtype)).view(np.uint16) for v in (a * scale, b, c)]
    first, second, third = (np.concatenate([h, p]) for h, p in zip(hard, pick, strict=True))
    return first, second, third


@pytest.mark.parametrize("form", SIXTEEN, **BY_NAME)
@pytest.mark.slow("computes sums of products exactly, with fractions")
def test_fma_is_rounded_once(probe: Probe, form: Format) -> None:
    operands = hard_triples(form)
    x, y, z = (decode(o, form) for o in operands)
    exact = [Fraction(p) * Fraction(q) + Fraction(r) for p, q, r in zip(x, y, z, strict=True)]
    keep = np.array([e != 0 for e in exact])
    expected = np.array([round_fraction(form, e) for e in exact if e != 0])
    got = decode(probe(f"{form.name}_fma", np.uint16, *operands), form)[keep]
    assert_same(got, expected, x[keep], y[keep], z[keep])
    if form is BF16:  # and a float64 fused multiply-add rounded again is not enough
        twice = BF16.round(np.array([float(e) for e in exact if e != 0]))
        assert np.count_nonzero(twice != expected) > 20


@pytest.mark.parametrize("form", SIXTEEN, **BY_NAME)
def test_extremes(probe: Probe, form: Format) -> None:
    a, b = grid(form)
    x, y = decode(a, form), decode(b, form)
    for name, pick in (("max", np.fmax), ("min", np.fmin)):
        got = decode(probe(f"{form.name}_{name}", np.uint16, a, b), form)
        np.testing.assert_array_equal(got, pick(x, y))
        strict = decode(probe(f"{form.name}_{name}_nan", np.uint16, a, b), form)
        np.testing.assert_array_equal(strict, np.where(np.isnan(x) | np.isnan(y), np.nan, pick(x, y)))
    zeros = np.array([0, 0x8000], dtype=np.uint16)
    assert probe(f"{form.name}_max", np.uint16, zeros, zeros[::-1]).tolist() == [0, 0]
    assert probe(f"{form.name}_min", np.uint16, zeros, zeros[::-1]).tolist() == [0x8000, 0x8000]


@pytest.mark.parametrize("form", SIXTEEN, **BY_NAME)
def test_comparisons(probe: Probe, form: Format) -> None:
    a, b = grid(form)
    x, y = decode(a, form), decode(b, form)
    bits = [x < y, x <= y, x > y, x >= y, x == y, x != y]
    expected = sum(bit.astype(np.int32) << i for i, bit in enumerate(bits))
    np.testing.assert_array_equal(probe(f"{form.name}_compare", np.int32, a, b), expected)


def test_older_bfloat16_compares_by_negation(probe: Probe) -> None:
    """As in AMD's header: with NaN, <= and >= are true, and the others what they are for floats."""
    a, b = grid(BF16)
    x, y = decode(a, BF16), decode(b, BF16)
    bits = [x < y, ~(x > y), x > y, ~(x < y), x == y, x != y]
    expected = sum(bit.astype(np.int32) << i for i, bit in enumerate(bits))
    np.testing.assert_array_equal(probe("old_bf16_compare", np.int32, a, b), expected)


def test_native_half_is_rounded_after_every_operation(probe: Probe) -> None:
    if not probe.has("native_f16_mul_add"):
        pytest.skip("this compiler keeps _Float16 expressions in float")
    a, b = grid(F16)
    x, y = decode(a, F16), decode(b, F16)
    with np.errstate(all="ignore"):
        separate = F16.round(F16.round(x * y) + x)
    got = decode(probe("native_f16_mul_add", np.uint16, a, b), F16)
    assert_same(got, separate, x, y)
