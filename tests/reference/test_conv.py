"""The conv reference: the recorded traces, and plain loops over outputs for what the traces do not hold."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import traces
from numpy.typing import NDArray

from reference import evaluate

Array = NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "uint8": "u8", "uint32": "u32"}


def _run(family: str, dst: Array, **arguments: Any) -> Array:
    (answer,) = evaluate("conv", family, {"dtype": NAMES[dst.dtype.name]}, 0, arguments | {"dst": dst}).values()
    assert answer.value.dtype == dst.dtype
    return answer.value


def _info(*tensors: Array) -> Array:
    return np.array(
        [n for t in tensors for n in (*t.shape, *(stride // t.itemsize for stride in t.strides))], np.uint64
    )


def _drawn(shape: tuple[int, ...], dtype: Any, seed: int = 3) -> Array:
    """Small integers, whose products and sums every type holds."""
    return np.random.default_rng(seed).integers(0, 4, shape).astype(np.float32).astype(dtype)


def test_recorded_answers() -> None:
    assert sum(1 for _ in traces.cases("conv")) == 180
    assert list(traces.judge("conv")) == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, BF16, np.uint8, np.uint32])
@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 0, 1), (2, 1, 1), (1, 2, 2), (3, 4, 2)])
def test_conv2d_against_a_walk(dtype: Any, stride: int, padding: int, dilation: int) -> None:
    x, k = _drawn((2, 3, 6, 7), dtype), _drawn((4, 3, 2, 3), dtype, 4)
    h_out, w_out = ((n + 2 * padding - dilation * (t - 1) - 1) // stride + 1 for n, t in ((6, 2), (7, 3)))
    expected = np.zeros((2, 4, h_out, w_out))
    for b, co, i, j, ci, p, q in product(*map(range, (2, 4, h_out, w_out, 3, 2, 3))):
        y, z = i * stride + p * dilation - padding, j * stride + q * dilation - padding
        if 0 <= y < 6 and 0 <= z < 7:
            expected[b, co, i, j] += float(x[b, ci, y, z]) * float(k[co, ci, p, q])
    value = _run(
        "conv2d", np.full(expected.size + 2, 9, dtype), src_numel=x.size, w_out=w_out, h_out=h_out, stride=stride,
        padding=padding, dilation=dilation, info=_info(x, k), src=x.reshape(-1), kernel=k.reshape(-1),
    )  # fmt: skip
    assert value[:-2].astype(float).tolist() == expected.reshape(-1).tolist()
    assert value[-2:].astype(float).tolist() == [9, 9]


@pytest.mark.parametrize("dtype", [np.float32, BF16, np.uint8])
@pytest.mark.parametrize(("stride", "padding", "dilation", "extra"), [(1, 0, 1, 0), (3, 1, 2, 1), (2, 2, 1, 1)])
def test_conv_transpose2d_against_a_walk(dtype: Any, stride: int, padding: int, dilation: int, extra: int) -> None:
    x, k = _drawn((2, 3, 4, 5), dtype), _drawn((3, 2, 2, 3), dtype, 4)
    h_out, w_out = ((n - 1) * stride - 2 * padding + dilation * (t - 1) + extra + 1 for n, t in ((4, 2), (5, 3)))
    expected = np.zeros((2, 2, h_out, w_out))
    for b, ci, co, y, z, p, q in product(*map(range, (2, 3, 2, 4, 5, 2, 3))):
        i, j = y * stride + p * dilation - padding, z * stride + q * dilation - padding
        if 0 <= i < h_out and 0 <= j < w_out:
            expected[b, co, i, j] += float(x[b, ci, y, z]) * float(k[ci, co, p, q])
    value = _run(
        "conv_transpose2d", np.zeros(expected.size, dtype), src_numel=x.size, w_out=w_out, h_out=h_out, stride=stride,
        padding=padding, out_padding=extra, dilation=dilation, info=_info(x, k), src=x.reshape(-1),
        kernel=k.reshape(-1),
    )  # fmt: skip
    assert value.astype(float).tolist() == expected.reshape(-1).tolist()


def test_conv1d_multiplies_the_whole_position_by_the_dilation() -> None:
    x, k = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 8), np.array([[[1, 10]]], np.float32)
    common: dict[str, Any] = {
        "src_numel": 8, "padding": 0, "info": _info(x, k), "src": x.reshape(-1), "kernel": k.reshape(-1),
    }  # fmt: skip
    plain = _run("conv1d", np.zeros(3, np.float32), num_dims=3, stride=1, dilation=1, **common)
    assert plain.tolist() == [21, 32, 43]
    # Positions (l + o) * 2: 0 and 2, 2 and 4, 4 and 6; a dilated convolution would take 0 and 2, 1 and 3, 2 and 4.
    doubled = _run("conv1d", np.zeros(3, np.float32), num_dims=3, stride=1, dilation=2, **common)
    assert doubled.tolist() == [31, 53, 75]


def test_strided_sources_and_kernels() -> None:
    x, k = _drawn((2, 3, 6, 7), np.float32), _drawn((4, 3, 2, 3), np.float32, 4)
    held_x, held_k = np.ascontiguousarray(x.transpose(0, 2, 3, 1)), np.ascontiguousarray(k.transpose(1, 0, 3, 2))
    common: dict[str, Any] = {"src_numel": 0, "w_out": 5, "h_out": 5, "stride": 1, "padding": 0, "dilation": 1}
    plain = _run(
        "conv2d", np.zeros(200, np.float32), info=_info(x, k), src=x.reshape(-1), kernel=k.reshape(-1), **common
    )
    strided = _run(
        "conv2d", np.zeros(200, np.float32), info=_info(held_x.transpose(0, 3, 1, 2), held_k.transpose(1, 0, 3, 2)),
        src=held_x.reshape(-1), kernel=held_k.reshape(-1), **common,
    )  # fmt: skip
    assert plain.tolist() == strided.tolist()


def test_im2col_and_conv2d_agree() -> None:
    x, k = _drawn((2, 3, 6, 5), np.float64), _drawn((4, 3, 2, 3), np.float64, 4)
    common: dict[str, Any] = {
        "h_out": 8, "w_out": 5, "stride": 1, "padding": 2, "dilation": 2, "info": _info(x), "src": x.reshape(-1),
    }  # fmt: skip
    columns = _run("im2col", np.zeros(2 * 40 * 18), dst_numel=2 * 40 * 18, h_k=2, w_k=3, **common)
    common |= {"info": _info(x, k), "kernel": k.reshape(-1), "src_numel": x.size}
    direct = _run("conv2d", np.zeros(2 * 4 * 40), **common).reshape(2, 4, 40)
    multiplied = columns.reshape(2, 40, 18) @ k.reshape(4, 18).T
    assert np.array_equal(multiplied.transpose(0, 2, 1), direct)


def test_col2im1d_scatters_what_im2col1d_gathers() -> None:
    src = _drawn((2, 4, 3, 5), np.float32)
    expected = np.zeros((2, 3, 11))
    for b, at, c, k in product(*map(range, (2, 4, 3, 5))):
        expected[b, c, 2 * at + k] += float(src[b, at, c, k])
    value = _run(
        "col2im1d", np.full(67, 9, np.float32), dst_el=66, l_out=11, l_in=4, c_out=3, k_size=5, stride=2,
        src=src.reshape(-1),
    )  # fmt: skip
    assert value.tolist() == [*expected.reshape(-1).tolist(), 9]


def _pooled(family: str, x: Array, window: tuple[int, int], steps: tuple[int, int], size: int) -> list[float]:
    value = _run(
        family, np.zeros(size, x.dtype), src_numel=x.size, w_k=window[0], h_k=window[1], w_stride=steps[0],
        h_stride=steps[1], info=_info(x), src=x.reshape(-1),
    )  # fmt: skip
    return [float(element) for element in value]


def test_average_wraps_in_u8_and_truncates() -> None:
    x = np.array([200, 100, 3, 4], np.uint8).reshape(1, 1, 2, 2)
    assert _pooled("avg_pool2d", x, (2, 2), (1, 1), 1) == [(307 % 256) // 4]
    assert _pooled("avg_pool2d", x[:, :, :1], (1, 2), (1, 1), 1) == [22]


def test_average_of_u32_goes_through_f32() -> None:
    x = np.array([2**24 + 1], np.uint32).reshape(1, 1, 1, 1)
    assert _pooled("avg_pool2d", x, (1, 1), (1, 1), 1) == [2**24]
    x = np.full((1, 1, 1, 1), 2**32 - 1, np.uint32)
    assert _pooled("avg_pool2d", x, (1, 1), (1, 1), 1) == [2**32 - 1]


def test_average_of_f64_has_an_f32_factor() -> None:
    x = np.ones((1, 1, 3, 1))
    assert _pooled("avg_pool2d", x, (3, 1), (1, 1), 1) == [3 * float(np.float32(1 / 3))]


def test_windows_that_do_not_fit_are_left_out() -> None:
    x = np.arange(20, dtype=np.float32).reshape(1, 1, 4, 5)
    assert _pooled("max_pool2d", x, (3, 2), (2, 2), 2) == [11, 13]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, BF16])
def test_maximum_of_nan(dtype: Any) -> None:
    x = np.array([np.nan, -5, -6, np.nan, np.nan, np.nan], np.float32).astype(dtype).reshape(1, 1, 3, 2)
    got = _pooled("max_pool2d", x, (1, 2), (1, 1), 3)
    stays = dtype in (np.float16, BF16)
    assert [math.isnan(value) for value in got] == [stays, stays, True]
    assert stays or got[:2] == [-5, -6]


def test_maximum_of_zeros_is_the_positive_one() -> None:
    x = np.array([-0.0, 0.0, -0.0, -0.0], np.float32).reshape(1, 1, 2, 2)
    assert [math.copysign(1, value) for value in _pooled("max_pool2d", x, (1, 2), (1, 1), 2)] == [1, -1]


def _bilinear(x: Array, out: tuple[int, int], **flags: Any) -> list[float]:
    given = {
        "align_corners": 0, "has_scale_h": 0, "scale_h_factor": 0.0, "has_scale_w": 0, "scale_w_factor": 0.0, **flags,
    }  # fmt: skip
    value = _run(
        "upsample_bilinear2d", np.zeros(x.shape[0] * x.shape[1] * out[0] * out[1], x.dtype), h_out=out[0],
        w_out=out[1], info=_info(x), src=x.reshape(-1), **given,
    )  # fmt: skip
    return [float(element) for element in value]


def _fma(a: float, b: float, c: float) -> float:
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def test_bilinear_leaves_each_fusion_to_the_compiler() -> None:
    """Above with the first product fused and below with the second, or the other way round; half between the rows."""
    x = np.random.default_rng(5).standard_normal((1, 200, 2, 2))
    arguments = {"dst": np.zeros(1000), "info": _info(x), "src": x.ravel(), "h_out": 1, "w_out": 5}
    arguments |= {"align_corners": 0, "has_scale_h": 1, "scale_h_factor": 0.5, "has_scale_w": 1, "scale_w_factor": 3.3}
    answer = evaluate("conv", "upsample_bilinear2d", {"dtype": "f64"}, 0, arguments)["dst"]
    assert answer.low is not None
    assert answer.high is not None
    for channel, column in product(range(200), range(2, 5)):
        weight = float(Fraction(1 / 3.3) * Fraction(column + 0.5) - Fraction(1, 2))
        rest = 1 - weight
        (first, second), (third, fourth) = (
            (_fma(a, rest, b * weight), _fma(b, weight, a * rest)) for a, b in x[0, channel].tolist()
        )
        low, high = (float(bound[5 * channel + column]) for bound in (answer.low, answer.high))
        for value in (0.5 * first + 0.5 * fourth, 0.5 * second + 0.5 * third):
            assert low <= value <= high


def test_bilinear_by_hand() -> None:
    x = np.array([0, 10], np.float64).reshape(1, 1, 1, 2)
    assert _bilinear(x, (1, 4)) == [0, 2.5, 7.5, 10]
    assert _bilinear(x, (1, 5), align_corners=1) == [0, 2.5, 5, 7.5, 10]
    assert _bilinear(x.swapaxes(2, 3), (4, 1)) == [0, 2.5, 7.5, 10]
    assert _bilinear(x, (1, 1), align_corners=1) == [0]
    # A factor of 2 where the sizes say 3: positions (o + 0.5) / 2 - 0.5.
    assert _bilinear(x, (1, 3), has_scale_w=1, scale_w_factor=2.0) == [0, 2.5, 7.5]
    assert _bilinear(x, (1, 3), has_scale_h=1, scale_h_factor=2.0) == _bilinear(x, (1, 3))
    assert _bilinear(x, (1, 5), align_corners=1, has_scale_w=1, scale_w_factor=2.0) == [0, 2.5, 5, 7.5, 10]


def test_bilinear_truncates_integers() -> None:
    assert _bilinear(np.array([0, 255], np.uint8).reshape(1, 1, 1, 2), (1, 4)) == [0, 63, 191, 255]


def test_bilinear_takes_neighbours_of_weight_zero() -> None:
    got = _bilinear(np.array([1, np.inf, 2], np.float32).reshape(1, 1, 1, 3), (1, 3))
    # The middle one too: the row below it is itself, with weight 0.
    assert [math.isnan(value) for value in got] == [True, True, False]
    assert got[2] == 2


def test_nearest_is_computed_in_f64() -> None:
    # 22 * (45 / 33) is 29.999... in f64, where integers give 30.
    x = np.arange(45, dtype=np.uint8).reshape(1, 1, 45, 1)
    value = _run(
        "upsample_nearest2d", np.zeros(33, np.uint8), w_out=33, h_out=1, w_scale=np.float64(45) / 33, h_scale=1.0,
        info=_info(x), src=x.reshape(-1),
    )  # fmt: skip
    at = np.arange(33)
    assert value.tolist() == [min(math.trunc(o * (45 / 33)), 44) for o in range(33)]
    assert value.tolist() != (at * 45 // 33).tolist()
