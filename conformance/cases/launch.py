"""One launch: a kernel's own argument list with the geometry that Candle's Rust side would use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

POISON_BYTE = 0xA5
"""Every byte that nothing was put into: behind operands, and, in recorded traces, of outputs before the launch."""

OUTPUT_POISON_BYTES = (0x7B, 0xFB)
"""Every byte of an output before the launch is one of them, by the case: in every floating-point type a large number
and a large negative one, which a kernel that adds to what was there, or compares with it, does not get rid of."""


PASSED_BY_VALUE = ("bool", "int", "i32", "u32", "i64", "size_t", "f32", "f64")
"""The dtypes that a launcher may have by value: those that ctypes can pass."""


@dataclass(frozen=True)
class Scalar:
    """A by-value argument; ``value`` is a numpy (or ml_dtypes) scalar of the parameter's dtype."""

    name: str
    dtype: str
    value: np.generic


@dataclass(frozen=True)
class Null:
    """A null pointer for parameter ``name``: ``info`` of contiguous operands, or the input of a kernel in place."""

    name: str


@dataclass(frozen=True)
class Buffer:
    """A device buffer.

    ``data`` is the whole allocation before the launch: 1-D, of the dtype's numpy type. The kernel is given the address
    of element ``start``, as Candle adds a layout's start offset. Elements that the kernel must not touch keep their
    content: all of them for role ``in``, those outside the written positions for ``out`` and ``inout``. Of role
    ``scratch`` only the size counts.
    """

    name: str
    dtype: str
    role: str
    data: NDArray[Any]
    start: int = 0


@dataclass(frozen=True)
class Stream:
    """The HIP stream that a launcher has to launch on. The executor fills in its own."""

    name: str


@dataclass(frozen=True)
class Bytes:
    """A by-value argument of a port's own parameter list: a number or a struct, as it lies in memory.

    ``pointers`` are to be filled in: where each is in ``data``, the buffer's name, and the bytes before the element
    that it points to.
    """

    name: str
    data: bytes
    pointers: tuple[tuple[int, str, int], ...] = ()


Argument = Scalar | Null | Buffer | Stream


@dataclass(frozen=True)
class BufferPiece:
    """``count`` elements from element ``at`` of the buffer closed up on; in the allocation the first is element
    ``place``."""

    at: int
    count: int
    place: int


@dataclass(frozen=True)
class Spread:
    """What a kernel gets in place of a launch that is closed up: the arguments in ``given``, by name, with the real
    strides, and the ``pieces`` of buffers, by name; other arguments as they are."""

    given: Mapping[str, Scalar | Buffer]
    pieces: Mapping[str, tuple[BufferPiece, ...]]

    def place(self, buffer: str, index: int) -> int:
        """Where element ``index`` of ``buffer`` closed up lies in its allocation."""
        piece = next(piece for piece in reversed(self.pieces[buffer]) if index >= piece.at)
        return piece.place + index - piece.at


@dataclass(frozen=True)
class Launch:
    """A kernel's argument list in parameter order, with grid and block (x, y, z) and dynamic shared memory in bytes."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    args: tuple[Argument, ...]
    types: tuple[str, ...] = ()
    """Of a launcher's call, the dtype of each argument passed by value and ``*`` for each pointer; such a launch has no
    geometry of its own. Empty for a kernel."""

    own_geometry: bool = False
    """Whether grid, block and shared memory are the port's, as it declares or as its program launches, and not
    Candle's."""

    spread: Spread | None = None
    """How what the launch describes closed up lies in memory that is mostly gaps."""

    passed: tuple[Argument | Bytes, ...] | None = None
    """What the port's kernel gets, where its parameters are not Candle's; buffers that ``args`` has are the same."""

    @property
    def buffers(self) -> dict[str, Buffer]:
        """Every buffer that the kernel gets, by name: those of ``args``, and what a port's own parameters have beside
        them."""
        found: dict[str, Buffer] = {}
        for argument in (*self.args, *(self.passed or ())):
            if isinstance(argument, Buffer):
                found.setdefault(argument.name, argument)
        return found

    def with_lanes(self, wave: int) -> Launch:
        """The same launch, with the device's own number of lanes for the argument of a launcher that has it."""
        if not self.types:
            return self

        def adapted(argument: Argument) -> Argument:
            if not isinstance(argument, Scalar) or argument.name != "warp_size":
                return argument
            return replace(argument, value=argument.value.dtype.type(wave))

        return replace(self, args=tuple(map(adapted, self.args)))

    def reference_arguments(self) -> dict[str, Any]:
        """The arguments by parameter name as a reference function takes them.

        Scalars as numpy scalars, null pointers as ``None``, buffers as read-only 1-D views from ``start`` on; a stream
        is not among them.
        """
        arguments: dict[str, Any] = {}
        for argument in self.args:
            if isinstance(argument, Scalar):
                arguments[argument.name] = argument.value
            elif isinstance(argument, Null):
                arguments[argument.name] = None
            elif isinstance(argument, Buffer):
                view = argument.data[argument.start :]
                view.flags.writeable = False
                arguments[argument.name] = view
        return arguments
