"""Whether the conv cases can tell a wrong kernel: a mistake played on the reference must change some case's answer.

Mistakes in what is read are played on the arguments; mistakes in the formula on the reference's own parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from listed import kernel, of

import reference
from conformance.cases import Case, cases_for, launch_for
from conformance.cases.launch import POISON_BYTE, Buffer, Launch
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel
from conformance.verdict.compare import judge
from reference import Expected, convolve, pool, upsample
from reference.binary import FLOAT
from reference.image import SUMS

DIRECT = ("conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d")
PATCHES = ("im2col", "im2col1d")
POOLS = ("avg_pool2d", "max_pool2d")
UPSAMPLES = ("upsample_nearest2d", "upsample_bilinear2d")
STRIDED = (*DIRECT, *PATCHES, *POOLS, *UPSAMPLES)
ALL = (*STRIDED, "col2im1d")
FLAT = ("conv1d", "conv_transpose1d", "im2col1d")
AREAL = ("conv2d", "conv_transpose2d", "im2col", *POOLS, *UPSAMPLES)

Arguments = dict[str, Any]
Mistake = Callable[[Kernel, Launch, Arguments], Arguments | None]


def _rank(k: Kernel) -> int:
    return 3 if k.launch in FLAT else 4


def _info(change: Callable[[Any], None], tensor: int = 0) -> Mistake:
    """``info`` with the dims and strides of one tensor changed in place (a table of two rows)."""

    def mistake(k: Kernel, _: Launch, arguments: Arguments) -> Arguments:
        words = arguments["info"].copy()
        rank = _rank(k)
        change(words[2 * rank * tensor : 2 * rank * (tensor + 1)].reshape(2, rank))
        return {**arguments, "info": words}

    return mistake


def _row_major(table: Any) -> None:
    table[1] = np.append(np.cumprod(table[0][:0:-1])[::-1], 1)


def _same_batch(table: Any) -> None:
    table[1][0] = 0


def _axes_exchanged(table: Any) -> None:
    """C04: the strides of the last two dimensions in each other's place."""
    table[1][2:] = table[1][:1:-1]


def _channels_exchanged(table: Any) -> None:
    """C06: (c_in, c_out) for (c_out, c_in)."""
    table[1][:2] = table[1][1::-1]


def _with(**values: int) -> Mistake:
    def mistake(_: Kernel, __: Launch, arguments: Arguments) -> Arguments:
        return arguments | {name: arguments[name].dtype.type(value) for name, value in values.items()}

    return mistake


def _exchanged(a: str, b: str) -> Mistake:
    return lambda _, __, arguments: {**arguments, a: arguments[b], b: arguments[a]}


def _offset(name: str) -> Mistake:
    """L09: a start offset ignored."""

    def mistake(_: Kernel, launch: Launch, arguments: Arguments) -> Arguments | None:
        buffer = next(argument for argument in launch.args if argument.name == name)
        assert isinstance(buffer, Buffer)
        return {**arguments, name: buffer.data} if buffer.start else None

    return mistake


