"""The reference of argsort: judged by the recorded answers, and against numpy's sort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import traces
from numpy.typing import NDArray

from reference import evaluate
from reference.sort import equivalent

Array = NDArray[Any]


def arguments_of(rows: Array) -> dict[str, Any]:
    padded = 1 << (rows.shape[1] - 1).bit_length()
    out = np.zeros(rows.size, np.uint32)
    return {"x": rows.reshape(-1), "dst": out, "ncols": np.int32(rows.shape[1]), "ncols_pad": np.int32(padded)}


def sorted_indices(rows: Array, op: str) -> Array:
    found = evaluate("sort", "argsort", {"op": op, "dtype": "f32"}, 0, arguments_of(rows))["dst"].value
    return found.reshape(rows.shape)


def test_recorded_answers() -> None:
    assert list(traces.judge("sort")) == []


@pytest.mark.parametrize("columns", [1, 2, 3, 8, 31, 100, 1000, 1025, 5000])
def test_distinct_values_sort(columns: int) -> None:
    rows = np.random.default_rng(columns).permuted(np.tile(np.arange(columns, dtype=np.float32), (2, 1)), axis=1)
    assert np.array_equal(sorted_indices(rows, "asc"), np.argsort(rows, axis=1))
    assert np.array_equal(sorted_indices(rows, "desc"), np.argsort(-rows, axis=1))


def test_recorded_ties_are_equivalent_to_other_orders() -> None:
    """The recorded orders pass by the rule for equal values too, and a stable order passes where it differs."""
    differing = 0
    for case in traces.cases("sort"):
        got = case.expected["dst"]
        assert equivalent(case.kernel.variant, case.arguments, {"dst": got})["dst"].all()
        columns = int(case.arguments["ncols"])
        keys = case.arguments["x"].reshape(-1, columns).astype(np.float64)
        stable = np.argsort(keys if case.kernel.variant["op"] == "asc" else -keys, axis=1, kind="stable")
        other = stable.astype(np.uint32).reshape(-1)
        differing += int((other != got).sum())
        assert equivalent(case.kernel.variant, case.arguments, {"dst": other})["dst"].all()
    assert differing > 100


def test_wrong_orders_are_not_equivalent() -> None:
    rows = np.array([[2, 1, 1, 3], [5, 5, 5, 5]], np.float32)
    arguments = arguments_of(rows)
    variant = {"op": "asc", "dtype": "f32"}

    def right(*indices: int) -> list[bool]:
        found = equivalent(variant, arguments, {"dst": np.array(indices, np.uint32)})["dst"]
        return [bool(row.all()) for row in found.reshape(2, 4)]

    assert right(2, 1, 0, 3, 3, 1, 0, 2) == [True, True]
    assert right(1, 0, 2, 3, 3, 1, 0, 2) == [False, True]
    assert right(1, 1, 0, 3, 3, 1, 0, 0) == [False, False]  # an index twice
    assert right(1, 2, 0, 9, 0, 1, 2, 3) == [False, True]
    assert equivalent({**variant, "op": "desc"}, arguments, {"dst": np.array([3, 0, 1, 2] * 2, np.uint32)})["dst"].all()
