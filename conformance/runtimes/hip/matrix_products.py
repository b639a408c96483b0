"""Matrix products of a vendor's library by ctypes: cuBLAS, hipBLAS and rocBLAS behind one call, as Candle makes it.

Candle asks for alpha 1 and beta 0, sums of float32 for halves, and for double by the function of that type. Without
numpy, as all of an executor.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from conformance.runtimes.hip import vendor_library
from conformance.runtimes.hip.vendor_library import apis, checked, opened

VARIABLE = "CANDLE_PARITY_BLAS"
"""Names the library in place of the runtime's own; where a runtime has none, what it computes must lie on the host."""

_ONE_HALF = ctypes.c_uint16(0x3C00)
_ARGUMENTS = "transa transb m n k a lda stride_a b ldb stride_b c ldc stride_c batch_size reduced stream"
_HEAD = "handle transa transb m n k alpha a type lda stride_a b type ldb stride_b beta c type ldc stride_c"
_OF_DOUBLES = "handle transa transb m n k alpha a lda stride_a b ldb stride_b beta c ldc stride_c batch_size"
_POINTERS = ("handle", "alpha", "beta", "a", "b", "c")


@dataclass(frozen=True)
class ProductsApi(vendor_library.Api):
    """How one vendor's library spells its matrix products: a row of the table.

    It has the names of functions, of which the first that the library has is taken (hipBLAS of ROCm 6 takes other types
    under the names without _v2). It has the further arguments of ``products``, and the numbers that stand for "not
    transposed", "transposed", each dtype, and the type of the sums without and with reduced precision.
    """

    products: list[str]
    of_doubles: str
    tail: str
    transposes: list[int]
    types: dict[str, int]
    sums: dict[str, list[int]]
    algorithm: int


APIS = apis(ProductsApi, __file__)


class Products:
    """An opened library of matrix products. ``about`` is its name with version and file."""

    def __init__(self, library: ctypes.CDLL, api: ProductsApi, about: str) -> None:
        self._library, self._api, self.about = library, api, about
        self._handle: ctypes.c_void_p | None = None

    def call(self, name: str) -> Callable[..., None]:
        """The function of the spec ``name``, such as ``gemm_f16``. It takes its arguments as ctypes values.

        It raises ``Misuse`` where the library answers with an error.
        """
        api, kind = self._api, name.rpartition("_")[2]
        double = kind == "f64"
        spelled = api.of_doubles if double else next(one for one in api.products if hasattr(self._library, one))
        names = (_OF_DOUBLES if double else f"{_HEAD} {api.tail}").split()
        getattr(self._library, spelled).argtypes = [_type(argument) for argument in names]

        def called(*values: Any) -> None:
            given = {word: value.value for word, value in zip(_ARGUMENTS.split(), values, strict=True)}
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
            checked(self._library, spelled, *(given[argument] for argument in names))

        return called

    def _opened(self, stream: int) -> ctypes.c_void_p:
        """The library's handle, on ``stream``."""
        if self._handle is None:
            handle = ctypes.c_void_p()
            checked(self._library, self._api.create, ctypes.byref(handle))
            self._handle = handle
        checked(self._library, self._api.set_stream, self._handle, ctypes.c_void_p(stream))
        return self._handle


def open_products(paths: Iterable[str]) -> Products:
    """Open the library that the environment names, else the first of ``paths`` that can be opened. Raises
    ``NoLibrary``."""
    return Products(*opened("matrix products", VARIABLE, APIS, paths))


def _type(word: str) -> Any:
    if word in _POINTERS:
        return ctypes.c_void_p
    return ctypes.c_int64 if word.startswith("stride") else ctypes.c_int
