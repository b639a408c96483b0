"""The references of the reduce module: judged by the recorded answers, and against formulas written out anew."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import traces
from numpy.typing import NDArray

from reference import Expected, evaluate
from reference.softmax import bounds

Array = NDArray[Any]


@pytest.mark.slow("replays recorded answers")
def test_recorded_answers() -> None:
    assert list(traces.judge("reduce")) == []


def test_a_step_beyond_the_interval_is_noticed() -> None:
    """Intervals are narrow: a recorded answer moved by 1 % leaves them, wherever it is neither zero nor infinite.

    By 5 % for a softmax of bfloat16, where a difference of 8 that is rounded to the type moves the power by 3 %.
    """
    for case in traces.cases("reduce"):
        if case.kernel.family in ("fast_reduce", "sum"):
            continue
        (expected,) = case.answers(case.kernel.tolerance.library_ulp).values()
        (got,) = case.expected.values()
        factor = 1.05 if case.kernel.name == "softmax_bf16" else 1.01
        moved = (got.astype(np.float64) * factor).astype(got.dtype)
        changed = (moved != got) & np.isfinite(moved.astype(np.float64)) & (np.abs(got.astype(np.float64)) > 1e-3)
        assert changed.sum() > got.size // 20
        share = (traces.steps(moved, expected)[changed] > 0).mean()
        assert share > 0.9, f"{case.kernel.name} {case.label}: only {share:.0%} noticed"


def reduced(op: str, dtype: str, rows: Array) -> Array:
    """fast_OP_DTYPE over contiguous rows."""
    count, length = rows.shape
    out = np.zeros(count, np.uint32 if op.startswith("arg") else rows.dtype)
    arguments = {
        "src_numel": rows.size,
        "el_to_sum_per_block": length,
        "num_dims": 2,
        "info": np.array([count, length, length, 1], np.uint64),
        "src": rows.reshape(-1),
        "dst": out,
    }
    return evaluate("reduce", "fast_reduce", {"op": op, "dtype": dtype}, 0, arguments)["dst"].value


def one_thread_at_a_time(row: list[float], kind: type[np.floating[Any]]) -> np.floating[Any]:
    """The sum of Candle's block, every thread and every step of the tree written out."""
    threads = 1
    while threads < min(len(row), 1024):
        threads *= 2
    held = [kind(0)] * threads
    for start in range(len(row)):
        held[start % threads] = kind(held[start % threads] + kind(row[start]))
    while threads > 1:
        threads //= 2
        held = [kind(held[t] + held[t + threads]) for t in range(threads)]
    return held[0]


@pytest.mark.parametrize("length", [1, 2, 5, 33, 1000, 1024, 1025, 2500])
@pytest.mark.parametrize(("dtype", "kind"), [("f16", np.float16), ("f32", np.float32), ("f64", np.float64)])
def test_sum_is_that_of_the_tree(length: int, dtype: str, kind: type[np.floating[Any]]) -> None:
    rows = np.random.default_rng(length).normal(size=(2, length)).astype(kind)
    wanted = [one_thread_at_a_time(row.tolist(), kind) for row in rows]
    assert reduced("sum", dtype, rows).tolist() == [float(value) for value in wanted]


def test_equal_values_go_to_the_thread_that_the_tree_prefers() -> None:
    assert reduced("argmin", "f32", np.array([[1, 0, 0, 9]], np.float32)).tolist() == [2]
    assert reduced("argmax", "u8", np.zeros((1, 7), np.uint8)).tolist() == [0]


def test_nan_hides_only_what_its_thread_sees_later() -> None:
    row = np.zeros((1, 1025), np.float32)
    row[0, 0], row[0, 1024], row[0, 5] = np.nan, 9, 3
    assert reduced("argmax", "f32", row).tolist() == [0]  # nothing is greater than the NaN of thread 0
    row[0, 0], row[0, 7] = 0, np.nan
    assert reduced("argmax", "f32", row).tolist() == [1024]


