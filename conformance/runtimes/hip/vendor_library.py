"""A vendor's library by ctypes: which file is opened, and what it is called. Without numpy, as all of an executor."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from conformance.runtimes.hip.calling import Misuse


@dataclass(frozen=True)
class Api:
    """How a vendor's library spells the functions that make a handle and give it a stream. A row of a JSON file."""

    name: str
    create: str
    set_stream: str


A = TypeVar("A", bound=Api)


class NoLibrary(RuntimeError):
    """There is no library that can be used. The message says which were tried and what to do."""


def apis(kind: type[A], module: str) -> list[A]:
    """The rows of the JSON file that lies next to ``module``."""
    return [kind(name, **row) for name, row in json.loads(Path(module).with_suffix(".json").read_text()).items()]


def opened(what: str, variable: str, known: Sequence[A], paths: Iterable[str]) -> tuple[ctypes.CDLL, A, str]:
    """Open a library: the one that the variable ``variable`` names, else the first of ``paths`` that can be opened.

    Returns it with its row of ``known`` and its name with version and file. ``what`` says in errors what it is for.
    Raises ``NoLibrary``.
    """
    named = os.environ.get(variable)
    tried = []
    for path in [named] if named else paths:
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError as error:
            tried.append(str(error))
            continue
        api = next((one for one in known if hasattr(library, one.create)), None)
        if api is not None:
            return library, api, " ".join(filter(None, (api.name, _version(library, api, path), f"({path})")))
        tried.append(f"{path} has the functions of none of {', '.join(one.name for one in known)}")
    why = f"no library of {what} can be used ({'; '.join(tried) or 'this runtime has none'})"
    raise NoLibrary(f"{why}; use --runtime rocm or cuda with one installed, or name one in {variable}")


def checked(library: ctypes.CDLL, function: str, *arguments: Any) -> None:
    """Call ``function`` of ``library``. Raises ``Misuse`` where it answers with an error."""
    status = getattr(library, function)(*arguments)
    if status:
        raise Misuse(f"{function} answers with status {status}")


def _version(library: ctypes.CDLL, api: Api, path: str) -> str:
    """``12.4.5`` as the library says, else as its file is called; empty where neither tells."""
    property_of = getattr(library, f"{api.name.lower()}GetProperty", None)
    if property_of is not None:
        numbers = [ctypes.c_int() for _ in range(3)]
        failed = [property_of(which, ctypes.byref(number)) for which, number in enumerate(numbers)]
        return "" if any(failed) else ".".join(str(number.value) for number in numbers)
    return Path(path).resolve().name.partition(".so.")[2]
