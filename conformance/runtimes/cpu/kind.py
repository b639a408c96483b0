"""The cpu runtime: kernels compiled for the host, run by its threads in the order that is asked for."""

from __future__ import annotations

from conformance.runtimes.choice import Choice
from conformance.runtimes.kind import Runtime, RuntimeKind

WAVE = 64


def _open(wave: int | None, threads: int | None) -> Runtime:
    from conformance.runtimes.cpu.control import open_cpu_runtime

    return open_cpu_runtime(wave or WAVE, threads)


KIND = RuntimeKind(
    name="cpu",
    executed="run on the host through the cpu runtime; not executed on an AMD GPU",
    find=lambda: Choice("cpu"),
    open=_open,
    open_compiler=lambda wave: _open(wave, 1).compile_options,
    on_host=True,
    chooses_wave=True,
    chooses_orders=True,
    asynchronous=False,
    executor_cores=0,
    code="host",
)
