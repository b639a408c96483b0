"""Reference functions of a port's own kernels: Python files in a folder that the port names.

They are imported as modules of a package ``own_reference``, so that one may import another of the folder
(``from .rows import mean``), and none is taken for a module of ours or of Python's library. They run with the rights of
this process: whoever calls this has been told that the user trusts them.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import NoReference
from reference.expected import Expected, Faults
from reference.result import contiguous

PACKAGE = "own_reference"


class OwnReferenceError(NoReference):
    """A reference function of a port that cannot be used; the message begins with its file and line."""


def evaluate(
    file: Path,
    family: str,
    variant: Mapping[str, str],
    library_ulp: int,
    arguments: Mapping[str, Any],
    written: set[str],
) -> dict[str, Expected]:
    """As ``reference.evaluate``, by the function ``family`` of ``file``.

    It may answer plain arrays in place of ``Expected``: 1-D or of any shape, of the buffer's dtype, the first elements
    of the buffer in the order of memory; what lies behind them stays as it was. ``written`` are the parameters that the
    spec calls ``out`` or ``inout``: there has to be an answer for each, and for no other.

    Raises ``OwnReferenceError`` for whatever goes wrong in the file, and ``Faults`` as its function does.
    """
    module = _loaded(file)
    function = _function(module, file, family)
    answer = _called(file, function, variant, library_ulp, **arguments)
    where = f"{shown(file)}:{inspect.unwrap(function).__code__.co_firstlineno}"
    if not isinstance(answer, dict):
        raise OwnReferenceError(
            f"{where}: {family} answers {_kind(answer)}; expected a dict from the name of each written parameter "
            f"({', '.join(sorted(written))}) to an array"
        )
    if answer.keys() != written:
        given = ", ".join(map(str, answer)) or "nothing"
        raise OwnReferenceError(
            f"{where}: {family} answers for {given}; expected {', '.join(sorted(written))}, the out and inout "
            "parameters of the spec"
        )
    return {name: _expected(where, family, name, value, arguments[name]) for name, value in answer.items()}


def optional(file: Path, name: str, *arguments: Any) -> Any:
    """What the function ``name`` of ``file`` answers; ``None`` where the file has none. Raises as ``evaluate``."""
    function = getattr(_loaded(file), name, None)
    return None if function is None else _called(file, function, *arguments)


def shown(file: Path) -> str:
    """``file`` relative to the working directory where it lies in it."""
    try:
        return str(file.relative_to(Path.cwd()))
    except ValueError:
        return str(file)


def _function(module: ModuleType, file: Path, family: str) -> Callable[..., Any]:
    function: Callable[..., Any] | None = getattr(module, family, None)
    if function is not None and callable(function) and inspect.isfunction(inspect.unwrap(function)):
        return function
    there = [name for name, value in vars(module).items() if inspect.isfunction(value) and not name.startswith("_")]
    near = difflib.get_close_matches(family, there, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise OwnReferenceError(f"{shown(file)}: expected a function {family}, the family's name in the spec{hint}")


def _called(file: Path, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return function(*arguments, **named)
    except (Faults, OwnReferenceError):
        raise
    except (Exception, SystemExit) as error:  # a file that calls sys.exit must cost one kernel, not the judge
        raise OwnReferenceError(_place_of(error, file)) from error


def _loaded(file: Path) -> ModuleType:
    """The module of ``file``, imported once; a file of another folder begins anew."""
    package = sys.modules.get(PACKAGE)
    if package is None or package.__path__ != [str(file.parent)]:
        for name in [name for name in sys.modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")]:
            del sys.modules[name]
        package = ModuleType(PACKAGE)
        package.__path__ = [str(file.parent)]
        sys.modules[PACKAGE] = package
        importlib.invalidate_caches()
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # nothing is left in the port's tree
    try:
        return importlib.import_module(f"{PACKAGE}.{file.stem}")
    except SyntaxError as error:
        raise OwnReferenceError(f"{error.filename or shown(file)}:{error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise OwnReferenceError(_place_of(error, file)) from error
    finally:
        sys.dont_write_bytecode = before


def _place_of(error: BaseException, file: Path) -> str:
    """``parity/reference/fused.py:23: ValueError: ...``: the last line of the port's that ``error`` came through."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if Path(one.filename).parent == file.parent]
    where = f"{shown(Path(frames[-1].filename))}:{frames[-1].lineno}" if frames else shown(file)
    text = " ".join(str(error).split())
    return f"{where}: {type(error).__name__}{f': {text}' if text else ''}"


def _expected(where: str, family: str, name: str, value: Any, before: NDArray[Any] | None) -> Expected:
    whole = isinstance(value, Expected)
    given = value.value if whole else value
    if before is None:
        raise OwnReferenceError(f"{where}: {family} answers for {name}, which is a null pointer in this case")
    if not isinstance(given, np.ndarray) or given.dtype != before.dtype:
        raise OwnReferenceError(
            f"{where}: {family} answers {_kind(given)} for {name}; expected an array of {before.dtype}, which "
            f"`.astype({name}.dtype)` makes of another"
        )
    if given.size > before.size or (whole and given.shape != before.shape):
        wanted = f"{before.size} elements, the whole buffer" if whole else f"{before.size} elements at most"
        raise OwnReferenceError(f"{where}: {family} answers {given.size} elements for {name}; expected {wanted}")
    return value if whole else contiguous(before, np.ascontiguousarray(given).reshape(-1))


def _kind(value: Any) -> str:
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a value of type {type(value).__name__}"
