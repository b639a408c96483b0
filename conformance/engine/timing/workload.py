"""Which cases of a kernel are timed, their arguments, and what a launch of them moves and computes at least.

Bytes come from the launch's buffers, operations from its family's formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from conformance.cases import launch_with
from conformance.cases.arguments import TAIL
from conformance.cases.case import Case, parse_fields
from conformance.cases.launch import Buffer, Launch, Scalar
from conformance.cases.values import RandomStream
from conformance.spec import SpecError
from conformance.spec.kernel import Kernel

SIZES = ("large", "small")

PERIOD = 1_000_003
"""Elements after which operands repeat: a prime, so that rows of a tensor differ."""


def workloads(kernel: Kernel, sizes: Sequence[str], cases: Sequence[str] | None) -> Iterator[tuple[str, Case]]:
    """The cases of ``kernel`` to time, each with the name of its size: those of the specs, or the case ids ``cases``
    with the size ``given``.

    Raises ``SpecError`` where a row of a spec cannot be read.
    """
    if cases is not None:
        yield from (("given", Case.parse(case)) for case in cases)
        return
    for size in sizes:
        for fields in kernel.bench.get(size, ()):
            try:
                yield size, Case(kernel.name, parse_fields(fields))
            except ValueError as error:
                problem = f"kernel {kernel.name}: {fields!r}, which bench times, is not a case ({error})"
                raise SpecError(f"{kernel.module}.yaml", None, problem, "write it as shape=[3],values=unit") from None


def large_launch(kernel: Kernel, case: Case) -> Launch:
    """The launch of a case whose operands may be large; their data repeats. Raises ``ValueError`` for a case that
    cannot be made."""
    return launch_with(kernel, case, RandomStream(case.seed(), PERIOD))


def bytes_moved(family: str, launch: Launch) -> int:
    """The least number of bytes that the launch has to move: each buffer once if it is read or written, twice if both;
    at least 1.

    Scratch does not count. A buffer counts with its allocated size, so that a broadcast operand counts once. In
    families whose launches touch less than that, ``_SHARES`` says how much.
    """
    given = _Given.of(launch)
    shares = _SHARES[family](given) if family in _SHARES else {}
    weight = {"in": 1.0, "out": 1.0, "inout": 2.0, "scratch": 0.0}
    moved = sum(shares.get(name, weight[buffer.role]) * buffer.data.nbytes for name, buffer in given.buffers.items())
    return max(1, round(moved))


def operations(family: str, launch: Launch) -> int | None:
    """The multiplications and additions of a product or convolution; ``None`` for families that memory limits.

    Taps in the padding are counted too.
    """
    formula = _FORMULAS.get(family)
    return None if formula is None else formula(_Given.of(launch))


@dataclass(frozen=True)
class _Given:
    """The integers and buffers of a launch by parameter name."""

    numbers: Mapping[str, int]
    buffers: Mapping[str, Buffer]

    @classmethod
    def of(cls, launch: Launch) -> _Given:
        scalars = [arg for arg in launch.args if isinstance(arg, Scalar) and isinstance(arg.value, np.integer)]
        buffers = {arg.name: arg for arg in launch.args if isinstance(arg, Buffer)}
        return cls({arg.name: int(arg.value) for arg in scalars}, buffers)

    def elements(self, name: str) -> int:
        """What is allocated of a buffer, in elements."""
        return len(self.buffers[name].data)

    def named(self, dim: str, right: int = 1) -> float:
        """Which share of a dimension's places the ids name, in columns of ``right`` ids next to each other.

        Where every slice has ids of its own, those of the first stand for all: they are drawn alike.
        """
        buffer, places = self.buffers["ids"], self.numbers[dim]
        count = self.numbers.get("src_dim_size" if dim == "dst_dim_size" else "ids_dim_size", places)
        ids = buffer.data[buffer.start :][: count * right].astype(np.int64)
        flat = (ids * right + np.arange(len(ids)) % right)[(ids >= 0) & (ids < places)]
        return len(np.unique(flat)) / max(places * right, 1)


def _const_set(given: _Given) -> dict[str, float]:
    return {"out": given.numbers["numel"] / given.elements("out")}


def _copy2d(given: _Given) -> dict[str, float]:
    """Rows may lie apart on either side."""
    copied = given.numbers["d1"] * given.numbers["d2"]
    return {name: copied / given.elements(name) for name in ("src", "dst")}


def _experts(given: _Given) -> dict[str, float]:
    """The last task has the last expert, so that the ids tell how many experts there are."""
    used = given.buffers["indices"].data
    return {"all_weights": len(np.unique(used)) / (int(used.max()) + 1)}


_SHARES: dict[str, Callable[[_Given], dict[str, float]]] = {
    "const_set": _const_set,
    "copy2d": _copy2d,
    "index_select": lambda given: {"inp": given.named("src_dim_size")},
    "gather": lambda given: {"inp": given.named("src_dim_size", given.numbers["right_size"])},
    "index_add": lambda given: {"out": 2 * given.named("dst_dim_size")},
    "scatter_add": lambda given: {"out": 2 * given.named("dst_dim_size", given.numbers["right_size"])},
    "scatter": lambda given: {"out": given.named("dst_dim_size", given.numbers["right_size"])},
    "indexed_moe_forward": _experts,
}
"""By launch family: how often the bytes of a buffer move, where its role does not say."""


def _conv(rank: int, out: int) -> Callable[[_Given], int]:
    """2 x batch x channels in and out x taps x positions; ``out`` is the kernel's axis of output channels."""

    def formula(given: _Given) -> int:
        info = [int(word) for word in given.buffers["info"].data]
        source, kernel = info[:rank], info[2 * rank : 3 * rank]
        # Each product takes part in an output of a convolution, and in a source element of its transpose.
        dst = given.buffers["dst"]
        places = prod(source[2:]) if out else (len(dst.data) - dst.start - TAIL) // (source[0] * kernel[0])
        return 2 * source[0] * source[1] * kernel[out] * prod(kernel[2:]) * places

    return formula


_FORMULAS: dict[str, Callable[[_Given], int]] = {
    "conv1d": _conv(3, 0),
    "conv2d": _conv(4, 0),
    "conv_transpose1d": _conv(3, 1),
    "conv_transpose2d": _conv(4, 1),
    "mmq": lambda given: 2 * given.numbers["ncols_x"] * given.numbers["nrows_x"] * given.numbers["ncols_y"],
}
