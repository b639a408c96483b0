"""Every interval is as wide as correct kernels differ, and not much wider.

What correct kernels make of the worst terms is computed here, one addition after the other and in other orders, and
held against the exact result. A bound that is many times as wide would let wrong kernels through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from reference import Expected, evaluate

Array = NDArray[Any]
LONG = np.longdouble

KINDS = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
HALF_ULP = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
ACCUMULATOR = {"f64": "f64", "f32": "f32", "f16": "f32", "bf16": "f32"}


def in_order(terms: Array) -> Any:
    """The sum of one term after the other, rounded each time."""
    total = terms.dtype.type(0)
    for term in terms:
        total = terms.dtype.type(total + term)
    return total


def worst_terms(dtype: str, count: int, within: str | None = None) -> Array:
    """1 and then numbers that are lost one by one when they are added to it in type ``within``: just under half an ulp
    of it each."""
    least = HALF_ULP[within or dtype] * (1 - 2 * HALF_ULP[dtype])
    return np.array([1.0] + [least] * (count - 1)).astype(KINDS[dtype])


def half_width(expected: Expected) -> Array:
    assert expected.low is not None
    assert expected.high is not None
    return np.asarray((expected.high.astype(LONG) - expected.low.astype(LONG)) / 2)


def fast_sum(dtype: str, row: Array) -> Expected:
    arguments = {"src_numel": row.size, "el_to_sum_per_block": row.size, "num_dims": 1, "src": row}
    arguments |= {"info": np.array([row.size, 1], np.uint64), "dst": np.zeros(1, row.dtype)}
    return evaluate("reduce", "fast_reduce", {"op": "sum", "dtype": dtype}, 0, arguments)["dst"]


def atomic_sum(dtype: str, row: Array) -> Expected:
    info = np.array([row.size, 1, row.size, 1], np.uint64)
    arguments = {"numel": row.size, "num_dims": 1, "num_sum_dims": 1, "info": info, "inp": row}
    return evaluate("reduce", "sum", {"dtype": dtype}, 0, arguments | {"out": np.zeros(1, row.dtype)})["out"]


def index_add(dtype: str, row: Array) -> Expected:
    arguments = {"ids": np.zeros(row.size, np.uint32), "ids_dim_size": row.size, "inp": row, "left_size": 1}
    arguments |= {"out": np.zeros(1, row.dtype), "src_dim_size": row.size, "dst_dim_size": 1, "right_size": 1}
    return evaluate("indexing", "index_add", {"dtype": dtype}, 0, arguments)["out"]


def scatter_add(dtype: str, row: Array) -> Expected:
    arguments = {"ids": np.zeros(row.size, np.uint32), "inp": row, "left_size": 1, "right_size": 1}
    arguments |= {"out": np.zeros(1, row.dtype), "src_dim_size": row.size, "dst_dim_size": 1}
    return evaluate("indexing", "scatter_add", {"dtype": dtype}, 0, arguments)["out"]


def col2im1d(dtype: str, row: Array) -> Expected:
    """The last position of the source reaches the output with its first tap, the one before with its second, ..."""
    taps = row.size
    src = np.zeros((taps, taps), row.dtype)
    src[np.arange(taps)[::-1], np.arange(taps)] = row
    arguments = {"dst_el": 2 * taps - 1, "l_out": 2 * taps - 1, "l_in": taps, "c_out": 1, "k_size": taps, "stride": 1}
    arguments |= {"src": src.reshape(-1), "dst": np.zeros(2 * taps - 1, row.dtype)}
    found = evaluate("conv", "col2im1d", {"dtype": dtype}, 0, arguments)["dst"]
    assert found.low is not None
    assert found.high is not None
    at = slice(taps - 1, taps)
    return Expected(found.value[at], found.low[at], found.high[at])


def conv1d(dtype: str, row: Array) -> Expected:
    count = row.size
    info = np.array([1, count, 1, count, 1, 1, 1, count, 1, count, 1, 1], np.uint64)
    arguments = {"src_numel": count, "num_dims": 1, "stride": 1, "padding": 0, "dilation": 1, "info": info}
    arguments |= {"src": row, "kernel": np.ones(count, row.dtype), "dst": np.zeros(1, row.dtype)}
    return evaluate("conv", "conv1d", {"dtype": dtype}, 0, arguments)["dst"]


def avg_pool2d(dtype: str, row: Array) -> Expected:
    info = np.array([1, 1, 1, row.size, row.size, row.size, row.size, 1], np.uint64)
    arguments = {"src_numel": row.size, "w_k": 1, "h_k": row.size, "w_stride": 1, "h_stride": 1, "info": info}
    return evaluate("conv", "avg_pool2d", {"dtype": dtype}, 0, arguments | {"src": row, "dst": np.zeros(1, row.dtype)})[
        "dst"
    ]


Summed = Callable[[str, Array], Expected]
IN_THE_TYPE: tuple[Summed, ...] = (fast_sum, atomic_sum, index_add, scatter_add, col2im1d)
IN_A_WIDER_ONE: tuple[Summed, ...] = (conv1d, avg_pool2d)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("summed", IN_THE_TYPE, ids=lambda one: one.__name__)
def test_the_worst_order_is_just_allowed(summed: Summed, dtype: str) -> None:
    terms = worst_terms(dtype, 64)
    exact = terms.astype(LONG).sum()
    found = summed(dtype, terms)
    for order in (terms, terms[::-1]):
        assert found.low is not None
        assert found.high is not None
        assert found.low[0] <= in_order(order) <= found.high[0]
    worst = abs(LONG(in_order(terms)) - exact)
    assert worst > 50 * HALF_ULP[dtype]
    # Half an ulp of the result each way for storing the ends.
    assert half_width(found)[0] <= 1.4 * worst + HALF_ULP[dtype]


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("summed", IN_A_WIDER_ONE, ids=lambda one: one.__name__)
def test_the_worst_order_of_sums_that_are_finished_afterwards(summed: Summed, dtype: str) -> None:
    terms = worst_terms(dtype, 64)
    size = 64 if summed is avg_pool2d else 1
    worst = abs(LONG(in_order(terms)) - terms.astype(LONG).sum()) / size
    assert half_width(summed(dtype, terms))[0] <= 1.4 * worst + 3 * HALF_ULP[dtype] / size


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("summed", IN_A_WIDER_ONE, ids=lambda one: one.__name__)
def test_a_sum_in_float32_is_not_allowed_the_roundings_of_its_storage(summed: Summed, dtype: str) -> None:
    terms = worst_terms(dtype, 64)
    found = summed(dtype, terms)
    size = 64 if summed is avg_pool2d else 1
    assert half_width(found)[0] * size <= HALF_ULP[dtype] * 2
    assert found.low is not None
    assert found.low[0] * size > in_order(terms)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("summed", IN_THE_TYPE + IN_A_WIDER_ONE, ids=lambda one: one.__name__)
def test_sums_that_no_order_rounds_have_no_width(summed: Summed, dtype: str) -> None:
    terms = np.resize([1.5, -1, 0, 0.5, -0.0, 2, -1.5, 1], 64).astype(KINDS[dtype])
    assert half_width(summed(dtype, terms))[0] == 0
    if summed is not conv1d:  # whose products may be rounded before
        assert half_width(summed(dtype, worst_terms(dtype, 2)))[0] == 0, "two terms are rounded once"


@pytest.mark.parametrize("count", [100, 1000])
@pytest.mark.parametrize("dtype", ["f64", "f32", "f16"])
def test_random_terms(dtype: str, count: int) -> None:
    """Errors of random terms grow with the root of their number: no kernel comes near the bound, and the bound is no
    more than that root and a small factor away."""
    stream = np.random.default_rng(count)
    terms = np.abs(stream.normal(size=count)).astype(KINDS[dtype])
    exact = terms.astype(LONG).sum()
    errors = [abs(LONG(in_order(stream.permutation(terms))) - exact) for _ in range(20)]
    errors += [abs(LONG(in_order(np.sort(terms)[::-1])) - exact)]
    assert max(errors) <= half_width(fast_sum(dtype, terms))[0] <= 20 * np.sqrt(count) * max(errors)


def rmsnorm(row: Array, eps: float = 0.0) -> Expected:
    arguments = {"src": row, "dst": np.zeros_like(row), "alpha": None, "n_cols": row.size, "block_size": 32}
    return evaluate("reduce", "rmsnorm", {"dtype": "f32"}, 2, arguments | {"eps": np.float32(eps)})["dst"]


def layernorm(row: Array, eps: float = 0.0) -> Expected:
    arguments = {"src": row, "dst": np.zeros_like(row), "alpha": None, "beta": None, "n_cols": row.size}
    arguments |= {"block_size": 32, "eps": np.float32(eps)}
    return evaluate("reduce", "layernorm", {"dtype": "f32"}, 2, arguments)["dst"]


def softmax(row: Array, dtype: str = "f32", library_ulp: int = 2) -> Expected:
    arguments = {"src": row, "dst": np.zeros_like(row), "n_cols": row.size}
    return evaluate("reduce", "softmax", {"dtype": dtype}, library_ulp, arguments)["dst"]


def test_the_reciprocal_root_of_a_norm_is_allowed_its_steps() -> None:
    """Ones: the sum and the mean are exact, so that only the root (4 units), two products and storing are left."""
    found = rmsnorm(np.ones(32, np.float32))
    assert 2 * HALF_ULP["f32"] <= half_width(found).max() <= 9 * HALF_ULP["f32"]
    pair = np.resize(np.array([-1, 1], np.float32), 32)
    # A variance in two passes rounds as often as there are elements, half of which is left after the root.
    assert half_width(layernorm(pair)).max() <= (32 / 2 + 16) * HALF_ULP["f32"]


def test_the_worst_order_of_a_norm() -> None:
    """Squares that are lost next to a 1: the sum of 4,096 is too small by as many half ulps of 1."""
    count = 4096
    row = np.array([1.0] + [2.0**-12 * (1 - 2.0**-20)] * (count - 1), np.float32)
    squares = row.astype(np.float64) ** 2
    exact = row / np.sqrt(squares.mean())
    worst = row / np.sqrt(LONG(in_order(squares.astype(np.float32))) / count)
    found = rmsnorm(row)
    error = np.abs(worst - exact)[0]
    assert error > 1000 * HALF_ULP["f32"] * exact[0]
    assert error * 0.99 <= half_width(found)[0] <= 1.1 * error


def test_a_norm_far_from_zero_is_as_wide_as_its_formula_is_bad() -> None:
    """Numbers near 30 with a variance of 2: the mean of squares less the squared mean cancels."""
    row = (30 + np.random.default_rng(3).normal(size=48) * 1.4).astype(np.float32)
    wide = row.astype(np.float64)
    exact = (wide - wide.mean()) / np.sqrt(wide.var())
    orders = [np.random.default_rng(seed).permutation(row) for seed in range(50)]
    results = []
    for order in orders:
        mean = in_order(order) / np.float32(48)
        variance = in_order(order * order) / np.float32(48) - mean * mean
        results.append((row - mean) / np.sqrt(variance))
    worst = np.abs(np.array(results) - exact).max()
    found = half_width(layernorm(row)).max()
    assert worst <= found <= 100 * worst
    near = half_width(layernorm((row - 30).astype(np.float32))).max()
    assert near < found / 5


def test_the_interval_of_a_softmax() -> None:
    """Equal elements: the powers' steps twice, the additions, five rescalings of five units, and the quotient."""
    found = softmax(np.ones(32, np.float32))
    assert half_width(found).max() * 32 <= (4 + 4 + 31 + 6 * 5 + 4) * HALF_ULP["f32"]
    wide = softmax(np.ones(32), "f64", 1)
    assert half_width(wide).max() * 32 <= (2 + 2 + 31 + 6 * 3 + 4) * HALF_ULP["f64"]