def test_extremes_of_nan_zeros_and_infinities() -> None:
    nan, inf = np.nan, np.inf
    rows = [[nan, 1, 2, -3], [nan] * 4, [-inf] * 4, [-0.0, 0.0, -0.0, -1], [-0.0, -0.0, -2, -2]]
    f32 = reduced("max", "f32", np.array(rows, np.float32))
    assert repr(f32.tolist()) == "[2.0, -inf, -inf, 0.0, -0.0]"
    f16 = reduced("max", "f16", np.array(rows, np.float16))
    assert repr(f16.tolist()) == "[nan, nan, -inf, 0.0, -0.0]"
    least = reduced("min", "f64", np.array([[0.0, -0.0, 0.0], [nan, nan, nan], [0.0, 1, 2]], np.float64))
    assert repr(least.tolist()) == "[-0.0, inf, 0.0]"


def test_an_empty_dimension_sums_to_nothing() -> None:
    arguments = {
        "src_numel": 0,
        "el_to_sum_per_block": 0,
        "num_dims": 2,
        "info": np.array([3, 0, 1, 1], np.uint64),
        "src": np.zeros(0, np.float32),
        "dst": np.ones(5, np.float32),
    }
    found = evaluate("reduce", "fast_reduce", {"op": "sum", "dtype": "f32"}, 0, arguments)["dst"]
    assert found.value.tolist() == [0, 0, 0, 1, 1]


def inside(expected: Expected, value: Array) -> bool:
    assert expected.low is not None
    assert expected.high is not None
    return bool(((expected.low <= value) & (value <= expected.high)).all())


def test_softmax_is_the_formula() -> None:
    x = np.random.default_rng(1).normal(scale=3, size=(3, 77))
    exact = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    found = evaluate("reduce", "softmax", {"dtype": "f64"}, 1, {"src": x.ravel(), "dst": np.empty(231), "n_cols": 77})
    np.testing.assert_allclose(found["dst"].value, exact.ravel(), rtol=1e-14)
    assert inside(found["dst"], found["dst"].value)


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_softmax_of_rows_without_a_sum(dtype: str) -> None:
    inf = np.inf
    x = np.array([[-inf, -inf], [inf, 0], [np.nan, 0], [-inf, 0]], dtype.replace("f", "float"))
    found = evaluate(
        "reduce", "softmax", {"dtype": dtype}, 2, {"src": x.ravel(), "dst": np.empty(8, x.dtype), "n_cols": 2}
    )
    assert repr(found["dst"].value.tolist()) == "[nan, nan, nan, nan, nan, nan, 0.0, 1.0]"


