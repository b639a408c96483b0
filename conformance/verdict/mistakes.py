"""Mistakes that can be tried out: what the reference answers where a kernel would make them.

A mistake is a change of the kernel's arguments: strides as if everything were contiguous, a dilation of 1, two
parameters in each other's slot. Where the reference then gives what the kernel has written, the mistake explains it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.described import operands_of_info
from conformance.cases.launch import Buffer, Launch, Scalar
from conformance.cases.layouts import row_major
from conformance.spec.kernel import Kernel

Arguments = dict[str, Any]

INPUT_ORDER = "input order"
"""The name of the mistake in which every operand is read, or written, as if it were contiguous."""

# Per launch family: the operands whose strides follow the dimensions in the info argument.
_ONE_SHAPE: dict[str, tuple[str, ...]] = {
    "unary": ("inp",),
    "unary1": ("inp",),
    "affine": ("inp",),
    "cast": ("inp",),
    "const_set": ("out",),
    "index_select": ("inp",),
    "fast_reduce": ("src",),
    "sum": ("inp",),
    "binary": ("lhs", "rhs"),
    "compare": ("lhs", "rhs"),
    "where": ("ids", "t", "f"),
}

# Those whose info has dimensions and strides of each operand in turn, and their rank.
_OWN_SHAPES: dict[str, tuple[int, tuple[str, ...]]] = {
    "conv1d": (3, ("src", "kernel")),
    "conv2d": (4, ("src", "kernel")),
    "conv_transpose1d": (3, ("src", "kernel")),
    "conv_transpose2d": (4, ("src", "kernel")),
    "im2col1d": (3, ("src",)),
    "im2col": (4, ("src",)),
    "avg_pool2d": (4, ("src",)),
    "max_pool2d": (4, ("src",)),
    "upsample_nearest2d": (4, ("src",)),
    "upsample_bilinear2d": (4, ("src",)),
}

INFO = ("info", "dims_and_strides")
"""What the argument is called that describes the operands."""

# A parameter that a kernel may lose: its name and the value that this comes to.
_LOST: tuple[tuple[str, int], ...] = (("dilation", 1), ("padding", 0), ("stride", 1), ("out_padding", 0), ("eps", 0))

_SWAPPED: list[list[tuple[str, str]]] = json.loads(Path(__file__).with_name("swapped.json").read_text())
"""Parameters that a kernel may have in each other's slot, in pairs."""

# Of matrix products: parameters and what is taken for them, another parameter or a number.
_LEADING, _BATCH = "leading dimension of the other operand", "batch stride 0"
_OF_PRODUCTS: tuple[tuple[str, dict[str, str | int]], ...] = (
    ("transposes swapped", {"transa": "transb", "transb": "transa"}),
    (_LEADING, {"lda": "ldb"}),
    (_LEADING, {"ldb": "lda"}),
    (_LEADING, {"lda": "ldb", "ldb": "lda"}),
    (_BATCH, {"stride_a": 0}),
    (_BATCH, {"stride_b": 0}),
    (_BATCH, {"stride_a": 0, "stride_b": 0}),
    ("beta not 0", {"beta": 1}),
    ("sums in f16", {"reduced": 1}),
)

_OTHER_WAVE = {32: 64, 64: 32}
_MOST_THREADS = 1024

_NULLED = ("alpha", "beta")


def mistakes(kernel: Kernel, launch: Launch) -> Iterator[tuple[str, Callable[[], Arguments]]]:
    """The mistakes that make a difference to the arguments of ``launch``: a name, and the arguments with it made."""
    given = launch.reference_arguments()
    yield from _of_strides(kernel, launch, given)
    if kernel.launch == "gemm":
        yield from _of_products(kernel, given)
    for name, value in _LOST:
        if name in given and given[name] != value:
            yield f"{name} ignored", partial(_with, given, name, type(given[name])(value))
    for pairs in _SWAPPED:
        if all(name in given for pair in pairs for name in pair):
            swapped = {**given}
            for left, right in pairs:
                swapped[left], swapped[right] = given[right], given[left]
            text = " and ".join(f"{left} with {right}" for left, right in pairs)
            if any(not np.array_equal(np.asarray(given[name]), np.asarray(swapped[name])) for name in given):
                yield f"{text} swapped", partial(dict, swapped)
    for name in _NULLED:
        if given.get(name) is not None:
            yield f"{name} ignored", partial(_with, given, name, None)


def _of_products(kernel: Kernel, given: Arguments) -> Iterator[tuple[str, Callable[[], Arguments]]]:
    for name, taken in _OF_PRODUCTS:
        changed = {key: given[value] if isinstance(value, str) else np.int64(value) for key, value in taken.items()}
        possible = name != "sums in f16" or kernel.variant["dtype"] == "f16"
        if possible and any(given.get(key, 0) != value for key, value in changed.items()):
            yield name, partial(dict, {**given, **changed})


def leaving_the_buffer(kernel: Kernel, launch: Launch) -> tuple[str, ...]:
    """The mistakes with strides by which an element outside of an operand's allocation would be accessed."""
    described = _described(kernel, launch)
    if described is None:
        return ()
    _, groups = described
    sizes = {arg.name: arg.data.size - arg.start for arg in launch.args if isinstance(arg, Buffer)}
    found = []
    for name, made in _wrong_strides(kernel, groups):
        for operand, dims, strides, at in groups:
            last = sum((size - 1) * step for size, step in zip(dims, made.get(at, strides), strict=True))
            if operand in sizes and 0 not in dims and last >= sizes[operand]:
                found.append(name)
                break
    return tuple(found)


