"""Matrix products of a vendor's library by ctypes: cuBLAS, hipBLAS and rocBLAS behind one call, as Candle makes it.

Candle asks for alpha 1 and beta 0, sums of float32 for halves, and for double by the function of that type. Without
numpy, as all of an executor.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.runtimes.hip.calling import Misuse

VARIABLE = "CANDLE_PARITY_BLAS"
"""Names the library in place of the runtime's own; where a runtime has none, what it computes must lie on the host."""

_ONE_HALF = ctypes.c_uint16(0x3C00)
_ARGUMENTS = [
    "transa",
    "transb",
    "m",
    "n",
    "k",
    "a",
    "lda",
    "stride_a",
    "b",
    "ldb",
    "stride_b",
    "c",
    "ldc",
    "stride_c",
    "batch_size",
    "reduced",
    "stream",
]
_HEAD = "handle transa transb m n k alpha a type lda stride_a b type ldb stride_b beta c type ldc stride_c"
_OF_DOUBLES = "handle transa transb m n k alpha a lda stride_a b ldb stride_b beta c ldc stride_c batch_size"
_POINTERS = ("handle", "alpha", "beta", "a", "b", "c")


@dataclass(frozen=True)
class Api:
    """How a library spells it: functions (of ``products`` the first that it has: hipBLAS of ROCm 6 takes other types
    under the name without _v2), further arguments of ``products``, and numbers: of no transpose and of one, of dtypes,
    of the type of the sums without and with reduced precision.
    """

    name: str
    create: str
    set_stream: str
    products: list[str]
    of_doubles: str
    tail: str
    transposes: list[int]
    types: dict[str, int]
    sums: dict[str, list[int]]
    algorithm: int


APIS = [Api(name, **row) for name, row in json.loads(Path(__file__).with_suffix(".json").read_text()).items()]


class NoLibrary(RuntimeError):
    """No library of matrix products that can be used; the message says which were tried and what to do."""


class Products:
    """An opened library; ``about`` names it with its version and file."""

    def __init__(self, library: ctypes.CDLL, api: Api, path: str) -> None:
        self._library, self._api = library, api
        self.about = " ".join(filter(None, (api.name, _version(library, api, path), f"({path})")))
        self._handle: ctypes.c_void_p | None = None

    def call(self, name: str) -> Callable[..., None]:
        """The call of the spec ``name``, such as ``gemm_f16``: it takes its arguments as ctypes has them, and raises
        ``Misuse`` where the library answers with an error."""
        api, kind = self._api, name.rpartition("_")[2]
        double = kind == "f64"
        spelled = api.of_doubles if double else next(one for one in api.products if hasattr(self._library, one))
        words = (_OF_DOUBLES if double else f"{_HEAD} {api.tail}").split()
        function: Any = getattr(self._library, spelled)
        function.argtypes = [_type(word) for word in words]

        def called(*values: Any) -> None:
            given = {word: value.value for word, value in zip(_ARGUMENTS, values, strict=True)}
            reduced, stream = bool(given.pop("reduced")), given.pop("stream")
            number: Any = ctypes.c_double if double else ctypes.c_float
            alpha, beta = number(1), number(0)
            if kind == "f16" and reduced:
                alpha, beta = _ONE_HALF, ctypes.c_uint16(0)
            given |= {key: api.transposes[given[key]] for key in ("transa", "transb")}
            given |= {"handle": self._opened(stream), "alpha": ctypes.addressof(alpha), "beta": ctypes.addressof(beta)}
            if not double:
                given |= {"type": api.types[kind], "sums": api.sums[kind][reduced]}
                given |= {"algorithm": api.algorithm, "zero": 0}
            _check(spelled, function(*(given[word] for word in words)))

        return called

    def _opened(self, stream: int) -> ctypes.c_void_p:
        """The library's handle, on ``stream``."""
        if self._handle is None:
            handle = ctypes.c_void_p()
            _check(self._api.create, getattr(self._library, self._api.create)(ctypes.byref(handle)))
            self._handle = handle
        set_stream = getattr(self._library, self._api.set_stream)
        _check(self._api.set_stream, set_stream(self._handle, ctypes.c_void_p(stream)))
        return self._handle


def open_products(paths: Iterable[str]) -> Products:
    """The library that the environment names, else the first of ``paths`` that can be opened. Raises ``NoLibrary``."""
    named = os.environ.get(VARIABLE)
    tried = []
    for path in [named] if named else paths:
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError as error:
            tried.append(str(error))
            continue
        api = next((one for one in APIS if hasattr(library, one.create)), None)
        if api is not None:
            return Products(library, api, path)
        tried.append(f"{path} has the functions of none of {', '.join(one.name for one in APIS)}")
    what = f"no library of matrix products can be used ({'; '.join(tried) or 'this runtime has none'})"
    raise NoLibrary(f"{what}; use --runtime rocm or cuda with one installed, or name one in {VARIABLE}")


def _type(word: str) -> Any:
    if word in _POINTERS:
        return ctypes.c_void_p
    return ctypes.c_int64 if word.startswith("stride") else ctypes.c_int


def _version(library: ctypes.CDLL, api: Api, path: str) -> str:
    """``12.4.5`` as the library says, else as its file is called; empty where neither tells."""
    if api.name == "cuBLAS" and hasattr(library, "cublasGetProperty"):
        numbers = [ctypes.c_int() for _ in range(3)]
        failed = [library.cublasGetProperty(which, ctypes.byref(number)) for which, number in enumerate(numbers)]
        return "" if any(failed) else ".".join(str(number.value) for number in numbers)
    return Path(path).resolve().name.partition(".so.")[2]


def _check(function: str, status: int) -> None:
    if status:
        raise Misuse(f"{function} answers with status {status}")