@pytest.mark.parametrize(("alpha", "beta"), [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("columns", [5, 1300])
def test_norms_are_the_formula(alpha: bool, beta: bool, columns: int) -> None:
    rng = np.random.default_rng(columns)
    x = rng.normal(size=(3, columns)).astype(np.float32)
    weight = rng.normal(size=columns).astype(np.float32) if alpha else None
    offset = rng.normal(size=columns).astype(np.float32) if beta else None
    scalars = {"n_cols": columns, "block_size": 32 if columns < 1024 else 1024, "eps": np.float32(1e-5)}
    common = {"src": x.ravel(), "dst": np.empty(x.size, np.float32), "alpha": weight, **scalars}
    normal = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    exact = normal * (1 if weight is None else weight) + (0 if offset is None else offset)
    found = evaluate("reduce", "layernorm", {"dtype": "f32"}, 2, {**common, "beta": offset})["dst"]
    np.testing.assert_allclose(found.value, exact.ravel(), rtol=1e-4, atol=1e-5)
    assert inside(found, found.value)
    scaled = x / np.sqrt((x.astype(np.float64) ** 2).mean(1, keepdims=True) + 1e-5)
    found = evaluate("reduce", "rmsnorm", {"dtype": "f32"}, 2, common)["dst"]
    np.testing.assert_allclose(found.value, (scaled * (1 if weight is None else weight)).ravel(), rtol=1e-5)
    assert inside(found, found.value)


def test_rope_with_longer_tables_takes_the_second_batch_from_the_wrong_rows() -> None:
    t, d, longer = 2, 4, 3
    x = np.arange(2 * t * d, dtype=np.float32)
    table = np.arange(2 * longer * d // 2, dtype=np.float32)
    arguments: dict[str, Any] = {"src": x, "cos": table, "sin": np.zeros_like(table), "dst": np.empty_like(x)}
    arguments |= {"bh": np.uint32(2), "td": np.uint32(t * d), "stride_b": np.uint32(t * d)}
    found = evaluate("reduce", "rope_i", {"dtype": "f32"}, 0, arguments)["dst"].value
    used = np.repeat(table[: 2 * t * d // 2], 2)  # batch 1 from row 2, not from row 3
    assert found.tolist() == (x * used).tolist()


def test_rope_pairs() -> None:
    x = np.arange(1, 9, dtype=np.float64)
    quarter = {"cos": np.zeros(4), "sin": np.ones(4)}  # a quarter turn: (a, b) to (-b, a)
    common = {"src": x, **quarter, "dst": np.empty(8), "stride_b": np.uint32(0)}
    one, two, eight = (np.uint32(number) for number in (1, 2, 8))
    four = np.uint32(4)
    found = evaluate("reduce", "rope_i", {"dtype": "f64"}, 0, {**common, "bh": one, "td": eight})["dst"].value
    assert found.tolist() == [-2, 1, -4, 3, -6, 5, -8, 7]
    found = evaluate("reduce", "rope", {"dtype": "f64"}, 0, {**common, "bh": one, "td": eight, "d": four})["dst"].value
    assert found.tolist() == [-3, -4, 1, 2, -7, -8, 5, 6]
    shape = {"b": one, "t": one, "h": two, "d": four}
    found = evaluate("reduce", "rope_thd", {"dtype": "f64"}, 0, {**common, **shape})["dst"].value
    assert found.tolist() == [-3, -4, 1, 2, -7, -8, 5, 6]


def summed(x: Array, before: float = 0) -> Expected:
    """sum_DTYPE over all of ``x``."""
    dtype = {"float16": "f16", "float32": "f32", "float64": "f64"}[x.dtype.name]
    arguments = {
        "numel": x.size,
        "num_dims": 1,
        "num_sum_dims": 1,
        "info": np.array([x.size, 1, x.size, 1], np.uint64),
        "inp": x,
        "out": np.full(2, before, x.dtype),
    }
    return evaluate("reduce", "sum", {"dtype": dtype}, 0, arguments)["out"]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_sums_in_every_order_lie_in_the_interval(kind: type[np.floating[Any]]) -> None:
    x = np.array([1, 0.0071, -0.9995, 0.0033, 17.26, -17.1], kind)
    found = summed(x, before=0.3)
    assert found.low is not None
    assert found.high is not None
    orders = np.array(list(permutations(x)), kind)
    sums = np.add.accumulate(np.insert(orders, 0, kind(0.3), axis=1), axis=1)[:, -1]
    assert np.unique(sums).size > 1
    assert found.low[0] <= sums.min()
    assert sums.max() <= found.high[0]
    assert found.high[0] - found.low[0] < 100 * np.spacing(kind(20))
    assert found.low[1] == found.value[1] == found.high[1] == kind(0.3)


def test_sums_that_no_order_rounds_have_one_answer() -> None:
    found = summed(np.array([1.5, -2.25, 100, 0, 0.25], np.float16))
    assert found.low is not None
    assert found.high is not None
    assert found.low[0] == found.value[0] == found.high[0] == 99.5


def test_bounds_order_the_zeros_whichever_comes_first() -> None:
    negative, positive = np.array([-0.0], np.float16), np.array([0.0], np.float16)
    for results in ([negative, positive], [positive, negative]):
        value, low, high = bounds(results)
        assert value is results[0]
        assert np.signbit(low).all()
        assert not np.signbit(high).any()
