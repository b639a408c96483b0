"""Whether the cases can tell a wrong kernel: given what a wrong port would read, the reference must differ.

Each mistake is played by changing the arguments before the reference sees them; for every kernel of its families at
least one case must come out different. The letters and numbers are the classes of the list of port bugs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from listed import cases, of

import reference
from conformance.cases import Case, cases_for, launch_for
from conformance.cases.large import is_large
from conformance.cases.launch import Buffer, Launch
from conformance.spec.kernel import Kernel

Arguments = dict[str, Any]
Mistake = Callable[[Launch, Arguments], Arguments | None]  # None where the mistake does not show in the arguments

STRIDED = ("unary", "unary1", "affine", "cast", "binary", "compare", "where", "const_set")
BUFFERS = ("inp", "lhs", "rhs", "ids", "t", "f", "src", "dst")


def _info(arguments: Arguments) -> tuple[str, Any, int]:
    """Name of the info argument, its words as a table of dims and strides (None for null), and the rank."""
    name = "dims_and_strides" if "dims_and_strides" in arguments else "info"
    rank = int(arguments["num_dims"])
    words = arguments[name]
    return name, (words.reshape(-1, rank) if words is not None and rank else None), rank


def _row_major(dims: Any) -> Any:
    return np.append(np.cumprod(dims[:0:-1])[::-1], 1).astype(np.uint64)


def _flattened(skipped: Callable[[int], set[int]] | None) -> Mistake:
    """Strides taken for row-major where a contiguity test that does not look at ``skipped(rank)`` finds them so."""

    def mistake(_: Launch, arguments: Arguments) -> Arguments | None:
        name, table, rank = _info(arguments)
        if table is None or 0 in table[0]:
            return None
        plain = _row_major(table[0])
        looked = [
            axis for axis in range(rank) if skipped is not None and axis not in skipped(rank) and table[0][axis] > 1
        ]
        kept = [row if any(row[axis] != plain[axis] for axis in looked) else plain for row in table[1:]]
        return {**arguments, name: np.concatenate([table[0], *kept])}

    return mistake


def _one_set(_: Launch, arguments: Arguments) -> Arguments | None:
    """S02: the first operand's strides used for all."""
    name, table, _rank = _info(arguments)
    if table is None:
        return None
    return {**arguments, name: np.concatenate([table[0]] + [table[1]] * (len(table) - 1))}


def _reversed_strides(_: Launch, arguments: Arguments) -> Arguments | None:
    """The dimensions walked from the outermost: strides in the wrong order."""
    name, table, _rank = _info(arguments)
    if table is None:
        return None
    return {**arguments, name: np.concatenate([table[0], *(row[::-1] for row in table[1:])])}


def _offset(operand: str, times: int) -> Mistake:
    """L09: the start offset of ``operand`` applied ``times`` times."""

    def mistake(launch: Launch, arguments: Arguments) -> Arguments | None:
        buffer = next(argument for argument in launch.args if argument.name == operand)
        if not isinstance(buffer, Buffer) or buffer.start == 0:
            return None
        return {**arguments, operand: buffer.data[buffer.start * times :]}

    return mistake


