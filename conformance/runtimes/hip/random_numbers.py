"""Random numbers of a vendor's library by ctypes: cuRAND, hipRAND and rocRAND behind one call, as Candle makes it.

Candle makes a generator of the default kind for every seed. Without numpy, as all of an executor.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from conformance.runtimes.hip import vendor_library
from conformance.runtimes.hip.vendor_library import apis, checked, opened

VARIABLE = "CANDLE_PARITY_RAND"
"""Names the library in place of the runtime's own; where a runtime has none, its numbers must lie on the host."""

_ARGUMENTS = ["out", "count", "stride", "mean", "std", "seed", "other", "stream"]


@dataclass(frozen=True)
class RandomApi(vendor_library.Api):
    """How one vendor's library spells its random numbers: its functions, those that draw numbers by dtype, and the
    number of the default generator."""

    set_seed: str
    default: int
    uniform: dict[str, str]
    normal: dict[str, str]


APIS = apis(RandomApi, __file__)


class Generators:
    """An opened library of random numbers. ``about`` is its name with version and file."""

    def __init__(self, library: ctypes.CDLL, api: RandomApi, about: str) -> None:
        self._library, self._api, self.about = library, api, about

    def call(self, name: str) -> Callable[..., None]:
        """The function of the spec ``name``, such as ``rand_normal_f32``; it raises as that of ``Products.call``.

        It fills four parts of the result, ``stride`` elements apart: two in turn from one generator with ``seed``, one
        from another generator with ``seed``, and one from a generator with the seed ``other``.
        """
        _, distribution, kind = name.split("_")
        spelled = getattr(self._api, distribution)[kind]
        number: Any = ctypes.c_double if kind == "f64" else ctypes.c_float
        kinds = [number, number] if distribution == "normal" else []
        getattr(self._library, spelled).argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, *kinds]

        def called(*values: Any) -> None:
            given = {word: value.value for word, value in zip(_ARGUMENTS, values, strict=True)}
            further = [given["mean"], given["std"]][: len(kinds)]
            first = self._generator(given["seed"], given["stream"])
            again, other = (self._generator(given[seed], given["stream"]) for seed in ("seed", "other"))
            for part, generator in enumerate((first, first, again, other)):
                at = given["out"] + part * given["stride"] * ctypes.sizeof(number)
                checked(self._library, spelled, generator, at, given["count"], *further)

        return called

    def _generator(self, seed: int, stream: int) -> ctypes.c_void_p:
        """A new one, kept until the process ends: to destroy it is to wait for a stream that may be held."""
        generator = ctypes.c_void_p()
        checked(self._library, self._api.create, ctypes.byref(generator), self._api.default)
        checked(self._library, self._api.set_seed, generator, ctypes.c_uint64(seed))
        checked(self._library, self._api.set_stream, generator, ctypes.c_void_p(stream))
        return generator


def open_generators(paths: Iterable[str]) -> Generators:
    """Open the library that the environment names, else the first of ``paths`` that can be opened. Raises
    ``NoLibrary``."""
    return Generators(*opened("random numbers", VARIABLE, APIS, paths))
