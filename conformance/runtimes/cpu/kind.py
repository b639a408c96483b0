"""The cpu runtime: kernels compiled for the host, run by its threads in the order that is asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from conformance.runtimes.kind import SHARED_MEMORY, Choice, LauncherBuild, Runtime, RuntimeKind
from conformance.toolchains.headers import OF_ROCM

WAVE = 64

_ABSENT = re.compile(r"fatal error: '?([^'\n]+?)'?(?: file not found|: No such file or directory)")


def _open(wave: int | None, threads: int | None) -> Runtime:
    from conformance.runtimes.cpu.control import open_cpu_runtime

    return open_cpu_runtime(wave or WAVE, threads)


def _missing_header(log: str, flags: Sequence[str]) -> str | None:
    """A header of HIP's that the runtime does not have: nothing that a port could do about."""
    absent = _ABSENT.search(log)
    if absent is None or absent[1] not in OF_ROCM:
        return None
    return (
        f"it includes <{absent[1]}>, which ROCm has and the cpu runtime does not; judge it on a GPU, "
        "or compile it with `candle-parity build`"
    )


KIND = RuntimeKind(
    name="cpu",
    executed="run on the host through the cpu runtime; not executed on an AMD GPU",
    find=lambda: Choice("cpu"),
    open=_open,
    open_compiler=lambda wave: _open(wave, 1).compile_options,
    on_host=True,
    chooses_wave=True,
    chooses_orders=True,
    unwritten={"shared": SHARED_MEMORY},
    reserves=True,
    otherwise={"exact": "right with exact functions"},
    asynchronous=False,
    executor_cores=0,
    environment=("HIPCPU_*", "HIP_PYTHON_*"),
    code="host",
    in_a_folder=True,
    missing_header=_missing_header,
    only_flags=lambda kernels: (f"-DSIMT_ONLY={','.join(kernels)}",),
    launchers=LauncherBuild(flags=("-DSIMT_LAUNCHERS=1",)),
)