def _masked(bits: int) -> Mistake:
    """I03: ids read as ``bits`` wide."""

    def mistake(_: Launch, arguments: Arguments) -> Arguments | None:
        ids = arguments["ids"]
        if 8 * ids.itemsize <= bits:
            return None
        return {**arguments, "ids": ids.view(f"u{bits // 8}")[:: 8 * ids.itemsize // bits].astype(ids.dtype)}

    return mistake


def _replaced(**names: str) -> Mistake:
    """L02: parameters in each other's places."""
    return lambda _, arguments: arguments | {name: arguments[other] for name, other in names.items()}


def _parameter_one(_: Launch, arguments: Arguments) -> Arguments:
    """N19: the parameter ignored."""
    return {**arguments, "param": arguments["param"].dtype.type(1)}


def _flushed(_: Launch, arguments: Arguments) -> Arguments | None:
    """N13: subnormal inputs read as zero."""
    name = "lhs" if "lhs" in arguments else "inp"
    data = arguments[name]
    if data is None or data.dtype.itemsize < 2:
        return None
    mantissa = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}[data.dtype.name]
    bits = data.view(f"u{data.dtype.itemsize}")
    sign = bits.dtype.type(1 << (8 * data.dtype.itemsize - 1))
    subnormal = (bits & ~sign) < bits.dtype.type(1 << mantissa)
    return {**arguments, name: np.where(subnormal, bits & sign, bits).view(data.dtype)}


MISTAKES: tuple[tuple[str, tuple[str, ...], Mistake], ...] = (
    ("S01 strides ignored", STRIDED, _flattened(None)),
    ("S04 contiguity from the last dimension only", STRIDED, _flattened(lambda rank: set(range(rank - 1)))),
    ("S04 contiguity without the first dimension", STRIDED, _flattened(lambda rank: {0})),
    ("S04 contiguity without the last dimension", STRIDED, _flattened(lambda rank: {rank - 1})),
    ("S04 contiguity without the middle", STRIDED, _flattened(lambda rank: set(range(1, rank - 1)))),
    ("S02 one set of strides", ("binary", "compare", "where"), _one_set),
    ("strides in the wrong order", STRIDED, _reversed_strides),
    ("L09 offset of inp ignored", ("unary", "unary1", "affine", "cast"), _offset("inp", 0)),
    ("L09 offset of inp twice", ("unary", "unary1", "affine", "cast"), _offset("inp", 2)),
    *((f"L09 offset of {name} ignored", ("binary", "compare"), _offset(name, 0)) for name in ("lhs", "rhs")),
    *((f"L09 offset of {name} twice", ("binary", "compare"), _offset(name, 2)) for name in ("lhs", "rhs")),
    *((f"L09 offset of {name} ignored", ("where",), _offset(name, 0)) for name in ("ids", "t", "f")),
    ("I03 ids of one byte", ("where",), _masked(8)),
    ("I03 ids of four bytes", ("where",), _masked(32)),
    ("t and f exchanged", ("where",), _replaced(t="f", f="t")),
    ("L02 mul and add exchanged", ("affine",), _replaced(mul="add", add="mul")),
    ("N19 parameter ignored", ("unary1",), _parameter_one),
    ("operands exchanged", ("binary", "compare"), _replaced(lhs="rhs", rhs="lhs")),
    ("L02 source and destination strides exchanged", ("copy2d",), _replaced(src_s="dst_s", dst_s="src_s")),
    ("L02 rows and columns exchanged", ("copy2d",), _replaced(d1="d2", d2="d1")),
    ("N13 subnormals flushed", ("unary1", "affine", "binary", "compare"), _flushed),
)

SYMMETRIC = ("add", "mul", "maximum", "minimum", "eq", "ne")


def _can_show(what: str, kernel: Kernel) -> bool:
    """False where the mistake changes no answer of the kernel, or concerns another type."""
    op = kernel.variant.get("op", "")
    if what == "operands exchanged":
        return op not in SYMMETRIC
    if what.startswith("I03"):
        return kernel.param("ids").dtype in (("i64",) if "four" in what else ("i64", "i32", "i16", "u32"))
    if what.startswith("N13"):
        name = "lhs" if kernel.launch in ("binary", "compare") else "inp"
        # Flushed subnormals do not show next to exp(x) - 1 in a type with few bits.
        return kernel.param(name).dtype in ("f32", "f64", "f16", "bf16") and op != "elu"
    return True


def _answers(kernel: Kernel, arguments: Arguments) -> list[bytes]:
    # A mistake may read past an allocation: let it find something there. const_set is the one that strides its output.
    lengths = dict.fromkeys(BUFFERS, 5000) | ({"out": 30000} if kernel.launch == "const_set" else {})
    padded = {
        name: np.concatenate([value, np.resize(value, lengths[name])])
        if name in lengths and np.ndim(value) == 1
        else value
        for name, value in arguments.items()
    }
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = reference.evaluate(kernel.module, kernel.family, kernel.variant, 0, padded)
    return [answer.value.tobytes() for answer in expected.values()]


def _tells(kernel: Kernel, case: Case, mistake: Mistake) -> bool:
    launch = launch_for(kernel, case)
    right = launch.reference_arguments()
    wrong = mistake(launch, right)
    return wrong is not None and _answers(kernel, wrong) != _answers(kernel, right)


def _small(kernel: Kernel) -> list[Case]:
    """The cases that a mistake is looked for in: large ones, and those with a capped grid, add no layout."""
    return [
        case
        for case in cases_for(kernel)
        if case.get("values", "") != "exhaustive" and not case.get("grid", "") and not is_large(case)
    ]


@pytest.mark.nightly("the reference of every kernel again on changed data")
@pytest.mark.parametrize(("what", "families", "mistake"), MISTAKES, ids=[f"{row[0]} {row[1][0]}" for row in MISTAKES])
def test_every_kernel_has_a_case_that_tells(what: str, families: tuple[str, ...], mistake: Mistake) -> None:
    kernels = [kernel for kernel in of(*families) if _can_show(what, kernel)]
    assert kernels
    blind = [k.name for k in kernels if not any(_tells(k, case, mistake) for case in _small(k))]
    assert blind == []


def test_the_right_arguments_give_equal_answers() -> None:
    # The comparison itself: an unchanged argument list must not count as told.
    for k, case in cases("unary1", "where", "const_set")[::23]:
        assert not _tells(k, case, lambda _, arguments: dict(arguments)), case.id
