"""The isa runtime: AMD code objects, their machine code interpreted on the host."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.environment import PERTURB, value_of
from conformance.runtimes.kind import BY_HIPCC, SHARED_MEMORY, Choice, NoRuntime, Runtime, RuntimeKind

if TYPE_CHECKING:
    from conformance.runtimes.kind import LaunchCounts

ARCH = "CANDLE_PARITY_ISA_ARCH"
SITES = "CANDLE_PARITY_ISA_SITES"
"""Where the interpreter writes what is executed of each kernel (``runtime/sites.h``), for ``tests/sites``."""
LINES = ("-gline-tables-only",)
"""Lines of faults; the machine code is the same without."""
TARGETS = ("gfx942", "gfx950", "gfx90a", "gfx908", "gfx906", "gfx1100", "gfx1151", "gfx1201", "gfx1030")
"""Targets whose instructions the interpreter's table has, a column for each; the first is the default."""
_SAME = Path(__file__).with_name("runtime") / "same_targets.inc"
SAME = dict(re.findall(r'\{"(gfx\w+)", "(gfx\w+)"\}', _SAME.read_text(encoding="utf-8")))
"""Targets that have the instructions and the rules of another one, by name."""
GPUS = (*TARGETS, *SAME)
"""All targets that can be interpreted."""

LAUNCH_SECONDS = 60
"""CPU seconds after which the interpreter ends a launch."""


def _target() -> str:
    target = os.environ.get(ARCH) or TARGETS[0]
    if target not in GPUS:
        raise NoRuntime(f"the isa runtime does not know the instructions of {target}; expected {', '.join(GPUS)}")
    return target


def _find() -> Choice:
    _target()
    return Choice("isa")


def _open(wave: int | None, threads: int | None) -> Runtime:
    from conformance.runtimes.isa.control import open_isa_runtime

    runtime = open_isa_runtime(_target(), threads, value_of(PERTURB) or 0, os.environ.get(SITES))
    runtime.set_option("timeout_ms", 1000 * LAUNCH_SECONDS)
    return runtime


def _count(runtime: Runtime, launches: Callable[[], object]) -> LaunchCounts:
    from conformance.runtimes.isa.control import IsaRuntime

    assert isinstance(runtime, IsaRuntime)
    return runtime.counted(launches)


KIND = RuntimeKind(
    name="isa",
    executed="AMD machine code for {arch}, interpreted; not a GPU",
    find=_find,
    open=_open,
    open_compiler=lambda wave: (),
    on_host=True,
    launch_seconds=LAUNCH_SECONDS,
    chooses_orders=True,
    unwritten={"registers": "registers", "lds": SHARED_MEMORY, "scratch": "scratch memory"},
    gentler={"exact": "right with exact instructions", "arrived": "right where stores arrive at once"},
    default_orders=("forward", "reverse"),
    arch_variable=ARCH,
    perturb_variable=PERTURB,
    count=_count,
    asynchronous=False,
    executor_cores=0,
    environment=("HIPCPU_*", "HIP_PYTHON_*"),
    code="amd",
    compiler="hipcc",
    hipcc_flags=LINES,
    takes_dialect=False,
    launchers=replace(BY_HIPCC, flags=LINES),
)