@pytest.mark.parametrize(("dtype", "library_ulp"), [("f16", 16), ("bf16", 2)])
def test_the_interval_of_a_softmax_of_16_bits(dtype: str, library_ulp: int) -> None:
    """From the formula rounded at each step to float32 throughout: as far as these are apart, and a rounding more."""
    row = np.random.default_rng(1).normal(size=200).astype(KINDS[dtype])
    wide = row.astype(np.float64)
    exact = np.exp(wide - wide.max())
    exact /= exact.sum()
    found = softmax(row, dtype, library_ulp)
    # The difference is rounded, which moves the power by as much as it is large; then power, reciprocal and product.
    allowed = exact * HALF_ULP[dtype] * (2 * np.abs(wide - wide.max()) + 8)
    assert (half_width(found) <= allowed).all()


def test_the_interval_of_a_rotation_is_three_roundings() -> None:
    stream = np.random.default_rng(5)
    src = stream.normal(size=64).astype(np.float32)
    cos, sin = stream.normal(size=(2, 32)).astype(np.float32)
    arguments = {"src": src, "cos": cos, "sin": sin, "dst": np.zeros_like(src), "bh": 1, "td": 64, "stride_b": 0}
    found = evaluate("reduce", "rope_i", {"dtype": "f32"}, 0, arguments)["dst"]
    x, y = src[::2], src[1::2]
    allowed = np.stack([np.abs(x * cos) + np.abs(y * sin), np.abs(x * sin) + np.abs(y * cos)], axis=1).reshape(-1)
    assert half_width(found).max() > 0
    assert (half_width(found) <= 1.5 * HALF_ULP["f32"] * allowed).all()


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_a_rotation_of_16_bits_may_be_computed_in_f32(dtype: str) -> None:
    stream = np.random.default_rng(6)
    src, cos, sin = (stream.normal(size=n).astype(KINDS[dtype]) for n in (2048, 1024, 1024))
    arguments = {"src": src, "cos": cos, "sin": sin, "dst": np.zeros_like(src), "bh": 1, "td": 2048, "stride_b": 0}
    found = evaluate("reduce", "rope_i", {"dtype": dtype}, 0, arguments)["dst"]
    x, y, c, s = (part.astype(np.float32) for part in (src[::2], src[1::2], cos, sin))
    got = np.stack([x * c - y * s, x * s + y * c], axis=1).reshape(-1).astype(KINDS[dtype])
    assert found.low is not None
    assert found.high is not None
    assert (found.low <= got).all()
    assert (got <= found.high).all()
    size = np.stack([np.abs(x * c) + np.abs(y * s), np.abs(x * s) + np.abs(y * c)], axis=1).reshape(-1)
    assert (half_width(found) <= 1.5 * HALF_ULP[dtype] * size).all()