def has_dims_of_several_words(kernel: Kernel, launch: Launch) -> bool:
    """Whether a dimension would be 0 if the info argument, of 64-bit words, were read as 32-bit ones, and none is."""
    described = _described(kernel, launch)
    return described is not None and all(len(dims) > 1 and 0 not in dims for _, dims, _, _ in described[1])


def with_narrow_info(kernel: Kernel, launch: Launch) -> Iterator[Launch]:
    """``launch`` with dimensions and strides as a kernel wants them that takes the 64-bit words of info for 32-bit
    ones: each list of them from its place on, or all from the first word on.

    Of families whose info gives nothing but offsets of elements: no kernel can loop over what it makes of it.
    """
    described = _described(kernel, launch) if kernel.launch in _ONE_SHAPE else None
    if described is None:
        return
    name, groups = described
    rank, lists = len(groups[0][1]), (0, *(at for *_, at in groups))
    for step in (2, 1) if rank > 1 else (1,):
        args = tuple(
            replace(arg, data=_narrow(arg, rank, lists, step)) if isinstance(arg, Buffer) and arg.name == name else arg
            for arg in launch.args
        )
        yield replace(launch, args=args)


def with_other_blocks(launch: Launch) -> Iterator[tuple[str, Launch]]:
    """``launch`` in blocks of one wave of the other size where Candle's have one along x or y, along x also with twice
    as many waves, each with that block as candle-parity.toml has it; none where the geometry is the port's already."""
    x, y, z = (0, 0, 0) if launch.own_geometry else launch.block
    others = []
    if x in _OTHER_WAVE:
        others += [(_OTHER_WAVE[x], y, (f"{_OTHER_WAVE[x]}", "block_y", "block_z"))]
        others += [(_OTHER_WAVE[x], 2 * y, (f"{_OTHER_WAVE[x]}", "block_y * 2", "block_z"))]
    if y in _OTHER_WAVE:
        others += [(x, _OTHER_WAVE[y], ("block_x", f"{_OTHER_WAVE[y]}", "block_z"))]
    for wide, high, row in others:
        if wide * high * z <= _MOST_THREADS:
            yield json.dumps(row), replace(launch, block=(wide, high, z))


def _narrow(info: Buffer, rank: int, lists: Sequence[int], step: int) -> NDArray[Any]:
    """``info`` with its ``lists`` of ``rank`` numbers in words of 32 bits: what was at word i is from word ``step`` * i
    on."""
    data = info.data.copy()
    numbers, words = info.data[info.start :], data[info.start :].view(np.uint32)
    words[: 2 * rank * len(lists)] = 0
    for at in lists:
        words[step * at : step * at + rank] = numbers[at : at + rank]
    return data


_Group = tuple[str, tuple[int, ...], tuple[int, ...], int]
"""An operand: its name, dimensions, strides, and where these begin in the info argument."""


def _described(kernel: Kernel, launch: Launch) -> tuple[str, list[_Group]] | None:
    """The name of the info argument and the operands that it describes; ``None`` where it is null or has none."""
    info = next((arg for arg in launch.args if arg.name in INFO), None)
    if not isinstance(info, Buffer):
        return None
    numbers = [int(number) for number in info.data[info.start :]]
    groups: list[_Group] = []
    if operands := _of_one_shape(kernel):
        told = (int(arg.value) for arg in launch.args if isinstance(arg, Scalar) and arg.name == "num_dims")
        rank = next(told, len(numbers) // (1 + len(operands)))  # a port's own kernels may call it otherwise
        for number, name in enumerate(operands, 1):
            at = rank * number
            groups.append((name, tuple(numbers[:rank]), tuple(numbers[at : at + rank]), at))
    elif kernel.launch in _OWN_SHAPES:
        rank, names = _OWN_SHAPES[kernel.launch]
        for number, name in enumerate(names):
            at = 2 * rank * number
            groups.append((name, tuple(numbers[at : at + rank]), tuple(numbers[at + rank : at + 2 * rank]), at + rank))
    if not groups or any(len(strides) != len(dims) for _, dims, strides, _ in groups):
        return None
    return info.name, groups


def _of_one_shape(kernel: Kernel) -> tuple[str, ...]:
    """The operands whose strides follow one list of dimensions in the info argument, in order; none without it."""
    return _ONE_SHAPE.get(kernel.launch) or operands_of_info(kernel)


def _of_strides(kernel: Kernel, launch: Launch, given: Arguments) -> Iterator[tuple[str, Callable[[], Arguments]]]:
    described = _described(kernel, launch)
    if described is None or given.get("inp", 0) is None:
        return
    name, groups = described
    for mistake, strides in _wrong_strides(kernel, groups):
        yield mistake, partial(_with_strides, given, name, strides)


def _wrong_strides(kernel: Kernel, groups: Sequence[_Group]) -> Iterator[tuple[str, dict[int, tuple[int, ...]]]]:
    """The mistakes with strides: a name, and the strides that are taken, by their place in the info argument."""
    every = {at: row_major(dims) for _, dims, _, at in groups}
    if any(every[at] != strides for _, _, strides, at in groups):
        yield INPUT_ORDER, every
    if len(groups) == 1:
        return
    for operand, _, strides, at in groups:
        if every[at] != strides:
            yield f"{operand} in input order", {at: every[at]}
    if _of_one_shape(kernel) and len({strides for _, _, strides, _ in groups}) > 1:
        for operand, _, strides, _ in groups:
            yield f"strides of {operand} for all", {at: strides for _, _, _, at in groups}


def _with(given: Arguments, name: str, value: Any) -> Arguments:
    return {**given, name: value}


def _with_strides(given: Arguments, name: str, strides: Mapping[int, Sequence[int]]) -> Arguments:
    info: NDArray[np.uint64] = given[name].copy()
    for at, numbers in strides.items():
        info[at : at + len(numbers)] = numbers
    return {**given, name: info}