MISREADINGS: tuple[tuple[str, tuple[str, ...], Mistake], ...] = (
    ("S01 strides of the source ignored", STRIDED, _info(_row_major)),
    ("S02 strides of the kernel ignored", DIRECT, _info(_row_major, 1)),
    ("C01 batch dropped", STRIDED, _info(_same_batch)),
    ("C04 axes exchanged", AREAL, _info(_axes_exchanged)),
    ("C06 channels of the kernel exchanged", DIRECT, _info(_channels_exchanged, 1)),
    ("C02 dilation ignored", (*DIRECT, *PATCHES), _with(dilation=1)),
    ("C03 padding ignored", (*DIRECT, *PATCHES), _with(padding=0)),
    ("stride ignored", (*DIRECT, *PATCHES, "col2im1d"), _with(stride=1)),
    ("C04 sizes of the window exchanged", POOLS, _exchanged("w_k", "h_k")),
    ("C04 strides of the window exchanged", POOLS, _exchanged("w_stride", "h_stride")),
    ("C12 the rank taken for a length", ("conv1d",), _with(num_dims=3)),
    ("C04 w_out and h_out exchanged", ("conv2d", "conv_transpose2d", *UPSAMPLES), _exchanged("w_out", "h_out")),
    ("C10 scales exchanged", ("upsample_nearest2d",), _exchanged("w_scale", "h_scale")),
    ("C10 aligned corners ignored", ("upsample_bilinear2d",), _with(align_corners=0)),
    ("C10 factors ignored", ("upsample_bilinear2d",), _with(has_scale_h=0, has_scale_w=0)),
    ("C10 factors exchanged", ("upsample_bilinear2d",), _exchanged("scale_h_factor", "scale_w_factor")),
    ("L09 offset of src ignored", ALL, _offset("src")),
    ("L09 offset of kernel ignored", DIRECT, _offset("kernel")),
)


