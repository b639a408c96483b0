"""The 16-bit conversions that compilers call by name on processors without the instructions."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest

from tests.cpu_runtime.machine import Machine, Remote

F16, BF16 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)


def halves() -> np.ndarray:
    return np.arange(1 << 16, dtype=np.uint16)


def around(values: np.ndarray) -> np.ndarray:
    """Every value, the middle to the next, and the doubles on both sides of each."""
    exact = np.unique(values[np.isfinite(values)].astype(np.float64))
    middles = (exact[1:] + exact[:-1]) / 2
    points = np.concatenate([exact, middles, [1e-300, 1e300, 65519.9, 65520.0, 3.4e38, np.inf, -np.inf, -0.0]])
    return np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)])


def _narrow(machine: Machine, name: str, source: type[ctypes._SimpleCData], values: np.ndarray) -> np.ndarray:
    """The result travels in the low half of a vector register, as a float does."""
    function = machine.library[name]
    function.restype, function.argtypes = ctypes.c_float, [source]
    results = np.array([function(value) for value in values.tolist()], np.float32)
    return (results.view(np.uint32) & 0xFFFF).astype(np.uint16)


@pytest.mark.parametrize(
    ("name", "dtype", "source"),
    [
        ("__truncsfhf2", F16, np.float32),
        ("__truncdfhf2", F16, np.float64),
        ("__truncsfbf2", BF16, np.float32),
        ("__truncdfbf2", BF16, np.float64),
    ],
)
def test_narrowing_rounds_to_nearest_even(machine: Remote, name: str, dtype: np.dtype, source: type) -> None:
    with np.errstate(all="ignore"):
        values = around(halves()[::7].view(dtype)).astype(source)
    values = values[~np.isnan(values)]
    kind = ctypes.c_float if source is np.float32 else ctypes.c_double
    found = machine.do(_narrow, name, kind, values)
    assert np.array_equal(found, nearest(values, dtype))


def nearest(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """By search among all numbers of the format: independent of any conversion routine, ml_dtypes' double one included
    (that rounds twice, by way of f32)."""
    bits = halves()
    with np.errstate(invalid="ignore"):
        numbers = bits.view(dtype).astype(np.float64)
    positive = (bits < 0x8000) & np.isfinite(numbers)
    table, codes = numbers[positive], bits[positive]
    infinity = codes[-1] + np.uint16(1)
    step = table[-1] - table[-2]
    table = np.append(table, table[-1] + step)  # what would come after the largest number rounds to infinity
    codes = np.append(codes, infinity)
    magnitude = np.minimum(np.abs(values.astype(np.float64)), table[-1])
    above = np.clip(np.searchsorted(table, magnitude), 1, len(table) - 1)
    low, high = magnitude - table[above - 1], table[above] - magnitude
    even = codes[above - 1] % 2 == 0
    chosen = np.where((low < high) | ((low == high) & even), codes[above - 1], codes[above])
    return chosen | np.where(np.signbit(values), np.uint16(0x8000), np.uint16(0))


def test_nan_stays_nan(machine: Remote) -> None:
    for name, dtype in (("__truncsfhf2", F16), ("__truncsfbf2", BF16)):
        values = np.array([np.nan, -np.nan], np.float32)
        found = machine.do(_narrow, name, ctypes.c_float, values).view(dtype)
        assert np.isnan(found.astype(np.float32)).all()


def test_every_half_widens_to_its_value(machine: Remote) -> None:
    found = machine.do(_widen)
    expected = halves().view(np.float16).astype(np.float32)
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(expected))


def _widen(machine: Machine) -> np.ndarray:
    function = machine.library["__extendhfsf2"]
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    carriers = halves().astype(np.uint32).view(np.float32).tolist()
    return np.array([function(value) for value in carriers], np.float32)
