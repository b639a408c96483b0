"""What the recorded traces do not hold: layouts, buffers longer than the launch, undefined corners, errors."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from reference import NoReference, evaluate
from reference.strided import read, write

Array = NDArray[Any]
F8 = np.dtype(ml_dtypes.float8_e4m3fn)
BF16 = np.dtype(ml_dtypes.bfloat16)


def run(module: str, family: str, variant: dict[str, str], **arguments: Any) -> Array:
    """The value of the one buffer that a kernel writes."""
    for argument in arguments.values():
        if isinstance(argument, np.ndarray):
            argument.flags.writeable = False
    (answer,) = evaluate(module, family, variant, 0, arguments).values()
    return answer.value


def walk(buffer: Array, numel: int, dims: list[int], strides: list[int]) -> list[Any]:
    """The elements by plain index arithmetic, one at a time."""
    found = []
    for flat in range(numel):
        rest, offset = flat, 0
        for size, stride in zip(reversed(dims), reversed(strides), strict=True):
            offset += rest % size * stride
            rest //= size
        found.append(buffer[offset])
    return found


@pytest.mark.parametrize(
    ("numel", "dims", "strides"),
    [
        (24, [2, 3, 4], [12, 4, 1]),
        (24, [2, 3, 4], [1, 2, 6]),
        (24, [4, 3, 2], [7, 0, 30]),
        (6, [1, 6, 1], [999999, 2, 999999]),
        (1, [], []),
        (5, [2, 3], [3, 1]),
        (9, [2, 3], [3, 1]),
        (0, [0, 3], [3, 1]),
    ],
)
def test_read_and_write_follow_the_index_arithmetic(numel: int, dims: list[int], strides: list[int]) -> None:
    buffer = np.arange(100, dtype=np.uint32)
    addressed = walk(buffer, numel, dims, strides)
    assert read(buffer, numel, dims, strides).tolist() == addressed
    content = buffer.copy()
    write(content, numel, dims, strides, 7777)
    assert np.flatnonzero(content == 7777).tolist() == sorted(set(addressed))


def test_read_beyond_the_buffer_is_an_error() -> None:
    with pytest.raises(ValueError, match="beyond 10 elements"):
        read(np.zeros(10), 6, [2, 3], [7, 2])
    with pytest.raises(ValueError, match="11 elements"):
        read(np.zeros(10), 11, None, None)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, BF16, F8])
def test_longer_buffers_keep_their_tail(dtype: Any) -> None:
    out = np.full(8, 3, dtype)
    value = run(
        "unary", "unary", {"op": "sqr", "dtype": _name(dtype)}, numel=3, num_dims=1, info=None,
        inp=np.full(10, 2, dtype), out=out,
    )  # fmt: skip
    assert value.astype(float).tolist() == [4, 4, 4, 3, 3, 3, 3, 3]
    assert value.dtype == out.dtype


def _name(dtype: Any) -> str:
    names = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3"}
    return names[np.dtype(dtype).name]


def test_in_place_ignores_the_layout() -> None:
    info = np.array([3, 2, 1, 3], np.uint64)
    out = np.arange(8, dtype=np.float32)
    value = run("unary", "unary", {"op": "neg", "dtype": "f32"}, numel=6, num_dims=2, info=info, inp=None, out=out)
    assert value.tolist() == [0, -1, -2, -3, -4, -5, 6, 7]
    assert out.tolist() == list(range(8))


def test_empty_launch_writes_nothing() -> None:
    out = np.arange(4, dtype=np.float32)
    for info in (None, np.array([0, 3, 3, 1], np.uint64)):
        common = {"numel": 0, "num_dims": 2, "info": info}
        value = run("unary", "unary", {"op": "exp", "dtype": "f32"}, **common, inp=np.zeros(0, np.float32), out=out)
        assert value.tolist() == [0, 1, 2, 3]
        assert run("fill", "const_set", {"dtype": "f32"}, **common, inp=np.float32(9), out=out).tolist() == [0, 1, 2, 3]
    assert run("fill", "fill", {"dtype": "f32"}, buf=out, value=np.float32(9), numel=0).tolist() == [0, 1, 2, 3]


def test_const_set_leaves_the_gaps() -> None:
    info = np.array([2, 2, 4, 2], np.uint64)
    out = np.full(8, 0xA5, np.uint8)
    value = run("fill", "const_set", {"dtype": "u8"}, numel=4, num_dims=2, info=info, inp=np.uint8(1), out=out)
    assert value.tolist() == [1, 0xA5, 1, 0xA5, 1, 0xA5, 1, 0xA5]


def test_copy2d_leaves_the_gaps() -> None:
    value = run(
        "fill", "copy2d", {"dtype": "u8"}, src=np.arange(12, dtype=np.uint8), dst=np.full(9, 99, np.uint8),
        d1=np.uint32(2), d2=np.uint32(3), src_s=np.uint32(6), dst_s=np.uint32(4),
    )  # fmt: skip
    assert value.tolist() == [0, 1, 2, 99, 6, 7, 8, 99, 99]


def binary(op: str, dtype: str, x: Array, y: Array) -> Array:
    return run(
        "binary", "binary", {"op": op, "dtype": dtype}, numel=x.size, num_dims=1, dims_and_strides=None, lhs=x, rhs=y,
        out=np.zeros_like(x),
    )  # fmt: skip


def test_integer_division_truncates() -> None:
    x = np.array([7, -7, 7, -7, -6, 0, 2**62 + 1, -(2**63)], np.int64)
    y = np.array([2, 2, -2, -2, 3, 5, 1, 1], np.int64)
    assert binary("div", "i64", x, y).tolist() == [3, -3, -3, 3, -2, 0, 2**62 + 1, -(2**63)]


@pytest.mark.parametrize(("name", "dtype"), [("u8", np.uint8), ("u32", np.uint32), ("i64", np.int64)])
def test_integer_division_by_zero_does_not_raise(name: str, dtype: Any) -> None:
    least = np.iinfo(dtype).min
    x, y = np.array([1, 0, least], dtype), np.array([0, 0, -1 if least < 0 else 0], dtype)
    assert binary("div", name, x, y).shape == (3,)


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "f8e4m3"])
def test_maximum_of_zeros_and_nan(dtype: str) -> None:
    kind = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": BF16, "f8e4m3": F8}[dtype]
    x = np.array([0.0, -0.0, -0.0, np.nan, 2.0, np.nan]).astype(kind)
    y = np.array([-0.0, 0.0, -0.0, 1.0, np.nan, np.nan]).astype(kind)
    one, two = ("nan", "nan") if dtype in ("f16", "bf16") else ("1.0", "2.0")
    largest = [str(float(v)) for v in binary("maximum", dtype, x, y)]
    least = [str(float(v)) for v in binary("minimum", dtype, x, y)]
    assert largest == ["0.0", "0.0", "-0.0", one, two, "nan"]
    assert least == ["-0.0", "-0.0", "-0.0", one, two, "nan"]


@pytest.mark.parametrize(
    ("op", "x", "y", "expected"),
    [
        ("mul", 1.5 * 2.0**-67, 1.0 * 2.0**-67, 2.0**-133),  # 0.75 of the least subnormal
        ("mul", 2.0**-67, 2.0**-67, 0.0),  # a tie, to even
        ("mul", (1 + 2.0**-7) * 2.0**-67, 2.0**-67, 2.0**-133),  # a hair above the tie, lost in float32
        ("add", 1.0, 2.0**-8, 1.0),
        ("add", 1.0 + 2.0**-7, 2.0**-8, 1.0 + 2.0**-6),
        ("div", 1.0, 3.0, 0.333984375),
    ],
)
def test_bfloat16_rounds_once(op: str, x: float, y: float, expected: float) -> None:
    got = binary(op, "bf16", np.array([x]).astype(BF16), np.array([y]).astype(BF16))
    assert float(got[0]) == expected


def cast(src: str, dst: str, x: list[float], source: Any, target: Any) -> list[float]:
    inp = np.array(x).astype(source)
    out = np.zeros(inp.size, target)
    variant = {"src_dtype": src, "dst_dtype": dst}
    value = run("cast", "cast", variant, numel=inp.size, num_dims=1, info=None, inp=inp, out=out)
    return [float(v) if target in (F8, BF16) else v for v in value.tolist()]


@pytest.mark.parametrize("source", ["f32", "f64"])
def test_float_to_integer(source: str) -> None:
    kind = {"f32": np.float32, "f64": np.float64}[source]
    nan, inf = np.nan, np.inf
    x = [-5.0, -0.9, 255.9, 256.0, 300.0, 2.0**32, inf, -inf, nan]
    assert cast(source, "u8", x, kind, np.uint8) == [0, 0, 255, 0, 44, 255, 255, 0, 0]
    wide = [0, 0, 255, 256, 300, 2**32 - 1, 2**32 - 1, 0, 0x80000000 if source == "f64" else 0]
    assert cast(source, "u32", x, kind, np.uint32) == wide
    x = [-5.9, 2.0**62, 2.0**63, -(2.0**63), -(2.0**64), inf, -inf, nan]
    most, least = 2**63 - 1, -(2**63)
    assert cast(source, "i64", x, kind, np.int64) == [-5, 2**62, most, least, least, most, least, least]


def test_float64_to_float8_goes_through_float32() -> None:
    above_the_tie = 1.0625 + 2.0**-40  # float32 drops the excess: a tie, to even
    assert cast("f64", "f8e4m3", [above_the_tie, 1e9, -np.inf], np.float64, F8) == [1.0, 448.0, -448.0]


def test_float64_to_bfloat16_does_not_go_through_float32() -> None:
    assert cast("f64", "bf16", [1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8], np.float64, BF16) == [1 + 2.0**-7, 1.0]


def test_missing_references_say_so() -> None:
    with pytest.raises(NoReference, match=r"reference/nosuch\.py"):
        evaluate("nosuch", "nosuch", {}, 0, {})
    with pytest.raises(NoReference, match=r"function nosuch in reference/affine\.py"):
        evaluate("affine", "nosuch", {}, 0, {})


def test_the_reference_stands_alone() -> None:
    """It is put on trial by itself, so it must not load the harness, of which it needs the rows of the dtypes only."""
    modules = ["affine", "unary", "binary", "cast", "ternary", "fill"]
    code = f"import sys, importlib; [importlib.import_module('reference.' + m) for m in {modules}]; "
    code += "print(*sorted(m for m in sys.modules if m.split('.')[0] in ('conformance', 'hip')))"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stdout.split() == ["conformance", "conformance.dtypes"]


@pytest.mark.parametrize("count", [1, 5, 17, 33])
@pytest.mark.parametrize("op", ["maximum", "minimum"])
def test_a_signalling_nan_is_ignored_beside_a_number_wherever_it_stands(op: str, count: int) -> None:
    numbers = np.full(count, 3, np.float32)
    signalling = np.full(count, 0x7F800001, np.uint32).view(np.float32)
    for lhs, rhs in ((numbers, signalling), (signalling, numbers)):
        arguments = {"numel": count, "num_dims": 1, "dims_and_strides": None, "lhs": lhs, "rhs": rhs}
        out = np.zeros(count, np.float32)
        answer = evaluate("binary", "binary", {"op": op, "dtype": "f32"}, 0, {**arguments, "out": out})
        assert np.array_equal(answer["out"].value, numbers)
