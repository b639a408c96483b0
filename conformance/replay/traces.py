"""Reading recorded traces: per module a JSON list of cases and an npz pool of arrays.

A case holds kernel, label, grid, block, shared and its arguments in parameter order; an argument is a scalar (bytes in
hex, little endian), a null pointer, or a buffer with the pool keys of its content before (``data``; every byte is
``fill`` where that is null) and after the launch (``expect``). ``data`` and ``expect`` are whole allocations; where the
kernel was given the address of a later element, ``start`` is its index (absent: 0). Arrays lie in the pool as unsigned
integers. A module may also be one packed file, which may say what it was recorded on: ``conformance.replay.archive``.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Argument, Buffer, Launch, Null, Scalar
from conformance.dtypes import dtype
from conformance.replay.archive import SUFFIX, Pool, read_archive, read_header
from conformance.spec.kernel import Kernel, Parameter

Read = TypeVar("Read")


class TraceError(ValueError):
    """A trace that cannot be used; the message names file, case and what is wrong."""


@dataclass(frozen=True)
class Trace:
    """One recorded launch: its arguments, and every written buffer's content after it."""

    id: str
    launch: Launch
    answer: dict[str, NDArray[Any]]


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
            self._pool = self._read()
        return self._pool

    def forget(self) -> None:
        """Let go of the arrays; they are read again on the next use."""
        self._pool = None

    def _read(self) -> Pool:
        if self.path.name.endswith(SUFFIX):
            return _archived(read_archive, self.path)[1]
        try:
            with np.load(self.pool_path) as arrays:
                return {key: arrays[key] for key in arrays.files}
        except FileNotFoundError:
            raise TraceError(f"{self.pool_path}: missing; it holds the arrays of {self.path.name}") from None
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise TraceError(f"{self.pool_path}: cannot be read as an npz file ({error})") from error

    @property
    def pool_path(self) -> Path:
        return self.path if self.path.name.endswith(SUFFIX) else self.path.with_suffix(".npz")


class Traces:
    """All traces of one folder. Raises ``TraceError`` when it holds none or one cannot be read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.is_dir():
            raise TraceError(f"{folder}: no such folder; give one that holds MODULE.json and MODULE.npz files")
        files = sorted([*folder.glob("*.json"), *folder.glob(f"*{SUFFIX}")])
        if not files:
            raise TraceError(f"{folder}: holds no MODULE.json or MODULE{SUFFIX} file")
        self._modules = [_read(path) for path in files]

    @property
    def kernels(self) -> list[str]:
        """The names of the kernels that have a trace, in file order."""
        return [kernel for module in self._modules for kernel in module.cases]

    def ids(self, kernel: str) -> list[str]:
        """The case ids of ``kernel``: ``uexp_f32(trace=contig)``."""
        return [_id(case) for module in self._modules for case in module.cases.get(kernel, ())]

    @property
    def recordings(self) -> list[dict[str, Any]]:
        """What the answers were recorded on, as far as the files say so, each once."""
        found = [module.recording for module in self._modules if module.recording]
        return [row for index, row in enumerate(found) if row not in found[:index]]

    def of(self, kernel: Kernel) -> Iterator[Trace]:
        """The traces of ``kernel``; raises ``TraceError`` when one does not fit its parameters.

        The arrays of one file at a time are kept: a whole recording may not fit into memory.
        """
        for module in self._modules:
            if kernel.name not in module.cases:
                continue
            for other in self._modules:
                if other is not module:
                    other.forget()
            for case in module.cases[kernel.name]:
                yield _trace(module, case, kernel)


def _read(path: Path) -> _Module:
    recording: dict[str, Any] = {}
    if path.name.endswith(SUFFIX):
        header = _archived(read_header, path)
        rows, recording = header.cases, header.recording
    else:
        rows = _json(path)
    needed = {"kernel", "case", "args"}
    if not isinstance(rows, list) or not all(isinstance(row, dict) and needed <= row.keys() for row in rows):
        raise TraceError(f"{path}: is no list of trace cases with kernel, case and args")
    cases: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        cases.setdefault(row["kernel"], []).append(row)
    return _Module(path, cases, recording)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise TraceError(f"{path}: cannot be read as JSON ({error})") from error


def _archived(read: Callable[[Path], Read], path: Path) -> Read:
    try:
        return read(path)
    except (OSError, ValueError) as error:
        raise TraceError(f"{path}: {error}") from error


def _id(case: dict[str, Any]) -> str:
    return f"{case['kernel']}(trace={case['case']})"


def _trace(module: _Module, case: dict[str, Any], kernel: Kernel) -> Trace:
    where = f"{module.path}: case {_id(case)}"
    if len(case["args"]) != len(kernel.params):
        raise TraceError(
            f"{where} has {len(case['args'])} arguments, the spec of {kernel.name} {len(kernel.params)} parameters"
        )
    args: list[Argument] = []
    answer: dict[str, NDArray[Any]] = {}
    try:
        for row, parameter in zip(case["args"], kernel.params, strict=True):
            args.append(_argument(row, parameter, module, where))
            if row["kind"] == "buf" and row["role"] in ("out", "inout"):
                answer[parameter.name] = _array(row, "expect", parameter, module, where)
        grid, block = (tuple(int(n) for n in case[key]) for key in ("grid", "block"))
        launch = Launch(kernel.name, grid, block, int(case["shared"]), tuple(args))  # type: ignore[arg-type]
    except (KeyError, TypeError) as error:
        raise TraceError(f"{where}: field {error} is missing or malformed") from error
    return Trace(_id(case), launch, answer)


def _argument(row: dict[str, Any], parameter: Parameter, module: _Module, where: str) -> Argument:
    target = dtype(parameter.dtype)
    if row["kind"] == "null":
        return Null(parameter.name)
    if row["kind"] == "scalar":
        value = bytes.fromhex(row["value"])
        if len(value) != target.size:
            raise TraceError(
                f"{where}: scalar {parameter.name} has {len(value)} bytes, {parameter.dtype} {target.size}"
            )
        return Scalar(parameter.name, parameter.dtype, np.frombuffer(value, target.numpy)[0])
    if row["kind"] != "buf":
        raise TraceError(f"{where}: argument {parameter.name} is of unknown kind {row['kind']!r}")
    if row["data"] is None:
        data = np.full(int(row["n"]) * _itemsize(row), int(row["fill"]), np.uint8).view(target.numpy)
    else:
        data = _array(row, "data", parameter, module, where)
    start = row.get("start", 0)
    if not isinstance(start, int) or not 0 <= start <= data.size:
        raise TraceError(f"{where}: {parameter.name} starts at element {start!r} of {data.size}")
    return Buffer(parameter.name, parameter.dtype, row["role"], data, start)


_ML_DTYPES = {"bfloat16": 2, "float8_e4m3fn": 1}


def _itemsize(row: dict[str, Any]) -> int:
    name = row["dtype"]
    return _ML_DTYPES[name] if name in _ML_DTYPES else int(np.dtype(name).itemsize)


def _array(row: dict[str, Any], key: str, parameter: Parameter, module: _Module, where: str) -> NDArray[Any]:
    array = module.pool.get(row[key])
    what = f"{where}: array {row[key]} ({parameter.name}, {key})"
    if array is None:
        raise TraceError(f"{what} is missing from {module.pool_path.name}")
    target = dtype(parameter.dtype)
    if array.nbytes != int(row["n"]) * _itemsize(row) or array.nbytes % target.size:
        raise TraceError(f"{what} has {array.nbytes} bytes, expected {row['n']} elements of {row['dtype']}")
    return np.ascontiguousarray(array).view(target.numpy)
