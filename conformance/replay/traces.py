"""Reading recorded traces: per module an archive of cases and a pool of arrays (``conformance.replay.archive``).

A case holds kernel, label, grid, block, shared and its arguments in parameter order; an argument is a scalar (bytes in
hex, little endian), a null pointer, or a buffer with the pool keys of its content before (``data``; every byte is
``fill`` where that is null) and after the launch (``expect``; of an input only where it was overwritten). ``data`` and
``expect`` are whole allocations; where the kernel was given the address of a later element, ``start`` is its index
(absent: 0). Arrays lie in the pool as unsigned integers. The call of a linked launcher or a library (``entry``) also
has a stream and scratch, and no grid, block and shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from conformance.cases.case import MOST_CHARACTERS, Case
from conformance.cases.launch import Argument, Buffer, Launch, Null, Scalar, Stream
from conformance.cases.layouts import MAX_ELEMENTS
from conformance.dtypes import DTYPES, FLOATS, DType, dtype
from conformance.errors import UserError
from conformance.reading import shortened
from conformance.replay.archive import SUFFIX, Pool, read_archive, read_header
from conformance.spec.entry import ENTRIES, ROWS, Entry
from conformance.spec.kernel import Kernel, Parameter

Read = TypeVar("Read")

PROGRAM = "program"
"""The field of what an archive says of itself that names the program whose launches it has."""

_MOST_GRID = 2**31 - 1
_MOST_SHARED = 1 << 20


class TraceError(UserError, ValueError):
    """A trace that cannot be used; the message names file, case and what is wrong."""


@dataclass(frozen=True)
class Trace:
    """One recorded launch: its arguments, and the content of every written buffer after it.

    ``of_program`` says that a program made the launch (``candle-parity capture``). The answer is that of the program's
    own kernel then, and not Candle's.
    """

    case: Case
    launch: Launch
    answer: dict[str, NDArray[Any]]
    of_program: bool = False


@dataclass(eq=False)
class _Module:
    """One module's cases by kernel, what they were recorded on, and its pool of arrays, read on first use."""

    path: Path
    cases: dict[str, list[dict[str, Any]]]
    recording: dict[str, Any]
    _pool: Pool | None = None

    @property
    def pool(self) -> Pool:
        if self._pool is None:
            self._pool = _content(read_archive, self.path)[1]
        return self._pool

    def release(self) -> None:
        """Free the arrays; they are read again on the next use."""
        self._pool = None


