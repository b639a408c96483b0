"""Expected answers that took long to compute, kept in the cache folder from run to run.

They depend on the kernel's spec, the cases' ids, the salt, the sources of ``reference/`` and ``conformance/cases/``,
and the numpy and processor that compute them: all that is in the key. A damaged object is computed again.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from conformance.cache import ObjectFolder
from conformance.cases.case import Case
from conformance.cases.launch import Launch
from conformance.files import PACKAGE, REFERENCE, cache_folder, digest_of
from conformance.spec.kernel import Kernel
from reference.expected import Expected, Truth

SECONDS = 0.03
"""What the answers to a kernel's cases have to take before they are kept: reading them takes a tenth of it."""

MOST_BYTES = 512 << 20
"""Of all kept answers; the oldest go first."""

ARRAYS = ("value", "low", "high", "free")

_ALIGN = 16

Compute = Callable[[Kernel, Launch], dict[str, Expected]]


class KeptAnswers:
    """What the reference expects of ``cases`` of ``kernel``, by ``compute`` where it is not kept."""

    def __init__(self, kernel: Kernel, cases: Sequence[Case], salt: str, compute: Compute) -> None:
        self._kernel, self._compute = kernel, compute
        ids = hashlib.sha256("\n".join((repr(kernel), salt, computed_by(), *(case.id for case in cases))).encode())
        self._key = ids.hexdigest()
        self._folder = ObjectFolder(cache_folder() / "answers", "computed", MOST_BYTES)
        self._kept = self._read()
        self._new: dict[str, dict[str, Expected]] = {}
        self._seconds = 0.0

    def of(self, case: Case, launch: Launch) -> dict[str, Expected]:
        """Raises what ``compute`` raises."""
        kept = self._kept.get(case.id)
        if kept is not None:
            return {name: self._expected(launch, name, row) for name, row in kept.items()}
        started = time.perf_counter()
        self._new[case.id] = self._compute(self._kernel, launch)
        self._seconds += time.perf_counter() - started
        return self._new[case.id]

    def keep(self) -> None:
        """Write the answers, all of whose cases were asked for, where they took long and are not there yet."""
        if self._seconds < SECONDS:
            return
        parts: list[NDArray[Any]] = []
        rows = {case: {name: _row(one, parts) for name, one in found.items()} for case, found in self._new.items()}
        head = msgpack.packb(rows)
        pieces = (len(head).to_bytes(_ALIGN, "little"), head, *(part.tobytes() for part in parts))
        content = b"".join(piece + bytes(-len(piece) % _ALIGN) for piece in pieces)
        with self._folder.turn(self._key, 0.0) as ours:
            if ours:
                self._folder.keep(self._key, content)

    def _read(self) -> dict[str, dict[str, Any]]:
        content = self._folder.read(self._key)
        if content is None:
            return {}
        at = _ALIGN + int.from_bytes(content[:_ALIGN], "little")
        rows: dict[str, dict[str, Any]] = msgpack.unpackb(content[_ALIGN:at])
        for array in (array for found in rows.values() for row in found.values() for array in row["arrays"].values()):
            at += -at % _ALIGN
            array["data"] = np.frombuffer(content, array["dtype"], array["count"], at)
            at += array["data"].nbytes
        return rows

    def _expected(self, launch: Launch, name: str, row: dict[str, Any]) -> Expected:
        def exact() -> Truth:
            truth = self._compute(self._kernel, launch)[name].exact
            assert truth is not None
            return truth()

        arrays = {key: array["data"] for key, array in row["arrays"].items()}
        return Expected(**arrays, exact=exact if row["exact"] else None)


def _row(expected: Expected, parts: list[NDArray[Any]]) -> dict[str, Any]:
    """What says how the arrays of ``expected`` lie in a file, which are put behind ``parts``."""
    arrays = {name: array for name in ARRAYS if (array := getattr(expected, name)) is not None}
    parts += arrays.values()
    shapes = {name: {"dtype": array.dtype.name, "count": array.size} for name, array in arrays.items()}
    return {"arrays": shapes, "exact": expected.exact is not None}


@cache
def computed_by() -> str:
    """A digest of all that computes operands and answers."""
    types = hashlib.sha256((PACKAGE / "dtypes.py").read_bytes()).hexdigest()
    sources = digest_of(PACKAGE / "cases", REFERENCE, without=REFERENCE / "traces")
    versions = (f"{name} {metadata.version(name)}" for name in ("numpy", "ml_dtypes"))
    instructions = np.show_config(mode="dicts")["SIMD Extensions"]  # by which numpy chooses its loops
    return " ".join((types, sources, *versions, repr(instructions)))
