"""The library that is loaded in front of a program's libamdhip64 or libcuda (``front``), built once into the cache."""

from __future__ import annotations

from pathlib import Path

from conformance.runtimes.cpu.build import Plan, build
from conformance.runtimes.isa.build import HERE as ISA

FRONT = Path(__file__).with_name("front")
LIBRARY = "libcandleparitycapture.so"


def front_plan() -> Plan:
    """What the library is built from; it needs headers of neither HIP nor CUDA, and links with neither."""
    shared = tuple(ISA / "runtime" / name for name in ("msgpack.h", "machine.h", "waits.h"))
    return Plan(
        runtime="capture",
        sources={LIBRARY: (FRONT,)},
        flags=(f"-I{FRONT}", f"-I{ISA / 'runtime'}"),
        headers=shared,
        linking=(f"-Wl,--version-script={FRONT / 'exported.map'}",),
    )


def front_library() -> Path:
    """The library; raises as ``conformance.runtimes.cpu.build.build``."""
    return build(front_plan()) / LIBRARY
