"""The indexing reference: the recorded traces, plain loops over elements, and the ids that must end in a fault."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import traces
from numpy.typing import NDArray

from reference import evaluate
from reference.expected import Faults

Array = NDArray[Any]
F8 = np.dtype(ml_dtypes.float8_e4m3fn)
BF16 = np.dtype(ml_dtypes.bfloat16)
NAMES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "uint8": "u8"}


def _run(family: str, dtype: Any, **arguments: Any) -> Array:
    variant = {"dtype": NAMES[np.dtype(dtype).name], "idx_dtype": ""}
    (answer,) = evaluate("indexing", family, variant, 0, arguments).values()
    return answer.value


def _put(family: str, out: Array, ids: Array, inp: Array, sizes: tuple[int, int, int, int]) -> Array:
    left, count, dst, right = sizes
    given: dict[str, Any] = {
        "ids": ids, "inp": inp, "out": out,
        "left_size": left, "src_dim_size": count, "dst_dim_size": dst, "right_size": right,
    }  # fmt: skip
    if family == "index_add":
        given["ids_dim_size"] = count
    return _run(family, out.dtype, **given)


def test_recorded_answers() -> None:
    assert sum(1 for _ in traces.cases("indexing")) == 151
    assert list(traces.judge("indexing")) == []


@pytest.mark.parametrize("family", ["index_add", "scatter_add", "scatter"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, BF16, np.uint8])
def test_against_a_walk_over_elements(family: str, dtype: Any) -> None:
    random = np.random.default_rng(7)
    left, count, dst, right = sizes = (2, 30, 4, 3)
    out, inp = (
        (random.normal(size=n) * 50).astype(np.float32).astype(dtype) for n in (left * dst * right + 5, 2 * 30 * 3)
    )
    ids = random.integers(0, dst, count if family == "index_add" else left * count * right).astype(np.uint8)
    ids[4:7] = 255
    expected = out.copy()
    for flat in range(left * count * right):
        lead, j, r = flat // (count * right), flat // right % count, flat % right
        chosen = int(ids[j] if family == "index_add" else ids[flat])
        if chosen == 255:
            continue
        place = (lead * dst + chosen) * right + r
        with np.errstate(over="ignore"):
            expected[place] = inp[flat] if family == "scatter" else expected[place] + inp[flat]
    value = _put(family, out, ids, inp, sizes)
    assert value.tobytes() == expected.tobytes()


def test_f8_saturates_at_every_step() -> None:
    # 448 + 448 saturates, so that -448 afterwards leaves 0; one rounding at the end would leave 448.
    out = np.array([448], np.float32).astype(F8)
    inp = np.array([448, -448], np.float32).astype(F8)
    value = _put("scatter_add", out, np.zeros(2, np.int16), inp, (1, 2, 1, 1))
    assert value.astype(np.float32).tolist() == [0]


def test_bf16_stagnates_as_one_thread_does() -> None:
    value = _put("index_add", np.zeros(1, BF16), np.zeros(600, np.uint32), np.ones(600, BF16), (1, 600, 1, 1))
    assert float(value[0]) == 256


def _select(ids: Array, info: list[int], sizes: tuple[int, int, int, int] = (1, 6, 2, 1)) -> list[int]:
    left, src, count, right = sizes
    value = _run(
        "index_select", np.uint8, numel=left * count * right, num_dims=len(info) // 2, info=np.array(info, np.uint64),
        ids=ids, inp=np.arange(10, 16, dtype=np.uint8), out=np.full(left * count * right + 1, 99, np.uint8),
        left_size=left, src_dim_size=src, ids_dim_size=count, right_size=right,
    )  # fmt: skip
    return [int(element) for element in value]


def test_strides_of_ids_walk_the_source() -> None:
    # Offsets 1 and 4 through dims [2] and strides [3]: 1 % 2 * 3 = 3 and 4 % 2 * 3 = 0.
    assert _select(np.array([1, 4], np.uint8), [2, 1]) == [11, 14, 99]
    assert _select(np.array([1, 4], np.uint8), [2, 3]) == [13, 10, 99]
    assert _select(np.array([1, 255], np.uint8), [2, 3]) == [13, 0, 99]
    assert _select(np.array([4], np.uint8), [1, 977], (1, 6, 1, 1)) == [14, 99]


def test_a_walk_beyond_the_source_is_refused() -> None:
    with pytest.raises(ValueError, match="element 9 asked of a buffer of 6"):
        _select(np.array([1, 4], np.uint8), [2, 9])


@pytest.mark.parametrize(
    ("dtype", "bad"), [(np.uint8, 6), (np.int16, -1), (np.int32, 32767), (np.uint32, 2**31 - 1), (np.int64, 2**32 - 1)]
)
def test_ids_out_of_range_are_faults(dtype: Any, bad: int) -> None:
    with pytest.raises(Faults, match=f"id {bad} is outside the dimension: src_dim_size is 6"):
        _select(np.array([0, bad], dtype), [2, 1])
    for family in ("scatter", "scatter_add", "index_add"):
        with pytest.raises(Faults, match=f"id {bad} is outside the dimension: dst_dim_size is 6"):
            _put(family, np.zeros(6, np.float32), np.array([bad], dtype), np.ones(1, np.float32), (1, 1, 6, 1))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.uint32, np.int64])
def test_the_largest_id_means_none(dtype: Any) -> None:
    none = np.iinfo(dtype).max
    assert _select(np.array([none, 2], dtype), [2, 1]) == [0, 12, 99]
    out = np.arange(6, dtype=np.float32)
    for family in ("scatter", "scatter_add", "index_add"):
        value = _put(family, out, np.array([none, 1], dtype), np.array([50, 60], np.float32), (1, 2, 6, 1))
        assert value.tolist() == ([0, 60, 2, 3, 4, 5] if family == "scatter" else [0, 61, 2, 3, 4, 5])


def test_gather_takes_as_many_as_there_are_ids() -> None:
    value = _run(
        "gather", np.uint8, numel=5, ids=np.array([1, 0, 255, 1, 0, 9], np.uint8), inp=np.arange(8, dtype=np.uint8),
        out=np.full(7, 99, np.uint8), left_size=2, src_dim_size=2, ids_dim_size=2, right_size=2,
    )  # fmt: skip
    assert value.tolist() == [2, 1, 0, 3, 4, 99, 99]