def test_a_product_with_weights_is_allowed_a_rounding_for_each_term() -> None:
    """Rows of ones in q8_0 times ones: a term for each weight of dmmv, for each word of four of the others."""
    columns = 1024
    block = np.concatenate([np.array([1], np.float16).view(np.uint8), np.ones(32, np.uint8)])
    weights = np.tile(block, columns // 32)
    arguments = {"vx": weights, "y": np.ones(columns, np.float32), "dst": np.zeros(1, np.float32), "nrows": 1}
    found = evaluate("quantized", "dmmv", {"qtype": "q8_0"}, 0, arguments | {"ncols": columns})["dst"]
    assert columns <= half_width(found)[0] / columns / HALF_ULP["f32"] <= 1.1 * columns
    ones = np.array([1, 32], np.float16).view(np.uint8)
    activations = np.tile(np.concatenate([ones, np.ones(32, np.uint8)]), columns // 32)
    arguments = {"vx": weights, "vy": activations, "dst": np.zeros(1, np.float32), "ncols_x": columns, "nrows_x": 1}
    arguments |= {"nrows_y": columns, "nrows_dst": 1}
    found = evaluate("quantized", "mmvq", {"qtype": "q8_0", "ncols_y": "1"}, 0, arguments)["dst"]
    assert columns / 4 <= half_width(found)[0] / columns / HALF_ULP["f32"] <= columns / 4 + 64
    arguments |= {"ncols_y": 1}
    found = evaluate("quantized", "mmq", {"qtype": "q8_0"}, 0, arguments)["dst"]
    assert columns / 4 <= half_width(found)[0] / columns / HALF_ULP["f32"] <= columns / 4 + 64


def test_a_bilinear_interpolation_is_allowed_its_three_roundings() -> None:
    src = np.random.default_rng(6).normal(size=20)
    info = np.array([1, 1, 4, 5, 20, 20, 5, 1], np.uint64)
    arguments = {"w_out": 7, "h_out": 9, "align_corners": False, "has_scale_h": False, "has_scale_w": False}
    arguments |= {"scale_h_factor": 0.0, "scale_w_factor": 0.0, "info": info, "src": src, "dst": np.zeros(63)}
    found = evaluate("conv", "upsample_bilinear2d", {"dtype": "f64"}, 0, arguments)["dst"]
    assert 0 < half_width(found).max() <= 3 * HALF_ULP["f64"] * np.abs(src).max()


def test_a_norm_whose_variance_may_vanish_is_free() -> None:
    """Else another order, which makes it 0 or less, is called wrong for an infinity or NaN."""
    row = (1000 + np.random.default_rng(1).standard_normal(64)).astype(np.float32)
    found = layernorm(row, 1e-5)
    assert found.free is not None
    assert found.free[:64].all()
    assert layernorm(np.zeros(40, np.float32)).free is None
    assert layernorm((row - 1000).astype(np.float32), 1e-5).free is None
