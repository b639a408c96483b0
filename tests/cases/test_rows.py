"""Cases of the kernels that take rows: reductions, softmax, norms, rope and argsort."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import reference
from conformance.cases import Case, cases_for, launch_for
from conformance.cases.large import is_large
from conformance.cases.launch import Buffer, Launch, Null, Scalar
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from reference.expected import Expected

FAMILIES = ("fast_reduce", "sum", "softmax", "rmsnorm", "layernorm", "rope", "rope_i", "rope_thd", "argsort")


@lru_cache
def kernels() -> dict[str, Kernel]:
    return {name: kernel for name, kernel in load_specs().kernels.items() if kernel.launch in FAMILIES}


@lru_cache
def launches(family: str) -> tuple[tuple[Kernel, Case, Launch], ...]:
    chosen = [kernel for kernel in kernels().values() if kernel.launch == family]
    return tuple((kernel, case, launch_for(kernel, case)) for kernel in chosen for case in cases_for(kernel))


def evaluated(kernel: Kernel, arguments: dict[str, Any]) -> dict[str, Expected]:
    ulp = kernel.tolerance.library_ulp
    return reference.evaluate(kernel.module, kernel.family, kernel.variant, ulp, arguments)


def built(text: str) -> Launch:
    case = Case.parse(text)
    return launch_for(kernels()[case.kernel], case)


def argument(launch: Launch, name: str) -> Any:
    found = next(row for row in launch.args if row.name == name)
    return found.value if isinstance(found, Scalar) else None if isinstance(found, Null) else found


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.slow("makes every launch of a kernel of each family")
def test_launches_are_well_formed(family: str) -> None:
    assert launches(family)
    for kernel, case, launch in launches(family):
        assert [row.name for row in launch.args] == [parameter.name for parameter in kernel.params], case.id
        for row, parameter in zip(launch.args, kernel.params, strict=True):
            kind = dtype(parameter.dtype).numpy
            if isinstance(row, Buffer):
                assert parameter.pointer
                assert (row.dtype, row.data.dtype, row.data.ndim) == (parameter.dtype, kind, 1), (case.id, row.name)
            elif isinstance(row, Scalar):
                assert not parameter.pointer
                assert row.value.dtype == kind, (case.id, row.name)
            else:
                assert row.name in ("alpha", "beta"), case.id
        size = sum(row.data.nbytes for row in launch.args if isinstance(row, Buffer))
        assert size < (20 << 20 if is_large(case) else 1 << 20), case.id
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        assert 1 <= threads <= 1024
        assert launch.grid[0] >= 1


@pytest.mark.slow("builds the ids of the whole matrix")
@pytest.mark.parametrize("family", FAMILIES)
def test_expected_outputs_cover_the_rows_and_leave_the_tail(family: str) -> None:
    for kernel, case, launch in launches(family):
        for name, expected in evaluated(kernel, launch.reference_arguments()).items():
            raw = expected.value.view(np.uint8).reshape(expected.value.size, -1)
            assert (raw[-9:] == case.poison_byte).all(), case.id
            before = argument(launch, name).data
            if family not in ("sum",):
                touched = (raw != before.view(np.uint8).reshape(raw.shape)).any(axis=1)
                assert touched[: raw.shape[0] - 9].mean() > 0.9, case.id
            if expected.low is None or expected.high is None:
                continue
            with np.errstate(invalid="ignore"):
                number = ~np.isnan(expected.value.astype(np.float64))
                assert (expected.low <= expected.value)[number].all(), case.id
                assert (expected.value <= expected.high)[number].all(), case.id


def test_geometry_is_that_of_upstream() -> None:
    assert built("fast_sum_f32(shape=[6,33])").block == (64, 1, 1)
    assert built("fast_sum_f32(shape=[6,33])").grid == (6, 1, 1)
    assert built("fast_max_u8(shape=[3,4,5000],layout=transposed)").block == (1024, 1, 1)
    assert built("fast_sum_f32(shape=[3,0])").block == (1, 1, 1)
    assert built("softmax_f16(shape=[4,100])").block == (1, 32, 1)
    assert built("rmsnorm_f32(shape=[4,1023])").block == (32, 1, 1)
    assert built("layernorm_f32(shape=[4,1024])").block == (1024, 1, 1)
    assert built("rope_f32(shape=[2,4,33,8])").grid == (2, 1, 1)
    launch = built("asort_asc_u8(shape=[3,1025])")
    assert (launch.grid, launch.block, launch.shared) == ((3, 1, 1), (1024, 1, 1), 8192)
    assert built("asort_asc_u8(shape=[2,5])").block == (8, 1, 1)


def test_tables_of_rope() -> None:
    launch = built("rope_thd_f32(shape=[2,3,5,6],tables=longer)")
    assert argument(launch, "t") == 3
    assert argument(launch, "h") == 5
    assert argument(launch, "stride_b") == 90
    assert argument(launch, "cos").data.size == 2 * (3 + 3) * 3
    launch = built("rope_f32(shape=[2,3,5,6])")
    assert (argument(launch, "bh"), argument(launch, "td"), argument(launch, "stride_b")) == (6, 30, 0)
    assert argument(launch, "sin").data.size == 15


def test_marks_of_rows() -> None:
    row = argument(built("fast_max_f32(shape=[3,1100],mark=nan_later)"), "src").data.reshape(3, 1100)
    assert np.isnan(row[:, [5, 1029]]).all()
    assert np.isnan(row).sum() == 6
    assert np.isnan(argument(built("fast_max_f32(shape=[5,33],mark=nan_last)"), "src").data[32::33]).all()
    zeros = argument(built("fast_max_f64(shape=[5,35],mark=zeros)"), "src").data.reshape(5, 35)
    assert (zeros == 0).all()
    assert np.signbit(zeros).sum(axis=1).tolist() == [34, 35, 1, 1, 1]
    equal = argument(built("asort_asc_f16(shape=[3,70],mark=equal)"), "x").data.reshape(3, 70)
    assert (equal == equal[:, :1]).all()
    high = argument(built("fast_min_i64(shape=[6,70],mark=high)"), "src").data
    assert (high < 0).all()
    assert high.min() > np.iinfo(np.int64).min
    assert (argument(built("fast_min_u8(shape=[6,70],mark=high)"), "src").data > 127).all()
    near = argument(built("layernorm_f16(shape=[3,48],mark=offset)"), "src").data
    assert ((near > 25) & (near < 35)).all()


def test_no_row_to_sort_holds_a_nan() -> None:
    """NaN has no order: the specs declare it undefined."""
    for kernel, case, launch in launches("argsort"):
        values = argument(launch, "x").data
        if dtype(kernel.variant["dtype"]).kind == "float":
            assert not np.isnan(values.astype(np.float64)).any(), case.id


Mistake = Callable[[dict[str, Any]], dict[str, Any] | None]


def _row_major(given: dict[str, Any]) -> dict[str, Any]:
    rank = int(given["num_dims"])
    dims = given["info"][:rank]
    strides = np.append(np.cumprod(dims[:0:-1])[::-1], 1)[:rank].astype(np.uint64)
    return {**given, "info": np.concatenate([dims, strides, given["info"][2 * rank :]])}


def _replaced(**values: str) -> Mistake:
    return lambda given: {
        **given,
        **{name: given[value] for name, value in values.items()},
    }


def _null(name: str) -> Mistake:
    def mistake(given: dict[str, Any]) -> dict[str, Any] | None:
        return None if given[name] is None else {**given, name: None}

    return mistake


def _pre_rotated(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "sin": -given["sin"]}


def _next_batch(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "stride_b": np.uint32(0)}


def _no_eps(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "eps": np.float32(0)}


def _other_threads(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "block_size": np.int32(1024 if given["block_size"] == 32 else 32)}


MISTAKES: tuple[tuple[str, tuple[str, ...], Mistake], ...] = (
    ("S01 strides ignored", ("fast_reduce", "sum"), _row_major),
    ("M05 alpha taken for null", ("rmsnorm", "layernorm"), _null("alpha")),
    ("M05 beta taken for null", ("layernorm",), _null("beta")),
    ("M03 eps left out", ("rmsnorm", "layernorm"), _no_eps),
    ("L02 alpha and beta exchanged", ("layernorm",), _replaced(alpha="beta", beta="alpha")),
    ("M06 the sine's sign", ("rope", "rope_i", "rope_thd"), _pre_rotated),
    ("M06 cos and sin exchanged", ("rope", "rope_i", "rope_thd"), _replaced(cos="sin", sin="cos")),
    ("M06 tables of the first batch for all", ("rope", "rope_i", "rope_thd"), _next_batch),
    ("M06 steps and heads exchanged", ("rope_thd",), _replaced(t="h", h="t")),
)


@pytest.mark.parametrize(("what", "families", "mistake"), MISTAKES, ids=[what for what, _, _ in MISTAKES])
def test_every_kernel_has_a_case_that_tells_the_mistake(what: str, families: tuple[str, ...], mistake: Mistake) -> None:
    for family in families:
        told: dict[str, bool] = {}
        for kernel, _, launch in launches(family):
            if told.get(kernel.name):
                continue
            told[kernel.name] = _tells(kernel, launch, mistake)
        missed = [name for name, found in told.items() if not found]
        assert not missed, f"{what}: no case of {', '.join(missed)} tells it"


def _tells(kernel: Kernel, launch: Launch, mistake: Mistake) -> bool:
    given = launch.reference_arguments()
    wrong = mistake(given)
    if wrong is None:
        return False
    try:
        answers = evaluated(kernel, wrong)
    except (IndexError, ValueError):
        return False  # reads beyond a buffer: the guard pages tell, not the values
    for name, expected in evaluated(kernel, given).items():
        low = expected.value if expected.low is None else expected.low
        high = expected.value if expected.high is None else expected.high
        answer = answers[name].value
        with np.errstate(invalid="ignore"):
            if ((answer < low) | (answer > high)).any():
                return True
    return False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fast_min_f32(shape=[3,0])", "only sums are defined over an empty dimension"),
        ("fast_sum_f32(shape=[1,2,0],reduced=2)", "summed has to be the empty one"),
        ("fast_sum_f32(shape=[0,3])", "no block is launched"),
        ("fast_sum_f32(shape=[3,4],reduced=3)", "reduced must be an integer from 0 to 2"),
        ("fast_sum_u8(shape=[3,4],mark=nan)", "mark=nan needs a float type, not u8"),
        ("fast_sum_f32(shape=[3,4],mark=odd)", "unknown mark 'odd'"),
        ("sum_f32(shape=[3,4],sum=[1,0])", "sum has axes of the shape, ascending"),
        ("sum_f32(shape=[3,4],sum=[2])", "sum has axes of the shape, ascending"),
        ("softmax_f32(shape=[3,0])", "1 row and 1 column or more"),
        ("softmax_f32(shape=[3])", "shape must have 2 sizes"),
        ("rmsnorm_f32(shape=[3,4],beta=null)", "unknown field 'beta'; its family has"),
        ("layernorm_f32(shape=[3,4],beta=ones)", "beta must be one of null"),
        ("rope_f32(shape=[1,1,1,3])", "an even last one"),
        ("rope_f32(shape=[1,1,1,4],tables=many)", "tables must be one of shared, shared_longer, batched, longer"),
        ("asort_asc_f32(shape=[1,8193])", "1 to 8192 columns"),
    ],
)
def test_bad_cases_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        built(text)
