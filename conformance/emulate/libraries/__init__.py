"""The libraries of an emulated ROCm beside HIP's own: which there are, and how they are built.

``librocblas``, ``libhipblas``, ``librocrand`` and ``libhiprand`` compute on the host what Candle's ports ask them for
(``calls.h``, ``random.h``). Their other functions, and those of libraries that programs are only linked with, say that
they are not emulated. They work in every process, with a libamdhip64 of ours in it or without.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from conformance.files import cache_folder
from conformance.runtimes.cpu.build import Plan
from conformance.runtimes.isa.build import vector_instructions
from conformance.writing import write_text

HERE = Path(__file__).parent


@dataclass(frozen=True)
class EmulatedLibrary:
    """``lib{name}.so``, also called by each of ``versions``: those of ROCm 5, 6 and 7.

    It is made of ``sources``, and has a stand-in for each function of the list ``{name}.txt``. A stand-in returns
    ``refusal``, the library's status for what it does not implement, or for a failure.
    """

    name: str
    versions: tuple[int, ...]
    refusal: int
    sources: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The name of the library's file."""
        return f"lib{self.name}.so"

    @property
    def files(self) -> list[str]:
        """All names that the library is found by."""
        return [self.file, *(f"{self.file}.{version}" for version in self.versions)]

    def absent(self) -> dict[str, bool]:
        """The functions that the library lacks: whether each returns a text in place of a status."""
        rows = (HERE / f"{self.name}.txt").read_text(encoding="utf-8").splitlines()
        return {name: kind == "text" for name, _, kind in (row.partition(" ") for row in rows)}


_BLAS = ("calls.cpp", "products.cpp")
LIBRARIES = (
    EmulatedLibrary("rocblas", (0, 3, 4, 5), 2, ("rocblas.cpp", *_BLAS)),
    EmulatedLibrary("hipblas", (0, 1, 2, 3), 7, ("hipblas.cpp", *_BLAS)),
    EmulatedLibrary("rocrand", (1,), 108, ("rocrand.cpp", "random.cpp")),
    EmulatedLibrary("hiprand", (1,), 1000, ("hiprand.cpp", "random.cpp")),
    EmulatedLibrary("rocsolver", (0,), 2),
    EmulatedLibrary("rocfft", (0,), 1),
    EmulatedLibrary("rocsparse", (0, 1), 2),
    EmulatedLibrary("MIOpen", (1,), 6),
)

_HEAD = """// Functions that the library lacks, for programs to link: each says so and fails.
#include "common.h"

"""
_OF_STATUS = 'LIBRARY_API int {name}() {{ return emulated::refuse("{name}", {refusal}); }}\n'
_OF_TEXT = 'LIBRARY_API const char *{name}() {{ return emulated::refuse("{name}", 0), "not emulated"; }}\n'


def libraries_plan() -> Plan:
    """How all of ``LIBRARIES`` are built. Raises ``FileError`` where the cache cannot be written."""
    return Plan(
        runtime="emulated libraries",
        sources={library.file: _sources(library) for library in LIBRARIES},
        flags=(f"-I{HERE}",),
        headers=tuple(sorted(HERE.glob("*.h"))),
        options=("-ffp-contract=off", *vector_instructions()),
    )


def _sources(library: EmulatedLibrary) -> tuple[Path, ...]:
    text = _HEAD + "".join(
        (_OF_TEXT if of_text else _OF_STATUS).format(name=name, refusal=library.refusal)
        for name, of_text in library.absent().items()
    )
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    file = cache_folder() / "emulate" / f"absent-{library.name}-{digest}.cpp"
    if not file.is_file():
        write_text(file, text)
    return (*(HERE / name for name in library.sources), HERE / "common.cpp", file)