class Traces:
    """All recorded launches of a folder of ``MODULE.traces.xz`` files.

    Raises ``TraceError`` where the folder holds none, or one cannot be read. Arrays are only read when they are needed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.is_dir():
            raise TraceError(f"{folder}: no such folder; give one that holds MODULE{SUFFIX} files")
        files = sorted(folder.glob(f"*{SUFFIX}"))
        if not files:
            raise TraceError(f"{folder}: holds no MODULE{SUFFIX} file")
        self._modules = [_read(path) for path in files]

    @property
    def kernels(self) -> list[str]:
        """The names of the kernels that have a trace, in file order."""
        return self._of_entry("kernel")

    @property
    def launchers(self) -> list[str]:
        """The names of the launchers, library calls and own launchers that have a trace, in file order of each kind."""
        return [name for entry in ENTRIES if ROWS[entry].is_host_function for name in self._of_entry(entry)]

    def _of_entry(self, entry: Entry) -> list[str]:
        cases = [item for module in self._modules for item in module.cases.items()]
        return [name for name, rows in cases if rows[0].get("entry", "kernel") == entry]

    def cases(self, kernel: str) -> list[Case]:
        """The cases of ``kernel``, such as ``uexp_f32(trace=contig)``."""
        return [_case(row) for module in self._modules for row in module.cases.get(kernel, ())]

    def ids(self, kernel: str) -> list[str]:
        """The case ids of ``kernel``."""
        return [case.id for case in self.cases(kernel)]

    @property
    def recordings(self) -> list[dict[str, Any]]:
        """What the files say of where the answers were recorded, each statement once."""
        found = [module.recording for module in self._modules if module.recording]
        return [row for index, row in enumerate(found) if row not in found[:index]]

    def of(self, kernel: Kernel) -> Iterator[Trace]:
        """The recorded launches of ``kernel``, one by one. Raises ``TraceError`` for one that does not fit its
        parameters.

        Only one file's arrays are in memory at a time.
        """
        for module in self._modules:
            if kernel.name not in module.cases:
                continue
            for other in self._modules:
                if other is not module:
                    other.release()
            for case in module.cases[kernel.name]:
                yield _trace(module, case, kernel)


def _read(path: Path) -> _Module:
    header = _content(read_header, path)
    rows: Any = header.cases
    if not isinstance(rows, list) or not all(isinstance(row, dict) and _is_case(row) for row in rows):
        raise TraceError(
            f"{path}: is not a list of trace cases with kernel and case (texts), args (list of objects) and, if any, "
            f"an entry that is {' or '.join(ENTRIES)}"
        )
    cases: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        cases.setdefault(row["kernel"], []).append(row)
    return _Module(path, cases, header.recording)


def _is_case(row: dict[str, Any]) -> bool:
    args = row.get("args")
    named = all(isinstance(row.get(key), str) and len(row[key]) < MOST_CHARACTERS for key in ("kernel", "case"))
    named = named and row.get("entry", "kernel") in ENTRIES
    return named and isinstance(args, list) and all(isinstance(arg, dict) for arg in args)


def _content(read: Callable[[Path], Read], path: Path) -> Read:
    try:
        return read(path)
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise TraceError(f"{path}: {error}") from None


def _case(row: dict[str, Any]) -> Case:
    """The case of a trace: its one field is the label, whatever that holds."""
    return Case(row["kernel"], (("trace", row["case"]),))


def _trace(module: _Module, case: dict[str, Any], kernel: Kernel) -> Trace:
    name = _case(case)
    where = f"{module.path}: case {name.id}"
    if len(case["args"]) != len(kernel.params):
        raise TraceError(
            f"{where} has {len(case['args'])} arguments, the spec of {kernel.name} {len(kernel.params)} parameters"
        )
    args: list[Argument] = []
    answer: dict[str, NDArray[Any]] = {}
    try:
        for row, parameter in zip(case["args"], kernel.params, strict=True):
            args.append(_argument(row, parameter, module, where))
            if row["kind"] == "buf" and (row["role"] in ("out", "inout") or "expect" in row):
                answer[parameter.name] = _array(row, "expect", parameter, module, where)
        if kernel.is_host_function:
            types = tuple("*" if parameter.pointer else parameter.dtype for parameter in kernel.params)
            launch = Launch(kernel.name, (0, 0, 0), (0, 0, 0), 0, tuple(args), types)
        else:
            grid, block, shared = _three(case, "grid", _MOST_GRID), _three(case, "block", 1024), case["shared"]
            if not _in_range(shared, 0, _MOST_SHARED):
                raise ValueError(f"shared must be an integer from 0 to {_MOST_SHARED}, not {shortened(repr(shared))}")
            launch = Launch(kernel.name, grid, block, shared, tuple(args))
    except TraceError:
        raise
    except KeyError as error:
        raise TraceError(f"{where}: field {error} is missing or malformed") from None
    except (TypeError, ValueError, SyntaxError, OverflowError, MemoryError) as error:
        raise TraceError(f"{where}: a field is missing or malformed ({shortened(str(error))})") from None
    return Trace(name, launch, answer, PROGRAM in module.recording)


def _three(case: dict[str, Any], key: str, most: int) -> tuple[int, int, int]:
    """The field ``key``, three numbers from 1 to ``most``; raises ``ValueError`` otherwise."""
    numbers = case[key]
    if not isinstance(numbers, list) or len(numbers) != 3 or not all(_in_range(n, 1, most) for n in numbers):
        raise ValueError(f"{key} must be three integers from 1 to {most}, not {shortened(repr(numbers))}")
    return numbers[0], numbers[1], numbers[2]


def _in_range(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _length(row: dict[str, Any], parameter: Parameter) -> int:
    """The bytes of a buffer as its row says; raises ``ValueError`` where they are not numbers, or too many."""
    if not _in_range(row["n"], 0, MAX_ELEMENTS):
        raise ValueError(
            f"{parameter.name} has {shortened(repr(row['n']))} elements, not a number up to {MAX_ELEMENTS}"
        )
    # numpy itself knows no name of ml_dtypes'.
    known = next((it.size for it in DTYPES.values() if it.numpy.name == row["dtype"]), None)
    return int(row["n"]) * (known or np.dtype(row["dtype"]).itemsize)


def _argument(row: dict[str, Any], parameter: Parameter, module: _Module, where: str) -> Argument:
    if row["kind"] != parameter.role and any(it in ("stream", "scratch") for it in (row["kind"], parameter.role)):
        raise TraceError(
            f"{where}: argument {parameter.name} is of kind {shortened(repr(row['kind']))}, its parameter a "
            f"{parameter.role}"
        )
    if row["kind"] == "stream":
        return Stream(parameter.name)
    if row["kind"] == "scratch":
        if not (_in_range(row["bytes"], 0, MAX_ELEMENTS) and _in_range(row["fill"], 0, 255)):
            raise ValueError(f"{parameter.name} has {shortened(repr(row['bytes']))} bytes of {row['fill']!r}")
        return Buffer(parameter.name, parameter.dtype, "scratch", np.full(row["bytes"], row["fill"], np.uint8))
    if row["kind"] == "null":
        return Null(parameter.name)
    if (row["kind"] == "scalar" and parameter.pointer) or (row["kind"] == "buf" and not parameter.pointer):
        raise TraceError(f"{where}: argument {parameter.name} is a {row['kind']}, which its parameter is not")
    if row["kind"] == "scalar":
        target = dtype(parameter.dtype)
        value = bytes.fromhex(row["value"])
        if len(value) != target.size:
            raise TraceError(
                f"{where}: scalar {parameter.name} has {len(value)} bytes, {parameter.dtype} {target.size}"
            )
        return Scalar(parameter.name, parameter.dtype, np.frombuffer(value, target.numpy)[0])
    if row["kind"] != "buf":
        raise TraceError(f"{where}: argument {parameter.name} is of unknown kind {shortened(repr(row['kind']))}")
    if row["role"] not in ("in", "out", "inout"):
        raise TraceError(f"{where}: {parameter.name} has the unknown role {shortened(repr(row['role']))}")
    target = _elements(row, parameter)
    if row["data"] is None:
        if not _in_range(row["fill"], 0, 255):
            raise ValueError(f"{parameter.name} is filled with {shortened(repr(row['fill']))}, not with a byte")
        data = np.full(_length(row, parameter), row["fill"], np.uint8).view(target.numpy)
    else:
        data = _array(row, "data", parameter, module, where)
    start = row.get("start", 0)
    if not _in_range(start, 0, data.size):
        raise TraceError(f"{where}: {parameter.name} starts at element {shortened(repr(start))} of {data.size}")
    return Buffer(parameter.name, target.name, row["role"], data, start)


def _elements(row: dict[str, Any], parameter: Parameter) -> DType:
    """The dtype of a buffer's elements: the parameter's, or, of a ``void*``, the float that was recorded."""
    target = dtype(parameter.dtype)
    return next((it for it in FLOATS if target.kind == "bytes" and it.numpy.name == row["dtype"]), target)


def _array(row: dict[str, Any], key: str, parameter: Parameter, module: _Module, where: str) -> NDArray[Any]:
    name = row[key]
    array = module.pool.get(name) if isinstance(name, str) else None
    what = f"{where}: array {shortened(str(name))} ({parameter.name}, {key})"
    if array is None:
        raise TraceError(f"{what} is missing from {module.path.name}")
    target = _elements(row, parameter)
    if array.nbytes != _length(row, parameter) or array.nbytes % target.size:
        raise TraceError(f"{what} has {array.nbytes} bytes, expected {row['n']} elements of {row['dtype']}")
    return np.ascontiguousarray(array).view(target.numpy)