def _answer(k: Kernel, arguments: Arguments) -> Expected | None:
    """What the reference says; nothing where it finds the launch impossible."""
    # A mistake may read past an allocation: let it find something there.
    padded = {
        name: np.tile(value, 2 + 20000 // value.size) if name in ("src", "kernel") else value
        for name, value in arguments.items()
    }
    # A wrong geometry may write more than the output holds: seen here, and beyond twice as much impossible.
    dst = arguments["dst"]
    padded["dst"] = np.full(2 * dst.nbytes, POISON_BYTE, np.uint8).view(dst.dtype)
    try:
        (expected,) = reference.evaluate(k.module, k.family, k.variant, 0, padded).values()
    except (ValueError, IndexError):
        return None
    return expected


@cache
def _right(name: str, case: Case) -> Expected | None:
    """What the reference says of a case, asked of by many tests: before any of them changes the reference."""
    k = kernel(name)
    return _answer(k, launch_for(k, case).reference_arguments())


def _rejects(k: Kernel, right: Expected | None, other: Expected | None) -> bool:
    """Whether a kernel that answers ``other`` is wrong."""
    assert right is not None
    if other is None:
        return True
    kind = dtype(k.param("dst").dtype)
    before = np.full(right.value.nbytes, POISON_BYTE, np.uint8).view(right.value.dtype)
    return judge("dst", other.value, right, before, kind, 0) is not None


def _tells(k: Kernel, case: Case, mistake: Mistake) -> bool:
    launch = launch_for(k, case)
    wrong = mistake(k, launch, launch.reference_arguments())
    return wrong is not None and _rejects(k, _right(k.name, case), _answer(k, wrong))


@pytest.mark.nightly("the reference of every convolution again for each mistake")
@pytest.mark.parametrize(("what", "families", "mistake"), MISREADINGS, ids=[row[0] for row in MISREADINGS])
def test_every_kernel_has_a_case_that_tells_a_misreading(
    what: str, families: tuple[str, ...], mistake: Mistake
) -> None:
    kernels = of(*families)
    assert kernels
    assert [k.name for k in kernels if not any(_tells(k, case, mistake) for case in cases_for(k))] == []


@pytest.mark.nightly("the reference of every convolution again for each mistake")
def test_the_right_arguments_give_equal_answers() -> None:
    for k in of(*ALL):
        for case in cases_for(k)[::7]:
            assert not _tells(k, case, lambda _, __, arguments: dict(arguments)), case.id


def _sums(monkeypatch: pytest.MonkeyPatch, change: Callable[[str, Any], Any]) -> None:
    monkeypatch.setattr(convolve, "SUMS", {name: change(name, kind) for name, kind in SUMS.items()})


def _unfused(patch: pytest.MonkeyPatch) -> None:
    _sums(patch, lambda name, kind: replace(kind, fma=lambda a, b, c: a * b + c))


def _in_the_type(patch: pytest.MonkeyPatch) -> None:
    """R08: every step rounded to 16 bits."""
    _sums(patch, lambda name, kind: replace(kind, fma=lambda a, b, c: kind.load(kind.store(kind.fma(a, b, c)))))


def _in_f64(patch: pytest.MonkeyPatch) -> None:
    _sums(patch, lambda name, kind: replace(kind, carrier=np.dtype(np.float64), fma=lambda a, b, c: a * b + c))


def _backwards(patch: pytest.MonkeyPatch) -> None:
    right = convolve._convolved
    patch.setattr(convolve, "_convolved", lambda kind, x, k, *rest: right(kind, x[:, ::-1], k[:, ::-1], *rest))


def _rows_first(patch: pytest.MonkeyPatch) -> None:
    """Rows of taps outermost, then columns."""
    right = convolve._convolved

    def turned(kind: Any, x: Any, k: Any, columns: Any, rows: Any, size: tuple[int, int]) -> Any:
        return right(kind, x.swapaxes(2, 3), k.swapaxes(2, 3), rows, columns, size[::-1]).swapaxes(2, 3)

    patch.setattr(convolve, "_convolved", turned)


def _padding_as_zeros(patch: pytest.MonkeyPatch) -> None:
    """C03: what lies outside multiplied as 0, which an infinite weight shows."""
    right = convolve._convolved

    def padded(kind: Any, x: Any, k: Any, columns: Any, rows: Any, size: tuple[int, int]) -> Any:
        spoilt = np.zeros_like(x)
        total = right(kind, x, k, columns, rows, size)
        every = [(np.arange(size[1]), np.zeros(size[1], np.int64))] * len(columns)
        down = [(np.arange(size[0]), np.zeros(size[0], np.int64))] * len(rows)
        return total + right(kind, spoilt, k, every, down, size)

    patch.setattr(convolve, "_convolved", padded)


def _blend(formula: Callable[[Any, Any, Any], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(upsample, "_blended", lambda a, b, w: (formula(a, b, w),) * 3)


def _neighbour_left_out(patch: pytest.MonkeyPatch) -> None:
    right = upsample._blended
    patch.setattr(upsample, "_blended", lambda a, b, w: [np.where(w == 0, a, found) for found in right(a, b, w)])


def _f32_positions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(upsample, "fma_f64", lambda a, b, c: (a.astype("f4") * b.astype("f4") + c.astype("f4")).astype("f8"))


def _pool_windows(order: Callable[[list[Any]], list[Any]]) -> Callable[[pytest.MonkeyPatch], None]:
    def change(patch: pytest.MonkeyPatch) -> None:
        right = pool._windows
        patch.setattr(pool, "_windows", lambda *arguments: iter(order(list(right(*arguments)))))

    return change


def _started_at(value: float) -> Callable[[pytest.MonkeyPatch], None]:
    """C08: a maximum that starts from ``value``."""
    return _pool_windows(lambda parts: [np.full_like(parts[0], value), *parts])


def _nan_rule(patch: pytest.MonkeyPatch) -> None:
    """N01: the NaN rule of the other types."""
    patch.setitem(FLOAT, "maximum", lambda kind, a, b: (np.fmax if kind.nan_maximum else np.maximum)(a, b))


HALVES, FLOATS = ("f16", "bf16"), ("f16", "bf16", "f32", "f64")

Formula = tuple[str, tuple[str, ...], tuple[str, ...], Callable[[pytest.MonkeyPatch], None]]

EQUALLY_RIGHT: tuple[Formula, ...] = (
    ("products not fused", DIRECT, FLOATS, _unfused),
    ("sums in f64", DIRECT, ("f16", "bf16", "f32"), _in_f64),
    ("channels backwards", DIRECT, FLOATS, _backwards),
    ("rows of taps first", ("conv2d", "conv_transpose2d"), FLOATS, _rows_first),
    ("blended without fusing", ("upsample_bilinear2d",), FLOATS, _blend(lambda a, b, w: a * (1 - w) + b * w)),
    ("the window backwards", ("avg_pool2d",), FLOATS, _pool_windows(lambda parts: parts[::-1])),
)

FORMULAS: tuple[Formula, ...] = (
    ("R08 sums in 16 bits", DIRECT, HALVES, _in_the_type),
    ("C03 padding multiplied as 0", ("conv1d", "conv2d"), FLOATS, _padding_as_zeros),
    ("C10 blended as a + (b - a) w", ("upsample_bilinear2d",), FLOATS, _blend(lambda a, b, w: a + (b - a) * w)),
    ("a neighbour of weight 0 left out", ("upsample_bilinear2d",), FLOATS, _neighbour_left_out),
    ("C10 positions in f32", ("upsample_bilinear2d",), FLOATS, _f32_positions),
    ("C08 a maximum from 0", ("max_pool2d",), FLOATS, _started_at(0)),
    ("C08 a maximum from -inf", ("max_pool2d",), ("f32", "f64"), _started_at(-np.inf)),
    ("N01 the other NaN rule", ("max_pool2d",), FLOATS, _nan_rule),
)


def _rejected(
    families: tuple[str, ...],
    names: tuple[str, ...],
    change: Callable[[pytest.MonkeyPatch], None],
    patch: pytest.MonkeyPatch,
) -> dict[str, Iterator[str]]:
    """Of each kernel the cases whose answers are wrong once the reference is changed, each answered when asked for."""
    kernels = [k for k in of(*families) if k.param("src").dtype in names]
    assert len(kernels) == len(families) * len(names)
    right = {case.id: _right(k.name, case) for k in kernels for case in cases_for(k)}
    change(patch)

    def told(k: Kernel) -> Iterator[str]:
        for case in cases_for(k):
            if _rejects(k, right[case.id], _answer(k, launch_for(k, case).reference_arguments())):
                yield case.id

    return {k.name: told(k) for k in kernels}


@pytest.mark.nightly("the reference of every convolution again for each mistake")
@pytest.mark.parametrize(("what", "families", "names", "change"), FORMULAS, ids=[row[0] for row in FORMULAS])
def test_every_float_kernel_has_a_case_that_tells_a_formula(
    what: str,
    families: tuple[str, ...],
    names: tuple[str, ...],
    change: Callable[[pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = _rejected(families, names, change, monkeypatch)
    assert [name for name, cases in found.items() if not any(cases)] == []


@pytest.mark.nightly("the reference of every convolution again for each mistake")
@pytest.mark.parametrize(("what", "families", "names", "change"), EQUALLY_RIGHT, ids=[row[0] for row in EQUALLY_RIGHT])
def test_no_case_tells_a_formula_that_is_as_good(
    what: str,
    families: tuple[str, ...],
    names: tuple[str, ...],
    change: Callable[[pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [case for cases in _rejected(families, names, change, monkeypatch).values() for case in cases] == []


def test_integer_sums_that_do_not_wrap_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = {name: replace(kind, carrier=np.dtype(np.uint64)) for name, kind in SUMS.items()}
    kernels = [kernel("avg_pool2d_u8"), kernel("avg_pool2d_u32")]
    right = {case.id: _right(k.name, case) for k in kernels for case in cases_for(k)}
    monkeypatch.setattr(pool, "SUMS", wide)
    for k in kernels:
        answers = ((case.id, _answer(k, launch_for(k, case).reference_arguments())) for case in cases_for(k))
        assert any(_rejects(k, right[case_id], answer) for case_id, answer in answers), k.name


@pytest.mark.parametrize("scale", ["integer", "f32"])
def test_nearest_positions_by_a_shortcut_are_told(scale: str) -> None:
    found = 0
    for case in cases_for(kernel("upsample_nearest2d_f32")):
        size, out = case.integers("shape")[2], case.integers("out")[0]
        at = np.arange(out)
        right = np.minimum((at * (np.float64(size) / np.float64(out))).astype(int), size - 1)
        single = (at.astype("f4") * (np.float32(size) / np.float32(out))).astype(int)
        found += int((right != np.minimum(at * size // out if scale == "integer" else single, size - 1)).any())
    assert found >= 2


def _threads(k: Kernel, launch: Launch) -> int:
    (dst,) = (a for a in launch.args if a.name == "dst")
    assert isinstance(dst, Buffer)
    written = len(dst.data) - dst.start - 9
    taps = next((int(a.value) for a in launch.args if a.name == "l_k"), 1)  # type: ignore[union-attr]
    return written // taps


@pytest.mark.nightly("the reference of every convolution again for each mistake")
@pytest.mark.parametrize("family", ALL)
def test_every_written_element_is_expected_and_the_tail_is_not(family: str) -> None:
    for k in of(family):
        for case in cases_for(k):
            launch = launch_for(k, case)
            (dst,) = (a for a in launch.args if a.name == "dst")
            assert isinstance(dst, Buffer)
            assert (dst.data.view(np.uint8) == case.poison_byte).all(), case.id
            block = int(case.get("block", "1024"))
            needed = -(-_threads(k, launch) // block)
            assert launch.grid == (int(case.get("grid", str(needed))), 1, 1), case.id
            (expected,) = reference.evaluate(k.module, k.family, k.variant, 0, launch.reference_arguments()).values()
            assert expected.value.dtype == dst.data.dtype
            assert expected.value.size == dst.data.size - dst.start
            assert (expected.value[-9:].view(np.uint8) == case.poison_byte).all(), case.id
            assert dtype(dst.dtype).numpy == dst.data.dtype


def test_some_outputs_are_reached_by_nothing() -> None:
    for name, text in (
        ("conv1d_f32", "shape=[2,2,4],cout=3,k=[3],padding=5"),
        ("conv_transpose1d_f32", "shape=[2,3,6],cout=4,k=[2],stride=4"),
        ("col2im1d_f32", "shape=[3,5,2],k=[2],stride=4"),
    ):
        k = kernel(name)
        (expected,) = reference.evaluate(
            k.module, k.family, k.variant, 0, launch_for(k, Case.parse(f"{name}({text})")).reference_arguments()
        ).values()
        assert (expected.value[:-9] == 0).sum() >= 10, name
        assert (expected.value[:-9] != 0).sum() >= 10, name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("conv1d_f32(shape=[2,3],k=[3])", "shape must have 3 sizes"),
        ("conv2d_f32(shape=[2,3,4,5],k=[3])", "k has 2 sizes of 1 or more"),
        ("conv1d_f32(shape=[2,3,4],k=[5])", "5 taps with this padding and dilation leave no output"),
        ("conv1d_f32(shape=[2,3,4],k=[2],stride=0)", "stride must be an integer from 1"),
        ("conv1d_u8(shape=[2,3,4],k=[2],values=poles)", "values=poles needs a float type, not u8"),
        ("conv1d_f32(shape=[2,3,2000],k=[2],grid=1)", "each thread handles one element"),
        ("im2col_f32(shape=[2,3,4,5],k=[2,2],cout=3)", "unknown field 'cout'"),
        ("avg_pool2d_f32(shape=[2,3,4,5],k=[5,2])", "does not fit into"),
        ("upsample_nearest2d_f32(shape=[2,3,4,5],out=[0,2])", "out has 2 sizes of 1 or more"),
        ("upsample_bilinear2d_f32(shape=[2,3,4,5],out=[3,2],align=2)", "align must be an integer from 0 to 1"),
    ],
)
def test_bad_cases_are_refused_by_name(text: str, message: str) -> None:
    case = Case.parse(text)
    with pytest.raises(ValueError, match=message):
        launch_for(kernel(case.kernel), case)
